//! The window of the collectives, over all panes: what opens it, what its keys do, and what a run tells while it is open.

use super::draw;
use super::form::{form, usual};
use super::keys::{CHART, HELP, PLAYER};
use super::state::{Collectives, LEAST_RANKS, Show};
use crate::domain::measured::Measured;
use crate::runs::RunId;
use crate::tui::actions::{Action, Command, Effect, Move, cycle};
use crate::tui::shared::{Shared, is_of_collectives};
use crate::tui::state::{About, FRAME, Outcome, Page, State, View, Window, Windows};

/// Opens on the run on the screen, else on the newest run of collectives, else on the schedules that need no run.
pub fn open(state: &mut State) -> Vec<Action> {
    let State { collectives: own, shared, windows, .. } = state;
    let watched = shared.watched.as_ref().map(|watched| watched.id);
    let mut all = shared.runs.iter().filter(|run| is_of_collectives(run)).map(|run| run.id);
    let run = all.clone().find(|run| Some(*run) == watched).or(all.next_back());
    if run != own.run {
        *own = Collectives { run, asked: own.asked.take(), ..Collectives::default() };
    }
    let record = run.and_then(|run| shared.summary(run)?.record.as_ref());
    own.ranks = record.map_or(shared.spec.resources.np.max(LEAST_RANKS), |record| record.np());
    own.spec = record.and_then(|record| record.request.spec.collectives().cloned());
    own.is_log_due = is_log_due(own, shared);
    own.show = Show::Messages;
    windows.show(Stage);
    own.take_log();
    let mut actions = Vec::new();
    if let Some(run) = run {
        if watched != Some(run) {
            actions.push(Action::Watch(run));
        }
        actions.extend(read(own, run));
    }
    actions
}

/// Rows of the screen's header and footer, and of the frame.
const AROUND: u16 = 3 + 2;

/// The player, or a chart, of the run that [`Collectives`] are of.
#[derive(Clone, Debug)]
pub struct Stage;

impl Window for Stage {
    fn about(&self, State { collectives: own, .. }: &State) -> About {
        About { keys: if own.show == Show::Messages { PLAYER } else { CHART }, run: own.run, ..About::default() }
    }

    fn view(&self, state: &State, columns: u16) -> Option<View> {
        let (own, shared) = (&state.collectives, &state.shared);
        let (width, height) = (columns.saturating_sub(FRAME), shared.size.1.saturating_sub(AROUND));
        let lines = draw::lines(own, shared, width.into(), height.into());
        Some(View::Page(Page { title: draw::title(own), columns, lines }))
    }

    fn press(&mut self, state: &mut State, command: Command) -> Outcome {
        let State { collectives: own, shared, windows, .. } = state;
        // Nothing plays where the window is closed or covered.
        if matches!(command, Command::Back | Command::Measure | Command::Stop | Command::Help) {
            own.player.pause();
        }
        match command {
            Command::Back => return Outcome::CLOSE,
            Command::Move(Move::Left) => turn(own, Show::ALL.len() - 1),
            Command::Move(Move::Right) => turn(own, 1),
            Command::Move(by) => own.scroll = by.within(own.scroll, rows(own)),
            Command::Measure => {
                // The form, as it was left.
                let cores = shared.hardware.as_ref().map_or(0, |hardware| hardware.cores);
                let np = shared.spec.resources.np.max(cores.clamp(2, LEAST_RANKS));
                let spec = own.asked.clone().unwrap_or_else(|| usual(np));
                windows.show_over(form(spec));
            }
            // The question, or the help, takes the place of the window.
            Command::Stop => return Outcome::Stay(vec![Action::Stop]),
            Command::Help => return Outcome::Stay(vec![Action::Keys(HELP)]),
            Command::NextMethod => choose(own, 1),
            Command::PreviousMethod => choose(own, own.methods().len().saturating_sub(1)),
            command if own.show == Show::Messages => play(own, shared, command),
            command => move_cursor(own, command),
        }
        Outcome::STAY
    }
}

/// What there is to scroll through.
fn rows(own: &Collectives) -> usize {
    if own.show == Show::Messages { own.log.as_ref().map_or(0, |log| log.ranks) } else { own.methods().len() }
}

