//! The themes: one table of colours by theme and background, and how the background is found out.
//!
//! Background and text keep the terminal's own colours, which its owner can read.

use ratatui::style::{Color, Modifier};
use serde::{Deserialize, Serialize};

hvd_lab_core::named! {
    /// What the user asked for.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    Look {
        /// For the background that the terminal reports.
        #[default]
        Auto = "auto",
        Dark = "dark",
        Light = "light",
        HighContrast = "high-contrast",
        ColourBlind = "colour-blind",
        Mono = "mono",
    }
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
    runs: &'static Runs,
    /// How what matters less is written.
    pub quiet: Modifier,
    /// How a warning is written, where colour does not tell it apart.
    pub loud: Modifier,
}

const fn on(accent: u8, warn: u8, runs: &'static Runs) -> Colours {
    let (quiet, loud) = (Modifier::DIM, Modifier::empty());
    Colours { accent: Color::Indexed(accent), warn: Color::Indexed(warn), runs, quiet, loud }
}

const fn strong(accent: u8, warn: u8, runs: &'static Runs) -> Colours {
    Colours { quiet: Modifier::empty(), loud: Modifier::BOLD, ..on(accent, warn, runs) }
}

/// How many runs the chart can tell apart by colour.
pub const RUN_COLOURS: usize = 8;

/// The colours of runs B, C and so on; run A has that of what goes well. None of them is that of trouble.
type Runs = [u8; RUN_COLOURS - 1];

/// Each has a contrast of 4.5:1 or more on its background, and the first ones are far apart in lightness or hue to every kind of
/// eye: green, pink, sand, violet, light grey, rose, olive.
const RUNS_ON_DARK: Runs = [84, 205, 187, 135, 252, 174, 100];
/// Green, violet, dark grey, mauve, dark violet, deep blue, blue.
const RUNS_ON_LIGHT: Runs = [29, 129, 237, 96, 53, 19, 21];
/// No more than these have that contrast on black and on white: letters tell the last ones from the first.
const RUNS_BETWEEN: Runs = [29, 163, 98, 243, 63, 29, 163];

/// Middle tones with a contrast of 4.5:1 on black and on white.
const MIDDLE: Colours = on(63, 131, &RUNS_BETWEEN);
/// At least 7:1 on black.
const ON_DARK: Colours = on(75, 215, &RUNS_ON_DARK);
const ON_LIGHT: Colours = on(25, 130, &RUNS_ON_LIGHT);
/// The terminal's own text colour has all the contrast there is, on a background that it does not tell.
const MONO: Colours = Colours { accent: Color::Reset, warn: Color::Reset, loud: Modifier::UNDERLINED, ..MIDDLE };
const CONTRAST: Colours = Colours { quiet: Modifier::empty(), loud: Modifier::BOLD.union(Modifier::UNDERLINED), ..MONO };

/// Colours of [`Look::ALL`]: on a dark background, a light one, and one that the terminal does not tell. Blue and orange differ
/// in lightness and hue for every kind of eye; the colour-blind theme takes Okabe and Ito's blue and vermilion.
static TABLE: [[Colours; 3]; Look::ALL.len()] = [
    [ON_DARK, ON_LIGHT, MIDDLE],
    [ON_DARK; 3],
    [ON_LIGHT; 3],
    [strong(51, 226, &RUNS_ON_DARK), strong(18, 88, &RUNS_ON_LIGHT), CONTRAST],
    [on(74, 208, &RUNS_ON_DARK), ON_LIGHT, MIDDLE],
    [MONO; 3],
];

impl Colours {
    /// The colour of a run in the chart; its letter tells it apart where there is none.
    pub fn run(self, slot: usize) -> Color {
        match slot % RUN_COLOURS {
            _ if self.accent == Color::Reset => Color::Reset,
            0 => self.accent,
            slot => Color::Indexed(self.runs[slot - 1]),
        }
    }
}

impl Look {
    pub fn colours(self, background: Background) -> Colours {
        let column = match background {
            Background::Dark => 0,
            Background::Light => 1,
            Background::Unknown => 2,
        };
        TABLE[self as usize][column]
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
        for look in Look::ALL {
            for background in [Background::Dark, Background::Light] {
                let colours = look.colours(background);
                let mut seen: Vec<String> = (0..RUN_COLOURS).map(|slot| colours.run(slot).to_string()).collect();
                // Nor is any of them the colour of trouble.
                seen.push(colours.warn.to_string());
                seen.sort();
                seen.dedup();
                assert_eq!(seen.len(), if look == Look::Mono { 1 } else { RUN_COLOURS + 1 }, "{look:?}");
            }
        }
        let between = Look::Auto.colours(Background::Unknown);
        assert!((0..RUN_COLOURS).all(|slot| between.run(slot) != between.warn));
    }

    /// The colours of xterm's palette from 16 on.
    fn rgb(colour: Color) -> [f64; 3] {
        let Color::Indexed(index @ 16..) = colour else { panic!("{colour} looks different in every terminal") };
        let level = |value: u8| [0.0, 95.0, 135.0, 175.0, 215.0, 255.0][usize::from(value)];
        match index {
            232.. => [8.0 + 10.0 * f64::from(index - 232); 3],
            _ => [(index - 16) / 36, (index - 16) / 6 % 6, (index - 16) % 6].map(level),
        }
    }

    /// WCAG 2.2's contrast of two colours.
    fn contrast(one: [f64; 3], other: [f64; 3]) -> f64 {
        let linear = |part: f64| if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) };
        let lightness = |colour: [f64; 3]| {
            let [red, green, blue] = colour.map(|part| linear(part / 255.0));
            0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05
        };
        let (one, other) = (lightness(one), lightness(other));
        one.max(other) / one.min(other)
    }

    #[test]
    fn every_colour_can_be_read_on_the_background_that_it_is_for() {
        const BLACK: [f64; 3] = [0.0; 3];
        const NEARLY_BLACK: [f64; 3] = [22.0, 24.0, 29.0];
        const WHITE: [f64; 3] = [255.0; 3];
        let on = |background: usize| match background {
            0 => vec![BLACK, NEARLY_BLACK],
            1 => vec![WHITE],
            _ => vec![BLACK, WHITE],
        };
        assert!((contrast(BLACK, WHITE) - 21.0).abs() < 1e-9);
        for (look, backgrounds) in Look::ALL.into_iter().zip(TABLE) {
            for (place, colours) in backgrounds.into_iter().enumerate() {
                // Dark and light say what the background is.
                let background = on(match look {
                    Look::Dark => 0,
                    Look::Light => 1,
                    _ => place,
                });
                let all = (0..RUN_COLOURS).map(|slot| colours.run(slot)).chain([colours.accent, colours.warn]);
                for colour in all.filter(|colour| *colour != Color::Reset) {
                    for behind in &background {
                        let found = contrast(rgb(colour), *behind);
                        assert!(found >= 4.5, "{look:?}: {colour} has {found:.2} on {behind:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn every_theme_comes_by_once() {
        let all = Look::ALL;
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
