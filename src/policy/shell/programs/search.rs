//! `find` and `fd`: what they do to the files that they find, what they print, and whether a secret is among them.

use super::decode::Stream;
use crate::policy::files::is_protected;
use crate::policy::shell::read::ast::Span;
use crate::policy::shell::walk::Walker;
use crate::policy::shell::walk::invoke::{Known, may_expand, program};
use crate::policy::shell::walk::resolve::{Field, UNKNOWN};
use crate::policy::table::Role;

/// Tests that leave a part of the files.
const TESTS: &[&str] = &[
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-regex",
    "-iregex",
    "-mtime",
    "-mmin",
    "-ctime",
    "-cmin",
    "-atime",
    "-amin",
    "-newer",
    "-size",
    "-empty",
    "-inum",
    "-lname",
];

/// The words of a search.
struct Search<'a> {
    argv: &'a [Field],
    paths: Vec<Field>,
    /// It is `fd PATTERN PATHS`.
    fd: bool,
    /// No pattern before the options leaves a part of the files.
    everything: bool,
    /// The name that all have that it finds.
    named: Option<String>,
    /// The same where it tells that they hold secrets.
    telling: Option<String>,
    /// Secrets that are among what it finds.
    secrets: Vec<String>,
}

impl<'a> Search<'a> {
    fn read(walker: &mut Walker<'_>, known: &Known<'a>) -> Self {
        let argv = known.argv;
        let paths: Vec<Field> = argv[1..]
            .iter()
            .skip_while(|f| matches!(f.text.as_str(), "-H" | "-L" | "-P"))
            .take_while(|f| !f.text.starts_with('-') && !matches!(f.text.as_str(), "(" | "!" | ")" | ","))
            .cloned()
            .collect();
        let fd = known.name.starts_with("fd");
        let paths = if fd { fd_words(argv).cloned().collect() } else { paths };
        let everything = !fd || paths.first().is_none_or(|f| matches!(f.text.as_str(), "." | "" | ".*"));
        let paths: Vec<Field> = if fd { paths.into_iter().skip(1).collect() } else { paths };
        let paths = if paths.is_empty() { vec![Field::known(".", argv[0].span.clone())] } else { paths };
        let words: Vec<&str> = argv.iter().map(|field| field.text.as_str()).collect();
        let named = named_by(&words);
        let telling = walker.telling(named.clone());
        let secrets = walker.secrets_among(known, &paths, &words);
        Self { argv, paths, fd, everything, named, telling, secrets }
    }

    /// Whether the test at this place leaves a part of the files: not a pattern that everything matches, nor whatever is not one
    /// name.
    fn narrows(&self, i: usize) -> bool {
        let field = &self.argv[i];
        let test = TESTS.iter().any(|x| field.text == *x || (*x == "-newer" && field.text.starts_with(x)));
        let value = self.argv.get(i + 1).map_or("", |f| f.text.as_str());
        let all = value.bytes().all(|b| matches!(b, b'*' | b'.' | b'?' | b'/')) && field.text != "-empty"
            || matches!(self.argv[i - 1].text.as_str(), "!" | "-not");
        test && !all
    }

    /// What stands before the action, back to an `-o` outside of parentheses, holds for it.
    fn narrowed(&self, action: usize) -> bool {
        let mut depth = 0;
        (1..action)
            .rev()
            .take(512)
            .take_while(|i| {
                match self.argv[*i].text.as_str() {
                    ")" => depth += 1,
                    "(" => depth -= 1,
                    "-o" | "-or" | "," => return depth != 0,
                    _ => {}
                }
                true
            })
            .any(|i| self.narrows(i))
    }

    /// What an action at this place gets of what is below a folder.
    fn found(&self, path: &Field, action: usize) -> Field {
        let mut field = path.clone();
        if !self.everything || self.narrowed(action) {
            let name = self.telling.as_ref().map_or_else(|| "x".to_owned(), |name| format!("/{name}"));
            field.text = format!("{}/{UNKNOWN}{name}", path.text.trim_end_matches('/'));
        }
        field
    }

    fn secrets(&self) -> impl Iterator<Item = Field> {
        self.secrets.iter().map(|path| Field::known(path.clone(), self.paths[0].span.clone()))
    }
}

