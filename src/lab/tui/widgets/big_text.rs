//! Figures eight lines high, for the last row of a lecture hall.

use font8x8::UnicodeFonts;
use ratatui::text::Line;

/// How much of the screen a pixel of a glyph takes; a glyph has eight by eight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pixel {
    /// Two side by side in a cell.
    Half,
    /// Whole cells.
    Cells { columns: usize, rows: usize },
}

impl Pixel {
    /// The largest size at which `letters` letters fit, no taller than usual letters are. Half blocks are not ASCII.
    pub fn largest(letters: usize, columns: usize, rows: usize, ascii: bool) -> Pixel {
        let wide = columns / (8 * letters.max(1));
        let tall = (rows / 8).min(wide);
        match (tall, ascii) {
            (0, false) => Pixel::Half,
            _ => Pixel::Cells { columns: wide.clamp(1, 2 * tall.max(1)), rows: tall.max(1) },
        }
    }

    pub fn rows(self) -> usize {
        if let Pixel::Cells { rows, .. } = self { rows } else { 1 }
    }
}

/// The text in eight lines or a multiple of that; a letter that the font lacks is left blank.
pub fn big_lines(text: &str, pixel: Pixel) -> Vec<Line<'static>> {
    let glyphs: Vec<[u8; 8]> = text.chars().map(|letter| font8x8::BASIC_FONTS.get(letter).unwrap_or_default()).collect();
    let row = |row: usize| Line::raw(glyphs.iter().map(|glyph| cells(glyph[row], pixel)).collect::<String>());
    (0..8).flat_map(|at| vec![row(at); pixel.rows()]).collect()
}

/// One row of a glyph, whose lowest bit is its leftmost pixel.
fn cells(pixels: u8, pixel: Pixel) -> String {
    match pixel {
        Pixel::Half => (0..8).step_by(2).map(|column| [' ', '▌', '▐', '█'][usize::from(pixels >> column & 3)]).collect(),
        Pixel::Cells { columns, .. } => {
            (0..8).map(|column| if pixels >> column & 1 == 1 { "█" } else { " " }.repeat(columns)).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: Pixel = Pixel::Cells { columns: 1, rows: 1 };

    fn drawn(text: &str, pixel: Pixel) -> Vec<String> {
        big_lines(text, pixel).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_figure_stands_upright_and_half_as_wide_it_is_the_same() {
        let seven = ["██████  ", "██  ██  ", "    ██  ", "   ██   ", "  ██    ", "  ██    ", "  ██    ", "        "];
        assert_eq!(drawn("7", WHOLE), seven);
        let half = ["███ ", "█ █ ", "  █ ", " ▐▌ ", " █  ", " █  ", " █  ", "    "];
        assert_eq!(drawn("7", Pixel::Half), half);
    }

    #[test]
    fn a_large_screen_has_large_figures() {
        let twice = drawn("7", Pixel::Cells { columns: 3, rows: 2 });
        assert_eq!((twice.len(), twice[0].as_str(), &twice[0]), (16, format!("{}      ", "█".repeat(18)).as_str(), &twice[1]));
        assert_eq!(Pixel::largest(5, 78, 8, false), WHOLE);
        assert_eq!(Pixel::largest(5, 198, 40, false), Pixel::Cells { columns: 4, rows: 4 });
        assert_eq!(Pixel::largest(5, 30, 8, false), Pixel::Half);
        assert_eq!(Pixel::largest(5, 30, 8, true), WHOLE);
    }

    #[test]
    fn an_unknown_letter_keeps_its_place() {
        assert!(drawn("字x", Pixel::Half).iter().all(|line| line.chars().count() == 8 && line.starts_with("    ")));
    }
}
