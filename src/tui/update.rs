//! What each message does to the state, and what it asks of the world.
//!
//! Never does I/O, reads a clock or waits.

mod ask;
mod command;
mod devices;
mod exercise;
mod lesson;
mod log;
mod mouse;
mod palette;
mod replay;
mod runs;
mod series;
mod typed;
mod window;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind};

use super::chart_view;
use super::effect::Effect;
use super::habits::TOUR;
use super::keymap;
use super::log_view::LogTab;
use super::message::Message;
use super::mode::Mode;
use super::state::State;
use super::watched::Watched;
use crate::domain::device::{DeviceKind, RankPlace, TelemetrySample};
use crate::domain::event::{Event, EventLine, TopologyReport};
use crate::domain::run::RunState;
use crate::launch::Ranks;
use crate::runs::{RunId, RunSummary, RunUpdate};

pub fn update(state: &mut State, message: Message) -> Vec<Effect> {
    match message {
        Message::Key(key) => press(state, key),
        Message::Mouse(event) => mouse::obey(state, event),
        Message::Background(background) => {
            state.theme.background = background;
            Vec::new()
        }
        Message::Resize(columns, rows) => {
            state.size = (columns, rows);
            log::read(state, None)
        }
        Message::Tick(now_s) => tick(state, now_s),
        Message::Runs(runs) => list(state, runs),
        Message::Updates(run, updates) => follow(state, run, updates),
        Message::Replay(step) => replay::take(state, *step),
        Message::Log(run, page) => {
            log::take(state, run, *page);
            Vec::new()
        }
        Message::Curves(run, curves) => {
            state.chart_view.receive(run, *curves);
            Vec::new()
        }
        Message::Judged(judged) => {
            let effects = exercise::judged(state, &judged);
            if let Some(said) = state.course.judged(*judged) {
                state.inform(said);
            }
            effects
        }
        Message::Series(series, started) => series::changed(state, series, started),
        Message::Results(results) => {
            series::shown(state, results);
            Vec::new()
        }
        Message::Progress(reading) => {
            if let Some(damaged) = state.course.read(reading) {
                state.error(damaged);
            }
            Vec::new()
        }
        Message::Telemetry(sample) => {
            hardware(state, &sample);
            state.devices.measured(sample);
            Vec::new()
        }
        Message::Data(data) => {
            state.data = Some(data);
            Vec::new()
        }
        Message::Exercise(news) => exercise::hear(state, news),
        Message::Edited(wrong) => {
            if let Some(wrong) = wrong {
                state.error(wrong);
            }
            vec![Effect::ReadExercise]
        }
        Message::Started(run) => {
            state.notice = None;
            state.runs_view.is_starting = false;
            let mut effects = watch(state, run);
            effects.push(Effect::ListRuns);
            effects
        }
        Message::Continued(run) => {
            state.runs_view.is_starting = false;
            state.inform(format!("run {run} goes on"));
            let mut effects = watch(state, run);
            effects.push(Effect::ListRuns);
            effects
        }
        Message::Changed(changed) => runs::changed(state, changed),
        Message::Done(text) => {
            state.inform(text);
            Vec::new()
        }
        Message::Failed(text) => {
            (state.course.is_starting, state.runs_view.is_starting) = (false, false);
            state.error(text);
            vec![Effect::ListRuns]
        }
        Message::Leave => {
            state.done = true;
            Vec::new()
        }
        Message::Suspend => vec![Effect::Suspend],
    }
}

fn press(state: &mut State, key: KeyEvent) -> Vec<Effect> {
    if key.kind == KeyEventKind::Release {
        return Vec::new();
    }
    // Esc takes away what is in front, and nothing else: a problem before its window, but not news that nobody asked for.
    let bare = state.mode == Mode::Normal && state.habits.tour.is_none();
    let in_front = state.notice.as_ref().is_some_and(|notice| notice.is_error || bare);
    if key.code == KeyCode::Esc && in_front {
        state.notice = None;
        return Vec::new();
    }
    state.forget_news();
    // Whatever else is pressed ends the tour and does what it always does.
    if state.mode == Mode::Normal
        && let Some(page) = state.habits.tour.take()
    {
        match key.code {
            KeyCode::Enter => {
                state.habits.tour = (page + 1 < TOUR.len()).then_some(page + 1);
                return Vec::new();
            }
            KeyCode::Esc => return Vec::new(),
            _ => {}
        }
    }
    match keymap::command(state.keys(), state.focus, key) {
        Some(command) => command::obey(state, command),
        None => Vec::new(),
    }
}

