//! Figures eight lines high, for the last row of a lecture hall.

use font8x8::UnicodeFonts;
use ratatui::text::Line;

/// How many columns a glyph of eight pixels takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// A cell a pixel.
    Eight,
    /// Two pixels side by side in a cell.
    Four,
}

/// The text in eight lines; a letter that the font lacks is left blank.
pub fn big_lines(text: &str, width: Width) -> [Line<'static>; 8] {
    let glyphs: Vec<[u8; 8]> = text.chars().map(|letter| font8x8::BASIC_FONTS.get(letter).unwrap_or_default()).collect();
    std::array::from_fn(|row| Line::raw(glyphs.iter().flat_map(|glyph| cells(glyph[row], width)).collect::<String>()))
}

/// One row of a glyph, whose lowest bit is its leftmost pixel.
fn cells(pixels: u8, width: Width) -> impl Iterator<Item = char> {
    let (step, symbols) = match width {
        Width::Eight => (1, [' ', '█', ' ', '█']),
        Width::Four => (2, [' ', '▌', '▐', '█']),
    };
    let mask = (1 << step) - 1;
    (0..8).step_by(step).map(move |column| symbols[usize::from(pixels >> column & mask)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(text: &str, width: Width) -> Vec<String> {
        big_lines(text, width).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_figure_stands_upright_and_half_as_wide_it_is_the_same() {
        let seven = ["██████  ", "██  ██  ", "    ██  ", "   ██   ", "  ██    ", "  ██    ", "  ██    ", "        "];
        assert_eq!(drawn("7", Width::Eight), seven);
        let half = ["███ ", "█ █ ", "  █ ", " ▐▌ ", " █  ", " █  ", " █  ", "    "];
        assert_eq!(drawn("7", Width::Four), half);
    }

    #[test]
    fn an_unknown_letter_keeps_its_place() {
        assert!(drawn("字x", Width::Four).iter().all(|line| line.chars().count() == 8 && line.starts_with("    ")));
    }
}
