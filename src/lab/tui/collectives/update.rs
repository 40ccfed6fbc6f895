//! What opens the window of the collectives, what its keys do, and what a run tells while it is open.

use super::keys::Command;
use super::settings::Settings;
use super::show::Show;
use super::state::Collectives;
use super::windows::{Form, Stage, Window};
use crate::domain::measured::Measured;
use crate::runs::RunId;
use crate::tui::actions::action::Action;
use crate::tui::actions::effect::Effect;
use crate::tui::actions::keys::Move;
use crate::tui::shared::measured::is_of_collectives;
use crate::tui::shared::state::Shared;

/// Opens on the run on the screen, else on the newest run of collectives, else on the schedules that need no run.
pub fn open(own: &mut Collectives, shared: &Shared) -> Vec<Action> {
    let watched = shared.watched.as_ref().map(|watched| watched.id);
    let mut all = shared.runs.iter().filter(|run| is_of_collectives(run)).map(|run| run.id);
    let run = all.clone().find(|run| Some(*run) == watched).or(all.next_back());
    if run != own.run {
        *own = Collectives { run, asked: own.asked.take(), ..Collectives::default() };
    }
    let record = run.and_then(|run| shared.summary(run)?.record.as_ref());
    own.ranks = record.map_or(shared.spec.resources.np.max(2), |record| record.np());
    own.link = record.and_then(|record| record.spec.collectives()?.link());
    own.shape = record.and_then(|record| Some(record.spec.collectives()?.shape));
    own.is_log_due = run.is_some_and(|run| is_log_due(shared, run));
    own.window = Some(Stage { run, show: Show::Messages }.into());
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

/// It was asked for its messages, and has told all that it will.
fn is_log_due(shared: &Shared, run: RunId) -> bool {
    let was_asked = shared.summary(run).and_then(|run| run.record.as_ref()?.spec.collectives()?.log_bytes).is_some();
    was_asked && shared.status(run).is_some_and(|status| status.state.is_over())
}

/// Once at a time: what is told while it is being read is read after that.
fn read(own: &mut Collectives, run: RunId) -> Option<Action> {
    own.has_news = own.is_reading;
    let begins = !std::mem::replace(&mut own.is_reading, true);
    begins.then(|| Effect::ReadCollectives(run).into())
}

/// The run on the screen has told something of its collectives.
pub fn told(own: &mut Collectives, run: RunId) -> Option<Action> {
    if own.window.is_some() && own.run == Some(run) { read(own, run) } else { None }
}

/// What a run has measured so far.
pub fn receive(own: &mut Collectives, shared: &Shared, run: RunId, measured: Measured) -> Option<Action> {
    if own.run != Some(run) {
        return None;
    }
    let chosen = own.method().to_owned();
    own.measured = measured;
    own.method = own.methods().iter().position(|method| *method == chosen).unwrap_or(0);
    (own.is_reading, own.is_log_due) = (false, is_log_due(shared, run));
    own.take_log();
    if std::mem::take(&mut own.has_news) { read(own, run) } else { None }
}

/// It is so late, while the player plays.
pub fn beat(own: &mut Collectives, now_s: f64) {
    if let Some(log) = &own.log {
        own.player.tell(log, now_s);
    }
}

/// A key of the window; it stays open but for the one that closes it.
pub fn stage(mut stage: Stage, own: &mut Collectives, shared: &mut Shared, command: Command) {
    match command {
        Command::Back => return own.player.pause(),
        Command::Move(Move::Left) => turn(&mut stage, own, Show::ALL.len() - 1),
        Command::Move(Move::Right) => turn(&mut stage, own, 1),
        Command::Move(by) => own.scroll = by.within(own.scroll, rows(own, stage.show)),
        Command::Measure => return measure(stage, own, shared),
        // The question, or the help, takes the place of the window.
        Command::Stop | Command::Help => own.player.pause(),
        Command::NextMethod => choose(own, 1),
        Command::PreviousMethod => choose(own, own.methods().len().saturating_sub(1)),
        command if stage.show == Show::Messages => play(own, shared, command),
        command => move_cursor(own, command),
    }
    own.window = Some(stage.into());
}

/// The form, as it was left.
fn measure(stage: Stage, own: &mut Collectives, shared: &mut Shared) {
    if shared.replay.is_some() {
        shared.inform("this is a recording: nothing starts here. q leaves it, and `hvd-lab` runs your own");
        own.window = Some(stage.into());
        return;
    }
    own.player.pause();
    let settings = own.asked.clone().unwrap_or_else(|| Settings::usual(shared.spec.resources.np.max(2)));
    own.window = Some(Form { settings, chosen: 0 }.into());
}

/// The run that the form asked for is there: its rows come as they are measured.
pub fn started(own: &mut Collectives, run: RunId) -> Option<Action> {
    let was_asked = std::mem::take(&mut own.is_starting);
    let Some(Window::Stage(Stage { show, .. })) = own.window.clone().filter(|_| was_asked) else { return None };
    let asked = own.asked.clone()?;
    let window = Some(Stage { run: Some(run), show }.into());
    let (ranks, shape, link) = (asked.np, Some(asked.spec.shape), asked.spec.link());
    *own = Collectives { run: Some(run), ranks, shape, link, asked: Some(asked), window, ..Collectives::default() };
    own.take_log();
    read(own, run)
}

/// The run that is shown has ended.
pub fn ended(own: &Collectives, shared: &mut Shared, run: RunId) {
    if own.window.is_some()
        && own.run == Some(run)
        && let Some(status) = shared.status(run)
    {
        let text = format!("run {run} {}", status.end_in_words());
        shared.inform(text);
    }
}

/// What there is to scroll through.
fn rows(own: &Collectives, show: Show) -> usize {
    if show == Show::Messages { own.log.as_ref().map_or(0, |log| log.ranks) } else { own.methods().len() }
}

fn turn(stage: &mut Stage, own: &mut Collectives, by: usize) {
    let place = Show::ALL.iter().position(|show| *show == stage.show).unwrap_or(0);
    stage.show = Show::ALL[(place + by) % Show::ALL.len()];
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
        Command::Forwards => player.step(log, true),
        Command::Backwards => player.step(log, false),
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
    let sizes = own.measured.sizes();
    let Some(last) = sizes.len().checked_sub(1) else { return };
    let now = own.shown_size().and_then(|size| sizes.iter().position(|other| *other == size)).unwrap_or(last);
    let to = match command {
        Command::Backwards => now.saturating_sub(1),
        Command::Forwards => (now + 1).min(last),
        Command::Start => 0,
        Command::End => last,
        _ => now,
    };
    own.size = sizes.get(to).copied();
}
