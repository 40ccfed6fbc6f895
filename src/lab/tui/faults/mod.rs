//! Faults that are made on purpose in the run that is going: a menu of them, with what will happen.
//!
//! The supervisor of the run makes the fault, and the run's record says what happened.

#[cfg(test)]
mod tests;

use ratatui::text::Line;

use crate::columns::{left, wrap};
use crate::domain::fault::{DEFAULT_SECONDS, FaultKind, FaultRecord, FaultRequest};
use crate::domain::run::RunState;
use crate::domain::units;
use crate::runs::{RunId, RunRecord};
use crate::tui::actions::{Action, Binding, Char, Code, Command, Ctrl, ENTER, Effect, K, LEFT_RIGHT, LIST, Move, row};
use crate::tui::shared::Shared;
use crate::tui::state::{About, Outcome, Page, State, View, Window};
use crate::tui::widgets::{Theme, wrapped};

/// Which fault, and in which rank.
#[derive(Clone, Debug)]
pub struct Menu {
    run: RunId,
    np: usize,
    /// The row under the cursor.
    chosen: usize,
    rank: usize,
}

/// For the run that is going: the one on the screen, if that is.
pub fn open(state: &mut State) -> Vec<Action> {
    let State { shared, windows, .. } = state;
    let watched = shared.watched.as_ref().filter(|watched| watched.is_going()).map(|watched| watched.id);
    let run = watched.or(shared.going()).and_then(|run| shared.summary(run));
    match run.and_then(|run| Some((run.id, run.record.as_ref()?.np()))) {
        Some((run, np)) => windows.show(Menu { run, np, chosen: 0, rank: FaultKind::ALL[0].victim(None, np) }),
        None => shared.inform("a fault is made in a run that is going: r starts one"),
    }
    Vec::new()
}

pub static KEYS: &[Binding] = &[
    row(ENTER, Command::Make, "Enter", "make it", "").ranked(0),
    row(LIST, Command::Move(Move::Up), "↑↓", "choose", "").ranked(1),
    row(LEFT_RIGHT, Command::Move(Move::Left), "←→", "rank", "").ranked(1),
    row(&[Code(K::Esc), Char('F'), Char('q'), Ctrl('c')], Command::Back, "Esc", "close", "").ranked(0),
];

impl Window for Menu {
    fn about(&self, _: &State) -> About {
        // The list has the run's record, which says which rank was found after how long.
        About { keys: KEYS, run: Some(self.run), each_second: Some(Effect::ListRuns), ..About::default() }
    }

    fn view(&self, state: &State, columns: u16) -> Option<View> {
        let title = format!("Make a fault in run {}", self.run);
        Some(Page::view(title, columns, 92, |width| lines(self, &state.shared, width)))
    }

    fn press(&mut self, state: &mut State, command: Command) -> Outcome {
        match command {
            Command::Back => return Outcome::CLOSE,
            Command::Move(by @ (Move::Left | Move::Right)) => self.rank = by.within(self.rank, self.np),
            Command::Move(by) => self.chosen = by.within(self.chosen, FaultKind::ALL.len()),
            Command::Make => return Outcome::Stay(make(self, &mut state.shared)),
            _ => {}
        }
        Outcome::STAY
    }
}

fn make(menu: &Menu, shared: &mut Shared) -> Vec<Action> {
    let kind = FaultKind::ALL[menu.chosen];
    let state = shared.summary(menu.run).map(|run| run.status.state);
    if state.is_none_or(RunState::is_over) {
        return shared.refuse(format!("run {} is over: r starts another one", menu.run));
    }
    if kind.needs_two() && menu.np < 2 {
        return shared.refuse(format!("{kind} needs a run on two ranks or more, and this one has one"));
    }
    let request = FaultRequest { kind, process: kind.victim(Some(menu.rank), menu.np), seconds: DEFAULT_SECONDS };
    vec![Effect::MakeFault(menu.run, request).into()]
}

/// Columns of a fault's name.
const NAME: usize = 20;
/// Faults that were made: the last ones.
const SHOWN: usize = 3;

/// The list of faults, what the chosen one will cause, and the results of those already made.
fn lines(menu: &Menu, shared: &Shared, width: usize) -> Vec<Line<'static>> {
    let theme = shared.theme;
    let row = |(place, kind): (usize, &FaultKind)| {
        let is_chosen = place == menu.chosen;
        let sign = if is_chosen { "▶" } else { " " };
        let whom = format!("rank {}", kind.victim(Some(menu.rank), menu.np));
        let whom = if is_chosen { whom } else { String::new() };
        let text = format!(" {sign} {}{whom}", left(kind.name(), NAME));
        if is_chosen { Line::styled(left(&text, width), theme.cursor(true)) } else { Line::raw(text) }
    };
    let mut lines: Vec<Line> = FaultKind::ALL.iter().enumerate().map(row).collect();
    lines.push(Line::raw(""));
    let kind = FaultKind::ALL[menu.chosen];
    let rank = kind.victim(Some(menu.rank), menu.np).to_string();
    let is_elastic = record(menu, shared).is_some_and(|record| record.request.spec.resources.survives_a_loss());
    let expected = match menu.np {
        1 if kind.needs_two() => "It needs a run on two ranks or more, and this one has one.".to_owned(),
        1 => of_one_rank(&kind.expected_of(&rank, is_elastic)),
        _ => kind.expected_of(&rank, is_elastic),
    };
    lines.extend(wrap(&expected, width).into_iter().map(Line::raw));
    if kind.lasts() {
        let text = format!("It lasts {}, and is then undone.", units::seconds(DEFAULT_SECONDS));
        lines.push(Line::styled(text, theme.dim()));
    }
    lines.extend(made(menu, shared, theme, width));
    lines
}

/// Without the sentences that are about other ranks: there are none.
fn of_one_rank(expected: &str) -> String {
    let is_of_others = |sentence: &&str| ["others", "All ranks"].iter().any(|words| sentence.contains(words));
    let own: String = expected.split_inclusive(". ").filter(|sentence| !is_of_others(sentence)).collect();
    own.trim_end().to_owned()
}

fn record<'a>(menu: &Menu, shared: &'a Shared) -> Option<&'a RunRecord> {
    shared.summary(menu.run)?.record.as_ref()
}

/// The last faults of the run, newest last.
fn made(menu: &Menu, shared: &Shared, theme: Theme, width: usize) -> Vec<Line<'static>> {
    let record = record(menu, shared);
    let faults: Vec<&FaultRecord> =
        record.iter().flat_map(|record| &record.attempts).flat_map(|attempt| &attempt.faults).collect();
    if faults.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![Line::styled("Made in this run", theme.strong())];
    for fault in &faults[faults.len().saturating_sub(SHOWN)..] {
        let style = if fault.found_after_s.is_some() { theme.text() } else { theme.warn() };
        lines.extend(wrapped(&in_words(fault), width, style));
    }
    lines
}

/// `freeze in rank 1: found after 0.4 s: rank 1 is stopped by a signal`.
fn in_words(fault: &FaultRecord) -> String {
    let what = format!("{} in rank {}", fault.request.kind, fault.request.process);
    match (fault.found_after_s, &fault.found_by) {
        (Some(after), Some(words)) => format!("{what}: found after {}: {words}", units::seconds(after)),
        _ => format!("{what}: nobody has named this rank yet"),
    }
}
