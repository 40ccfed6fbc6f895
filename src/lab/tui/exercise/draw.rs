//! The learner's own program: what is next, what the compiler says, how its run goes and what it shows, and how it differs from
//! the solution.

use super::state::{Exercise, Stage, tracks_in_order};
use crate::tui::widgets::{Sheet, Theme, wrapped};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use crate::columns::{capital, left, wrap};
use crate::course::{Level, Practised};
use crate::domain::step::{Step, StepSet};
use crate::exercise::{Diff, Language, Piece, RING_SOLUTION, Role, Track, rows};
use crate::tui::shared::Shared;

/// Columns of what an exercise is called.
const TITLE: usize = 54;

pub fn title(track: Track) -> String {
    match track {
        Track::Program(program) if program.has_steps() => "Your own trainer".to_owned(),
        track => format!("Your exercise: {}", track.title()),
    }
}

/// One line an exercise, and how to begin it.
pub fn list(exercise: &Exercise, theme: Theme, chosen: usize, width: usize) -> Vec<Line<'static>> {
    let row = |(place, track): (usize, Track)| {
        let sign = if track == exercise.track { "▶" } else { " " };
        let text = format!(" {sign} {}{}", left(&track.title(), TITLE), track.name());
        if place == chosen { Line::styled(left(&text, width), theme.cursor(true)) } else { Line::raw(text) }
    };
    let mut lines: Vec<Line> = tracks_in_order().into_iter().enumerate().map(row).collect();
    lines.push(Line::raw(""));
    let what = "Enter opens one and makes your copy of it, unless you have one. What you wrote in the others stays where it is.";
    lines.extend(wrapped(what, width, theme.dim()));
    lines
}

/// The question before a reset: what is lost, and where it is kept.
pub fn reset_question(exercise: &Exercise, number: usize) -> Vec<String> {
    let own = &exercise.program;
    let lost = |fresh: &str| match Diff::new(("", own), ("", fresh)).count().0 {
        1 => "1 line goes".to_owned(),
        lines => format!("{lines} lines go"),
    };
    let mut question = vec!["Put your program back to what it was?".to_owned()];
    if let Track::Program(program) = exercise.track {
        let of_place = match program.without(own, number) {
            Ok(fresh) => lost(&fresh),
            Err(_) => "its comments are missing, so you can only reset the whole program".to_owned(),
        };
        let noun = capital(program.noun);
        question.push(format!("{noun} {number}, {}: {of_place}.", (program.title)(number).to_lowercase()));
    }
    question.push(format!("The whole program: {}.", lost(exercise.track.text())));
    let name = exercise.track.file().split('.').next().unwrap_or_default();
    question.push(format!("What you have now is kept beside it, as {name}.NUMBER.bak."));
    question
}

/// The hints for the place that the learner is at, as far as they were asked for.
fn hints(exercise: &Exercise, shared: &Shared, asked: usize, width: usize) -> Vec<Line<'static>> {
    let (theme, number) = (shared.theme, exercise.track.lesson(exercise.place()));
    let Some(lesson) = shared.course.lessons.lesson(number).filter(|lesson| asked > 0 && !lesson.hints.is_empty()) else {
        return Vec::new();
    };
    let mut page = Sheet::new(theme, width, 0);
    let all = lesson.hints.len();
    page.title(&format!("Hints ({} of {all}), from lesson {number}: {}", asked.min(all), lesson.title));
    lesson.hints.iter().take(asked).for_each(|hint| page.text(hint, theme.text()));
    page.lines.insert(0, Line::raw(""));
    page.lines
}

/// The result of an earlier session or command.
fn so_far(exercise: &Exercise, shared: &Shared) -> Option<String> {
    let progress = &shared.course.progress;
    match exercise.track {
        Track::Collectives => progress.ring.as_ref().map(Practised::in_words),
        Track::Program(program) if program.has_steps() => {
            let written: StepSet = Step::ALL.into_iter().filter(|step| progress.has(*step, Level::Written)).collect();
            let noun = if written.iter().count() == 1 { "step" } else { "steps" };
            (!written.is_empty()).then(|| format!("passed so far: {noun} {}", written.to_string().replace(',', ", ")))
        }
        Track::Program(program) => progress.exercises.get(program.track).map(Practised::in_words),
    }
}

