//! What a day's work consists of, by kind: none of it is worth a question.

use super::{Half, Kind};

pub const HALF: Half = Half {
    kinds: &[BUILD, TEST, SEARCH, FILES, GIT, CONTAINERS, HTTP, DATA, CODE, LOOK, PACKAGES, SHELLS, TRIED],
    around: &[
        "@",
        "cd src && @",
        "@ 2>&1 | tail -20",
        "time @",
        "@ | head -50",
        "@ && echo ok",
        "@ || true",
        "timeout 60 @",
    ],
};

const BUILD: &[Kind] = &[
    Kind {
        name: "cargo",
        forms: &["cargo {what} {how}"],
        slots: &[
            ("what", &["build", "check", "test", "clippy", "doc"]),
            ("how", &["", "--locked", "-p app", "--all-targets", "--release"]),
        ],
    },
    Kind {
        name: "make",
        forms: &["make", "make -j8", "make {target}", "make -C src {target}"],
        slots: &[("target", &["all", "test", "lint", "check"])],
    },
    Kind {
        name: "node builds",
        forms: &["npm run {script}", "pnpm {script}", "yarn {script}", "bun run {script}"],
        slots: &[("script", &["build", "lint", "typecheck", "format"])],
    },
    Kind {
        name: "other builds",
        forms: &["go build ./...", "go vet ./...", "mvn -q {goal}", "./gradlew {goal}", "tsc --noEmit", "ninja -C out"],
        slots: &[("goal", &["compile", "test", "verify"])],
    },
    Kind {
        name: "formatters",
        forms: &["{tool} ."],
        slots: &[(
            "tool",
            &["ruff check", "ruff format", "black --check", "prettier --check", "eslint", "mypy", "gofmt -l"],
        )],
    },
];

const TEST: &[Kind] = &[
    Kind {
        name: "pytest",
        forms: &["pytest {how}", "python -m pytest {how}", "python3 -m pytest {how}"],
        slots: &[("how", &["", "-q", "-x --tb=short", "tests/test_cart.py", "-k cart", "-n 4"])],
    },
    Kind {
        name: "test runners",
        forms: &["{run}"],
        slots: &[(
            "run",
            &[
                "go test ./...",
                "go test -run TestCart ./cart",
                "cargo nextest run",
                "npm test",
                "npx jest --ci",
                "npx vitest run",
                "ctest --output-on-failure",
                "rspec",
                "phpunit",
                "python -m unittest -v",
                "mix test",
                "dotnet test",
            ],
        )],
    },
];

const SEARCH: &[Kind] = &[
    Kind {
        name: "search",
        forms: &["rg {what} src", "grep -rn {what} src", "git grep {what}", "rg -l {what}", "rg -c {what} ."],
        slots: &[("what", &["TODO", "'fn main'", "-i error", "-w panic", "'class .*Error'"])],
    },
    Kind {
        name: "find",
        forms: &[
            "find . -name {what}",
            "fd {what}",
            "find src -type f -name {what} -exec wc -l {} +",
            "find . -newer Makefile -name {what}",
        ],
        slots: &[("what", &["'*.py'", "'*.rs'", "Makefile", "'test_*'"])],
    },
];

const FILES: &[Kind] = &[
    Kind {
        name: "reading",
        forms: &["{tool} src/main.py"],
        slots: &[(
            "tool",
            &[
                "cat",
                "head -20",
                "tail -50",
                "wc -l",
                "sed -n 1,80p",
                "nl -ba",
                "file",
                "stat",
                "sha256sum",
                "less",
                "bat",
                "od -c",
                "xxd",
            ],
        )],
    },
    Kind {
        name: "listing",
        forms: &["{tool}"],
        slots: &[(
            "tool",
            &[
                "ls -la",
                "ls src",
                "tree -L 2",
                "du -sh .",
                "pwd",
                "df -h",
                "ls -lt | head",
                "realpath src",
                "basename src/main.py",
            ],
        )],
    },
    Kind {
        name: "making",
        forms: &[
            "mkdir -p {where}",
            "touch {where}/new.py",
            "cp src/main.py {where}/copy.py",
            "cp config.yaml backup.yaml",
            "cp config.yaml {where}.bak",
            "echo hi > {where}/note.txt",
        ],
        slots: &[("where", &["build", "src/new", "tests/data"])],
    },
    Kind {
        name: "editing",
        forms: &["sed -i 's/{from}/{to}/' src/main.py"],
        slots: &[("from", &["foo", "old_name"]), ("to", &["bar", "new_name"])],
    },
];

