//! All keys, from the key table, and how a first session goes.
//!
//! Never written by hand: a key that is not in the table is not here.

use ratatui::text::{Line, Span};

use super::super::keymap::{self, Binding, Scope};
use super::super::state::{Pane, State};

const INTRO: [&str; 4] = [
    "Train one model on several processes, and see what each of the ten",
    "steps is for: press r to run, change a step or a setting, press r again,",
    "and compare. All runs stay in the table; b chooses which one the others",
    "are compared with. A run goes on when the screen is closed.",
];

pub fn lines(state: &State) -> Vec<Line<'static>> {
    let theme = state.theme;
    let mut lines: Vec<Line> = INTRO.into_iter().map(Line::raw).collect();
    let mut section = |title: String, scope: Scope| {
        let rows = keymap::table().filter(|binding| binding.scope == scope && !binding.help.is_empty());
        let rows: Vec<&Binding> = rows.collect();
        if rows.is_empty() {
            return;
        }
        lines.push(Line::raw(""));
        lines.push(Line::styled(title, theme.strong()));
        lines.extend(rows.into_iter().map(|binding| {
            Line::from(vec![Span::styled(format!("  {:<7} ", binding.key), theme.key()), Span::raw(binding.help)])
        }));
    };
    section("Everywhere".into(), Scope::Panes);
    section("In windows too".into(), Scope::Everywhere);
    for pane in Pane::ALL {
        section(format!("In {}", pane.title()), Scope::Pane(pane));
    }
    lines
}
