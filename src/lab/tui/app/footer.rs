//! One line of keys, from the key tables: those of the focused pane first.
//!
//! Never names a key that does nothing, and never leaves out how to get help.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};

use super::active;
use super::command::AppCommand;
use super::features::Command;
use super::features::State;
use super::keymap::{Key, Scope};
use super::windows;
use crate::course::{Next, has_folds};
use crate::tui::chart::graph::Tab;
use crate::tui::widgets::footer::{self, Entry, LESSER};
use crate::tui::{chart, collectives, exercise, lesson, next_run, runs, series};

/// Kept when there is no room for all: what starts, stops, helps and ends, then what the place is for.
fn rank(key: &Key) -> u8 {
    key.binding.rank.unwrap_or(match key.scope {
        Scope::Replay => 0,
        Scope::Window => 2,
        Scope::Pane(_) | Scope::Everywhere => LESSER,
        Scope::Panes | Scope::Pages => 6,
    })
}

pub fn draw(frame: &mut Frame, area: Rect, state: &State) {
    footer::draw(frame, area, state.shared.theme, &entries(&named(state)));
}

/// What the words under the pointer ask for.
pub fn hit(state: &State, area: Rect, at: Position) -> Option<Command> {
    let named = named(state);
    let command = named[footer::hit(area, at, &entries(&named))?].binding.command;
    // A key for ten steps says not which one.
    (!matches!(command, Command::App(AppCommand::ToggleStep(_)))).then_some(command)
}

fn entries(named: &[Key]) -> Vec<Entry> {
    named.iter().map(|key| Entry { key: key.binding.key, label: key.binding.label, rank: rank(key) }).collect()
}

/// The keys in force that have a word, as far as they do something now.
fn named(state: &State) -> Vec<Key> {
    let active = active::keys(state);
    // A key that means something else to a place before it, as those of a replay, is named there only.
    let is_taken = |index: usize| active[..index].iter().any(|before| before.binding.on.contains(&active[index].binding.on[0]));
    let named = (0..active.len()).filter(|&index| {
        let binding = &active[index].binding;
        !binding.label.is_empty() && !is_taken(index) && !is_idle(state, binding.command)
    });
    named.map(|index| active[index]).collect()
}

/// It would do nothing now, or nothing that another key does not.
fn is_idle(state: &State, command: Command) -> bool {
    use chart::keys::Command as Chart;
    use exercise::keys::Command as Exercise;
    use lesson::keys::Command as Lesson;
    use next_run::keys::Command as NextRun;
    use runs::keys::Command as Runs;
    let (shared, watched) = (&state.shared, &state.shared.watched);
    match command {
        command if shared.replay.is_some() && command.starts_or_stops() => true,
        // As ← and → do, which are named.
        Command::NextRun(NextRun::Accept) if !windows::is_open(state) => state.next_run.field.is_choice(),
        Command::Chart(Chart::Along | Chart::LogScale) => state.chart.tab == Tab::Timeline,
        Command::Exercise(Exercise::Reset) => state.exercise.shows_step(),
        Command::App(AppCommand::Stop) | Command::Collectives(collectives::keys::Command::Stop) => shared.going().is_none(),
        Command::Series(series::keys::Command::Stop) => state.series.next(shared) == Next::Over,
        Command::App(AppCommand::Continue) | Command::Runs(Runs::Continue) => {
            watched.as_ref().is_none_or(|watched| watched.is_going())
        }
        // A lesson that is about no step.
        Command::Lesson(Lesson::Fold) => {
            state.lesson.read(shared).is_some_and(|lesson| !has_folds(&lesson.body, shared.course.writes_rust))
        }
        Command::Lesson(Lesson::Guided | Lesson::Diff) => state.lesson.read(shared).is_some_and(|lesson| lesson.step.is_none()),
        Command::Lesson(Lesson::RunBefore | Lesson::RunAfter) => {
            state.lesson.read(shared).is_some_and(|lesson| lesson.run.is_none())
        }
        Command::App(AppCommand::Baseline | AppCommand::Details)
        | Command::Runs(Runs::Compare | Runs::Baseline | Runs::Details | Runs::Pin | Runs::Delete)
        | Command::Chart(Chart::Pin) => watched.is_none(),
        _ => false,
    }
}
