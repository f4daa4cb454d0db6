//! What a day's work consists of, by kind: none of it is worth a question.

use super::{Half, Kind};

pub const HALF: Half = Half {
    kinds: &[BUILD, TEST, SEARCH, FILES, GIT, CONTAINERS, HTTP, DATA, CODE, LOOK, PACKAGES],
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
            "echo hi > {where}/note.txt",
        ],
        slots: &[("where", &["build", "src/new", "tests/data"])],
    },
    Kind {
        name: "editing",
        forms: &["sed -i 's/{from}/{to}/' src/main.py", "perl -pi -e 's/{from}/{to}/' src/main.py"],
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
                "php -r 'echo 1+1;'",
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
