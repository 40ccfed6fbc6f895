//! What the chart shows and what its keys do: runs, each in a colour and under a letter that it keeps, and which part of them.
//!
//! Never draws, and never reads a file: curves of runs that are not on the screen are asked for as effects.

use std::collections::BTreeMap;

use super::chart_range::{Range, Reach};
use super::curves::Curves;
use super::effect::Effect;
use super::graph::{Graph, Tab};
use super::keymap::Command;
use super::looks::RUN_COLOURS;
use super::state::State;
use crate::domain::run::RunState;
use crate::runs::{RunId, RunSummary};

/// With the run on the screen and the baseline there is a colour for each.
pub const MOST_PINS: usize = RUN_COLOURS - 2;

#[derive(Clone, Debug, Default)]
pub struct ChartView {
    pub tab: Tab,
    pub range: Range,
    /// Which graphs have a logarithmic scale.
    log: [bool; Graph::ALL.len()],
    /// Timeline: the epoch that is shown; `None` for the newest.
    pub epoch: Option<usize>,
    /// Timeline: processes above the first one shown.
    pub scroll: usize,
    /// In the order in which they were pinned.
    pins: Vec<RunId>,
    /// Which colour and letter each shown run has.
    slots: BTreeMap<RunId, usize>,
    /// Curves of shown runs that are not followed, and how far each run was when they were read.
    read: BTreeMap<RunId, (Option<Progress>, Curves)>,
}

/// Places that the cursor moves at a time with Page up and Page down.
const PAGE: f64 = 10.0;

/// What of a run must change before its curves are read again.
type Progress = (RunState, usize);

impl ChartView {
    pub fn pins(&self) -> &[RunId] {
        &self.pins
    }

    /// Pins these runs and no others.
    pub fn pin(&mut self, mut runs: Vec<RunId>) {
        runs.truncate(MOST_PINS);
        self.pins = runs;
    }

    pub fn is_pinned(&self, run: RunId) -> bool {
        self.pins.contains(&run)
    }

    /// Number of the colour that a shown run has: see [`super::theme::Theme::run`].
    pub fn slot(&self, run: RunId) -> Option<usize> {
        self.slots.get(&run).copied()
    }

    /// The letter that a shown run has beside its colour, which tells it apart without colours.
    pub fn letter(&self, run: RunId) -> Option<char> {
        self.slot(run).map(|slot| char::from(b'A' + slot as u8))
    }

    pub fn is_log(&self, graph: Graph) -> bool {
        self.log[graph as usize]
    }

    pub fn receive(&mut self, run: RunId, curves: Curves) {
        // Nobody waits any more for curves of a run that has been unpinned since.
        if let Some((_, place)) = self.read.get_mut(&run) {
            *place = curves;
        }
    }

    /// A shown run keeps its slot; a new one gets the slot of its number, or the next that is free.
    fn assign(&mut self, shown: &[RunId]) {
        self.slots.retain(|run, _| shown.contains(run));
        for run in shown {
            let wanted = (run.0 as usize).saturating_sub(1);
            let mut slots = (0..RUN_COLOURS).map(|step| (wanted + step) % RUN_COLOURS);
            if !self.slots.contains_key(run)
                && let Some(free) = slots.find(|slot| self.slots.values().all(|taken| taken != slot))
            {
                self.slots.insert(*run, free);
            }
        }
    }
}

/// The run on the screen, the baseline and the pinned runs, each once; those that are gone are left out.
pub fn shown(state: &State) -> Vec<RunId> {
    let watched = state.watched.as_ref().map(|watched| watched.id);
    let mut shown: Vec<RunId> = watched.into_iter().collect();
    let listed = |run: &RunId| state.summary(*run).is_some();
    let others = state.baseline().map(|run| run.id).into_iter().chain(state.chart_view.pins.iter().copied().filter(listed));
    for run in others {
        if !shown.contains(&run) {
            shown.push(run);
        }
    }
    shown
}

/// What the chart has to draw of a shown run. `None` while it is being read.
pub fn curves(state: &State, run: RunId) -> Option<&Curves> {
    match state.watched.as_ref().filter(|watched| watched.id == run) {
        Some(watched) => Some(&watched.curves),
        None => state.chart_view.read.get(&run).map(|(_, curves)| curves),
    }
}

/// After a change of what is shown or of how far a run is: colours for new runs, and the curves that are missing.
pub fn refresh(state: &mut State) -> Vec<Effect> {
    let shown = shown(state);
    state.chart_view.assign(&shown);
    let watched = state.watched.as_ref().map(|watched| watched.id);
    let unfollowed: Vec<RunId> = shown.into_iter().filter(|run| Some(*run) != watched).collect();
    let progress = |run: &RunSummary| (run.status.state, run.last_epoch);
    let now: BTreeMap<RunId, Option<Progress>> =
        unfollowed.into_iter().map(|run| (run, state.summary(run).map(progress))).collect();
    let read = &mut state.chart_view.read;
    read.retain(|run, _| now.contains_key(run));
    let mut effects = Vec::new();
    for (run, progress) in now {
        let place = read.entry(run);
        if matches!(&place, std::collections::btree_map::Entry::Occupied(known) if known.get().0 == progress) {
            continue;
        }
        // What is known already stays on the screen until the new curves are there.
        place.or_default().0 = progress;
        effects.push(Effect::ReadCurves(run));
    }
    effects
}

