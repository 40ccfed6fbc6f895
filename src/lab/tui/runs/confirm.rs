//! Questions about a run: stop it, move it to the trash, train it for longer, or leave it running.

use crossterm::event::KeyCode as K;

use super::state::chosen;
use crate::columns::cut;
use crate::domain::units;
use crate::runs::{RunId, RunSummary, epochs_to_go_on_to};
use crate::tui::actions::On::{Char, Code, Ctrl};
use crate::tui::actions::{Action, Binding, Change, Command, Effect, Move, row};
use crate::tui::shared::Shared;
use crate::tui::state::{About, Outcome, State, View, Window};
use crate::tui::widgets::notice::Notice;

/// A question about a run that is answered with one key.
#[derive(Clone, Debug, PartialEq)]
pub struct Confirm {
    pub run: RunId,
    pub what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Stop,
    Delete,
    /// This run, and any others, are running: leave them, stop them or stay?
    Quit,
}

pub static STOP: &[Binding] = &[
    row(&[Char('y'), Char('x')], Command::Accept, "y", "stop it", ""),
    row(&[Code(K::Esc), Char('n'), Char('q'), Code(K::Enter), Ctrl('c')], Command::Back, "Esc", "let it run", "").ranked(0),
];
pub static DELETE: &[Binding] = &[
    row(&[Char('y'), Code(K::Enter)], Command::Accept, "y", "delete it", ""),
    row(&[Code(K::Esc), Char('n'), Char('q'), Ctrl('c')], Command::Back, "Esc", "keep it", "").ranked(0),
];
pub static QUIT: &[Binding] = &quit_keys("leave it running", "stop it");
pub static QUIT_SEVERAL: &[Binding] = &quit_keys("leave them running", "stop them");

const fn quit_keys(leave: &'static str, stop: &'static str) -> [Binding; 3] {
    [
        row(&[Char('l'), Code(K::Enter), Ctrl('c')], Command::Leave, "l", leave, ""),
        row(&[Char('s'), Char('x')], Command::StopAndLeave, "s", stop, ""),
        row(&[Code(K::Esc), Char('n'), Char('q')], Command::Back, "Esc", "stay", "").ranked(0),
    ]
}

impl Window for Confirm {
    fn about(&self, state: &State) -> About {
        let keys = match self.what {
            What::Stop => STOP,
            What::Delete => DELETE,
            What::Quit if going(self.run, &state.shared).len() > 1 => QUIT_SEVERAL,
            What::Quit => QUIT,
        };
        About { keys, run: (self.what != What::Quit).then_some(self.run), ..About::default() }
    }

    fn view(&self, state: &State, _: u16) -> Option<View> {
        let run = self.run;
        let name = || {
            let name = state.shared.summary(run)?.record.as_ref()?.request.name.as_deref()?;
            Some(format!(", {}", cut(name, 40)))
        };
        let (title, question, note) = match self.what {
            What::Stop if has_ended(run, &state.shared) => {
                ("Stop", format!("Run {run} has ended by itself."), "There is nothing left to stop.")
            }
            What::Stop => {
                let others: Vec<RunId> = state.shared.all_going().into_iter().filter(|other| *other != run).collect();
                let beside = if others.is_empty() { String::new() } else { format!(" {} on.", named(&others, "goes", "go")) };
                let question = format!("Stop run {run}?{beside}");
                ("Stop", question, "The lab keeps its measurements and its checkpoints.")
            }
            What::Delete => {
                ("Delete", format!("Delete run {run}{}?", name().unwrap_or_default()), "It goes to the trash: u brings it back.")
            }
            What::Quit => {
                let going = going(run, &state.shared);
                let note = match going.len() {
                    1 => "It can continue in the background: the next start shows it again.",
                    _ => "They can continue in the background: the next start shows them again.",
                };
                ("Quit", format!("{} still running.", named(&going, "is", "are")), note)
            }
        };
        Some(View::Question { title, text: vec![question, note.to_owned()] })
    }

    fn press(&mut self, state: &mut State, command: Command) -> Outcome {
        let run = self.run;
        Outcome::Close(match (command, self.what) {
            (Command::Accept, What::Stop) if !has_ended(run, &state.shared) => {
                state.shared.inform(format!("stopping run {run} …"));
                vec![Effect::Stop(run).into()]
            }
            (Command::Accept, What::Delete) => vec![Effect::Change(Change::Delete(run)).into()],
            (Command::Leave, _) => vec![Action::Leave],
            (Command::StopAndLeave, _) => {
                let stop = going(run, &state.shared).into_iter().map(|run| Effect::Stop(run).into());
                std::iter::once(Action::Leave).chain(stop).collect()
            }
            _ => Vec::new(),
        })
    }
}

/// By itself, since the question was asked.
fn has_ended(run: RunId, shared: &Shared) -> bool {
    !shared.all_going().contains(&run)
}

/// The runs that are still going, of which `run` was one when the question was asked.
fn going(run: RunId, shared: &Shared) -> Vec<RunId> {
    let going = shared.all_going();
    if going.is_empty() { vec![run] } else { going }
}

/// `Run 3 is`, `Runs 3, 4 and 5 are`.
fn named(runs: &[RunId], one: &str, several: &str) -> String {
    match runs {
        [.., last] if runs.len() > 1 => {
            let before: Vec<String> = runs[..runs.len() - 1].iter().map(RunId::to_string).collect();
            format!("Runs {} and {last} {several}", before.join(", "))
        }
        _ => format!("Run {} {one}", runs.first().map(RunId::to_string).unwrap_or_default()),
    }
}

