//! A skin file: our keys and those of Python Hermes' skins, side by side.

use super::Skin;
use crate::config::theme::Rgb;
use crate::config::{ConfigError, embedded};
use crate::yaml::{self, Node, Value};
use std::collections::BTreeMap;
use std::path::Path;

/// Colour keys of Python skins and the palette names they set; of several for one name the last that is there counts.
const COLORS: &[(&str, &str)] = &[
    ("banner_text", "text"),
    ("session_border", "dim"),
    ("banner_accent", "accent"),
    ("ui_accent", "accent"),
    ("ui_accent", "match"),
    ("banner_title", "title"),
    ("banner_border", "border-focused"),
    ("prompt", "prompt"),
    ("ui_ok", "good"),
    ("ui_warn", "careful"),
    ("ui_error", "bad"),
    ("selection_bg", "selection"),
];
/// Most cells and rows of a banner; larger ones (Python's are made for 100 columns) are left out.
const BANNER: (usize, usize) = (60, 8);

/// A skin as written.
#[derive(Clone, Debug, Default)]
pub struct SkinFile {
    pub skin: Skin,
    colors: BTreeMap<String, Rgb>,
    dark: Side,
    light: Side,
}

/// What a skin wants on one kind of ground.
#[derive(Clone, Debug, Default)]
struct Side {
    theme: String,
    palette: BTreeMap<String, Rgb>,
}

impl SkinFile {
    /// A skin by name: the person's folder first, then the embedded ones. Nothing is inherited yet.
    ///
    /// # Errors
    /// [`ConfigError::NoLook`], [`ConfigError::Syntax`] or [`ConfigError::Asset`].
    pub fn load(name: &str, user: Option<&Path>) -> Result<Self, ConfigError> {
        let (place, text) = embedded::skin(name, user)?;
        let root = yaml::parse(&text, &place)?;
        let mut file = Self::default();
        file.read(&root, &place)?;
        file.skin.name = name.to_owned();
        Ok(file)
    }

    /// What this skin leaves out comes from `below`. Colours are not inherited: a skin without any shows its theme's.
    pub fn over(mut self, below: Self) -> Self {
        let (skin, base) = (&mut self.skin, below.skin);
        for (own, spare) in [
            (&mut skin.agent_name, base.agent_name),
            (&mut skin.welcome, base.welcome),
            (&mut skin.goodbye, base.goodbye),
            (&mut skin.glyph, base.glyph),
            (&mut skin.prompt_symbol, base.prompt_symbol),
            (&mut skin.tool_prefix, base.tool_prefix),
            (&mut self.dark.theme, below.dark.theme),
            (&mut self.light.theme, below.light.theme),
        ] {
            if own.is_empty() {
                *own = spare;
            }
        }
        for (own, spare) in [
            (&mut skin.waiting_faces, base.waiting_faces),
            (&mut skin.thinking_faces, base.thinking_faces),
            (&mut skin.thinking_verbs, base.thinking_verbs),
        ] {
            if own.is_empty() {
                *own = spare;
            }
        }
        for (tool, emoji) in base.tool_emojis {
            skin.tool_emojis.entry(tool).or_insert(emoji);
        }
        self
    }

    /// The theme for a ground.
    pub fn theme(&self, light: bool) -> &str {
        if light { &self.light.theme } else { &self.dark.theme }
    }

    /// The colours for a ground: the general ones, then those of that side.
    pub fn palette(&self, dark: bool) -> BTreeMap<String, Rgb> {
        let mut palette = self.colors.clone();
        let side = if dark { &self.dark } else { &self.light };
        palette.extend(side.palette.iter().map(|(name, color)| (name.clone(), *color)));
        palette
    }

