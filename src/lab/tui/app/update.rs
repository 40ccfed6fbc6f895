//! What each message does to the state, and the effects that it asks for.
//!
//! `update` does no I/O, reads no clock and does not wait.

use std::collections::BTreeMap;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind};

use super::dispatch::{self, act};
use super::gain::cause;
use super::{clicks, features, keymap, screen, windows};
use crate::domain::device::{RankPlace, TelemetrySample};
use crate::domain::event::{Event, EventLine, TopologyReport};
use crate::domain::run::RunState;
use crate::domain::settings::without_flags;
use crate::inspect::inspected;
use crate::launch::Ranks;
use crate::runs::recording::{Played, Position};
use crate::runs::{RunId, RunSummary, RunUpdate};
use crate::tui::actions::{Action, Command, Effect, On, TerminalOrder};
use crate::tui::help::state::{OFFER, WATCH};
use crate::tui::help::tour::{self, Taken};
use crate::tui::log::state::LogTab;
use crate::tui::message::Message;
use crate::tui::queue::Queue;
use crate::tui::shared::{Hardware, Shared, Watched, has_steps};
use crate::tui::state::State;
use crate::tui::{collectives, exercise, inspection, log, replay, runs, series};

pub fn update(state: &mut State, message: Message) -> Vec<Effect> {
    let shared = &mut state.shared;
    let mut actions: Vec<Action> = Vec::new();
    // Nothing that was asked for is going to start.
    if matches!(message, Message::Failed(_) | Message::Crowded(..)) {
        shared.starting = Default::default();
        state.collectives.is_starting = false;
        actions.push(Effect::ListRuns.into());
    }
    match message {
        Message::Key(key) => return press(state, key),
        Message::Paste(text) => return paste(state, &text),
        Message::Mouse(event) => return clicks::handle(state, event),
        Message::Background(background) => shared.theme.background = background,
        Message::Resize(columns, rows) => {
            shared.size = (columns, rows);
            screen::keep_focus_on_the_screen(state);
            return dispatch::read_log(state);
        }
        Message::Tick(now_s) => {
            shared.now_s = now_s;
            if shared.notice_left_s() == Some(0.0) {
                shared.forget_notice();
            }
            // A run that is going behind the one on the screen has no follower: its row comes from the list.
            let followed = shared.watched.as_ref().filter(|watched| watched.is_going()).map(|watched| watched.id);
            let is_behind = shared.all_going().into_iter().any(|run| Some(run) != followed);
            let asked = windows::about(state).and_then(|about| about.each_second);
            let lists = is_behind && asked != Some(Effect::ListRuns);
            actions.extend(asked.into_iter().chain(lists.then_some(Effect::ListRuns)).map(Action::from));
        }
        Message::NoticeIsOld => shared.forget_notice(),
        Message::Queue(machine) => {
            if let Some(window) = state.windows.get_mut::<Queue>() {
                window.machine = Some(machine);
            }
        }
        Message::Runs(runs) => return list(state, runs),
        Message::Updates(run, updates) => return follow(state, run, updates),
        Message::Replay(position, played) => return play(state, position, *played),
        Message::Log(run, page) => {
            dispatch::lay_out_log(state);
            let before = state.log.area;
            log::read::take(&mut state.log, &state.shared, run, *page);
            dispatch::lay_out_log(state);
            // The pane has grown, so the page does not fill it.
            if state.log.area != before {
                return dispatch::read_log(state);
            }
        }
        Message::Curves(run, curves) => state.chart.receive(run, *curves),
        Message::Collectives(run, measured) => {
            actions.extend(collectives::stage::receive(&mut state.collectives, shared, run, *measured));
        }
        Message::Beat(now_s) => collectives::stage::beat(&mut state.collectives, now_s),
        Message::Judged(judged) => {
            actions = exercise::update::again(&mut state.exercise, shared);
            if let Some(said) = shared.course.judged(*judged) {
                shared.inform(said);
            }
        }
        Message::Series(series, started) => actions = series::update::changed(state, series, started),
        Message::Results(results) => series::update::shown(state, results),
        Message::Progress(reading) => {
            if let Some(damaged) = shared.course.read(reading) {
                shared.error(damaged);
            }
        }
        Message::Telemetry(sample) => measured(state, sample),
        Message::Data(data) => shared.data = Some(data),
        Message::Exercise(news) => actions = exercise::update::hear(&mut state.exercise, shared, news),
        Message::Edited(wrong) => {
            if let Some(wrong) = wrong {
                shared.error(wrong);
            }
            // It may have been another file than the exercise.
            if state.windows.has::<exercise::windows::Own>() {
                actions.push(Effect::ReadExercise.into());
            }
        }
        Message::Program { file, line, lines } => inspection::source::show(state, &file, line, &lines),
        Message::Started(run) => {
            shared.notice = None;
            shared.starting.run = false;
            tour::follow(&mut state.help, OFFER, true);
            actions.extend([Action::Watch(run), Effect::ListRuns.into()]);
            actions.extend(collectives::stage::started(&mut state.collectives, &state.windows, run));
        }
        Message::Continued(run) => {
            shared.starting.run = false;
            shared.inform(format!("run {run} goes on"));
            actions.extend([Action::Watch(run), Effect::ListRuns.into()]);
        }
        Message::Changed(changed) => actions = runs::update::changed(&mut state.runs, shared, changed),
        Message::Done(text) => shared.inform(text),
        Message::Failed(text) => shared.error(text),
        Message::Crowded(why, start) => actions.push(Action::AskAnyway(why, start)),
        Message::Leave => actions.push(Action::Leave),
        Message::Suspend => actions.push(Effect::Terminal(TerminalOrder::Suspend).into()),
    }
    act(state, actions)
}

