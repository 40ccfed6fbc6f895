//! Draws what a place changes in the program, or the learner's against the solution, in one column or in two.
//!
//! Every changed line has a mark too, for terminals without colours.

use super::state::Exercise;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use crate::exercise::{Diff, RING_SOLUTION, Role, Track, rows};
use crate::tui::widgets::Theme;

pub fn title(of: Track, number: usize, mine: bool) -> String {
    let Track::Program(program) = of else { return "Yours and the solution".to_owned() };
    let place = format!("{} {number}/{}", program.noun, program.count);
    if mine {
        format!("Yours and the solution after {place}")
    } else {
        format!("What {place} changes: {}", (program.title)(number))
    }
}

pub fn lines(exercise: &Exercise, theme: Theme, (of, number, mine): (Track, usize, bool), width: usize) -> Vec<Line<'static>> {
    if mine && exercise.program.is_empty() {
        return vec![Line::raw("You do not have your own trainer yet. Close this window and press e to create it.")];
    }
    let diff = match of {
        Track::Program(program) if mine => Diff::to_solution(program, &exercise.program, number),
        Track::Program(program) => Diff::of_place(program, number),
        Track::Collectives => Diff::new(("yours", exercise.program.as_str()), ("solution", RING_SOLUTION)),
    };
    let rows = rows(&diff, width, !exercise.one_column);
    let span = |piece: crate::exercise::Piece| Span::styled(piece.text, look(theme, piece.role));
    rows.into_iter().map(|row| Line::from_iter(row.into_iter().map(span))).collect()
}

/// Orange goes, blue comes, and what changed in a line is underlined.
fn look(theme: Theme, role: Role) -> Style {
    match role {
        Role::Same => theme.text(),
        Role::Sign => theme.dim(),
        Role::Removed => theme.dim(),
        Role::Added => theme.accent(),
        Role::RemovedWord => theme.strong().add_modifier(Modifier::UNDERLINED),
        Role::AddedWord => theme.accent().add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
    }
}
