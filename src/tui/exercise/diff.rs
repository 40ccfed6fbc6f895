//! What a step changes in the program, or how the learner's differs from the solution, in one column or in two.
//!
//! Never says anything by colour alone: every changed line has its mark.

use super::state::Exercise;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use crate::domain::step::Step;
use crate::exercise::{Diff, Role, TEN_STEPS, rows};
use crate::tui::widgets::theme::Theme;

pub fn title(step: Step, mine: bool) -> String {
    if mine {
        return format!("Yours and the solution after step {}/10", step.number());
    }
    format!("What step {}/10 changes: {}", step.number(), step.title())
}

pub fn lines(exercise: &Exercise, theme: Theme, step: Step, mine: bool, width: usize) -> Vec<Line<'static>> {
    if mine && exercise.program.is_empty() {
        return vec![Line::raw("You have no trainer of your own yet: close this, and e makes it.")];
    }
    let diff = match mine {
        true => Diff::to_solution(&TEN_STEPS, &exercise.program, step.number()),
        false => Diff::of_place(&TEN_STEPS, step.number()),
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
        Role::Removed => theme.warn(),
        Role::Added => theme.accent(),
        Role::RemovedWord => theme.warn().add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
        Role::AddedWord => theme.accent().add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
    }
}
