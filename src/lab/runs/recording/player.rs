//! Plays a recording by a clock that is passed in: what the run wrote until the moment that the clock has reached.
//!
//! Never waits, reads a clock or writes. Lines of the logs are not played: the log reader is asked for those up to that moment.

use std::iter::Peekable;

use super::error::RecordingError;
use super::recorded::Recording;
use super::timeline::Timeline;
use crate::domain::device::{DeviceKind, TelemetrySample};
use crate::domain::event::EventLine;
use crate::domain::run::{RunState, RunStatus};
use crate::domain::units;
use crate::host::read::{self, LONGEST_LINE};
use crate::runs::{Accountant, RunFolder, RunSummary, RunUpdate};

/// What `+` and `-` go through.
const SPEEDS: [f64; 9] = [0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlayerOrder {
    /// Pause, or go on; from the start again at the end.
    Pause,
    /// So many seconds of the recording forwards, or back.
    Seek(i32),
    ToStart,
    ToEnd,
    Faster,
    Slower,
    /// Play everything up to now once more, for a viewer that has just begun to watch.
    Again,
}

/// Where the player is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Position {
    pub played_s: f64,
    pub duration_s: f64,
    /// Unix time of the recording.
    pub time_s: f64,
    pub speed: f64,
    pub paused: bool,
}

/// What a step of the clock brought.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Played {
    /// Earlier updates are void: these begin from the start.
    pub rewound: bool,
    pub updates: Vec<RunUpdate>,
}

pub struct Player {
    pub recording: Recording,
    /// What it was recorded on.
    pub hardware: String,
    timeline: Timeline,
    events: Track<EventLine>,
    telemetry: Track<TelemetrySample>,
    tally: Accountant,
    status: Option<RunState>,
    /// In seconds of the recording.
    played_s: f64,
    speed: f64,
    paused: bool,
    rewind: bool,
    /// The clock at the last step.
    clock_s: Option<f64>,
}

impl Player {
    /// # Errors
    /// [`RecordingError::Bad`] where nothing was recorded.
    pub fn open(recording: Recording, speed: f64) -> Result<Player, RecordingError> {
        let folder = &recording.folder;
        let starts: Vec<f64> = recording.record.attempts.iter().map(|attempt| attempt.started_s).collect();
        let times = events(folder).map(|(time_s, _)| time_s).chain(telemetry(folder).map(|(time_s, _)| time_s));
        let timeline = Timeline::new(&starts, times, recording.status.ended_s);
        if timeline.duration_s() <= 0.0 {
            return Err(RecordingError::damaged(folder.path(), "it has no events to play"));
        }
        // The first sample of a CPU has no cores yet: their use is counted between two.
        let hardware = telemetry(folder).find_map(|(_, sample)| hardware(&sample));
        let hardware = hardware.unwrap_or_else(|| "hardware that was not recorded".to_owned());
        Ok(Player {
            events: events(folder),
            telemetry: telemetry(folder),
            tally: Accountant::of(&recording.record),
            recording,
            hardware,
            timeline,
            status: None,
            played_s: 0.0,
            speed: speed.clamp(SPEEDS[0], 1_000.0),
            paused: false,
            rewind: false,
            clock_s: None,
        })
    }

    pub fn order(&mut self, order: PlayerOrder) {
        let duration_s = self.timeline.duration_s();
        match order {
            PlayerOrder::Pause if self.is_at_end() => {
                (self.played_s, self.paused, self.rewind) = (0.0, false, true);
            }
            PlayerOrder::Pause => self.paused = !self.paused,
            PlayerOrder::Seek(by_s) => self.go_to((self.played_s + f64::from(by_s)).clamp(0.0, duration_s)),
            PlayerOrder::ToStart => self.go_to(0.0),
            PlayerOrder::ToEnd => self.go_to(duration_s),
            PlayerOrder::Faster => self.speed = SPEEDS.into_iter().find(|speed| *speed > self.speed).unwrap_or(self.speed),
            PlayerOrder::Slower => self.speed = SPEEDS.into_iter().rfind(|speed| *speed < self.speed).unwrap_or(self.speed),
            PlayerOrder::Again => self.rewind = true,
        }
    }

    fn go_to(&mut self, played_s: f64) {
        self.rewind |= played_s < self.played_s;
        self.played_s = played_s;
    }

