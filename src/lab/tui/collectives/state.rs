//! What the window of the collectives shows: which run and method, and where the player is.
//!
//! Never reads a file: what a run has measured comes in as messages.

use super::log::Log;
use super::player::Player;
use crate::columns::capital;
use crate::domain::collective::{Algorithm, CollectivesSpec, Shape};
use crate::domain::job::RunSpec;
use crate::domain::measured::{Comparison, Measured};
use crate::runs::RunId;

hvd_lab_core::named! {
    /// What is shown of a run, in the order of the arrow keys.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    Show {
        #[default]
        Messages = "messages",
        Time = "time by size",
        Bandwidth = "bus bandwidth by size",
    }
}

#[derive(Clone, Debug, Default)]
pub struct Collectives {
    /// Whose measurements these are; `None` where no run has made any.
    pub run: Option<RunId>,
    pub ranks: usize,
    /// What the run was asked to measure, on which links, servers and hosts.
    pub spec: Option<CollectivesSpec>,
    pub measured: Measured,
    /// What it has measured is being read.
    pub is_reading: bool,
    /// It has told more since.
    pub has_news: bool,
    /// The place of the chosen method.
    pub method: usize,
    /// Its messages, where it has any.
    pub log: Option<Log>,
    /// What is wrong with the log of the run, in one sentence.
    pub log_problem: Option<String>,
    /// The run was asked to log its messages, and is over: what is not there will not come.
    pub is_log_due: bool,
    pub player: Player,
    /// Ranks or methods above the first one shown.
    pub scroll: usize,
    /// The size under the cursor of the chart; `None` for the largest.
    pub size: Option<u64>,
    /// A run was asked for and is not there yet.
    pub is_starting: bool,
    pub show: Show,
    /// What the form was asked for last.
    pub asked: Option<RunSpec>,
}

/// With fewer ranks the schedules of all methods look alike.
pub const LEAST_RANKS: usize = 4;

/// Numbers of a schedule that no run has executed: 16 KiB.
const ELEMENTS: usize = 4096;

/// Ranks of such a schedule: its messages grow with the square of them.
const MOST_RANKS: usize = 256;

impl Collectives {
    /// Those of the run; without any, those whose schedule is known.
    pub fn methods(&self) -> Vec<&str> {
        let measured = self.measured.methods();
        if measured.is_empty() { Algorithm::ALL.map(Algorithm::name).to_vec() } else { measured }
    }

    pub fn method(&self) -> &str {
        self.methods().get(self.method).copied().unwrap_or_default()
    }

    /// The messages of the chosen method, from the start if they are others than before.
    pub fn take_log(&mut self) {
        let (log, problem) = self.chosen_log();
        self.log_problem = problem;
        if log != self.log {
            self.player = Player::default();
            self.log = log;
        }
    }

    /// What the run has logged of the chosen method, else its schedule, and what is wrong with the log.
    fn chosen_log(&self) -> (Option<Log>, Option<String>) {
        let (method, damaged) = (self.method(), &self.measured.damaged);
        let shape = self.spec.as_ref().map(|spec| spec.shape);
        if let Some(log) = self.measured.logs.iter().find(|log| log.method == method) {
            let compared = shape.map(|shape| log.compared(self.ranks, shape));
            let wrong = compared.filter(|what| matches!(what, Comparison::Incomplete { .. } | Comparison::Differs { .. }));
            let why = damaged.as_ref().map(|damaged| format!(" ({damaged})")).unwrap_or_default();
            return (Some(Log::of(log, self.ranks)), wrong.map(|wrong| format!("{}{why}.", capital(&wrong.to_string()))));
        }
        let Some(algorithm) = Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == method) else {
            return (None, None);
        };
        let (ranks, shape) = (self.ranks.max(1), shape.unwrap_or(Shape::usual(self.ranks)));
        let log = (ranks <= MOST_RANKS).then(|| Log::of_schedule(method, &algorithm.schedule(ranks, ELEMENTS, shape)));
        let why = match damaged {
            _ if !self.is_log_due || self.is_reading || self.measured.rows.is_empty() => return (log, None),
            Some(damaged) => format!("The log is damaged: {damaged}."),
            None => "The log has no message of it.".to_owned(),
        };
        (log, Some(format!("{why} This is the schedule, not what was sent.")))
    }

    /// The size that the table is about.
    pub fn shown_size(&self) -> Option<u64> {
        let sizes = self.measured.sizes();
        self.size.filter(|size| sizes.contains(size)).or(sizes.last().copied())
    }
}