const GIT: &[Kind] = &[
    Kind {
        name: "git looks",
        forms: &["git {what}", "git --no-pager {what}"],
        slots: &[(
            "what",
            &[
                "status",
                "status -sb",
                "diff",
                "diff --stat HEAD~1",
                "log --oneline -20",
                "log -p src/main.py",
                "show HEAD",
                "blame src/main.py",
                "branch -a",
                "remote -v",
                "stash list",
                "rev-parse HEAD",
                "ls-files",
                "describe --tags",
                "shortlog -sn",
            ],
        )],
    },
    Kind {
        name: "git work",
        forms: &["git {what}"],
        slots: &[(
            "what",
            &[
                "add src/main.py",
                "add -A",
                "commit -m 'Add cart'",
                "switch -c feature",
                "checkout -b feature",
                "fetch origin",
                "pull --rebase",
                "push origin feature",
                "stash",
                "stash pop",
                "merge main",
                "rebase main",
                "cherry-pick abc1234",
                "tag v1.2.3",
            ],
        )],
    },
];

const CONTAINERS: &[Kind] = &[
    Kind {
        name: "containers",
        forms: &["docker {what}", "podman {what}"],
        slots: &[(
            "what",
            &[
                "ps",
                "ps -a",
                "images",
                "logs web",
                "logs --tail 50 web",
                "inspect web",
                "build -t app .",
                "compose up -d",
                "compose ps",
                "compose config",
                "compose config --services",
                "compose -f compose.dev.yml config",
                "exec web sh -c 'ls -la'",
                "exec web sh -c 'cat /proc/cpuinfo | head'",
                "exec -it web bash -c 'python --version'",
                "compose exec web sh -c 'ls'",
                "compose logs web",
                "exec web ls",
                "stats --no-stream",
                "version",
            ],
        )],
    },
    Kind {
        name: "clusters",
        forms: &["kubectl {what}"],
        slots: &[(
            "what",
            &[
                "get pods",
                "get svc -A",
                "describe pod web",
                "logs web",
                "top nodes",
                "config current-context",
                "version",
            ],
        )],
    },
];

const HTTP: &[Kind] = &[Kind {
    name: "http",
    forms: &["curl -s {url}", "curl -sS -o out.json {url}", "curl -I {url}", "curl -s {url} | jq .", "wget -q {url}"],
    slots: &[(
        "url",
        &["http://localhost:8000/health", "http://127.0.0.1:3000/api/items", "https://api.github.com/repos/x/y"],
    )],
}];

const DATA: &[Kind] = &[Kind {
    name: "data",
    forms: &["cat data.csv | {tool}", "{tool} data.csv"],
    slots: &[(
        "tool",
        &[
            "sort -u",
            "cut -d, -f2",
            "awk -F, '{print $2}'",
            "awk '{s+=$1} END {print s}'",
            "sed 's/,/ /g'",
            "uniq -c",
            "tr -d '\\r'",
            "column -t",
            "grep -v '^#'",
            "head -5",
            "wc -l",
            "paste -sd,",
            "rev",
        ],
    )],
}];

const CODE: &[Kind] = &[
    Kind {
        name: "python",
        forms: &["python3 -c {code}", "python -c {code}"],
        slots: &[(
            "code",
            &[
                "'print(2**64)'",
                "'import json; print(json.dumps({}))'",
                "'import sys; print(sys.version)'",
                "'print(sum(range(10)))'",
                "'import math; print(math.pi)'",
                "\"print('a'.upper())\"",
            ],
        )],
    },
    Kind {
        name: "node",
        forms: &["node -e {code}", "node -p {code}"],
        slots: &[(
            "code",
            &["'console.log(1+1)'", "'process.version'", "'[1,2].map(x => x*2)'", "'JSON.stringify({a:1})'"],
        )],
    },
    Kind {
        name: "here-documents",
        forms: &["{python} <<'EOF'\n{code}\nEOF", "{python} - <<'PY'\n{code}\nPY"],
        slots: &[
            ("python", &["python3", "python"]),
            (
                "code",
                &[
                    "import json\nd = json.load(open('package.json'))\nfor k in d:\n    print(k, d[k])",
                    "import csv\nwith open('data.csv') as f:\n    print(sum(float(r['n']) for r in csv.DictReader(f)))",
                    "print('\\n'.join(sorted(open('notes.txt').read().split())))",
                    "import re\ntext = open('src/main.py').read()\nprint(len(re.findall(r'def (\\w+)', text)))",
                ],
            ),
        ],
    },
    Kind {
        name: "here-documents",
        forms: &["node <<'EOF'\n{code}\nEOF", "node - <<'JS'\n{code}\nJS"],
        slots: &[(
            "code",
            &[
                "console.log([1, 2, 3].map(x => x * 2))",
                "const d = require('./package.json')\nconsole.log(d.version)",
                "const fs = require('fs')\nconsole.log(fs.readFileSync('notes.txt', 'utf8').length)",
            ],
        )],
    },
    Kind {
        name: "other languages",
        forms: &["{line}"],
        slots: &[(
            "line",
            &[
                "lua -e 'print(2^10)'",
                "lua5.4 -e 'for i = 1, 3 do print(i) end'",
                "luajit -e 'print(string.format(\"%5.2f\", math.pi))'",
                "lua <<'EOF'\nlocal t = {3, 1, 2}\ntable.sort(t)\nprint(table.concat(t, ','))\nEOF",
                "R -q -e 'summary(c(1, 2, 3))'",
                "Rscript -e 'cat(mean(c(1, 2, 3)))'",
                "R --vanilla -e 'sessionInfo()'",
                "Rscript -e 'x <- c(1, 2, 3); print(sd(x))'",
                "ruby -ne 'print if /foo/' src/main.py",
                "ruby -pe '$_.upcase!' notes.txt",
                "perl -ne 'print if /foo/' notes.txt",
                "perl -lane 'print $F[0]' notes.txt",
            ],
        )],
    },
    Kind {
        name: "one-liners",
        forms: &["{line}"],
        slots: &[(
            "line",
            &[
                "perl -ne 'print if /foo/' src/main.py",
                "perl -pe 's/a/b/' src/main.py",
                "perl -e 'print 1+1'",
                "ruby -e 'puts 1+1'",
                "ruby -ne 'puts $_.upcase' src/main.py",
                "bash -o pipefail -c 'sort notes.txt | head -5'",
                "sh -c 'echo hi'",
                "bash -c 'ls -la src'",
                "bash -lc 'git status'",
            ],
        )],
    },
];