    fn is_at_end(&self) -> bool {
        self.played_s >= self.timeline.duration_s()
    }

    /// Nothing will happen until an order comes.
    pub fn is_still(&self) -> bool {
        (self.paused || self.is_at_end()) && !self.rewind
    }

    /// Go on to where the clock says: `clock_s` counts seconds, from any moment.
    pub fn step(&mut self, clock_s: f64) -> Played {
        let passed_s = clock_s - self.clock_s.replace(clock_s).unwrap_or(clock_s);
        if !self.paused {
            self.played_s = (self.played_s + passed_s.max(0.0) * self.speed).min(self.timeline.duration_s());
        }
        let mut played = Played { rewound: std::mem::take(&mut self.rewind), updates: Vec::new() };
        if played.rewound {
            (self.events, self.telemetry) = (events(&self.recording.folder), telemetry(&self.recording.folder));
            self.tally = Accountant::of(&self.recording.record);
            self.status = None;
        }
        let now_s = self.timeline.at(self.played_s);
        let over = self.is_at_end();
        if !over && self.status.is_none() {
            self.status = Some(RunState::Running);
            played.updates.push(RunUpdate::Status(self.status_now()));
        }
        while let Some((_, event)) = self.events.next_if(|(time_s, _)| *time_s <= now_s) {
            self.tally.take(&event);
            played.updates.push(RunUpdate::Event(event));
        }
        while let Some((_, sample)) = self.telemetry.next_if(|(time_s, _)| *time_s <= now_s) {
            played.updates.push(RunUpdate::Telemetry(sample));
        }
        // As it comes from a run that is followed: last of all.
        if over && self.status != Some(self.recording.status.state) {
            self.status = Some(self.recording.status.state);
            played.updates.push(RunUpdate::Status(self.status_now()));
        }
        played
    }

    pub fn position(&self) -> Position {
        Position {
            played_s: self.played_s,
            duration_s: self.timeline.duration_s(),
            time_s: self.timeline.at(self.played_s),
            speed: self.speed,
            paused: self.paused || self.is_at_end(),
        }
    }

    /// The row of the table of runs, as it was then.
    pub fn summary(&self) -> RunSummary {
        RunSummary {
            id: self.recording.record.id,
            record: Some(self.recording.record.clone()),
            status: self.status_now(),
            tally: self.tally.tally(),
            elsewhere: None,
        }
    }

    fn status_now(&self) -> RunStatus {
        let recorded = &self.recording.status;
        if self.is_at_end() {
            return recorded.clone();
        }
        let started_s = self.timeline.start_of(self.timeline.at(self.played_s));
        RunStatus::new(RunState::Running, "training", started_s)
    }
}

/// `2 CPU cores`, `4 x NVIDIA H200`.
fn hardware(sample: &TelemetrySample) -> Option<String> {
    let gpus: Vec<&str> =
        sample.devices.iter().filter(|device| device.kind == DeviceKind::Gpu).map(|device| device.name.as_str()).collect();
    match gpus.first() {
        Some(name) => Some(format!("{} x {name}", gpus.len())),
        None => {
            let cores: usize = sample.devices.iter().map(|device| device.core_percent.len()).sum();
            (cores > 0).then(|| units::counted(cores, "CPU core"))
        }
    }
}

/// What a file tells with its times, which never go back: ranks' clocks may differ a little.
type Track<T> = Peekable<Box<dyn Iterator<Item = (f64, T)> + Send>>;

fn events(folder: &RunFolder) -> Track<EventLine> {
    timed(folder.events(), |event| event.time_s)
}

/// Lines that cannot be read are skipped, as everywhere.
fn telemetry(folder: &RunFolder) -> Track<TelemetrySample> {
    let lines = read::open(&folder.telemetry_file()).into_iter().flat_map(|file| read::lines(file, LONGEST_LINE));
    timed(lines.filter_map(|line| TelemetrySample::parse_line(&line.ok()?)), |sample| sample.time_s)
}

fn timed<T: 'static>(all: impl Iterator<Item = T> + Send + 'static, time_s: fn(&T) -> f64) -> Track<T> {
    let mut latest_s = f64::MIN;
    let timed = all.map(move |one| {
        latest_s = latest_s.max(time_s(&one));
        (latest_s, one)
    });
    (Box::new(timed) as Box<dyn Iterator<Item = (f64, T)> + Send>).peekable()
}
