//! The themes: one table of colours by theme and background, and how the background is found out.
//!
//! Background and text keep the terminal's own colours, which its owner can read.

use ratatui::style::{Color, Modifier};
use serde::{Deserialize, Serialize};

/// What the user asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Look {
    /// For the background that the terminal reports.
    #[default]
    Auto,
    Dark,
    Light,
    HighContrast,
    ColourBlind,
    Mono,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Background {
    #[default]
    Unknown,
    Dark,
    Light,
}

/// The colours of a theme on one background.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Colours {
    /// What goes well, is on, or is chosen.
    pub accent: Color,
    /// What the user should look at.
    pub warn: Color,
    /// How what matters less is written.
    pub quiet: Modifier,
    /// How a warning is written, where colour does not tell it apart.
    pub loud: Modifier,
}

const fn pair(accent: u8, warn: u8) -> Colours {
    Colours { accent: Color::Indexed(accent), warn: Color::Indexed(warn), quiet: Modifier::DIM, loud: Modifier::empty() }
}

const fn strong(accent: u8, warn: u8) -> Colours {
    Colours { quiet: Modifier::empty(), loud: Modifier::BOLD, ..pair(accent, warn) }
}

/// How many runs the chart can tell apart by colour.
pub const RUN_COLOURS: usize = 8;

/// Magenta, olive, violet, grey, pink, deep blue, after a theme's own two. Each has a contrast of 3:1 or more on black and
/// on white, and with the middle tones any two differ by 16 or more in CIE Lab to the usual eye, without red cones and without green ones.
const RUNS: [u8; RUN_COLOURS - 2] = [126, 101, 93, 244, 169, 26];

/// Middle tones with a contrast of about 4:1 on black and on white.
const MIDDLE: Colours = pair(32, 166);
/// At least 7:1 on black, and on white.
const ON_DARK: Colours = pair(75, 215);
const ON_LIGHT: Colours = pair(25, 130);
const MONO: Colours = Colours { accent: Color::Reset, warn: Color::Reset, quiet: Modifier::DIM, loud: Modifier::UNDERLINED };
/// The terminal's own text colour has all the contrast there is, on a background that it does not tell.
const CONTRAST: Colours = Colours {
    accent: Color::Reset,
    warn: Color::Reset,
    quiet: Modifier::empty(),
    loud: Modifier::BOLD.union(Modifier::UNDERLINED),
};

/// Name and colours: on a dark background, a light one, and one that the terminal does not tell. Blue and orange differ
/// in lightness and hue for every kind of eye; the colour-blind theme takes Okabe and Ito's blue and vermilion.
static TABLE: [(Look, &str, [Colours; 3]); 6] = [
    (Look::Auto, "auto", [ON_DARK, ON_LIGHT, MIDDLE]),
    (Look::Dark, "dark", [ON_DARK; 3]),
    (Look::Light, "light", [ON_LIGHT; 3]),
    (Look::HighContrast, "high-contrast", [strong(51, 226), strong(18, 88), CONTRAST]),
    (Look::ColourBlind, "colour-blind", [pair(74, 208), pair(25, 130), pair(31, 202)]),
    (Look::Mono, "mono", [MONO; 3]),
];

impl Colours {
    /// The colour of a run in the chart; its letter tells it apart where there is none.
    pub fn run(self, slot: usize) -> Color {
        match slot % RUN_COLOURS {
            0 => self.accent,
            1 => self.warn,
            _ if self.accent == Color::Reset => Color::Reset,
            slot => Color::Indexed(RUNS[slot - 2]),
        }
    }
}

impl Look {
    pub fn name(self) -> &'static str {
        TABLE.iter().find(|(look, ..)| *look == self).map_or("auto", |(_, name, _)| name)
    }

    pub fn all() -> impl Iterator<Item = Look> {
        TABLE.iter().map(|(look, ..)| *look)
    }

    pub fn colours(self, background: Background) -> Colours {
        let column = match background {
            Background::Dark => 0,
            Background::Light => 1,
            Background::Unknown => 2,
        };
        TABLE.iter().find(|(look, ..)| *look == self).map_or(MIDDLE, |(_, _, colours)| colours[column])
    }
}

impl Background {
    /// From COLORFGBG, `text;background` in the sixteen colours of a terminal, as rxvt and Konsole set it.
    pub fn from_variable(colorfgbg: &str) -> Background {
        match colorfgbg.rsplit(';').next().and_then(|colour| colour.parse::<u8>().ok()) {
            Some(0..=6 | 8) => Background::Dark,
            Some(7 | 9..=15) => Background::Light,
            _ => Background::Unknown,
        }
    }

    /// From a terminal's reply to OSC 11: `rgb:1e1e/1e1e/1e1e`.
    pub fn from_reply(reply: &str) -> Background {
        let parts: Vec<&str> = reply.strip_prefix("rgb:").unwrap_or_default().split('/').collect();
        // One to four digits a part; the part of its greatest value counts.
        let part = |text: &str| {
            let most = 16_f64.powi(text.len() as i32) - 1.0;
            u32::from_str_radix(text, 16).ok().map(|value| f64::from(value) / most)
        };
        let [Some(red), Some(green), Some(blue)] = [0, 1, 2].map(|at| parts.get(at).copied().and_then(part)) else {
            return Background::Unknown;
        };
        if 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.5 { Background::Dark } else { Background::Light }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::actions::command::cycle;

    #[test]
    fn the_background_is_read_from_what_terminals_say() {
        let variables = [("15;0", Background::Dark), ("0;15", Background::Light), ("0;default;7", Background::Light)];
        for (variable, background) in variables.into_iter().chain([("", Background::Unknown), ("x;y", Background::Unknown)]) {
            assert_eq!(Background::from_variable(variable), background, "{variable}");
        }
        let replies = [
            ("rgb:1e1e/1e1e/1e1e", Background::Dark),
            ("rgb:ff/ff/f0", Background::Light),
            ("rgb:fdf6/f6e3/e3e3", Background::Light),
            ("rgb:0000/2b2b/3636", Background::Dark),
            ("rgb:zz/00/00", Background::Unknown),
            ("rgb:00/00", Background::Unknown),
            ("", Background::Unknown),
        ];
        for (reply, background) in replies {
            assert_eq!(Background::from_reply(reply), background, "{reply}");
        }
    }

    #[test]
    fn runs_have_colours_of_their_own_where_there_are_any() {
        for (look, ..) in TABLE {
            let colours = look.colours(Background::Dark);
            let mut seen: Vec<String> = (0..RUN_COLOURS).map(|slot| colours.run(slot).to_string()).collect();
            seen.sort();
            seen.dedup();
            assert_eq!(seen.len(), if look == Look::Mono { 1 } else { RUN_COLOURS }, "{look:?}");
        }
    }

    #[test]
    fn every_theme_comes_by_once() {
        let all: Vec<Look> = Look::all().collect();
        let mut look = Look::Auto;
        let mut names = Vec::new();
        for _ in 0..TABLE.len() {
            names.push(look.name());
            look = cycle(&all, look, 1);
        }
        assert_eq!(names, ["auto", "dark", "light", "high-contrast", "colour-blind", "mono"]);
        assert_eq!(look, Look::Auto);
    }
}
