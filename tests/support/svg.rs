//! A picture of a terminal as SVG, from the cells that it shows.

use std::fmt::Write as _;

use super::markup;

/// Of one cell, in pixels.
const CELL: (usize, usize) = (9, 19);
const BACK: &str = "#16181d";
const FRONT: &str = "#d7dae0";

/// The terminal's cells, and a caption below them: runs of one look are one piece of text, stretched to its columns whatever the font.
pub fn svg(screen: &vt100::Screen, caption: Option<&str>) -> String {
    let (rows, columns) = screen.size();
    let lines = usize::from(rows) + caption.map_or(0, |_| 1);
    let (width, height) = (usize::from(columns) * CELL.0, lines * CELL.1);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"DejaVu Sans Mono, Menlo, \
         Consolas, monospace\" font-size=\"15\" xml:space=\"preserve\">\n<rect width=\"{width}\" height=\"{height}\" \
         fill=\"{BACK}\"/>\n"
    );
    for row in 0..rows {
        let mut column = 0;
        while column < columns {
            let look = Look::of(screen, row, column);
            let (start, mut text) = (column, String::new());
            while column < columns && Look::of(screen, row, column) == look {
                let cell = screen.cell(row, column).unwrap();
                text.push_str(if cell.has_contents() { cell.contents() } else { " " });
                column += if cell.is_wide() { 2 } else { 1 };
            }
            look.write(&mut svg, (usize::from(start), usize::from(row)), usize::from(column - start), &text);
        }
    }
    if let Some(caption) = caption {
        let look = Look { front: "#8b909c".into(), back: BACK.into(), bold: false, underline: false };
        look.write(&mut svg, (0, usize::from(rows)), usize::from(columns), caption);
    }
    svg + "</svg>\n"
}

#[derive(PartialEq)]
struct Look {
    front: String,
    back: String,
    bold: bool,
    underline: bool,
}

impl Look {
    fn of(screen: &vt100::Screen, row: u16, column: u16) -> Look {
        let cell = screen.cell(row, column).unwrap();
        let mut front = colour(cell.fgcolor(), FRONT);
        let mut back = colour(cell.bgcolor(), BACK);
        if cell.inverse() {
            std::mem::swap(&mut front, &mut back);
        }
        if cell.dim() {
            front = "#8b909c".into();
        }
        Look { front, back, bold: cell.bold(), underline: cell.underline() }
    }

    /// Few fonts of fixed width have these signs, so their dots are drawn.
    fn dots(&self, svg: &mut String, (x, y): (usize, usize), c: char) {
        // Bits 0 to 5 go down the left and then the right column, 6 and 7 are the lowest row.
        const PLACES: [(usize, usize); 8] = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3)];
        for (bit, (column, row)) in PLACES.into_iter().enumerate() {
            if (c as u32 - 0x2800) >> bit & 1 == 1 {
                let (x, y) = (x + 2 + column * 4, y + 3 + row * 4);
                let _ = writeln!(svg, "<circle cx=\"{x}\" cy=\"{y}\" r=\"1.4\" fill=\"{}\"/>", self.front);
            }
        }
    }

    fn write(&self, svg: &mut String, (column, row): (usize, usize), columns: usize, text: &str) {
        let (x, y, width) = (column * CELL.0, row * CELL.1, columns * CELL.0);
        if self.back != BACK {
            let _ = writeln!(svg, "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{}\" fill=\"{}\"/>", CELL.1, self.back);
        }
        if text.trim().is_empty() {
            return;
        }
        for (at, c) in text.chars().enumerate().filter(|(_, c)| is_braille(*c)) {
            self.dots(svg, (x + at * CELL.0, y), c);
        }
        let text: String = text.chars().map(|c| if is_braille(c) { ' ' } else { c }).collect();
        let (before, text) = (text.chars().take_while(|c| *c == ' ').count(), text.trim());
        if text.is_empty() {
            return;
        }
        let (x, width) = (x + before * CELL.0, text.chars().count() * CELL.0);
        let text = markup::xml(text);
        let bold = if self.bold { " font-weight=\"bold\"" } else { "" };
        let line = if self.underline { " text-decoration=\"underline\"" } else { "" };
        let _ = writeln!(
            svg,
            "<text x=\"{x}\" y=\"{}\" textLength=\"{width}\" lengthAdjust=\"spacingAndGlyphs\" fill=\"{}\"{bold}{line}>{text}</text>",
            y + 15,
            self.front
        );
    }
}

fn is_braille(c: char) -> bool {
    ('\u{2800}'..='\u{28ff}').contains(&c)
}

/// As most terminals draw the 256 colours.
fn colour(colour: vt100::Color, default: &str) -> String {
    const SYSTEM: [&str; 16] = [
        "#000000", "#cd3131", "#0dbc79", "#e5e510", "#2472c8", "#bc3fbc", "#11a8cd", "#e5e5e5", "#666666", "#f14c4c", "#23d18b",
        "#f5f543", "#3b8eea", "#d670d6", "#29b8db", "#ffffff",
    ];
    match colour {
        vt100::Color::Default => default.into(),
        vt100::Color::Rgb(red, green, blue) => format!("#{red:02x}{green:02x}{blue:02x}"),
        vt100::Color::Idx(index @ 0..=15) => SYSTEM[usize::from(index)].into(),
        vt100::Color::Idx(index @ 16..=231) => {
            let part = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
            let index = index - 16;
            format!("#{:02x}{:02x}{:02x}", part(index / 36), part(index / 6 % 6), part(index % 6))
        }
        vt100::Color::Idx(index) => {
            let grey = 8 + 10 * (index - 232);
            format!("#{grey:02x}{grey:02x}{grey:02x}")
        }
    }
}
