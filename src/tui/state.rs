//! Everything the screen knows: one owner, changed by `update` only, drawn by `pane`.
//!
//! Never holds a handle, a channel or a clock.

use super::chart_view::ChartView;
use super::course_view::CourseView;
use super::devices_view::DevicesView;
use super::exercise_view::ExerciseView;
use super::habits::Habits;
use super::log_view::LogView;
use super::message::DataInfo;
use super::mode::{Mode, ModeKind};
use super::replay::ReplayView;
use super::runs_view::RunsView;
use super::settings::Field;
use super::theme::Theme;
use super::watched::Watched;
use crate::domain::device::DeviceKind;
use crate::domain::run::{RunSpec, RunState};
use crate::domain::speedup::Comparison;
use crate::domain::step::Step;
use crate::launch::Preset;
use crate::runs::{RunId, RunSummary, gained};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pane {
    Steps,
    Settings,
    Devices,
    Chart,
    Log,
    Runs,
}

impl Pane {
    /// In the order of Tab.
    pub const ALL: [Pane; 6] = [Pane::Steps, Pane::Settings, Pane::Devices, Pane::Chart, Pane::Log, Pane::Runs];

    pub fn title(self) -> &'static str {
        match self {
            Pane::Steps => "Steps",
            Pane::Settings => "Next run",
            Pane::Devices => "Devices",
            Pane::Chart => "Chart",
            Pane::Log => "Log",
            Pane::Runs => "Runs",
        }
    }

    /// One of the three that share a place on a small screen.
    pub fn shares_slot(self) -> bool {
        matches!(self, Pane::Devices | Pane::Chart | Pane::Log)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    pub text: String,
    pub is_error: bool,
}

#[derive(Clone, Debug)]
pub struct State {
    pub theme: Theme,
    pub habits: Habits,
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    pub mode: Mode,
    pub focus: Pane,
    /// Which of log, chart and devices a small screen shows.
    pub slot: Pane,
    pub zoom: bool,
    /// The step under the cursor.
    pub step: Step,
    /// The setting under the cursor.
    pub field: Field,
    pub spec: RunSpec,
    pub preset: String,
    pub presets: Vec<Preset>,
    /// The user changed a setting: hardware found later picks no other preset.
    pub touched: bool,
    pub data: Option<DataInfo>,
    /// All runs, newest last.
    pub runs: Vec<RunSummary>,
    /// The run folder has been read at least once.
    pub listed: bool,
    /// The run that log, chart and header show: the chosen row of the table.
    pub watched: Option<Watched>,
    /// The user's choice; see [`State::baseline`].
    pub baseline: Option<RunId>,
    pub log: LogView,
    /// A recording is played: nothing here happens now.
    pub replay: Option<ReplayView>,
    pub chart_view: ChartView,
    pub runs_view: RunsView,
    pub devices: DevicesView,
    pub course: CourseView,
    pub exercise: ExerciseView,
    pub notice: Option<Notice>,
    pub now_s: f64,
    pub done: bool,
}

impl State {
    pub fn new(theme: Theme, presets: Vec<Preset>, preset: Preset) -> State {
        let Preset { name: preset, spec, .. } = preset;
        State {
            theme,
            habits: Habits::default(),
            size: (0, 0),
            mode: Mode::Normal,
            focus: Pane::Steps,
            slot: Pane::Log,
            zoom: false,
            step: Step::InitAndPin,
            field: Field::Preset,
            spec,
            preset,
            presets,
            touched: false,
            data: None,
            runs: Vec::new(),
            listed: false,
            watched: None,
            baseline: None,
            log: LogView::default(),
            replay: None,
            chart_view: ChartView::default(),
            runs_view: RunsView::default(),
            devices: DevicesView::default(),
            course: CourseView::default(),
            exercise: ExerciseView::default(),
            notice: None,
            now_s: 0.0,
            done: false,
        }
    }

    pub fn summary(&self, id: RunId) -> Option<&RunSummary> {
        self.runs.iter().find(|run| run.id == id)
    }

    /// The state of a run, from the newest source.
    pub fn run_state(&self, run: &RunSummary) -> RunState {
        self.watched_state(run.id).unwrap_or(run.status.state)
    }

    /// What the run itself has told, if it is the one on the screen.
    pub fn watched_state(&self, run: RunId) -> Option<RunState> {
        self.watched.as_ref().filter(|watched| watched.id == run).and_then(Watched::state)
    }

    /// A run that is going: the watched one if it is, else the newest.
    pub fn going(&self) -> Option<RunId> {
        if let Some(watched) = self.watched.as_ref().filter(|watched| watched.is_going()) {
            return Some(watched.id);
        }
        self.runs.iter().rev().find(|run| !self.run_state(run).is_over()).map(|run| run.id)
    }

    /// A run has been asked for that is in no list yet.
    pub fn is_starting(&self) -> bool {
        self.runs_view.is_starting || self.course.is_starting
    }

    /// The run others are compared with: the user's choice, else the first with one rank and a measured rate, else the
    /// first with a measured rate.
    pub fn baseline(&self) -> Option<&RunSummary> {
        let measured = |run: &&RunSummary| run.figures.images_per_sec.is_some();
        self.baseline
            .and_then(|id| self.summary(id))
            .or_else(|| self.runs.iter().filter(measured).find(|run| run.figures.np == 1))
            .or_else(|| self.runs.iter().find(measured))
    }

    /// What `run` gained over the baseline, or why that cannot be said.
    pub fn comparison(&self, run: &RunSummary) -> Result<Comparison, &'static str> {
        let Some(baseline) = self.baseline() else { return Err("no run to compare with yet") };
        gained(run, baseline)
    }

    /// What the chosen settings mean together, in one line; `Err` where one should look twice.
    pub fn advice(&self) -> Result<String, String> {
        if let Some(problem) = self.spec.problem() {
            return Err(problem);
        }
        let np = self.spec.np;
        if np == 1 {
            return Ok("one rank alone: steps 2 to 9 have nothing to do".into());
        }
        let devices = self.devices.here().map_or(&[][..], |sample| &sample.devices);
        let gpus = devices.iter().filter(|device| device.kind == DeviceKind::Gpu).count();
        let cores: usize = devices.iter().map(|device| device.core_percent.len()).sum();
        match (gpus, cores) {
            (0, cores) if cores > 0 && np > cores => Err(format!("{np} ranks on {cores} cores share them and gain no speed")),
            (1, _) => Err(format!("{np} ranks on one GPU share it and gain little")),
            (gpus, _) if gpus > 0 && np > gpus => Err(format!("{np} ranks on {gpus} GPUs share them and gain little")),
            _ => Ok(format!("global batch {} images", self.spec.global_batch_size())),
        }
    }

    /// Which part of the key table counts.
    pub fn keys(&self) -> ModeKind {
        match self.mode.kind() {
            ModeKind::Normal if self.replay.is_some() => ModeKind::Replay,
            kind => kind,
        }
    }

    pub fn error(&mut self, text: impl Into<String>) {
        self.notice = Some(Notice { text: text.into(), is_error: true });
    }

    /// News goes with whatever is done next; a problem stays until it is dismissed.
    pub fn forget_news(&mut self) {
        self.notice = self.notice.take().filter(|notice| notice.is_error);
    }

    pub fn inform(&mut self, text: impl Into<String>) {
        self.notice = Some(Notice { text: text.into(), is_error: false });
    }
}
