//! The learner's own trainer: what is next, what the compiler says, how its run goes and what it shows.
//!
//! Never the program itself: the editor shows that.

use super::state::Exercise;
use crate::tui::widgets::theme::Theme;
use ratatui::text::{Line, Span};

use crate::columns::wrap;
use crate::domain::step::Step;
use crate::exercise::{Diff, TEN_STEPS};
use crate::tui::exercise::state::Stage;

pub const TITLE: &str = "Your own trainer";

/// What is lost by a reset, and where it is kept.
pub fn reset_question(exercise: &Exercise, step: Step) -> Vec<String> {
    let own = &exercise.program;
    let lost = |fresh: &str| match Diff::new(("", own), ("", fresh)).count().0 {
        1 => "1 line goes".to_owned(),
        lines => format!("{lines} lines go"),
    };
    let of_step = match TEN_STEPS.without(own, step.number()) {
        Ok(fresh) => lost(&fresh),
        Err(_) => "its comments are gone, so only the whole can be reset".to_owned(),
    };
    vec![
        "Put your program back to what it was?".to_owned(),
        format!("Step {}, {}: {of_step}.", step.number(), step.title().to_lowercase()),
        format!("The whole program: {}.", lost(TEN_STEPS.exercise)),
        "What you have now is kept beside it, as fashion_mnist.NUMBER.bak.".to_owned(),
    ]
}

pub fn lines(exercise: &Exercise, theme: Theme, width: usize) -> Vec<Line<'static>> {
    let mut lines = vec![Line::styled(exercise.path.clone(), theme.dim()), Line::raw("")];
    let (heading, style, text) = match &exercise.stage {
        Stage::Idle => (
            "not built yet".to_owned(),
            theme.text(),
            "Save it in the editor (e), or press r: it is built, run on two ranks and checked.",
        ),
        Stage::Building => ("… building (the first time takes longer)".to_owned(), theme.accent(), ""),
        Stage::Broken(errors) => ("✗ it does not build".to_owned(), theme.warn(), errors.as_str()),
        Stage::Running(run) => {
            (format!("▶ run {run} is going"), theme.accent(), "Close this window to watch its log and devices.")
        }
        Stage::Judged(run, words) => (format!("what run {run} shows"), theme.strong(), words.as_str()),
        Stage::Failed(error) => ("✗ not possible".to_owned(), theme.warn(), error.as_str()),
    };
    lines.push(Line::styled(heading, style));
    for line in text.lines() {
        let style = if line.contains(" failed") { theme.warn() } else { theme.text() };
        // A line of the program keeps its place below its error.
        let indent = line.len() - line.trim_start().len();
        let rows = wrap(line.trim_start(), width.saturating_sub(indent));
        lines.extend(rows.into_iter().map(|row| Line::styled(format!("{}{row}", " ".repeat(indent)), style)));
    }
    if exercise.again {
        lines.push(Line::styled("saved again: it is built when this is over", theme.dim()));
    }
    lines.push(Line::raw(""));
    lines.push(match exercise.next {
        Some((step, line)) => {
            let what = format!(" opens your editor at line {line}: step {step}, {}", (TEN_STEPS.title)(step));
            Line::from(vec![Span::styled("e", theme.key()), Span::raw(what)])
        }
        None => Line::raw("No TODO is left."),
    });
    lines
}
