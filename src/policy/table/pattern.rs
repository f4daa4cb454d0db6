//! Patterns of paths and names, ready to match: a text is compared only with those of which it holds a piece.

use super::PathClass;
use crate::policy::files::home_of;
use crate::policy::glob;
use aho_corasick::AhoCorasick;
use std::ops::Range;

/// Where a pattern begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::policy) enum Base {
    Root,
    Home,
    Own,
}

/// One path pattern.
#[derive(Debug)]
pub(in crate::policy) struct Pattern {
    pub base: Base,
    pub glob: String,
    /// What the rest of a path begins with, ends with and holds, as far as that is known: cheap to reject.
    pub prefix: usize,
    suffix: usize,
    piece: Range<usize>,
    /// `*` crosses folders.
    pub deep: bool,
}

/// What a pattern gives a meaning to.
const SPECIAL: [char; 4] = ['*', '?', '[', ']'];

/// The longest text that whatever a pattern matches has to hold.
fn piece_of(glob: &str) -> Range<usize> {
    let (mut piece, mut from) = (0..0, 0);
    for part in glob.split(SPECIAL) {
        if part.len() > piece.len() && glob.as_bytes().get(from + part.len()) != Some(&b']') {
            piece = from..from + part.len();
        }
        from += part.len() + 1;
    }
    piece
}

impl Pattern {
    /// The patterns that one line of the file stands for.
    pub(in crate::policy) fn read(text: &str) -> Vec<Pattern> {
        let (base, rest) = match text.as_bytes().first() {
            Some(b'~') => (Base::Home, &text[1..]),
            Some(b'@') => (Base::Own, &text[1..]),
            _ => (Base::Root, text),
        };
        let (globs, deep) = match (rest.strip_prefix("**/"), rest.strip_suffix("/**")) {
            (Some(anywhere), _) => match anywhere.strip_suffix("/**") {
                Some(folder) => (vec![format!("*/{folder}"), format!("*/{folder}/*")], true),
                None => (vec![format!("*/{anywhere}")], true),
            },
            (None, Some(folder)) => (vec![folder.to_owned(), format!("{folder}/*")], true),
            (None, None) => (vec![rest.to_owned()], false),
        };
        let pattern = |glob: String| {
            let prefix = glob.find(SPECIAL).unwrap_or(glob.len());
            let suffix = glob.len() - glob.rfind(SPECIAL).map_or(0, |at| at + 1);
            Pattern { base, prefix, suffix, piece: piece_of(&glob), glob, deep }
        };
        globs.into_iter().map(pattern).collect()
    }

    /// What stands before it.
    pub fn base<'a>(&self, home: &'a str, own: &'a str) -> &'a str {
        match self.base {
            Base::Root => "",
            Base::Home => home,
            Base::Own => own,
        }
    }

    /// What a path that it covers begins with, after the base.
    pub fn start(&self) -> &str {
        &self.glob[..self.prefix]
    }

    /// What a path that it covers holds; may be empty.
    pub fn piece(&self) -> &str {
        &self.glob[self.piece.clone()]
    }

    /// Whether it matches an absolute path. `home` and `own` are the folders that `~` and `@` stand for.
    pub fn covers(&self, path: &str, home: &str, own: &str) -> bool {
        let glob = self.glob.as_bytes();
        // One byte tells most apart; comparing more is a call.
        if self.suffix > 0 && path.as_bytes().last() != glob.last() {
            return false;
        }
        let own = if self.base == Base::Own { home_of(path, own) } else { own };
        let base = self.base(home, own);
        let at = |i: usize| path.as_bytes().get(base.len() + i);
        if self.prefix > 0 && (at(0) != glob.first() || at(self.prefix - 1) != glob.get(self.prefix - 1)) {
            return false;
        }
        let Some(rest) = path.strip_prefix(base) else { return false };
        rest.as_bytes().starts_with(&glob[..self.prefix])
            && rest.as_bytes().ends_with(&glob[glob.len() - self.suffix..])
            && rest.contains(self.piece())
            && (self.deep || self.glob.matches('/').count() == rest.matches('/').count())
            && glob::matches(&self.glob, rest)
    }
}

/// Numbers of patterns by a piece of each.
#[derive(Debug, Default)]
struct Index {
    search: Option<AhoCorasick>,
    /// For each piece those that have it.
    numbers: Vec<Vec<usize>>,
    /// Those with a piece that nearly every text has.
    always: Vec<usize>,
}

impl Index {
    fn of<'a>(pieces: impl Iterator<Item = &'a str>) -> Result<Self, String> {
        let mut index = Self::default();
        let mut known: Vec<&str> = Vec::new();
        for (number, piece) in pieces.enumerate() {
            if piece.len() < 2 {
                index.always.push(number);
            } else if let Some(at) = known.iter().position(|other| *other == piece) {
                index.numbers[at].push(number);
            } else {
                known.push(piece);
                index.numbers.push(vec![number]);
            }
        }
        index.search = Some(AhoCorasick::new(known).map_err(|error| format!("assets/policy: {error}"))?);
        Ok(index)
    }

    /// The numbers of all patterns that may match, some more than once.
    fn candidates<'a>(&'a self, text: &'a str) -> impl Iterator<Item = usize> + 'a {
        let hits = self.search.iter().flat_map(move |search| search.find_overlapping_iter(text));
        let by_piece = hits.flat_map(|hit| self.numbers[hit.pattern().as_usize()].iter());
        self.always.iter().chain(by_piece).copied()
    }
}

/// The patterns of a class of paths.
#[derive(Debug, Default)]
pub(in crate::policy) struct ClassPatterns {
    pub paths: Vec<Pattern>,
    pub except: Vec<Pattern>,
}

