//! A theme file: a palette by name, and how roles and slots are painted with it.
//!
//! `inherits` names the theme that fills what is left out; at the end of each chain stands `hermes-dark`, which has all.

use super::color::Rgb;
use crate::config::{ConfigError, embedded};
use crate::yaml::{self, Node};
use std::collections::BTreeMap;
use std::path::Path;

/// A theme as written, inheritance filled in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThemeFile {
    pub name: String,
    pub description: String,
    pub dark: bool,
    /// Text stands out from its ground by at least this ratio; what does not is adjusted.
    pub minimum: f64,
    /// Good, careful and bad are this theme's own, whatever the skin says (colour-blind-safe themes).
    pub own_signals: bool,
    /// The skin's grounds and text voices do not count either (high-contrast themes).
    pub own_voices: bool,
    pub palette: BTreeMap<String, Rgb>,
    /// For 16 colours: a colour and modifiers by palette name.
    pub ansi: BTreeMap<String, String>,
    /// Without colours: modifiers by palette name.
    pub plain: BTreeMap<String, String>,
    /// Roles and slots in kebab-case: `FOREGROUND [on GROUND] [modifiers]`.
    pub styles: BTreeMap<String, String>,
    /// The 16 colours of terminals.
    pub terminal: Vec<Rgb>,
}

/// How deep a chain of `inherits` may be.
const DEPTH: usize = 8;

impl ThemeFile {
    /// A theme by name: the person's folder first, then the embedded ones.
    ///
    /// # Errors
    /// [`ConfigError::NoLook`] with the nearest name, [`ConfigError::Syntax`] and [`ConfigError::Asset`] for what is wrong.
    pub fn load(name: &str, user: Option<&Path>) -> Result<Self, ConfigError> {
        let mut chain = Vec::new();
        let mut next = Some(name.to_owned());
        while let Some(name) = next.take() {
            if chain.len() == DEPTH {
                return Err(ConfigError::Asset { path: name, text: "inherits from itself".into() });
            }
            // A person's theme may be called as the one it inherits from.
            let own = user.filter(|_| !chain.iter().any(|(known, ..): &(String, String, Node)| *known == name));
            let (place, text) = embedded::theme(&name, own)?;
            let root = yaml::parse(&text, &place)?;
            next = root.get("inherits").and_then(Node::scalar);
            if next.is_none() && name != embedded::BASE_THEME {
                next = Some(embedded::BASE_THEME.to_owned());
            }
            chain.push((name, place, root));
        }
        let mut theme = Self { minimum: 4.5, dark: true, ..Self::default() };
        for (_, place, root) in chain.iter().rev() {
            theme.lay(root, place)?;
        }
        theme.name = name.to_owned();
        Ok(theme)
    }

    fn lay(&mut self, root: &Node, place: &str) -> Result<(), ConfigError> {
        let fail = |node: &Node, text: String| ConfigError::Asset { path: format!("{place}:{}", node.line), text };
        self.own_signals = false;
        self.own_voices = false;
        for (key, node) in root.entries() {
            match key.text.as_str() {
                "name" | "inherits" => {}
                "description" => self.description = node.scalar().unwrap_or_default(),
                "dark" => self.dark = node.scalar().as_deref() == Some("true"),
                "own-signals" => self.own_signals = node.scalar().as_deref() == Some("true"),
                "own-voices" => self.own_voices = node.scalar().as_deref() == Some("true"),
                "minimum" => {
                    let ratio =
                        node.scalar().and_then(|text| text.parse().ok()).filter(|ratio| (1.0..=21.0).contains(ratio));
                    self.minimum = ratio.ok_or_else(|| fail(node, "minimum must be a contrast from 1 to 21".into()))?;
                }
                "palette" => {
                    for (name, node) in node.entries() {
                        let color = node.str().and_then(Rgb::parse);
                        let color =
                            color.ok_or_else(|| fail(node, format!("{} is not a colour like #1a2b3c", name.text)))?;
                        self.palette.insert(name.text.clone(), color);
                    }
                }
                "terminal" => {
                    let colors: Option<Vec<Rgb>> = node.items().iter().map(|item| Rgb::parse(item.str()?)).collect();
                    self.terminal = colors
                        .filter(|colors| colors.len() == 16)
                        .ok_or_else(|| fail(node, "terminal must be a list of 16 colours".into()))?;
                }
                "ansi" => fill(&mut self.ansi, node),
                "plain" => fill(&mut self.plain, node),
                "styles" => fill(&mut self.styles, node),
                other => {
                    let keys = ["palette", "styles", "terminal", "ansi", "plain", "minimum", "dark", "inherits"];
                    let hint = crate::config::suggest::hint(other, keys);
                    return Err(fail(node, format!("unknown theme key {other}{hint}")));
                }
            }
        }
        Ok(())
    }
}

fn fill(map: &mut BTreeMap<String, String>, node: &Node) {
    for (name, node) in node.entries() {
        map.insert(name.text.clone(), node.scalar().unwrap_or_default());
    }
}
