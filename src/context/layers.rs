//! The layers of a request: what each may take, and what gives way when all together take too much. A layer that is cut
//! says so, and where the rest is.

use crate::config::ContextConfig;
use crate::protocol::{ContextLayer, Layer};
use crate::text::tokens;

/// Percent of the window, least and most tokens of a layer, when the configuration does not say.
type Share = (u64, u64, u64);

const IDENTITY: Share = (3, 2_000, 20_000);
const PROJECT: Share = (6, 5_000, 125_000);
const SKILLS: Share = (3, 2_500, 16_000);
const PROFILE: Share = (1, 1_000, 8_000);
const LEARNINGS: Share = (1, 1_000, 8_000);
const MEMORY: Share = (2, 1_500, 12_000);
const RUNTIME: Share = (1, 600, 4_000);
/// Percent of the window that the layers of the prompt may take together, and never less than these tokens.
const TOTAL: (u64, u64) = (25, 1_500);
/// A layer with less room than this is left out but for the word about it.
const LEAST: u64 = 40;

/// What gives way first when the prompt is too large.
const GIVES_WAY: &[Layer] = &[Layer::Memory, Layer::Learnings, Layer::Profile, Layer::Skills, Layer::Project];

/// What the layers of a request may take, in tokens.
#[derive(Clone, Debug, Default)]
pub struct Budget {
    config: ContextConfig,
    window: Option<u64>,
}

impl Budget {
    /// For a model with this window, when it is known.
    pub fn of(config: &ContextConfig, window: Option<u64>) -> Self {
        Self { config: config.clone(), window }
    }

    /// The maximum of a layer; `None`: it has none of its own (tools), or it is compacted instead (the session).
    pub fn most(&self, layer: Layer) -> Option<u64> {
        let (configured, share) = match layer {
            Layer::Identity => (self.config.identity_tokens, IDENTITY),
            Layer::Project => (self.config.project_tokens, PROJECT),
            Layer::Skills => (self.config.skills_tokens, SKILLS),
            Layer::Profile => (self.config.profile_tokens, PROFILE),
            Layer::Learnings => (self.config.learnings_tokens, LEARNINGS),
            Layer::Memory => (self.config.memory_tokens, MEMORY),
            Layer::Runtime => (self.config.runtime_tokens, RUNTIME),
            Layer::Tools | Layer::Session => return None,
        };
        let (percent, least, most) = share;
        Some(configured.unwrap_or_else(|| (self.window.unwrap_or(0) / 100 * percent).clamp(least, most)))
    }

    /// What the layers of the prompt may take together; `None`: no one knows how large the window is.
    pub fn total(&self) -> Option<u64> {
        let by_window = || self.window.map(|window| (window / 100 * TOTAL.0).max(TOTAL.1));
        self.config.total_tokens.or_else(by_window)
    }
}

/// What goes into a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    pub layer: Layer,
    /// `AGENTS.md`, `skills`.
    pub what: String,
    pub text: String,
    /// Where all of it is, when it is cut: `/p/AGENTS.md`.
    pub rest: String,
}

/// A prompt, and what it is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assembled {
    pub text: String,
    /// In the order of priority; those with nothing in them are left out.
    pub layers: Vec<ContextLayer>,
}

/// Puts the pieces together, each layer within its maximum and all within the total. They stand in the order that they come
/// in; one with nothing in it leaves no trace.
pub fn fit(pieces: Vec<Piece>, budget: &Budget) -> Assembled {
    let pieces: Vec<Piece> = pieces.into_iter().filter(|piece| !piece.text.trim().is_empty()).collect();
    let whole =
        |layer: Layer| pieces.iter().filter(|piece| piece.layer == layer).map(|piece| size(&piece.text)).sum::<u64>();
    let mut room: Vec<(Layer, u64)> = Layer::OF_PROMPT
        .iter()
        .map(|layer| {
            // Whoever writes the identity has cut what may be cut of it.
            let most = budget.most(*layer).filter(|_| *layer != Layer::Identity).unwrap_or(u64::MAX);
            (*layer, most.min(whole(*layer)))
        })
        .collect();
    let sum: u64 = room.iter().map(|(_, tokens)| *tokens).sum();
    let mut over = budget.total().map_or(0, |total| sum.saturating_sub(total));
    for layer in GIVES_WAY {
        if let Some((_, tokens)) = room.iter_mut().find(|(known, _)| known == layer) {
            let gives = over.min(*tokens);
            (*tokens, over) = (*tokens - gives, over - gives);
        }
    }
    let mut texts: Vec<String> = vec![String::new(); pieces.len()];
    let mut layers = Vec::new();
    for (layer, tokens) in room {
        let mut left = tokens;
        let mut taken = 0;
        for (piece, text) in pieces.iter().zip(&mut texts).filter(|(piece, _)| piece.layer == layer) {
            *text = cut(&piece.text, left, &piece.what, &piece.rest);
            left = left.saturating_sub(size(text));
            taken += size(text);
        }
        let whole = whole(layer);
        if whole > 0 {
            layers.push(ContextLayer { layer, tokens: taken, most: budget.most(layer), whole });
        }
    }
    Assembled { text: texts.join("\n\n"), layers }
}

fn size(text: &str) -> u64 {
    tokens::of(text.len())
}

