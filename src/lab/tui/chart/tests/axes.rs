//! The numbers at the axes of all plots, and that nothing has the colour of trouble where there is none.

use crossterm::event::KeyCode;
use ratatui::buffer::Buffer;

use super::curves::{falling, pane, pinned, running, text, with, written};
use crate::tui::chart::graph::Tab;
use crate::tui::tests::{press, type_text};

/// The rows of the numbers at each axis, from the top of the pane: one list for each plot, by where its axis stands.
fn labelled_rows(buffer: &Buffer) -> Vec<Vec<u16>> {
    let mut rows: std::collections::BTreeMap<(u16, u16), Vec<u16>> = Default::default();
    let symbol = |x: u16, y: u16| buffer[(x, y)].symbol();
    for x in 1..buffer.area.width {
        let mut plot = 0;
        for y in 0..buffer.area.height {
            let is_labelled = symbol(x - 1, y).chars().all(|c| c.is_ascii_digit() || c == '%');
            if matches!(symbol(x, y), "┤" | "└") && is_labelled {
                rows.entry((x, plot)).or_default().push(y);
            }
            plot += u16::from(symbol(x, y) == "└");
        }
    }
    rows.into_values().collect()
}

#[test]
fn numbers_at_an_axis_are_evenly_spaced_and_never_touch() {
    let noisy = |step: usize| falling(step) + 0.2 * (step as f64 * 2.9).sin();
    for state in [running(), pinned(), with(written(2, 3, 0, 0.0, noisy)), with(written(2, 3, 0, 0.0, |_| 0.5))] {
        for keys in ["", "l", "L", "lL", "]]"] {
            let mut state = state.clone();
            type_text(&mut state, keys);
            for (width, height, zoom) in [
                (60, 16, false),
                (80, 24, false),
                (80, 24, true),
                (120, 36, false),
                (120, 36, true),
                (200, 60, false),
                (200, 60, true),
            ] {
                let buffer = pane(&state, width, height, zoom);
                let plots = labelled_rows(&buffer);
                assert!(!plots.is_empty(), "{}", text(&buffer));
                for rows in plots {
                    let apart: Vec<u16> = rows.windows(2).map(|pair| pair[1] - pair[0]).collect();
                    assert!(apart.iter().all(|by| *by == apart[0] && *by > 1), "{rows:?} with {keys}:\n{}", text(&buffer));
                }
            }
        }
    }
}

#[test]
fn a_screen_without_trouble_has_nothing_in_the_colour_of_trouble() {
    let mut state = running();
    for _ in Tab::ALL {
        let buffer = pane(&state, 200, 60, true);
        let warn = state.shared.theme.warn().fg.unwrap();
        assert!(buffer.content.iter().all(|cell| cell.fg != warn), "{}", text(&buffer));
        press(&mut state, KeyCode::Right);
    }
}