impl Walker<'_> {
    /// `find PATHS TESTS -delete -exec …`, and `fd -x`. Gives what it prints.
    pub(super) fn find_command(&mut self, known: &Known<'_>, me: usize) -> Stream {
        let search = Search::read(self, known);
        let argv = search.argv;
        let (mut i, mut deletes) = (1, 0);
        while i < argv.len() {
            match argv[i].text.as_str() {
                // Again it finds nothing that is left.
                "-delete" if deletes < 8 => {
                    deletes += 1;
                    self.find("find -delete", argv[i].span.clone());
                    for path in &search.paths {
                        self.delete(&search.found(path, i), true);
                    }
                }
                "-fprint" | "-fprint0" | "-fprintf" | "-fls" => {
                    if let Some(file) = argv.get(i + 1) {
                        self.touch(Role::Write, &file.clone());
                    }
                }
                "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X" | "--exec" | "--exec-batch" => {
                    let end = (i + 1..argv.len())
                        .find(|j| argv[*j].text == ";" || (argv[*j].text == "+" && argv[*j - 1].text == "{}"))
                        .unwrap_or(argv.len());
                    let span = argv[i].span.start..argv[end.min(argv.len() - 1)].span.end;
                    self.runs_on_found(&search, i, end, &span, me);
                    i = end;
                }
                _ => {}
            }
            i += 1;
        }
        listed(&search, known.span())
    }

    /// The command behind an action, once for each kind of file that it may get.
    fn runs_on_found(&mut self, search: &Search<'_>, action: usize, end: usize, span: &Span, me: usize) {
        let argv = search.argv;
        let words = &argv[(action + 1).min(end)..end];
        let name = argv.get(action + 1).map(|f| program(&f.text)).unwrap_or_default();
        let deletes = matches!(name.as_str(), "rm" | "unlink" | "shred" | "srm");
        // Inside of a longer word the folder itself may mean something else than what lies below it.
        let inside = words.iter().any(|f| f.text.contains("{}") && f.text != "{}");
        let below = |path: &Field| Field { text: format!("{}/{UNKNOWN}x", path.text), ..path.clone() };
        let targets = search.paths.iter().map(|path| search.found(path, action));
        let mut more: Vec<Field> = search.paths.iter().filter(|_| inside).map(below).collect();
        // The one that lies right below the folder is known.
        let exact = search.named.as_deref().filter(|name| !may_expand(name));
        let joined = search.paths.iter().filter(|_| deletes).flat_map(|path| {
            let text = |name| format!("{}/{name}", path.text.trim_end_matches('/'));
            exact.map(|name| Field { text: text(name), ..path.clone() })
        });
        let dear = |field: &Field| self.absolute(&field.text).iter().any(|p| is_protected(p, self.world));
        more.extend(joined.filter(dear).collect::<Vec<_>>());
        more.extend(search.secrets());
        for target in targets.chain(more) {
            if !self.spend(4, span) {
                return;
            }
            let mut inner: Vec<Field> = words.to_vec();
            if search.fd && !inner.iter().any(|field| field.text.contains("{}")) {
                inner.push(Field::known(target.text.clone(), span.clone()));
            }
            for field in inner.iter_mut().filter(|field| field.text.contains("{}")) {
                field.text = field.text.replace("{}", &target.text);
            }
            self.deeper(span, |w| w.subshell(|w| w.invoke(inner, None, Some((me, action + 1)))));
            self.current = Some(me);
        }
        if deletes {
            self.find("find -exec/-execdir rm", span.clone());
        }
    }
}

/// The pattern and the folders of `fd`, before the command that it runs.
pub(super) fn fd_words(argv: &[Field]) -> impl Iterator<Item = &Field> {
    let takes = ["-e", "--extension", "-E", "--exclude", "-t", "--type", "-d", "--max-depth", "-S", "--size", "-j"];
    let runs = |field: &&Field| !matches!(field.text.as_str(), "-x" | "-X" | "--exec" | "--exec-batch");
    let words = argv.iter().take_while(runs).enumerate().skip(1);
    words
        .filter(move |(at, f)| !f.text.starts_with('-') && !takes.contains(&argv[at - 1].text.as_str()))
        .map(|(_, f)| f)
}

/// The one name, or pattern for names, that all have that `find` finds.
fn named_by(words: &[&str]) -> Option<String> {
    let tests = ["-name", "-iname", "-path", "-ipath", "-wholename"];
    let at = words.iter().position(|word| tests.contains(word))?;
    let others = words.iter().any(|word| matches!(*word, "-o" | "-or" | "!" | "-not" | ","));
    let name = words.get(at + 1)?.rsplit('/').next().filter(|name| !others && !name.contains(UNKNOWN))?;
    let tells = !name.trim_matches(['*', '.', '?']).is_empty();
    tells.then(|| if words[at].starts_with("-i") { name.to_lowercase() } else { name.to_owned() })
}

/// What `find` prints: files below its folders, and without tests the folders too.
fn listed(search: &Search<'_>, span: Span) -> Stream {
    let words: Vec<&str> = search.argv[1..].iter().map(|f| f.text.as_str()).collect();
    let mut text = String::new();
    if search.fd {
        text.push_str(&format!("./{UNKNOWN}x\n"));
    } else {
        let is_path = |w: &&&str| !w.starts_with(['-', '(', '!']);
        let folders: Vec<&&str> = words.iter().take_while(is_path).collect();
        let tests =
            words.iter().any(|w| w.starts_with('-') && !matches!(*w, "-maxdepth" | "-print" | "-print0" | "-depth"));
        for folder in if folders.is_empty() { vec![&"."] } else { folders } {
            let folder = if *folder == "/" { "/" } else { folder.trim_end_matches('/') };
            if !tests {
                text.push_str(&format!("{folder}\n"));
            }
            let name = search.telling.as_ref().map_or_else(|| "x".to_owned(), |name| format!("/{name}"));
            text.push_str(&format!("{}/{UNKNOWN}{name}\n", folder.trim_end_matches('/')));
        }
    }
    for path in &search.secrets {
        text.push_str(&format!("{path}\n"));
    }
    Stream::text(text, span)
}