/// Asks whether the run that is running should stop.
pub fn stop(state: &mut State) -> Vec<Action> {
    let State { shared, windows, .. } = state;
    if let Some(why) = shared.watched.as_ref().and_then(|watched| shared.out_of_reach(watched.id)) {
        return shared.refuse(why);
    }
    match shared.going() {
        Some(run) => windows.show(Confirm { run, what: What::Stop }),
        None if shared.is_starting() => shared.inform("the run is only just starting: x stops it as soon as it appears"),
        None => shared.inform("no run is running: nothing to stop"),
    }
    Vec::new()
}

/// Asks whether to move the chosen run to the trash.
pub fn delete(state: &mut State) {
    let State { shared, windows, .. } = state;
    let Some(run) = chosen(shared) else { return };
    match (shared.run_state(&run).is_over(), shared.out_of_reach(run.id)) {
        (true, _) => windows.show(Confirm { run: run.id, what: What::Delete }),
        (false, Some(why)) => shared.inform(why),
        (false, None) => shared.inform(format!("run {} is still running: x stops it, then it can be deleted", run.id)),
    }
}

/// Asks what becomes of the run that is running, where one is.
pub fn quit(state: &mut State) -> Vec<Action> {
    match state.shared.going() {
        Some(run) if state.shared.replay.is_none() => state.windows.show(Confirm { run, what: What::Quit }),
        _ => state.done = true,
    }
    Vec::new()
}

/// Asks for how long the chosen run should go on.
pub fn continue_run(state: &mut State) -> Vec<Action> {
    let State { shared, windows, .. } = state;
    let Some(run) = shared.summary_on_screen() else {
        return shared.refuse("no run to continue yet: r starts one");
    };
    match how_to_continue(shared, run) {
        Ok(window) => windows.show(window),
        Err(Notice { text, is_error: false }) => shared.inform(text),
        Err(Notice { text, is_error: true }) => shared.error(text),
    }
    Vec::new()
}

/// The question, or why the run cannot go on: an error where waiting does not help.
fn how_to_continue(shared: &Shared, run: &RunSummary) -> Result<Continue, Notice> {
    let id = run.id;
    let never = |text: String| Err(Notice { text, is_error: true });
    let not_yet = |text: String| Err(Notice { text, is_error: false });
    let Some(record) = &run.record else {
        return never(format!("the record of run {id} cannot be read, so it cannot go on"));
    };
    let spec = &record.request.spec;
    if spec.collectives().is_some() {
        let what = "measured allreduces, so there is nothing to continue: to measure again press C, then Enter";
        return not_yet(format!("run {id} {what}"));
    }
    if spec.nvcnn().is_some() {
        let what = "goes on from here by itself: start it again with the same --log_dir, and it takes the newest checkpoint";
        return not_yet(format!("run {id} {what}"));
    }
    let Some(training) = record.training() else {
        let why = spec.problem().unwrap_or_else(|| format!("it trains nothing ({})", spec.workload.title()));
        return never(format!("run {id} cannot go on: {why}"));
    };
    if let Some(why) = shared.out_of_reach(id) {
        return not_yet(why);
    }
    if !shared.run_state(run).is_over() {
        return not_yet(format!("run {id} is still running: it can be continued when it has ended"));
    }
    if !training.checkpointing {
        return never(format!("run {id} wrote no checkpoints, so it cannot go on: switch checkpoints on for the next run"));
    }
    // The list may be a moment behind the run's own events.
    let told = shared.watched.as_ref().and_then(|watched| watched.last_epoch()).map_or(0, |report| report.epoch);
    let done = run.last_epoch.max(told);
    let goal = epochs_to_go_on_to(training.epochs, done, shared.run_state(run));
    Ok(Continue { run: id, done, more: goal.saturating_sub(done) })
}

/// Train a run that is over, and has `done` epochs, for `more`?
#[derive(Clone, Debug, PartialEq)]
pub struct Continue {
    pub run: RunId,
    pub done: usize,
    pub more: usize,
}

pub static CONTINUE: &[Binding] = &[
    row(&[Code(K::Right), Code(K::Up), Char('+'), Char('=')], Command::Move(Move::Up), "← →", "epochs", ""),
    row(&[Code(K::Left), Code(K::Down), Char('-'), Char('_')], Command::Move(Move::Down), "", "", ""),
    row(&[Code(K::Enter), Char('c'), Char('y')], Command::Accept, "Enter", "continue", ""),
    row(&[Code(K::Esc), Char('n'), Char('q'), Ctrl('c')], Command::Back, "Esc", "not now", "").ranked(0),
];

impl Window for Continue {
    fn about(&self, _: &State) -> About {
        About { keys: CONTINUE, run: Some(self.run), ..About::default() }
    }

    fn view(&self, _: &State, _: u16) -> Option<View> {
        let epochs = units::counted(self.more, "more epoch");
        let text = match self.more {
            0 => vec![format!("Do the test of run {}?", self.run), format!("It has trained all its {} epochs.", self.done)],
            _ => vec![
                format!("Train run {} for {epochs}?", self.run),
                format!("From its last checkpoint, to {} epochs in total.", self.done + self.more),
            ],
        };
        Some(View::Question { title: "Continue", text })
    }

    fn press(&mut self, state: &mut State, command: Command) -> Outcome {
        let Continue { run, done, more } = *self;
        match command {
            Command::Back => Outcome::CLOSE,
            Command::Accept => {
                state.shared.starting.run = true;
                Outcome::Close(vec![Effect::Continue { run, epochs: done + more }.into()])
            }
            command => {
                let up = matches!(command, Command::Move(Move::Up | Move::Right));
                self.more = if up { (more + 1).min(999) } else { more.saturating_sub(1).max(1) };
                Outcome::STAY
            }
        }
    }
}