fn turn(own: &mut Collectives, by: usize) {
    own.show = cycle(&Show::ALL, own.show, by);
    own.player.pause();
    own.scroll = 0;
}

fn choose(own: &mut Collectives, by: usize) {
    let count = own.methods().len().max(1);
    own.method = (own.method + by) % count;
    own.scroll = 0;
    own.take_log();
}

fn play(own: &mut Collectives, shared: &mut Shared, command: Command) {
    let Some(log) = &own.log else {
        return shared.inform(format!("{} has no messages to play: Tab chooses another method", own.method()));
    };
    let player = &mut own.player;
    match command {
        Command::Play => player.turn(log),
        Command::Forwards => player.go_to(log, player.arrived + 1),
        Command::Backwards => player.go_to(log, player.arrived.saturating_sub(1)),
        Command::RoundForwards => player.step_round(log, true),
        Command::RoundBackwards => player.step_round(log, false),
        Command::Start => player.go_to(log, 0),
        Command::End => player.go_to(log, log.messages.len()),
        Command::Faster => player.change_speed(1),
        Command::Slower => player.change_speed(-1),
        _ => {}
    }
}

/// To another size of the chart.
fn move_cursor(own: &mut Collectives, command: Command) {
    let by = match command {
        Command::Backwards => Move::Left,
        Command::Forwards => Move::Right,
        Command::Start => Move::First,
        Command::End => Move::Last,
        _ => return,
    };
    let sizes = own.measured.sizes();
    let now = own.shown_size().and_then(|size| sizes.iter().position(|other| *other == size)).unwrap_or(0);
    own.size = sizes.get(by.within(now, sizes.len())).copied();
}

/// It was asked for its messages, and has told all that it will.
fn is_log_due(own: &Collectives, shared: &Shared) -> bool {
    let was_asked = own.spec.as_ref().is_some_and(|spec| spec.log_bytes.is_some());
    was_asked && own.run.and_then(|run| shared.status(run)).is_some_and(|status| status.state.is_over())
}

/// Once at a time: what is told while it is being read is read after that.
fn read(own: &mut Collectives, run: RunId) -> Option<Action> {
    own.has_news = own.is_reading;
    let begins = !std::mem::replace(&mut own.is_reading, true);
    begins.then(|| Effect::ReadCollectives(run).into())
}

/// The run on the screen has told something of its collectives.
pub fn told(own: &mut Collectives, windows: &Windows, run: RunId) -> Option<Action> {
    if windows.has::<Stage>() && own.run == Some(run) { read(own, run) } else { None }
}

/// What a run has measured so far.
pub fn receive(own: &mut Collectives, shared: &Shared, run: RunId, measured: Measured) -> Option<Action> {
    if own.run != Some(run) {
        return None;
    }
    let chosen = own.method().to_owned();
    own.measured = measured;
    own.method = own.methods().iter().position(|method| *method == chosen).unwrap_or(0);
    (own.is_reading, own.is_log_due) = (false, is_log_due(own, shared));
    own.take_log();
    if std::mem::take(&mut own.has_news) { read(own, run) } else { None }
}

/// It is so late, while the player plays.
pub fn beat(own: &mut Collectives, now_s: f64) {
    if let Some(log) = &own.log {
        own.player.tell(log, now_s);
    }
}

/// The run that the form asked for is there: its rows come as they are measured.
pub fn started(own: &mut Collectives, windows: &Windows, run: RunId) -> Option<Action> {
    let was_asked = std::mem::take(&mut own.is_starting);
    windows.get::<Stage>().filter(|_| was_asked)?;
    let asked = own.asked.take()?;
    let (ranks, spec) = (asked.resources.np, asked.collectives().cloned());
    *own = Collectives { run: Some(run), ranks, spec, asked: Some(asked), show: own.show, ..Collectives::default() };
    own.take_log();
    read(own, run)
}

/// The run that is shown has ended.
pub fn ended(own: &Collectives, windows: &Windows, shared: &mut Shared, run: RunId) {
    if windows.has::<Stage>()
        && own.run == Some(run)
        && let Some(status) = shared.status(run)
    {
        let text = format!("run {run} {}", status.end_in_words());
        shared.inform(text);
    }
}
