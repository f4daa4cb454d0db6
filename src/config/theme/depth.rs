//! What the terminal can show: how many colours, and on which ground.

/// How many colours there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ColorDepth {
    #[default]
    True,
    Ansi256,
    Ansi16,
    /// None were asked for (`NO_COLOR`) or there are none: bold, underline and reverse do the work.
    NoColor,
}

/// Terminals that show true colour though `COLORTERM` may not say so.
const TRUE_COLOR_TERMS: &[&str] =
    &["kitty", "alacritty", "ghostty", "wezterm", "foot", "contour", "direct", "iterm", "rio"];

/// What a look is made for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Canvas {
    pub depth: ColorDepth,
    /// The terminal's own background is light, so the light theme of a skin is taken.
    pub light: bool,
}

impl ColorDepth {
    /// From `NO_COLOR`, `COLORTERM`, `TERM` and the variables of known terminals.
    pub fn from_env(env: impl Fn(&str) -> Option<String>) -> Self {
        let get = |name: &str| env(name).filter(|value| !value.is_empty()).map(|value| value.to_lowercase());
        let term = get("TERM").unwrap_or_default();
        if get("NO_COLOR").is_some() || term == "dumb" {
            return Self::NoColor;
        }
        let declared = get("COLORTERM").is_some_and(|value| value == "truecolor" || value == "24bit");
        if declared || get("WT_SESSION").is_some() || TRUE_COLOR_TERMS.iter().any(|known| term.contains(known)) {
            return Self::True;
        }
        if term.contains("256") { Self::Ansi256 } else { Self::Ansi16 }
    }
}

impl Canvas {
    /// The depth, and the ground as far as `COLORFGBG` tells it (`15;0`: light on dark).
    pub fn from_env(env: impl Fn(&str) -> Option<String>) -> Self {
        let background =
            env("COLORFGBG").and_then(|value| value.rsplit(';').next().and_then(|last| last.parse::<u8>().ok()));
        Self { light: matches!(background, Some(7 | 15)), depth: ColorDepth::from_env(env) }
    }
}

impl From<ColorDepth> for Canvas {
    fn from(depth: ColorDepth) -> Self {
        Self { depth, light: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_and_ground_from_the_environment() {
        let canvas = |pairs: &[(&str, &str)]| {
            Canvas::from_env(|name| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).into()))
        };
        for (pairs, depth) in [
            (&[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")][..], ColorDepth::True),
            (&[("TERM", "xterm-256color")], ColorDepth::Ansi256),
            (&[("TERM", "xterm-kitty")], ColorDepth::True),
            (&[("TERM", "linux")], ColorDepth::Ansi16),
            (&[("TERM", "dumb")], ColorDepth::NoColor),
            (&[("TERM", "xterm-256color"), ("COLORTERM", "truecolor"), ("NO_COLOR", "1")], ColorDepth::NoColor),
            (&[("TERM", "xterm-256color"), ("NO_COLOR", "")], ColorDepth::Ansi256),
            (&[], ColorDepth::Ansi16),
        ] {
            assert_eq!(canvas(pairs).depth, depth, "{pairs:?}");
        }
        assert!(canvas(&[("COLORFGBG", "0;15")]).light);
        assert!(!canvas(&[("COLORFGBG", "15;0")]).light);
        assert!(!canvas(&[]).light);
    }
}
