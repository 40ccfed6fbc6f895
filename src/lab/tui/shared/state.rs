//! The part of the state that several features read: the runs, the settings of the next one, this host and how it is drawn.

use std::collections::VecDeque;

use ratatui::layout::Rect;

use super::course::Course;
use super::pins::{MOST_PINS, Pins};
use super::watched::Watched;
use crate::domain::device::{DeviceKind, TelemetrySample};
use crate::domain::job::TrainingJob;
use crate::domain::run::{RunState, RunStatus};
use crate::domain::settings::without_flags;
use crate::domain::step::Step;
use crate::launch::Preset;
use crate::runs::recording::Position;
use crate::runs::{self, RunId, RunSummary};
use crate::tui::widgets::Theme;
use crate::tui::widgets::notice::Notice;

/// Notices that are kept.
const MOST_SAID: usize = 100;

#[derive(Clone, Debug)]
pub struct Shared {
    pub theme: Theme,
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    pub now_s: f64,
    pub notice: Option<Notice>,
    /// All that was said lately, and when on this clock; the newest last.
    pub said: VecDeque<(f64, Notice)>,
    /// The step under the cursor.
    pub step: Step,
    /// What the next run would be.
    pub spec: TrainingJob,
    pub preset: String,
    pub presets: Vec<Preset>,
    /// The user changed a setting: hardware found later picks no other preset.
    pub touched: bool,
    /// The images of the next run: `Fashion-MNIST` or `generated garments`.
    pub data: Option<String>,
    /// What this host has, once it has been looked at.
    pub hardware: Option<Hardware>,
    /// All runs, newest last.
    pub runs: Vec<RunSummary>,
    /// The run folder has been read at least once.
    pub listed: bool,
    /// The run that log, chart and header show: the chosen row of the table.
    pub watched: Option<Watched>,
    /// The user's choice; see [`Shared::baseline`].
    pub baseline: Option<RunId>,
    pub pins: Pins,
    pub starting: Starting,
    /// Lessons, and how far the learner has come.
    pub course: Course,
    /// A recording is played: nothing here happens now.
    pub replay: Option<Playing>,
}

/// Runs that were asked for, and are not there yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Starting {
    /// By itself.
    pub run: bool,
    /// As the next of a series.
    pub turn: bool,
}

/// What a host computes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hardware {
    pub host: String,
    pub gpus: usize,
    pub cores: usize,
}

impl Hardware {
    pub fn from_sample(sample: &TelemetrySample) -> Hardware {
        let gpus = sample.devices.iter().filter(|device| device.kind == DeviceKind::Gpu).count();
        let cores = sample.devices.iter().map(|device| device.core_percent.len()).sum();
        Hardware { host: sample.host.clone(), gpus, cores }
    }
}

/// The recording that is played, and where it is.
#[derive(Clone, Debug)]
pub struct Playing {
    pub run: RunId,
    /// What it was recorded on.
    pub hardware: String,
    pub position: Position,
}

impl Shared {
    pub fn new(theme: Theme, presets: Vec<Preset>, preset: Preset) -> Shared {
        let Preset { name: preset, spec, .. } = preset;
        Shared {
            theme,
            size: (0, 0),
            now_s: 0.0,
            notice: None,
            said: VecDeque::new(),
            step: Step::InitAndPin,
            spec,
            preset,
            presets,
            touched: false,
            data: None,
            hardware: None,
            runs: Vec::new(),
            listed: false,
            watched: None,
            baseline: None,
            pins: Pins::default(),
            starting: Starting::default(),
            course: Course::default(),
            replay: None,
        }
    }

    /// All of the terminal.
    pub fn screen(&self) -> Rect {
        Rect::new(0, 0, self.size.0, self.size.1)
    }

    pub fn summary(&self, id: RunId) -> Option<&RunSummary> {
        self.runs.iter().find(|run| run.id == id)
    }

    /// The row of the run on the screen.
    pub fn summary_on_screen(&self) -> Option<&RunSummary> {
        self.summary(self.watched.as_ref()?.id)
    }