fn press(state: &mut State, key: KeyEvent) -> Vec<Effect> {
    if key.kind == KeyEventKind::Release {
        return Vec::new();
    }
    if screen::is_too_small(state) {
        return press_unseen(state, key);
    }
    let has_window = !state.windows.is_empty();
    // Esc only dismisses what is in front: a problem before its window, but not news that the user did not ask for.
    let bare = !has_window && state.help.tour.is_none();
    let in_front = state.shared.notice.as_ref().is_some_and(|notice| notice.is_error || bare);
    if key.code == KeyCode::Esc && in_front {
        state.shared.notice = None;
        return Vec::new();
    }
    state.shared.forget_notice();
    // Whatever else is pressed ends the tour and does what it always does.
    let taken = if has_window { Taken::Usual } else { tour::take(&mut state.help, key.code, &state.shared) };
    let command = match taken {
        Taken::Tour => None,
        Taken::Run => Some(Command::Run),
        Taken::Usual => keymap::command(state, key),
    };
    command.map_or_else(Vec::new, |command| dispatch::perform(state, command))
}

/// The keys of a screen that is too small: only quit and suspend, because nobody would see what another key changes.
fn press_unseen(state: &mut State, key: KeyEvent) -> Vec<Effect> {
    let quits = |row: &features::AppKey| row.binding.command_of(key).is_some();
    if features::find(Command::Quit).is_some_and(quits) {
        return act(state, vec![Action::Leave]);
    }
    let suspends = keymap::command(state, key) == Some(Command::Suspend);
    suspends.then_some(Effect::Terminal(TerminalOrder::Suspend)).into_iter().collect()
}

/// Typed where a line is being typed; anywhere else it does nothing, for no key of it was meant as one.
fn paste(state: &mut State, text: &str) -> Vec<Effect> {
    let takes_text = |state: &State| windows::keys(state)?.iter().find(|binding| binding.on.contains(&On::Text));
    let mut effects = Vec::new();
    if screen::is_too_small(state) {
        return effects;
    }
    state.shared.forget_notice();
    if takes_text(state).is_none() {
        state.shared.inform("the pasted text is ignored: you are not typing anything here");
    }
    for c in text.chars() {
        let Some(binding) = takes_text(state) else { break };
        effects.extend(dispatch::perform(state, binding.command.typed(c)));
    }
    effects
}