/// The patterns of all classes, in their order.
#[derive(Debug, Default)]
pub(in crate::policy) struct Classes {
    pub each: Vec<ClassPatterns>,
    index: Index,
    /// By number: the class, and the place among its paths.
    places: Vec<(usize, usize)>,
}

impl Classes {
    /// `spelled`: how the patterns are read, as they stand or in small letters.
    pub(super) fn of(classes: &[PathClass], spelled: fn(&str) -> String) -> Result<Self, String> {
        let read =
            |all: &[String]| -> Vec<Pattern> { all.iter().flat_map(|text| Pattern::read(&spelled(text))).collect() };
        let each: Vec<ClassPatterns> = classes
            .iter()
            .map(|class| ClassPatterns { paths: read(&class.paths), except: read(&class.except) })
            .collect();
        let paths = each.iter().flat_map(|class| &class.paths);
        let index = Index::of(paths.map(Pattern::piece))?;
        let places = each.iter().enumerate().flat_map(|(at, class)| (0..class.paths.len()).map(move |i| (at, i)));
        Ok(Self { index, places: places.collect(), each })
    }

    /// The first class that has an absolute path.
    pub fn first(&self, path: &str, home: &str, own: &str) -> Option<usize> {
        let mut first: Option<usize> = None;
        for number in self.index.candidates(path) {
            let (at, pattern) = self.places[number];
            let class = &self.each[at];
            if first.is_none_or(|first| at < first)
                && class.paths[pattern].covers(path, home, own)
                && !class.except.iter().any(|pattern| pattern.covers(path, home, own))
            {
                first = Some(at);
            }
        }
        first
    }
}

/// Patterns of names, the one that counts before the others first.
#[derive(Debug, Default)]
pub(super) struct Names {
    globs: Vec<String>,
    index: Index,
}

impl Names {
    pub fn of(globs: Vec<String>) -> Result<Self, String> {
        let index = Index::of(globs.iter().map(|glob| &glob[piece_of(glob)]))?;
        Ok(Self { globs, index })
    }

    /// The first pattern that matches a name.
    pub fn first(&self, name: &str) -> Option<&str> {
        let mut first: Option<usize> = None;
        for number in self.index.candidates(name) {
            if first.is_none_or(|first| number < first) && glob::matches(&self.globs[number], name) {
                first = Some(number);
            }
        }
        first.map(|number| self.globs[number].as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::table::table;

    /// What comparing with every pattern gives.
    fn slowly(classes: &Classes, path: &str, home: &str, own: &str) -> Option<usize> {
        let covered = |all: &[Pattern]| all.iter().any(|pattern| pattern.covers(path, home, own));
        classes.each.iter().position(|class| covered(&class.paths) && !covered(&class.except))
    }

    #[test]
    fn the_home_of_a_profile_is_guarded_like_the_root() {
        let table = table().unwrap();
        let (home, own) = ("/home/alice", "/home/alice/.hermes");
        let class = |path: &str| table.patterns.first(path, home, own);
        for rest in [
            "config.yaml",
            ".env",
            "auth.json",
            "mcp-tokens/x.json",
            "state.db-wal",
            "history/aa",
            "skills/a/SKILL.md",
            "skills/.hub/x",
            "cache/spill/x",
            "plugins/x/run",
            "memories/MEMORY.md",
        ] {
            let (root, profile) = (class(&format!("{own}/{rest}")), class(&format!("{own}/profiles/work/{rest}")));
            assert_eq!(root, profile, "{rest}");
            // A folder of the same name further in is no home.
            let inner = class(&format!("{own}/profiles/work/plugins/p/profiles/x/{rest}"));
            assert_eq!(inner, class(&format!("{own}/plugins/p/profiles/x/{rest}")), "{rest}");
        }
        for (path, wanted) in [
            ("/h/profiles/work/x", "/h/profiles/work"),
            ("/h/profiles/work", "/h"),
            ("/h/profiles//x", "/h"),
            ("/h/profiles-x/work/x", "/h"),
            ("/other/profiles/work/x", "/h"),
        ] {
            assert_eq!(home_of(path, "/h"), wanted, "{path}");
        }
    }

    #[test]
    fn the_index_leaves_no_pattern_out() {
        let table = table().unwrap();
        let (home, own) = ("/home/alice", "/home/alice/.hermes");
        let mut paths = vec![String::new(), "/".into(), home.into(), own.into()];
        // Every pattern with something in the place of what is special in it, below each base.
        for class in &table.patterns.each {
            for pattern in class.paths.iter().chain(&class.except) {
                for fill in ["", "x", "a/b", "1"] {
                    let text = pattern.glob.replace("[a-z]", "a").replace("[0-9]", "1").replace(['*', '?'], fill);
                    paths.extend(["", home, own, "/srv/a"].map(|base| format!("{base}{text}")));
                }
            }
        }
        assert!(paths.len() > 1000);
        let mut found = 0;
        for path in &paths {
            let want = slowly(&table.patterns, path, home, own);
            found += usize::from(want.is_some());
            assert_eq!(table.patterns.first(path, home, own), want, "{path}");
            let small = path.to_lowercase();
            assert_eq!(table.folded.first(&small, home, own), slowly(&table.folded, &small, home, own), "{small}");
        }
        assert!(found > 500, "{found}");
    }

    #[test]
    fn the_first_of_several_names_counts() {
        let names = Names::of(["*_PATH", "A*", "[XY]*", "*"].map(str::to_owned).to_vec()).unwrap();
        for (name, want) in [("A_PATH", "*_PATH"), ("AB", "A*"), ("X", "[XY]*"), ("b", "*"), ("", "*")] {
            assert_eq!(names.first(name), Some(want), "{name}");
        }
        assert_eq!(Names::of(vec!["A*".into()]).unwrap().first("b"), None);
    }
}