/// The beginning of a text, to the end of a paragraph, else of a line, with a word about the rest; all of it when it fits.
pub fn cut(text: &str, most: u64, what: &str, rest: &str) -> String {
    let whole = size(text);
    if whole <= most {
        return text.to_owned();
    }
    let word = |left: u64| {
        let rest = if rest.is_empty() { String::new() } else { format!("; the rest is in {rest}: read it there") };
        format!("[{what}: {left} of {whole} tokens left out, they do not fit here{rest}]")
    };
    let room = most.saturating_sub(size(&word(whole)) + 1);
    if room < LEAST {
        return word(whole);
    }
    let end = text.floor_char_boundary(usize::try_from(room).unwrap_or(usize::MAX).saturating_mul(tokens::BYTES));
    let head = &text[..end];
    // A paragraph that would cost half of the room is cut at a line.
    let far = |at: &usize| *at >= end / 2;
    let at = head.rfind("\n\n").filter(far).or_else(|| head.rfind('\n').filter(far)).unwrap_or(end);
    let head = head[..at].trim_end();
    format!("{head}\n\n{}", word(whole.saturating_sub(size(head))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(layer: Layer, tokens: usize) -> Piece {
        let text = format!("{}\n\n", "word ".repeat(7).trim_end()).repeat(tokens / 9);
        Piece { layer, what: layer.word().into(), text, rest: format!("/{}", layer.word()) }
    }

    fn taken(assembled: &Assembled, layer: Layer) -> (u64, bool) {
        let found = assembled.layers.iter().find(|known| known.layer == layer).unwrap();
        (found.tokens, found.is_cut())
    }

    #[test]
    fn maxima_go_with_the_window_and_the_configuration_wins() {
        let most = |window, layer| Budget::of(&ContextConfig::default(), window).most(layer);
        for (window, layer, tokens) in [
            (None, Layer::Project, Some(5_000)),
            (Some(8_192), Layer::Project, Some(5_000)),
            (Some(200_000), Layer::Project, Some(12_000)),
            (Some(10_000_000), Layer::Project, Some(125_000)),
            (Some(200_000), Layer::Memory, Some(4_000)),
            (Some(200_000), Layer::Session, None),
        ] {
            assert_eq!(most(window, layer), tokens, "{window:?} {layer:?}");
        }
        let config = ContextConfig { memory_tokens: Some(70), total_tokens: Some(99), ..ContextConfig::default() };
        let budget = Budget::of(&config, Some(200_000));
        assert_eq!((budget.most(Layer::Memory), budget.total()), (Some(70), Some(99)));
        assert_eq!(Budget::of(&ContextConfig::default(), None).total(), None);
        assert_eq!(Budget::of(&ContextConfig::default(), Some(32_768)).total(), Some(8_175));
    }

    #[test]
    fn what_fits_is_left_alone_and_a_layer_over_its_maximum_says_where_the_rest_is() {
        let config = ContextConfig { project_tokens: Some(200), ..ContextConfig::default() };
        let budget = Budget::of(&config, Some(200_000));
        let all =
            fit(vec![piece(Layer::Identity, 100), piece(Layer::Project, 1_000), piece(Layer::Memory, 100)], &budget);
        assert!(!taken(&all, Layer::Identity).1 && !taken(&all, Layer::Memory).1);
        let (tokens, is_cut) = taken(&all, Layer::Project);
        assert!(is_cut && tokens <= 200 && tokens > 120, "{tokens}");
        assert!(
            all.text.contains("tokens left out, they do not fit here; the rest is in /project files: read it there]")
        );
        // Whole paragraphs.
        let project = all.text.split("[project files").next().unwrap().trim_end();
        assert!(project.ends_with("word word word word word word word"), "{project}");
    }

    #[test]
    fn over_the_total_the_lower_layers_give_way_first() {
        let all = || {
            [Layer::Identity, Layer::Project, Layer::Skills, Layer::Profile, Layer::Memory]
                .map(|l| piece(l, 900))
                .to_vec()
        };
        let fitted = |total| {
            let config = ContextConfig { total_tokens: Some(total), ..ContextConfig::default() };
            let fitted = fit(all(), &Budget::of(&config, Some(1_000_000)));
            Layer::OF_PROMPT
                .iter()
                .filter(|layer| fitted.layers.iter().any(|l| l.layer == **layer && l.is_cut()))
                .copied()
                .collect::<Vec<_>>()
        };
        assert_eq!(fitted(10_000), []);
        assert_eq!(fitted(4_000), [Layer::Memory]);
        assert_eq!(fitted(3_000), [Layer::Profile, Layer::Memory]);
        assert_eq!(fitted(1_000), [Layer::Project, Layer::Skills, Layer::Profile, Layer::Memory]);
    }

    #[test]
    fn a_cut_keeps_characters_whole_and_less_than_a_little_is_a_word() {
        let text = "é".repeat(4_000);
        let short = cut(&text, 500, "x", "");
        assert!(short.starts_with('é') && short.contains("tokens left out") && size(&short) <= 500, "{short}");
        assert!(cut(&text, 10, "x", "/x").starts_with("[x: 2000 of 2000 tokens left out"));
        assert_eq!(cut("abc", 1, "x", ""), "abc");
    }
}
