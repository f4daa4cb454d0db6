//! Downloads and uploads: which files they write and read.

use super::decode::Stream;
use super::invoke::Known;
use super::resolve::Field;
use super::walk::Walker;
use crate::policy::table::Role;
use std::rc::Rc;

impl Walker<'_> {
    /// Downloads and uploads.
    pub(super) fn fetch(&mut self, known: &Known<'_>, input: Option<Stream>) -> Stream {
        let stream = Stream { remote: true, ..Stream::unknown(known.span()) };
        for flag in &known.args.flags {
            let Some((text, at)) = &flag.value else { continue };
            let file = match flag.name.as_str() {
                "-d" | "--data" | "--data-binary" | "--data-urlencode" | "--json" => text.strip_prefix('@'),
                "-F" | "--form" => text
                    .split_once("=@")
                    .or_else(|| text.split_once("=<"))
                    .map(|(_, file)| file.split(';').next().unwrap_or(file)),
                _ => None,
            };
            if let Some(file) = file {
                let path = match file.strip_prefix("~/") {
                    Some(rest) => format!("{}/{rest}", self.home),
                    None => file.to_owned(),
                };
                self.touch(Role::Read, &Field::known(path, known.argv[*at].span.clone()));
            }
        }
        let _ = input;
        let url_file = |url: &Field| {
            url.text
                .split(['?', '#'])
                .next()
                .and_then(|u| u.rsplit('/').next())
                .filter(|n| !n.is_empty())
                .map(str::to_owned)
        };
        let mut files: Vec<String> = Vec::new();
        let wget = known.name != "curl" && known.name != "xh" && !known.name.starts_with("http");
        let named =
            if wget { known.value(&["-O", "--output-document", "-o"]) } else { known.value(&["-o", "--output"]) };
        match named {
            Some(file) if file.text == "-" => {}
            Some(file) => files.push(file.text),
            None if wget && matches!(known.name.as_str(), "wget" | "aria2c" | "axel")
                || known.has(&["-O", "--remote-name", "-J"]) =>
            {
                files.extend(known.operands().filter_map(url_file));
            }
            None => {}
        }
        let folder = known.value(&["-P", "--directory-prefix", "--output-dir", "--dir"]);
        for file in files {
            let file = match &folder {
                Some(folder) if !file.starts_with('/') => format!("{}/{file}", folder.text),
                _ => file,
            };
            for path in self.absolute(&file) {
                Rc::make_mut(&mut self.state.files).insert(path, stream.clone());
            }
        }
        stream
    }
}