/// Pins the chosen run, or lets it go.
pub fn toggle_pin(state: &mut State) -> Vec<Effect> {
    let Some(run) = state.watched.as_ref().map(|watched| watched.id) else {
        state.inform("no run to pin yet: r starts one");
        return Vec::new();
    };
    let listed: Vec<RunId> = state.runs.iter().map(|run| run.id).collect();
    let pins = &mut state.chart_view.pins;
    if pins.len() == MOST_PINS {
        // One that is gone must not keep others out.
        pins.retain(|pin| listed.contains(pin) || *pin == run);
    }
    if let Some(place) = pins.iter().position(|pin| *pin == run) {
        pins.remove(place);
        state.inform(format!("run {run} is no longer pinned"));
    } else if pins.len() == MOST_PINS {
        let names: Vec<String> = pins.iter().map(RunId::to_string).collect();
        state.error(format!("{MOST_PINS} runs are pinned ({}): choose one of them and let it go with p", names.join(", ")));
        return Vec::new();
    } else {
        pins.push(run);
        state.inform(format!("run {run} is pinned: the chart keeps showing it beside others"));
    }
    refresh(state)
}

/// How far the shown curves reach.
pub fn reach(state: &State) -> Reach {
    let along = state.chart_view.range.along;
    let most =
        |end: &dyn Fn(&Curves) -> f64| shown(state).into_iter().filter_map(|run| curves(state, run)).map(end).fold(0.0, f64::max);
    let (end, furthest) = (most(&|curves| curves.planned_end(along)), most(&|curves| curves.end(along)));
    let own = state.watched.as_ref().map(|watched| watched.curves.end(along)).filter(|own| *own > 0.0);
    Reach { end, furthest, newest: own.unwrap_or(furthest) }
}

/// Where a pointer says.
pub fn put_cursor(state: &mut State, x: f64) {
    let reach = reach(state);
    state.chart_view.range.put_cursor(x, reach);
}

/// What the keys of the chart do.
pub fn obey(state: &mut State, command: Command) {
    let reach = reach(state);
    let view = &mut state.chart_view;
    match (command, view.tab) {
        (Command::Left, _) => view.tab = view.tab.turned(Tab::ALL.len() - 1),
        (Command::Right, _) => view.tab = view.tab.turned(1),
        (command, Tab::Timeline) => timeline(state, command),
        (Command::LogScale, Tab::Graph(graph)) => view.log[graph as usize] ^= true,
        (Command::Along, _) => {
            let curve = state.watched.as_ref().map(|watched| &watched.curves.loss);
            view.range.turn(curve);
        }
        (Command::ZoomIn | Command::Up, _) => view.range.zoom_in(),
        (Command::ZoomOut | Command::Down, _) => view.range.zoom_out(),
        (Command::CursorLeft, _) => view.range.move_cursor(-1.0, reach),
        (Command::CursorRight, _) => view.range.move_cursor(1.0, reach),
        (Command::PageUp, _) => view.range.move_cursor(-PAGE, reach),
        (Command::PageDown, _) => view.range.move_cursor(PAGE, reach),
        (Command::First, _) => view.range.put_cursor(0.0, reach),
        (Command::Last, _) => view.range.put_cursor(reach.newest, reach),
        (Command::Fit, _) => view.range.reset(),
        _ => {}
    }
}

fn timeline(state: &mut State, command: Command) {
    let Some(watched) = &state.watched else { return };
    let epochs = watched.phases.epochs();
    let view = &mut state.chart_view;
    let now = view.epoch.or(watched.phases.newest()).unwrap_or(0);
    match command {
        Command::CursorLeft => view.epoch = epochs.iter().rev().find(|epoch| **epoch < now).copied().or(view.epoch),
        Command::CursorRight => view.epoch = epochs.iter().find(|epoch| **epoch > now).copied(),
        Command::First => view.epoch = epochs.first().copied(),
        Command::Last => view.epoch = None,
        Command::ZoomIn | Command::Up => view.scroll = view.scroll.saturating_sub(1),
        Command::ZoomOut | Command::Down => view.scroll = (view.scroll + 1).min(watched.phases.processes().saturating_sub(1)),
        Command::Fit => (view.epoch, view.scroll) = (None, 0),
        Command::LogScale | Command::Along => {
            state.inform("the timeline has no scale to change: ← and → show curves, , and . other epochs");
        }
        _ => {}
    }
}