fn measured(state: &mut State, sample: TelemetrySample) {
    let hardware = Hardware::from_sample(&sample);
    if state.shared.hardware.is_none() {
        fit_presets(&mut state.shared, hardware.gpus);
    }
    state.shared.hardware = Some(hardware);
    if let Some(watched) = &mut state.shared.watched {
        watched.measured(&sample);
    }
    state.devices.measured(sample);
}

/// The first sample shows the hardware, which picks the preset unless the user has chosen one.
fn fit_presets(shared: &mut Shared, gpus: usize) {
    if gpus == 0 {
        return;
    }
    for preset in &mut shared.presets {
        if preset.ranks == Ranks::Gpus {
            *preset = preset.clone().fitted(1, gpus);
        }
    }
    if !shared.touched
        && let Some(preset) = shared.presets.iter().find(|preset| preset.ranks == Ranks::Gpus)
    {
        (shared.spec, shared.preset) = (preset.spec.clone(), preset.name.clone());
    }
}

fn list(state: &mut State, mut runs: Vec<RunSummary>) -> Vec<Effect> {
    runs.iter_mut().for_each(|run| run.status.message = without_flags(&run.status.message));
    let before = std::mem::replace(&mut state.shared.runs, runs);
    state.shared.listed = true;
    announce_failed(&mut state.shared, &before);
    let mut effects = replace_deleted(state, &before);
    effects.extend(open_log(state, &before));
    // At the start: the run that is still going, else the last one.
    if state.shared.watched.is_none()
        && let Some(run) = state.shared.going().or(state.shared.runs.last().map(|run| run.id))
    {
        effects.extend(dispatch::watch(state, run));
    }
    // Somebody has continued this run elsewhere, or has started one, which the lecture view shows.
    if let Some(run) = revived(&state.shared).or(screen::run_to_project(state)) {
        effects.extend(dispatch::watch(state, run));
    }
    let mut actions = vec![Action::RefreshChart];
    actions.extend(series::update::advance(&state.series, &mut state.shared));
    effects.extend(act(state, actions));
    effects
}

/// A run that is not on the screen has failed since the last look: nothing else there says so.
fn announce_failed(shared: &mut Shared, before: &[RunSummary]) {
    let shown = shared.watched.as_ref().map(|watched| watched.id);
    let were_going = before.iter().rev().filter(|run| !run.status.state.is_over() && Some(run.id) != shown);
    let failed = were_going.filter_map(|run| shared.summary(run.id)).find(|run| run.status.state == RunState::Failed);
    if let Some(said) = failed.map(|run| format!("run {} failed: {}", run.id, cause(&run.status))) {
        shared.inform(said);
    }
}

/// The run on the screen was deleted, here or elsewhere: its neighbour takes its place, and windows about it close.
fn replace_deleted(state: &mut State, before: &[RunSummary]) -> Vec<Effect> {
    let Some(gone) = runs::update::deleted(&state.shared, before) else { return Vec::new() };
    windows::forget_gone(state);
    match state.runs.neighbour(before, gone, &state.shared.runs) {
        Some(run) => dispatch::watch(state, run),
        None => {
            state.shared.watched = None;
            Vec::new()
        }
    }
}

/// The run on the screen was started a moment ago, and its steps are known now: they say which ranks print.
fn open_log(state: &mut State, before: &[RunSummary]) -> Vec<Effect> {
    let is_new = |run: RunId| before.iter().all(|row| row.id != run) && state.shared.summary(run).is_some();
    let was_started = state.shared.watched.as_ref().is_some_and(|watched| is_new(watched.id));
    let tab = LogTab::opening(&state.shared);
    let is_due = was_started && state.log.tab == LogTab::ROOT && tab != LogTab::ROOT;
    if is_due { dispatch::show_log_tab(state, tab) } else { Vec::new() }
}

fn revived(shared: &Shared) -> Option<RunId> {
    let watched = shared.watched.as_ref().filter(|watched| watched.state().is_some_and(RunState::is_over))?;
    shared.summary(watched.id).filter(|run| !run.status.state.is_over()).map(|run| run.id)
}