    fn read(&mut self, root: &Node, place: &str) -> Result<(), ConfigError> {
        if !matches!(root.value, Value::Map(_)) {
            return Err(ConfigError::Asset { path: place.into(), text: "expected keys of a skin".into() });
        }
        let skin = &mut self.skin;
        skin.description = text(root, "description");
        let faces = root.get("spinner");
        let words = |name: &str| faces.and_then(|node| node.get(name)).or(root.get(name)).map(list).unwrap_or_default();
        skin.waiting_faces = words("waiting_faces");
        skin.thinking_faces = words("thinking_faces");
        skin.thinking_verbs = words("thinking_verbs");
        let branding = root.get("branding").unwrap_or(root);
        skin.agent_name = text(branding, "agent_name");
        skin.welcome = text(branding, "welcome");
        skin.goodbye = text(branding, "goodbye");
        skin.prompt_symbol = text(branding, "prompt_symbol").trim().to_owned();
        skin.glyph = text(branding, "glyph");
        if skin.glyph.is_empty() {
            // ` ⚔ Ares ` starts with the skin's sign.
            let label = text(branding, "response_label");
            let first = label.split_whitespace().next().unwrap_or_default();
            if first.chars().count() <= 2 {
                skin.glyph = first.to_owned();
            }
        }
        skin.tool_prefix = text(root, "tool_prefix");
        for (tool, emoji) in root.get("tool_emojis").map_or(&[][..], Node::entries) {
            skin.tool_emojis.insert(tool.text.clone(), emoji.scalar().unwrap_or_default());
        }
        let art = ["banner", "banner_logo", "banner_hero"].iter().find_map(|key| banner(&text(root, key)));
        skin.banner = art.unwrap_or_default();
        let colors = root.get("colors").map(|node| palette(node, place)).transpose()?.unwrap_or_default();
        for (key, name) in COLORS {
            if let Some(color) = colors.get(*key) {
                self.colors.insert((*name).to_owned(), *color);
            }
        }
        if let Some(node) = root.get("palette") {
            self.colors.extend(palette(node, place)?);
        }
        for (side, key) in [(&mut self.dark, "dark"), (&mut self.light, "light")] {
            let Some(node) = root.get(key) else { continue };
            side.theme = text(node, "theme");
            side.palette = node.get("palette").map(|node| palette(node, place)).transpose()?.unwrap_or_default();
        }
        Ok(())
    }
}

fn text(node: &Node, key: &str) -> String {
    node.get(key).and_then(Node::scalar).unwrap_or_default()
}

fn list(node: &Node) -> Vec<String> {
    node.items().iter().filter_map(Node::scalar).collect()
}

/// Colours by name; Python's may be empty, or names of terminals, which say nothing here.
fn palette(node: &Node, place: &str) -> Result<BTreeMap<String, Rgb>, ConfigError> {
    let mut colors = BTreeMap::new();
    for (name, node) in node.entries() {
        match node.scalar() {
            Some(text) if text.starts_with('#') => {
                let fail = || ConfigError::Asset {
                    path: format!("{place}:{}", node.line),
                    text: format!("{} cannot be {text:?}: expected a colour like #1a2b3c", name.text),
                };
                colors.insert(name.text.clone(), Rgb::parse(&text).ok_or_else(fail)?);
            }
            _ => {}
        }
    }
    Ok(colors)
}

/// Art without Rich's `[bold #ff0000]` tags, without empty edges; `None` when it is empty or too large.
fn banner(art: &str) -> Option<Vec<String>> {
    let mut lines: Vec<String> = art.lines().map(|line| untagged(line).trim_end().to_owned()).collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    let start = lines.iter().position(|line| !line.is_empty())?;
    lines.drain(..start);
    let wide = lines.iter().any(|line| unicode_width::UnicodeWidthStr::width(line.as_str()) > BANNER.0);
    (lines.len() <= BANNER.1 && !wide).then_some(lines)
}

fn untagged(line: &str) -> String {
    let (mut out, mut rest) = (String::new(), line);
    while let Some(start) = rest.find('[') {
        let inside = rest[start + 1..].split(']').next().unwrap_or_default();
        let is_tag = rest[start..].contains(']')
            && (inside.starts_with('/')
                || inside.starts_with('#')
                || inside
                    .split(' ')
                    .all(|word| word.starts_with('#') || ["bold", "dim", "italic", "underline"].contains(&word)));
        out.push_str(&rest[..start]);
        if !is_tag {
            out.push('[');
            rest = &rest[start + 1..];
        } else {
            rest = &rest[start + inside.len() + 2..];
        }
    }
    out + rest
}