pub fn lines(exercise: &Exercise, shared: &Shared, asked: usize, width: usize) -> Vec<Line<'static>> {
    let theme = shared.theme;
    let mut lines = vec![Line::styled(exercise.path.clone(), theme.dim()), Line::raw("")];
    // A program in Python is not built: only its spelling is looked at before it runs.
    let is_built = exercise.track.language() == Language::Rust;
    let what = match exercise.track {
        Track::Program(_) if is_built => "it is built, run on two ranks and checked",
        Track::Program(_) => "it is run on two ranks and checked",
        Track::Collectives => "its messages are checked, and it runs on four ranks",
    };
    let how = format!("Save it in the editor (e), or press r: {what}.");
    let (heading, style, text) = match &exercise.stage {
        Stage::Idle => (so_far(exercise, shared).unwrap_or_else(|| "not checked yet".to_owned()), theme.text(), how.as_str()),
        Stage::Building if !is_built => ("… reading your program".to_owned(), theme.accent(), ""),
        Stage::Building => ("… building (the first time takes longer)".to_owned(), theme.accent(), ""),
        Stage::Broken(errors) if !is_built => ("✗ it cannot be run".to_owned(), theme.warn(), errors.as_str()),
        Stage::Broken(errors) => ("✗ it does not build".to_owned(), theme.warn(), errors.as_str()),
        Stage::Running(run, None) => {
            (format!("▶ run {run} is running"), theme.accent(), "Close this window to watch its log and devices.")
        }
        Stage::Running(run, Some(once_more)) => (
            format!("▶ run {run}: once more, {once_more}"),
            theme.accent(),
            "It passed on two ranks. It counts as written if it passes here too. Close this window to watch its log and devices.",
        ),
        Stage::Judged(Some(run), words) => (format!("what run {run} shows"), theme.strong(), words.as_str()),
        Stage::Judged(None, words) => ("what it does".to_owned(), theme.strong(), words.as_str()),
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
        lines.push(Line::styled("saved again: the lab builds it when this is over", theme.dim()));
    }
    lines.push(Line::raw(""));
    lines.push(match exercise.next {
        Some((number, line)) => {
            let place = match (number, exercise.track) {
                (Some(number), Track::Program(program)) => format!(": {} {number}, {}", program.noun, (program.title)(number)),
                _ => String::new(),
            };
            Line::from(vec![Span::styled("e", theme.key()), Span::raw(format!(" opens your editor at line {line}{place}"))])
        }
        None => Line::raw("No TODO is left."),
    });
    lines.extend(hints(exercise, shared, asked, width));
    lines
}

/// What a window of a diff is called.
pub fn diff_title(of: Track, number: usize, mine: bool) -> String {
    let Track::Program(program) = of else { return "Yours and the solution".to_owned() };
    let place = format!("{} {number}/{}", program.noun, program.count);
    if mine {
        format!("Yours and the solution after {place}")
    } else {
        format!("What {place} changes: {}", (program.title)(number))
    }
}

/// What a place changes in the program, or the learner's against the solution, in one column or in two. Every changed line has a
/// mark too, for terminals without colours.
pub fn diff(exercise: &Exercise, theme: Theme, (of, number, mine): (Track, usize, bool), width: usize) -> Vec<Line<'static>> {
    if mine && exercise.program.is_empty() {
        return vec![Line::raw("You do not have your own trainer yet. Close this window and press e to create it.")];
    }
    let diff = match of {
        Track::Program(program) if mine => Diff::to_solution(program, &exercise.program, number),
        Track::Program(program) => Diff::of_place(program, number),
        Track::Collectives => Diff::new(("yours", exercise.program.as_str()), ("solution", RING_SOLUTION)),
    };
    let rows = rows(&diff, width, !exercise.one_column);
    let span = |piece: Piece| Span::styled(piece.text, look(theme, piece.role));
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