fn tick(state: &mut State, now_s: f64) -> Vec<Effect> {
    state.now_s = now_s;
    // A run that goes on behind the one on the screen has no follower: its row comes from the list.
    let watched_goes = state.watched.as_ref().is_some_and(Watched::is_going);
    if state.going().is_some() && !watched_goes { vec![Effect::ListRuns] } else { Vec::new() }
}

/// The first sample tells what hardware there is: it picks the preset, unless the user has chosen.
fn hardware(state: &mut State, sample: &TelemetrySample) {
    let gpus = sample.devices.iter().filter(|device| device.kind == DeviceKind::Gpu).count();
    if state.devices.here().is_some() || gpus == 0 {
        return;
    }
    for preset in &mut state.presets {
        if preset.ranks == Ranks::Gpus {
            *preset = preset.clone().fitted(1, gpus);
        }
    }
    if !state.touched
        && let Some(preset) = state.presets.iter().find(|preset| preset.ranks == Ranks::Gpus)
    {
        state.spec = preset.spec.clone();
        state.preset = preset.name.clone();
    }
}

fn list(state: &mut State, runs: Vec<RunSummary>) -> Vec<Effect> {
    let before = std::mem::replace(&mut state.runs, runs);
    state.listed = true;
    let mut effects = runs::replace_deleted(state, &before);
    // At the start: the run that is still going, else the last one.
    if state.watched.is_none()
        && let Some(run) = state.going().or(state.runs.last().map(|run| run.id))
    {
        effects.extend(watch(state, run));
    }
    // The run on the screen was over, and has been continued from elsewhere.
    if let Some(run) = revived(state) {
        effects.extend(watch(state, run));
    }
    effects.extend(chart_view::refresh(state));
    effects.extend(series::advance(state));
    effects
}

fn revived(state: &State) -> Option<RunId> {
    let watched = state.watched.as_ref().filter(|watched| watched.state().is_some_and(RunState::is_over))?;
    state.summary(watched.id).filter(|run| !run.status.state.is_over()).map(|run| run.id)
}

fn follow(state: &mut State, run: RunId, updates: Vec<RunUpdate>) -> Vec<Effect> {
    let Some(watched) = state.watched.as_mut().filter(|watched| watched.id == run) else { return Vec::new() };
    let (before, processes) = (watched.state(), watched.topology.len());
    let mut relist = false;
    for update in updates {
        relist |= matches!(&update, RunUpdate::Event(line) if matches!(line.event, Event::Epoch(_) | Event::Test { .. }));
        if let RunUpdate::Event(EventLine { event: Event::Devices { sample }, .. }) = update {
            state.devices.reported(sample, &watched.topology);
            continue;
        }
        watched.absorb(update);
    }
    let (mut effects, mut over) = (Vec::new(), false);
    if watched.topology.len() != processes && watched.is_going() {
        effects.push(Effect::WatchRanks(ranks(watched, state.devices.here())));
    }
    let now = watched.state();
    if now != before {
        relist = true;
        if let Some(state) = now.filter(|now| now.is_over() && before.is_some()) {
            effects.push(Effect::Announce(format!("run {run} {}", state.name())));
        }
        if now.is_some_and(RunState::is_over) {
            effects.extend([Effect::WatchRanks(Vec::new()), Effect::Judge(run)]);
            over = true;
        }
        let failed = watched.status.as_ref().filter(|status| status.state == RunState::Failed);
        if let Some(process) = failed.and_then(|status| status.failed_process) {
            effects.extend(log::turn_to(state, LogTab::of(process)));
        }
    }
    if relist {
        effects.push(Effect::ListRuns);
    }
    if over {
        effects.extend(series::ended(state, run));
    }
    effects
}

/// Processes on this host by launch index: with step 1 off several call themselves rank 0, and each must show.
fn ranks(watched: &Watched, here: Option<&TelemetrySample>) -> Vec<RankPlace> {
    let is_here = |report: &&TopologyReport| here.is_none_or(|sample| sample.host == report.host);
    let reports = watched.topology.iter().filter(|(_, report)| is_here(report));
    reports.map(|(process, report)| RankPlace::new(*process, report)).collect()
}

/// Puts a run on the screen.
fn watch(state: &mut State, run: RunId) -> Vec<Effect> {
    state.watched = Some(Watched::new(run));
    state.devices.forget_others();
    state.log = state.log.of_another_run();
    let mut effects = vec![Effect::WatchRanks(Vec::new()), Effect::Watch(run)];
    effects.extend(log::read(state, None));
    effects.extend(chart_view::refresh(state));
    effects
}