/// Takes what the run on the screen has written.
fn follow(state: &mut State, run: RunId, updates: Vec<RunUpdate>) -> Vec<Effect> {
    let Some(watched) = state.shared.watched.as_mut().filter(|watched| watched.id == run) else { return Vec::new() };
    let (before, introduced) = (watched.state(), watched.introduced());
    let (mut relist, mut has_measured) = (false, false);
    for update in updates {
        let event = if let RunUpdate::Event(line) = &update { Some(&line.event) } else { None };
        has_measured |= matches!(event, Some(Event::Allreduce(_) | Event::Messages(_) | Event::Link(_)));
        relist |= matches!(event, Some(Event::Epoch(_) | Event::Test { .. }));
        if let RunUpdate::Event(EventLine { event: Event::Devices { sample }, .. }) = update {
            state.devices.reported(sample, &watched.topology());
            continue;
        }
        watched.absorb(update);
    }
    let record = state.shared.runs.iter().find(|row| row.id == run).and_then(|row| row.record.as_ref());
    watched.judge(record.and_then(inspected));
    let (mut effects, mut over) = (Vec::new(), false);
    if relist || watched.introduced() != introduced || watched.state() != before {
        // A run that is over has nothing more to show of its ranks than the steps that they reported.
        let has_lanes = watched.is_going() || watched.phases().has_steps();
        state.devices.seated(&if has_lanes { watched.topology() } else { BTreeMap::new() });
    }
    if watched.introduced() != introduced && watched.is_going() {
        effects.push(Effect::WatchRanks(ranks(watched, state.shared.hardware.as_ref())));
    }
    let now = watched.state();
    if now != before {
        relist = true;
        if let Some(state) = now.filter(|now| now.is_over() && before.is_some()) {
            effects.push(Effect::Terminal(TerminalOrder::Announce(format!("run {run} {}", state.name()))));
        }
        if now.is_some_and(RunState::is_over) {
            effects.push(Effect::WatchRanks(Vec::new()));
            // A run that trains nothing shows nothing of the steps.
            let row = state.shared.runs.iter().find(|row| row.id == run);
            if row.is_none_or(has_steps) {
                effects.push(Effect::Judge(run));
            }
            over = true;
        }
        let failed = watched.status.as_ref().filter(|status| status.state == RunState::Failed);
        if let Some(process) = failed.and_then(|status| status.failed_process) {
            effects.extend(dispatch::show_log_tab(state, LogTab::of(process)));
        }
    }
    if relist {
        effects.push(Effect::ListRuns);
    }
    if has_measured && let Some(action) = collectives::stage::told(&mut state.collectives, &state.windows, run) {
        effects.extend(act(state, vec![action]));
    }
    if over {
        tour::follow(&mut state.help, WATCH, now == Some(RunState::Finished));
        collectives::stage::ended(&state.collectives, &state.windows, &mut state.shared, run);
        let actions = series::update::ended(&state.series, &mut state.shared, run);
        effects.extend(act(state, actions));
    }
    effects
}

/// Processes on this host by launch index: with step 1 off several call themselves rank 0, and each must show.
fn ranks(watched: &Watched, here: Option<&Hardware>) -> Vec<RankPlace> {
    let is_here = |report: &&TopologyReport| here.is_none_or(|here| here.host == report.host);
    let reports = watched.topology().into_iter().filter(|(_, report)| is_here(report));
    reports.map(|(process, report)| report.place(process)).collect()
}

/// A recording was played a little further.
fn play(state: &mut State, position: Position, played: Played) -> Vec<Effect> {
    let Some((run, is_watched)) = replay::advance(&mut state.shared, position, played.rewound) else { return Vec::new() };
    if played.rewound {
        state.devices.rewind();
    }
    let mut updates = Vec::new();
    for update in played.updates {
        match update {
            RunUpdate::Telemetry(sample) => measured(state, sample),
            update => updates.push(update),
        }
    }
    let turns = replay::begins_or_ends(&updates);
    let mut effects = follow(state, run, updates);
    if !is_watched && turns {
        effects.push(Effect::ListRuns);
    }
    if is_watched {
        effects.extend(dispatch::read_log(state));
    }
    effects
}
