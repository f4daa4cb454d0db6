//! Word, presentations and OpenDocument: packed XML, of which the text is taken.

use super::{MAX_TEXT, MAX_UNPACKED};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use zip::ZipArchive;

type Archive = ZipArchive<BufReader<File>>;

/// What XML names mean for the text.
struct Shape {
    /// Elements whose text counts; empty: all text within a paragraph.
    text: &'static [&'static str],
    /// Elements that end a line.
    paragraph: &'static [&'static str],
    heading: &'static [&'static str],
    /// Empty elements that stand for a character.
    marks: &'static [(&'static str, &'static str)],
    cell: &'static str,
    row: &'static str,
}

const WORD: Shape = Shape {
    text: &["w:t"],
    paragraph: &["w:p"],
    heading: &[],
    marks: &[("w:tab", "\t"), ("w:br", "\n"), ("w:cr", "\n")],
    cell: "w:tc",
    row: "w:tr",
};
const SLIDE: Shape =
    Shape { text: &["a:t"], paragraph: &["a:p"], heading: &[], marks: &[("a:br", "\n")], cell: "a:tc", row: "a:tr" };
const OPEN: Shape = Shape {
    text: &[],
    paragraph: &["text:p", "text:h"],
    heading: &["text:h"],
    marks: &[("text:tab", "\t"), ("text:line-break", "\n"), ("text:s", " ")],
    cell: "table:table-cell",
    row: "table:table-row",
};

/// What stands beside the text of a Word document: how its parts are called, and what it is.
const ASIDE: [(&str, &str); 4] =
    [("header", "header"), ("footer", "footer"), ("footnotes", "footnotes"), ("endnotes", "endnotes")];

/// The paragraphs of a Word document, then its headers, footers and notes.
pub fn word(path: &Path) -> Result<String, String> {
    let mut archive = open(path)?;
    let xml = part(&mut archive, "word/document.xml")?.ok_or("is not a Word document: it has no text part")?;
    let mut text = read(&xml, &WORD)?;
    for (kind, title) in ASIDE {
        let number = |name: &str| {
            let number = name.strip_prefix("word/")?.strip_prefix(kind)?.strip_suffix(".xml")?;
            if number.is_empty() { Some(0) } else { number.parse::<u32>().ok() }
        };
        let mut names: Vec<_> =
            archive.file_names().flatten().filter_map(|name| Some((number(&name)?, name.to_string()))).collect();
        names.sort();
        let mut had: Vec<String> = Vec::new();
        for (_, name) in names {
            let Some(xml) = part(&mut archive, &name)? else { continue };
            let words = read(&xml, &WORD)?;
            // The first page and the others often say the same.
            if words.trim().is_empty() || had.contains(&words) || text.len() > MAX_TEXT {
                continue;
            }
            text.push_str(&format!("\n[{title}]\n{}", words.trim_start()));
            had.push(words);
        }
    }
    Ok(text)
}

/// The slides of a presentation in their order, with their notes.
pub fn slides(path: &Path) -> Result<String, String> {
    let mut archive = open(path)?;
    let number = |name: &str| name.strip_prefix("ppt/slides/slide")?.strip_suffix(".xml")?.parse::<u32>().ok();
    let mut numbers: Vec<u32> = archive.file_names().flatten().filter_map(|name| number(&name)).collect();
    numbers.sort_unstable();
    let mut text = String::new();
    for number in numbers {
        let Some(xml) = part(&mut archive, &format!("ppt/slides/slide{number}.xml"))? else { continue };
        text.push_str(&format!("## Slide {number}\n{}", read(&xml, &SLIDE)?));
        if let Some(notes) = part(&mut archive, &format!("ppt/notesSlides/notesSlide{number}.xml"))? {
            text.push_str(&format!("### Notes\n{}", read(&notes, &SLIDE)?));
        }
        text.push('\n');
        if text.len() > MAX_TEXT {
            break;
        }
    }
    Ok(text)
}

/// Text or slides of OpenDocument.
pub fn open_document(path: &Path) -> Result<String, String> {
    let mut archive = open(path)?;
    let xml = part(&mut archive, "content.xml")?.ok_or("is not an OpenDocument file: it has no content part")?;
    read(&xml, &OPEN)
}

fn open(path: &Path) -> Result<Archive, String> {
    let file = File::open(path).map_err(|error| format!("could not be opened: {error}"))?;
    ZipArchive::new(BufReader::new(file)).map_err(|error| format!("is not a readable document: {error}"))
}

/// One part, unpacked. `None`: there is none of that name.
fn part(archive: &mut Archive, name: &str) -> Result<Option<Vec<u8>>, String> {
    let packed = match archive.by_name(name) {
        Ok(packed) => packed,
        Err(zip::result::ZipError::FileNotFound) => return Ok(None),
        Err(error) => return Err(format!("is not a readable document: {error}")),
    };
    let mut xml = Vec::new();
    // What a packed file says of its size is not believed.
    packed.take(MAX_UNPACKED + 1).read_to_end(&mut xml).map_err(|error| format!("is damaged: {error}"))?;
    if xml.len() as u64 > MAX_UNPACKED {
        return Err(too_large());
    }
    Ok(Some(xml))
}

