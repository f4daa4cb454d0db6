//! Files that a line makes out of what is known of their content, and what runs them later in it.

use crate::policy::files::normal;
use crate::policy::shell::programs::decode::Stream;
use crate::policy::shell::walk::Walker;
use crate::policy::shell::walk::invoke::Known;
use crate::policy::shell::walk::resolve::Field;
use crate::policy::shell::walk::streams::MAX_TEXT;
use crate::policy::table::Kind;
use std::path::Path;
use std::rc::Rc;

/// Sources of one copy, and files of one script, that are followed.
const MAX_COPIES: usize = 16;

impl Walker<'_> {
    /// Files and links that a command makes out of what is known: copies, links, what tools write that get their text.
    pub(in crate::policy::shell) fn kept(&mut self, known: &Known<'_>, input: &Option<Stream>) {
        match known.name.as_str() {
            "cp" | "gcp" | "mv" | "gmv" | "install" | "ginstall" | "ln" | "link" | "rsync" => self.copies(known),
            "mount" if known.has(&["--bind", "-B", "--rbind", "-o"]) => {
                if let (Some(from), Some(to)) = (known.operand(0), known.operand(1)) {
                    self.links_to(&to.clone(), &from.clone(), true);
                }
            }
            "dd" => {
                let value = |name: &str| {
                    let field = known.argv[1..].iter().rev().find(|f| f.text.starts_with(name))?;
                    Some(Field { text: field.text[name.len()..].to_owned(), ..field.clone() })
                };
                let source = match value("if=") {
                    Some(file) => self.copied(&file),
                    None => input.clone(),
                };
                if let (Some(stream), Some(to)) = (source, value("of=")) {
                    self.keep_at(&to, &stream);
                }
            }
            "sponge" => {
                if let (Some(stream), Some(to)) = (input.clone(), known.operand(0)) {
                    self.keep_at(&to.clone(), &stream);
                }
            }
            _ => match known.spec.kind {
                Kind::Awk | Kind::Sed => self.scripted(known, input),
                _ => {}
            },
        }
    }

    fn keep_at(&mut self, to: &Field, stream: &Stream) {
        for path in self.absolute(&to.text) {
            self.keep(path, stream.clone(), false);
        }
    }

    /// `cp`, `mv`, `install`, `ln`: what the source holds is what the target holds.
    fn copies(&mut self, known: &Known<'_>) {
        let mut fields: Vec<Field> = known.operands().cloned().collect();
        let into = known.value(&["-t", "--target-directory"]);
        let link =
            matches!(known.name.as_str(), "ln" | "cp" | "gcp") && known.has(&["-s", "--symbolic", "--symbolic-link"]);
        let to = match into {
            Some(folder) => folder,
            None if fields.len() > 1 => match fields.pop() {
                Some(last) => last,
                None => return,
            },
            // `ln -s TARGET` makes a link of that name here.
            None if link => Field::known(".", known.span()),
            None => return,
        };
        for source in fields.iter().take(MAX_COPIES) {
            let name = source.text.trim_end_matches('/').rsplit('/').next().unwrap_or("").to_owned();
            let inside = Field { text: format!("{}/{name}", to.text.trim_end_matches('/')), ..to.clone() };
            if link {
                for at in [&to, &inside] {
                    self.links_to(at, source, false);
                }
            }
            if let Some(stream) = self.copied(source) {
                self.keep_at(&to, &stream);
                self.keep_at(&inside, &stream);
            }
            // What was made executable stays so.
            let runs = self.absolute(&source.text).iter().any(|p| self.state.executable.contains(p));
            if runs {
                let paths = [self.absolute(&to.text), self.absolute(&inside.text)].concat();
                Rc::make_mut(&mut self.state.executable).extend(paths);
            }
        }
    }

    fn links_to(&mut self, at: &Field, target: &Field, mount: bool) {
        if !at.is_known() || !target.is_known() || self.state.mounts.len() > 64 {
            return;
        }
        for path in self.absolute(&at.text) {
            let folder = path.rsplit_once('/').map_or("/", |(f, _)| if f.is_empty() { "/" } else { f }).to_owned();
            let to = normal(Path::new(&folder), &target.text);
            // A folder that is there is no link afterwards.
            if path != to && path.len() > 1 && !self.state.cwds.contains(&path) {
                if mount {
                    Rc::make_mut(&mut self.state.mounts).insert(path.clone(), to.clone());
                }
                self.memo.link(path, to);
            }
        }
    }

    /// Awk and sed programs that write files: `print > "x"`, `w x`. What they write is out of what they read and say.
    fn scripted(&mut self, known: &Known<'_>, input: &Option<Stream>) {
        let Some(code) = known.value(&["-e", "--expression", "--source"]).or_else(|| known.operand(0).cloned()) else {
            return;
        };
        let mut text = input.as_ref().and_then(|s| s.text.clone()).unwrap_or_default();
        for file in known.operands().skip(1).take(4) {
            text.push_str(&self.file(file).and_then(|s| s.text).unwrap_or_default());
        }
        let mut targets: Vec<String> = Vec::new();
        if known.spec.kind == Kind::Awk {
            let strings: Vec<&str> = code.text.split('"').skip(1).step_by(2).take(32).collect();
            for string in &strings {
                text.push('\n');
                text.push_str(string);
            }
            targets.extend(
                code.text
                    .split('>')
                    .skip(1)
                    .filter_map(|t| t.trim_start_matches(['>', ' ']).strip_prefix('"')?.split('"').next())
                    .map(str::to_owned),
            );
        } else {
            for line in code.text.split(['\n', ';', '}']) {
                let line = line.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ',' | '$' | ' ' | '{'));
                if let Some(file) = line.strip_prefix(['w', 'W']).or_else(|| line.split_once("/w ").map(|(_, f)| f)) {
                    targets.push(file.trim().to_owned());
                }
            }
        }
        if text.is_empty() || text.len() > MAX_TEXT {
            return;
        }
        for target in targets.into_iter().take(MAX_COPIES) {
            let stream = Stream { partial: true, ..Stream::text(text.clone(), code.span.clone()) };
            self.keep_at(&Field::known(target, code.span.clone()), &stream);
        }
    }
}