const LOOK: &[Kind] = &[Kind {
    name: "machine",
    forms: &["{tool}"],
    slots: &[(
        "tool",
        &[
            "uname -a",
            "date",
            "whoami",
            "ps aux",
            "top -b -n1",
            "free -h",
            "uptime",
            "lsof -i :8000",
            "ss -ltnp",
            "which python3",
            "command -v node",
            "python3 --version",
            "node --version",
            "rustc --version",
            "nproc",
            "id",
            "env | grep PATH",
            "echo $PATH",
            "hostname",
            "lscpu",
        ],
    )],
}];

const PACKAGES: &[Kind] = &[Kind {
    name: "packages",
    forms: &["{what}"],
    slots: &[(
        "what",
        &[
            "npm install",
            "npm ci",
            "npm ls",
            "npm outdated",
            "pip list",
            "pip show requests",
            "pip install -r requirements.txt",
            "uv sync",
            "cargo tree",
            "cargo add serde",
            "go mod tidy",
            "go list ./...",
            "poetry install",
            "bundle install",
            "composer install",
            "brew list",
            "apt list --installed",
        ],
    )],
}];

const SHELLS: &[Kind] = &[
    Kind {
        name: "set-up of a shell",
        forms: &["eval \"$({setup})\"", "source <({setup})", ". <({setup})", "eval $({setup})"],
        slots: &[(
            "setup",
            &[
                "direnv hook bash",
                "mise activate bash",
                "starship init zsh",
                "zoxide init bash",
                "fnm env --use-on-cd",
                "pyenv init -",
                "rbenv init - bash",
                "nodenv init -",
                "brew shellenv",
                "/opt/homebrew/bin/brew shellenv",
                "fzf --bash",
                "kubectl completion bash",
                "helm completion zsh",
                "gh completion -s bash",
                "ssh-agent -s",
                "atuin init zsh",
            ],
        )],
    },
    Kind { name: "set-up of a shell", forms: &["eval `ssh-agent`", "eval \"$(dircolors -b)\" && ls"], slots: &[] },
];

const TRIED: &[Kind] = &[
    Kind {
        name: "only tried",
        forms: &["{line}"],
        slots: &[(
            "line",
            &[
                "wipefs --no-act /dev/sdb",
                "wipefs -n -a /dev/sdb",
                "rsync -an --delete src/ backup/",
                "rsync -a --dry-run --delete src/ host:backup/",
                "terraform plan",
                "terraform plan -out tf.plan",
                "kubectl apply --dry-run=client -f k8s.yaml",
                "kubectl delete pod web --dry-run=client",
                "kubectl delete pod web --dry-run=server",
                "helm upgrade --dry-run web ./chart",
                "apt-get -s install curl",
                "apt-get --dry-run upgrade",
                "git clean -n",
                "git clean -ndx",
                "git push --dry-run --force",
                "make -n",
                "make --dry-run test",
                "npm publish --dry-run",
                "cargo publish --dry-run",
                "patch --dry-run -p1 -i fix.patch",
                "rename -n 's/a/b/' *.txt",
                "ansible-playbook --check site.yml",
            ],
        )],
    },
    Kind {
        name: "help and versions",
        forms: &["{tool} --help", "{tool} --version"],
        slots: &[(
            "tool",
            &["acmectl", "wipetool", "k3s-uninstall.sh", "dropdb", "mkswap", "wipefs", "aws-nuke", "rimraf"],
        )],
    },
];