    /// The state of a run, from the newest source.
    pub fn run_state(&self, run: &RunSummary) -> RunState {
        self.watched_state(run.id).unwrap_or(run.status.state)
    }

    /// The state that the run itself reports, if it is the one on the screen and can be read.
    pub fn watched_state(&self, run: RunId) -> Option<RunState> {
        // Asked of every row of the list: only the one on the screen is worth looking for.
        self.watched.as_ref().filter(|watched| watched.id == run)?;
        self.status(run).map(|status| status.state)
    }

    /// How a run is going, from the newest source. The row of a run that cannot be read says why, whatever else is in its folder.
    pub fn status(&self, run: RunId) -> Option<&RunStatus> {
        let row = self.summary(run);
        let damaged = row.filter(|row| row.record.is_none());
        let told = self.watched.as_ref().filter(|watched| watched.id == run).and_then(|watched| watched.status.as_ref());
        damaged.map(|row| &row.status).or(told).or(row.map(|row| &row.status))
    }

    /// A run that is going and can be stopped from here: the watched one if it is, else the newest.
    pub fn going(&self) -> Option<RunId> {
        let is_here = |watched: &&Watched| watched.is_going() && self.out_of_reach(watched.id).is_none();
        if let Some(watched) = self.watched.as_ref().filter(is_here) {
            return Some(watched.id);
        }
        self.all_going().last().copied()
    }

    /// All runs that are going and can be stopped from here, oldest first.
    pub fn all_going(&self) -> Vec<RunId> {
        let is_here = |run: &&RunSummary| run.elsewhere.is_none() && !self.run_state(run).is_over();
        let mut going: Vec<RunId> = self.runs.iter().filter(is_here).map(|run| run.id).collect();
        // One that has just been started is not in the list yet.
        let watched = self.watched.as_ref().filter(|watched| watched.is_going() && self.summary(watched.id).is_none());
        going.extend(watched.map(|watched| watched.id));
        going
    }

    /// Something on the screen changes with the time.
    pub fn shows_time(&self) -> bool {
        let watched_goes = self.watched.as_ref().is_some_and(Watched::is_going);
        self.replay.is_none() && (watched_goes || self.going().is_some())
    }

    /// Why a run that is going can be neither stopped, continued nor deleted from here, and what can be done.
    pub fn out_of_reach(&self, run: RunId) -> Option<String> {
        let summary = self.summary(run).filter(|run| !self.run_state(run).is_over())?;
        let place = summary.elsewhere.as_ref()?;
        Some(format!(
            "run {run} may still be running {place}: stop it there. Is that machine gone for good? `hvd-lab help stop` says \
             how to mark the run as failed"
        ))
    }

    /// The state of a run of a series, which may have been started too lately to be in the list.
    pub fn turn_state(&self, run: RunId) -> Option<RunState> {
        match self.summary(run) {
            Some(summary) => Some(self.run_state(summary)),
            None => self.runs.last().is_none_or(|last| last.id < run).then_some(RunState::Preparing),
        }
    }

    /// A run has been asked for that is in no list yet.
    pub fn is_starting(&self) -> bool {
        self.starting.run || self.starting.turn
    }

    /// The run others are compared with: the user's choice, else [`runs::baseline`] of those that have a measured rate and do what the
    /// shown run does, for a training gains nothing over a benchmark.
    pub fn baseline(&self) -> Option<&RunSummary> {
        let measured = |run: &&RunSummary| run.figures.images_per_sec.is_some();
        let shown = self.summary_on_screen().filter(|run| measured(run));
        let shown = shown.or_else(|| self.runs.iter().rev().find(measured)).and_then(kind_of);
        let alike = |run: &&RunSummary| measured(run) && kind_of(run) == shown;
        self.baseline.and_then(|id| self.summary(id)).or_else(|| runs::baseline(self.runs.iter().filter(alike)))
    }

    /// The next run gets these settings.
    pub fn set_up(&mut self, spec: TrainingJob) {
        (self.spec, self.touched) = (spec, true);
    }

