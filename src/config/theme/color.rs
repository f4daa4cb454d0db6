//! Colours as numbers: reading, contrast (WCAG 2), mixing, and the nearest of a smaller palette.

use ratatui::style::Color;

/// Red, green, blue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rgb(pub u8, pub u8, pub u8);

impl Rgb {
    /// `#rrggbb` or `#rgb`.
    pub fn parse(text: &str) -> Option<Self> {
        let hex = text.trim().strip_prefix('#')?;
        let nibble = |index: usize| hex.get(index..=index).and_then(|digit| u8::from_str_radix(digit, 16).ok());
        let byte = |index: usize| hex.get(index..index + 2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match hex.len() {
            3 => Some(Self(nibble(0)? * 17, nibble(1)? * 17, nibble(2)? * 17)),
            6 => Some(Self(byte(0)?, byte(2)?, byte(4)?)),
            _ => None,
        }
    }

    /// WCAG relative luminance, 0 to 1.
    pub fn luminance(self) -> f64 {
        let linear = |channel: u8| {
            let value = f64::from(channel) / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(self.0) + 0.7152 * linear(self.1) + 0.0722 * linear(self.2)
    }

    /// WCAG contrast ratio, 1 to 21.
    pub fn contrast(self, other: Self) -> f64 {
        let (a, b) = (self.luminance(), other.luminance());
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    /// `share` (0 to 1) of the way to `other`.
    pub fn mix(self, other: Self, share: f64) -> Self {
        let channel = |from: u8, to: u8| (f64::from(from) + (f64::from(to) - f64::from(from)) * share).round() as u8;
        Self(channel(self.0, other.0), channel(self.1, other.1), channel(self.2, other.2))
    }

    /// The same hue, moved away from the grounds until it stands out from each of them by `ratio`; as far as it goes.
    pub fn readable_on(self, grounds: &[Self], ratio: f64) -> Self {
        let worst = |color: Self| grounds.iter().map(|ground| color.contrast(*ground)).fold(f64::MAX, f64::min);
        if worst(self) >= ratio {
            return self;
        }
        let (black, white) = (Self(0, 0, 0), Self(255, 255, 255));
        let end = if worst(white) >= worst(black) { white } else { black };
        let step = |index: u32| self.mix(end, f64::from(index) / 64.0);
        (1..=64).map(step).find(|color| worst(*color) >= ratio).unwrap_or(end)
    }

    /// The same hue, moved towards or away from the ground until it stands out from it by `ratio` and hardly more.
    pub fn fitted_to(self, ground: Self, ratio: f64) -> Self {
        let strong = self.readable_on(&[ground], ratio);
        let step = |index: u32| strong.mix(ground, f64::from(index) / 64.0);
        (0..64).map(step).take_while(|color| color.contrast(ground) >= ratio).last().unwrap_or(strong)
    }

    /// Squared distance, weighted for the eye.
    fn distance(self, other: Self) -> u32 {
        let square = |a: u8, b: u8| (i32::from(a) - i32::from(b)).pow(2) as u32;
        2 * square(self.0, other.0) + 4 * square(self.1, other.1) + 3 * square(self.2, other.2)
    }

    /// The nearest of the 240 fixed colours of a 256-colour terminal.
    pub fn indexed(self) -> u8 {
        (16..=255).min_by_key(|index| self.distance(Self::of_index(*index))).unwrap_or(16)
    }

    /// The nearest of them that is readable on all grounds.
    pub fn indexed_on(self, grounds: &[Self], ratio: f64) -> u8 {
        let readable = |index: &u8| grounds.iter().all(|ground| Self::of_index(*index).contrast(*ground) >= ratio);
        let best = (16..=255).filter(readable).min_by_key(|index| self.distance(Self::of_index(*index)));
        best.unwrap_or_else(|| self.indexed())
    }

    /// What a colour of the cube or the grey ramp (16 to 255) looks like.
    pub fn of_index(index: u8) -> Self {
        if index >= 232 {
            let grey = 8 + 10 * (index - 232);
            return Self(grey, grey, grey);
        }
        let cube = index.saturating_sub(16);
        let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
        Self(level(cube / 36), level(cube / 6 % 6), level(cube % 6))
    }

    /// The colour of a 16-colour terminal with the nearest hue; `None` for greys.
    pub fn named(self) -> Option<Color> {
        let (r, g, b) = (i32::from(self.0), i32::from(self.1), i32::from(self.2));
        let (high, low) = (r.max(g).max(b), r.min(g).min(b));
        if high - low < 40 || (high - low) * 4 < high {
            return None;
        }
        let spread = f64::from(high - low);
        let hue = if high == r {
            (f64::from(g - b) / spread).rem_euclid(6.0)
        } else if high == g {
            f64::from(b - r) / spread + 2.0
        } else {
            f64::from(r - g) / spread + 4.0
        };
        Some(match hue * 60.0 {
            hue if hue < 22.0 => Color::Red,
            hue if hue < 75.0 => Color::Yellow,
            hue if hue < 160.0 => Color::Green,
            hue if hue < 200.0 => Color::Cyan,
            hue if hue < 265.0 => Color::Blue,
            hue if hue < 335.0 => Color::Magenta,
            _ => Color::Red,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading() {
        assert_eq!(Rgb::parse("#FFBF00"), Some(Rgb(255, 191, 0)));
        assert_eq!(Rgb::parse(" #fa0 "), Some(Rgb(255, 170, 0)));
        for wrong in ["", "FFBF00", "#12345", "#gggggg", "#ééé", "red"] {
            assert_eq!(Rgb::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn contrast_as_wcag_says() {
        let (black, white) = (Rgb(0, 0, 0), Rgb(255, 255, 255));
        assert!((black.contrast(white) - 21.0).abs() < 0.01);
        assert!((Rgb(0x76, 0x76, 0x76).contrast(white) - 4.54).abs() < 0.01);
    }

    #[test]
    fn adjusting_reaches_the_ratio_and_keeps_what_is_fine() {
        let (dark, light) = (Rgb(22, 22, 27), Rgb(250, 248, 243));
        assert_eq!(Rgb(255, 191, 0).readable_on(&[dark], 4.5), Rgb(255, 191, 0));
        let gold = Rgb(255, 191, 0).readable_on(&[light], 4.5);
        assert!(gold.contrast(light) >= 4.5 && gold.0 > gold.2, "{gold:?}");
        let border = Rgb(0xcd, 0x7f, 0x32).fitted_to(dark, 3.0);
        assert!((3.0..3.3).contains(&border.contrast(dark)), "{border:?}");
    }

    #[test]
    fn smaller_palettes() {
        assert_eq!(Rgb(255, 0, 0).indexed(), 196);
        assert_eq!(Rgb(18, 18, 18).indexed(), 233);
        for index in 16..=255u8 {
            assert_eq!(Rgb::of_index(Rgb::of_index(index).indexed()), Rgb::of_index(index));
        }
        assert!(Rgb::of_index(Rgb(60, 60, 60).indexed_on(&[Rgb(0, 0, 0)], 4.5)).contrast(Rgb(0, 0, 0)) >= 4.5);
        for (color, named) in [
            (Rgb(255, 191, 0), Some(Color::Yellow)),
            (Rgb(221, 74, 58), Some(Color::Red)),
            (Rgb(93, 184, 245), Some(Color::Blue)),
            (Rgb(120, 120, 124), None),
            (Rgb(80, 200, 90), Some(Color::Green)),
        ] {
            assert_eq!(color.named(), named, "{color:?}");
        }
    }
}
