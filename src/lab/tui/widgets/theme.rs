//! Colours and signs: blue for what goes well, orange for trouble alone, beside marks and words that say the same.
//!
//! The colours are in the table of `looks`.

use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::BorderType;

use crate::columns::wrap;
use crate::domain::run::RunState;
use crate::tui::widgets::looks::{Background, Colours, Look};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Theme {
    /// False with NO_COLOR.
    pub colour: bool,
    /// Only ASCII on the screen.
    pub ascii: bool,
    /// The theme that was chosen.
    pub look: Look,
    pub background: Background,
}

impl Theme {
    /// By the user's wish and NO_COLOR (<https://no-color.org>: set and not empty).
    pub fn new(ascii: bool, no_color: Option<&std::ffi::OsStr>) -> Theme {
        Theme { colour: no_color.is_none_or(|value| value.is_empty()), ascii, ..Theme::default() }
    }

    pub fn text(self) -> Style {
        Style::new()
    }

    pub fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub fn dim(self) -> Style {
        Style::new().add_modifier(self.colours().quiet)
    }

    /// What is going well, on, or chosen.
    pub fn accent(self) -> Style {
        self.coloured(self.colours().accent)
    }

    /// Trouble, and nothing else.
    pub fn warn(self) -> Style {
        self.coloured(self.colours().warn).add_modifier(self.colours().loud)
    }

    /// The row under the cursor: reversed where the pane has the focus, so that it shows without colour too.
    pub fn cursor(self, focused: bool) -> Style {
        if focused { self.accent().add_modifier(Modifier::REVERSED) } else { self.strong() }
    }

    /// A key in footer, help and windows.
    pub fn key(self) -> Style {
        self.accent().add_modifier(Modifier::BOLD)
    }

    /// The lines of a frame: heavy around the focus where no colour shows it.
    pub fn lines(self, focused: bool) -> BorderType {
        let is_plain = !self.colour || self.colours().accent == Color::Reset;
        if focused && is_plain { BorderType::Thick } else { BorderType::Rounded }
    }

    pub fn border(self, focused: bool) -> Style {
        if focused { self.accent() } else { self.dim() }
    }

    pub fn state(self, state: RunState) -> Style {
        match state {
            RunState::Preparing | RunState::Running | RunState::Finished => self.accent(),
            RunState::Stopping | RunState::Failed => self.warn(),
            RunState::Stopped => self.dim(),
        }
    }

    /// The colour of a run in the chart, by its slot among those shown; or of a rank, beside its number.
    pub fn run(self, slot: usize) -> Style {
        self.coloured(self.colours().run(slot))
    }

    /// A [`bar`] whose filled part has this style.
    pub fn gauge(self, part: f64, width: usize, style: Style) -> [Span<'static>; 2] {
        let (full, rest) = bar(part, width);
        [Span::styled(full, style), Span::styled(rest, self.dim())]
    }

    /// A line in which keys stand between backticks.
    pub fn keyed(self, text: &str, word: Style) -> Line<'static> {
        let pieces = text.split('`').enumerate().filter(|(_, piece)| !piece.is_empty());
        pieces.map(|(at, piece)| Span::styled(piece.to_owned(), if at % 2 == 1 { self.key() } else { word })).collect()
    }

    /// Text in lines, with the keys that stand between backticks in it.
    pub fn with_keys(self, text: &str, width: usize) -> Vec<Line<'static>> {
        let mut is_key = false;
        let spans = |line: String| {
            let parts = line.split('`').enumerate().map(|(place, part)| {
                is_key ^= place > 0;
                Span::styled(part.to_owned(), if is_key { self.key() } else { self.text() })
            });
            parts.collect::<Line>()
        };
        wrap(text, width).into_iter().map(spans).collect()
    }

    pub fn marker(self) -> Marker {
        if self.ascii { Marker::Dot } else { Marker::Braille }
    }

    fn colours(self) -> Colours {
        self.look.colours(self.background)
    }

    fn coloured(self, colour: Color) -> Style {
        if self.colour { Style::new().fg(colour) } else { Style::new() }
    }
}

/// A sign for each state, beside its name.
pub fn sign(state: RunState) -> &'static str {
    match state {
        RunState::Preparing => "…",
        RunState::Running => "▶",
        RunState::Stopping => "◼",
        RunState::Finished => "✓",
        RunState::Failed => "✗",
        RunState::Stopped => "◼",
    }
}

/// A bar of `width` cells, filled by `part` (0 to 1), in eighths of a cell.
pub fn bar(part: f64, width: usize) -> (String, String) {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let part = if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.0 };
    let eighths = (part * width as f64 * 8.0).round() as usize;
    let mut full = "█".repeat(eighths / 8);
    full.push_str(EIGHTHS[eighths % 8]);
    let rest = width.saturating_sub(eighths.div_ceil(8));
    (full, "·".repeat(rest))
}

/// Replaces every sign outside ASCII by one inside.
pub fn to_ascii(buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        if !cell.symbol().is_ascii() {
            let plain = cell.symbol().chars().next().map_or(" ", ascii_for);
            cell.set_symbol(plain);
        }
    }
}

fn ascii_for(c: char) -> &'static str {
    match c {
        '─' | '╌' | '–' | '—' | '▍' | '▎' | '▏' | '▃' | '▄' => "-",
        '━' | '▅' | '▆' | '‖' | '◼' => "=",
        '│' | '┃' | '▕' => "|",
        '╭' | '╮' | '╰' | '╯' | '┌' | '┐' | '└' | '┘' | '├' | '┤' | '┬' | '┴' | '┼' | '┏' | '┓' | '┗' | '┛' | '✓' => {
            "+"
        }
        '█' | '▉' | '▊' | '▋' | '▌' | '▇' | '■' => "#",
        '▁' | '▂' => "_",
        '·' | '░' => ".",
        '•' | '◆' => "*",
        '○' | '●' => "o",
        '…' => "~",
        '▶' | '▸' | '→' | '›' => ">",
        '←' | '‹' => "<",
        '↑' | '▲' => "^",
        '↓' => "v",
        '✗' | '×' => "x",
        '“' | '”' => "\"",
        '°' | '⠀' => " ",
        'µ' => "u",
        _ => "?",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_wide_as_asked() {
        for width in 0..30 {
            for part in [f64::NAN, -1.0, 0.0, 0.01, 0.5, 0.99, 1.0, 7.0] {
                let (full, rest) = bar(part, width);
                assert_eq!(full.chars().count() + rest.chars().count(), width, "{part} of {width}");
            }
        }
    }

    #[test]
    fn no_color_counts_only_when_set_to_something() {
        assert!(Theme::new(false, None).colour);
        assert!(Theme::new(false, Some("".as_ref())).colour);
        assert!(!Theme::new(false, Some("1".as_ref())).colour);
    }
}