/// Fails when the parts of an archive unfold to more than is read of one.
pub fn check_size(path: &Path) -> Result<(), String> {
    let mut archive = open(path)?;
    let mut left = MAX_UNPACKED;
    for index in 0..archive.len() {
        let packed = archive.by_index(index).map_err(|error| format!("is damaged: {error}"))?;
        let copied = std::io::copy(&mut packed.take(left + 1), &mut std::io::sink());
        left = left.checked_sub(copied.map_err(|error| format!("is damaged: {error}"))?).ok_or_else(too_large)?;
    }
    Ok(())
}

fn too_large() -> String {
    format!("expands to more than {} MB; use a program", MAX_UNPACKED / (1024 * 1024))
}

fn read(xml: &[u8], shape: &Shape) -> Result<String, String> {
    let mut reader = Reader::from_reader(xml);
    let mut state = State { shape, out: String::new(), line: String::new(), inside: 0, cells: 0 };
    loop {
        match reader.read_event() {
            Ok(Event::Start(element)) => state.begin(&element, false),
            Ok(Event::Empty(element)) => state.begin(&element, true),
            Ok(Event::End(element)) => {
                state.end(element.name().as_ref());
            }
            Ok(Event::Text(text)) => state.text(&text.xml10_content()),
            Ok(Event::CData(text)) => state.text(&text.xml10_content()),
            Ok(Event::GeneralRef(entity)) => {
                if let Ok(Some(letter)) = entity.resolve_char_ref() {
                    state.text(letter.encode_utf8(&mut [0; 4]));
                } else if let Some(text) = quick_xml::escape::resolve_xml_entity(&entity.xml10_content()) {
                    state.text(text);
                }
            }
            Ok(Event::Eof) => break,
            Ok(_) => {}
            Err(error) => return Err(format!("is damaged at byte {}: {error}", reader.error_position())),
        }
        if state.out.len() > MAX_TEXT {
            break;
        }
    }
    state.flush();
    state.out.truncate(state.out.trim_end().len());
    if !state.out.is_empty() {
        state.out.push('\n');
    }
    Ok(state.out)
}

struct State<'a> {
    shape: &'a Shape,
    out: String,
    line: String,
    /// Depth of elements whose text counts.
    inside: u32,
    /// Depth of table cells: their paragraphs share a line.
    cells: u32,
}

impl State<'_> {
    fn counts(&self, name: &str) -> bool {
        let text = if self.shape.text.is_empty() { self.shape.paragraph } else { self.shape.text };
        text.contains(&name)
    }

    fn begin(&mut self, element: &BytesStart<'_>, empty: bool) {
        let name = element.name();
        let name = name.as_ref();
        if let Some((_, mark)) = self.shape.marks.iter().find(|(mark, _)| *mark == name) {
            self.line.push_str(mark);
        }
        if self.shape.heading.contains(&name) {
            self.line.push_str(&"#".repeat(level(element, "text:outline-level")));
            self.line.push(' ');
        }
        match name {
            "w:pStyle" => {
                let style = attribute(element, "w:val");
                if let Some(level) = style.as_deref().and_then(|style| style.strip_prefix("Heading")?.parse().ok()) {
                    self.line.push_str(&"#".repeat(usize::clamp(level, 1, 6)));
                    self.line.push(' ');
                }
            }
            "w:numPr" => self.line.push_str("- "),
            _ => {}
        }
        if !empty {
            self.inside += u32::from(self.counts(name));
            self.cells += u32::from(name == self.shape.cell);
        }
    }

    fn end(&mut self, name: &str) {
        self.inside = self.inside.saturating_sub(u32::from(self.counts(name)));
        if name == self.shape.cell {
            self.cells = self.cells.saturating_sub(1);
            self.line.truncate(self.line.trim_end().len());
            self.line.push_str(" | ");
        } else if name == self.shape.row {
            self.line.truncate(self.line.trim_end_matches([' ', '|']).len());
            self.flush();
        } else if self.shape.paragraph.contains(&name) {
            if self.cells > 0 {
                self.line.push(' ');
            } else {
                self.flush();
            }
        }
    }

    fn text(&mut self, text: &str) {
        if self.inside > 0 {
            self.line.push_str(text);
        }
    }

    fn flush(&mut self) {
        let line = std::mem::take(&mut self.line);
        let line = line.trim_end();
        // Blank paragraphs in a row say no more than one.
        if !line.is_empty() || !(self.out.is_empty() || self.out.ends_with("\n\n")) {
            self.out.push_str(line);
            self.out.push('\n');
        }
    }
}

fn attribute(element: &BytesStart<'_>, name: &str) -> Option<String> {
    let found = element.try_get_attribute(name).ok()??;
    Some(found.value.as_ref().to_owned())
}

fn level(element: &BytesStart<'_>, name: &str) -> usize {
    attribute(element, name).and_then(|level| level.parse().ok()).unwrap_or(1).clamp(1, 6)
}