    /// What the chosen settings mean together, in one line; `Err` where one should look twice.
    pub fn advice(&self) -> Result<String, String> {
        if let Some(problem) = self.spec.problem() {
            return Err(problem);
        }
        let np = self.spec.resources.np;
        if np == 1 {
            return Ok("with one rank, steps 2 to 9 have no effect".into());
        }
        let (gpus, cores) = self.hardware.as_ref().map_or((0, 0), |hardware| (hardware.gpus, hardware.cores));
        match (gpus, cores) {
            (0, cores) if cores > 0 && np > cores => Err(format!("{np} ranks on {cores} cores share them and gain no speed")),
            (1, _) => Err(format!("{np} ranks on one GPU share it and gain little")),
            (gpus, _) if gpus > 0 && np > gpus => Err(format!("{np} ranks on {gpus} GPUs share them and gain little")),
            _ => Ok(format!("global batch {} images", self.spec.global_batch_size())),
        }
    }

    pub fn error(&mut self, text: impl Into<String>) {
        self.say(text.into(), true);
    }

    pub fn inform(&mut self, text: impl Into<String>) {
        self.say(text.into(), false);
    }

    /// Says why nothing is done.
    pub fn refuse<T>(&mut self, why: impl Into<String>) -> Vec<T> {
        self.inform(why);
        Vec::new()
    }

    fn say(&mut self, text: String, is_error: bool) {
        let notice = Notice { text: without_flags(&text), is_error };
        if self.said.len() == MOST_SAID {
            self.said.pop_front();
        }
        self.said.push_back((self.now_s, notice.clone()));
        self.notice = Some(notice);
    }

    /// News goes with whatever is done next; a problem stays until it is dismissed.
    pub fn forget_notice(&mut self) {
        self.notice = self.notice.take().filter(|notice| notice.is_error);
    }

    /// Seconds until news leaves by itself.
    pub fn notice_left_s(&self) -> Option<f64> {
        let (said_s, _) = self.said.back()?;
        self.notice.as_ref()?.left_s(self.now_s - said_s)
    }

    /// Pins the chosen run, or lets it go; false where that changes nothing.
    pub fn toggle_pin(&mut self) -> bool {
        let Some(run) = self.watched.as_ref().map(|watched| watched.id) else {
            self.inform("no run to pin yet: r starts one");
            return false;
        };
        let listed: Vec<RunId> = self.runs.iter().map(|run| run.id).collect();
        let pins = &mut self.pins.pinned;
        if pins.len() == MOST_PINS {
            // One that is gone must not keep others out.
            pins.retain(|pin| listed.contains(pin) || *pin == run);
        }
        if let Some(place) = pins.iter().position(|pin| *pin == run) {
            pins.remove(place);
            self.inform(format!("run {run} is no longer pinned"));
        } else if pins.len() == MOST_PINS {
            let names: Vec<String> = pins.iter().map(RunId::to_string).collect();
            self.error(format!("{MOST_PINS} runs are pinned ({}): choose one of them and unpin it with p", names.join(", ")));
            return false;
        } else {
            pins.push(run);
            self.inform(format!("run {run} is pinned: the chart keeps showing it beside others"));
        }
        true
    }
}

/// The settings that the next run needs to be this one again. `None` of other kinds of runs, and of a learner's own program.
pub fn repeatable(run: &RunSummary) -> Option<TrainingJob> {
    run.record.as_ref().filter(|record| record.request.program.is_none())?.request.spec.training_job()
}

/// What a run does: trains, or measures.
pub fn kind_of(run: &RunSummary) -> Option<&str> {
    run.record.as_ref().map(|record| record.request.spec.workload.kind())
}

/// Whether a run trains for a result: then it has epochs and steps to speak of.
pub fn has_steps(run: &RunSummary) -> bool {
    run.record.as_ref().is_none_or(|record| record.has_steps())
}

/// Whether a run is of a program of the user's own.
pub fn is_of_own(run: &RunSummary) -> bool {
    run.record.as_ref().is_some_and(|record| record.request.spec.command().is_some())
}

/// Whether a run measures collectives.
pub fn is_of_collectives(run: &RunSummary) -> bool {
    run.record.as_ref().is_some_and(|record| record.request.spec.collectives().is_some())
}
