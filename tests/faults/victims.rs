//! Who is struck, with what, and when: the processes of a run, signals, and moments of a training.

use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use hvd_lab_terminal::process;
use hvd_lab_terminal::runs::RunFolder;
use nix::sys::signal::Signal;

use super::campaign::Dice;
use crate::support::wait::LIMIT;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Victim {
    Supervisor,
    Launcher,
    OneRank,
    AllRanks,
    /// `hvd-lab run`, which only follows.
    Follower,
    /// All at once, as when the power fails.
    Everything,
}

/// What hits it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Blow {
    Signal(Signal),
    /// SIGSTOP, and SIGCONT a moment later: the run has to go on.
    Pause,
}

pub const BLOWS: [(Victim, Blow); 13] = [
    (Victim::Supervisor, Blow::Signal(Signal::SIGKILL)),
    (Victim::Supervisor, Blow::Signal(Signal::SIGTERM)),
    (Victim::Supervisor, Blow::Pause),
    (Victim::Launcher, Blow::Signal(Signal::SIGKILL)),
    (Victim::Launcher, Blow::Signal(Signal::SIGTERM)),
    (Victim::Launcher, Blow::Pause),
    (Victim::OneRank, Blow::Signal(Signal::SIGKILL)),
    (Victim::OneRank, Blow::Signal(Signal::SIGTERM)),
    (Victim::OneRank, Blow::Pause),
    (Victim::AllRanks, Blow::Signal(Signal::SIGKILL)),
    (Victim::Follower, Blow::Signal(Signal::SIGKILL)),
    (Victim::Follower, Blow::Signal(Signal::SIGINT)),
    (Victim::Everything, Blow::Signal(Signal::SIGKILL)),
];

/// When it is hit.
#[derive(Clone, Copy, Debug)]
pub enum Moment {
    /// So long after the start.
    After(Duration),
    /// When so many more events have been written, and a little later.
    Events(usize, Duration),
    /// When another checkpoint has its final name.
    Checkpoint,
    /// When a checkpoint is being written.
    HalfACheckpoint,
}

impl Moment {
    /// `events` are those of the whole run.
    fn draw(dice: &mut Dice, events: usize) -> Moment {
        match dice.below(8) {
            0 => Moment::After(Duration::from_millis(dice.below(800) as u64)),
            1 => Moment::Checkpoint,
            2 => Moment::HalfACheckpoint,
            _ => Moment::Events(dice.below(events), Duration::from_millis(dice.below(120) as u64)),
        }
    }

    /// Wait for it, or for the end of the program that follows the run.
    pub fn wait(self, folder: &RunFolder, follower: &mut Child) {
        let count = || std::fs::read(folder.events_file()).unwrap_or_default().iter().filter(|byte| **byte == b'\n').count();
        let (before, checkpoints) = (count(), names(&folder.log_dir()).len());
        let has_come = || match self {
            Moment::After(_) => true,
            Moment::Events(number, _) => count() >= before + number,
            Moment::Checkpoint => {
                names(&folder.log_dir()).iter().filter(|name| name.ends_with(".safetensors")).count() > checkpoints
            }
            Moment::HalfACheckpoint => names(&folder.log_dir()).iter().any(|name| name.contains("tmp")),
        };
        let deadline = Instant::now() + LIMIT;
        while !has_come() && follower.try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline, "{self:?} never came");
            // A half checkpoint is there for a moment only.
            std::thread::sleep(Duration::from_micros(if matches!(self, Moment::HalfACheckpoint) { 100 } else { 1000 }));
        }
        if let Moment::After(while_) | Moment::Events(_, while_) = self {
            std::thread::sleep(while_);
        }
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[derive(Clone, Copy, Debug)]
pub struct Strike {
    pub victim: Victim,
    pub blow: Blow,
    pub moment: Moment,
}

impl Strike {
    pub fn draw(dice: &mut Dice, events: usize) -> Strike {
        let blow = *dice.pick(&BLOWS);
        Strike::with(dice, blow, events)
    }

    /// At any moment.
    pub fn with(dice: &mut Dice, (victim, blow): (Victim, Blow), events: usize) -> Strike {
        Strike { victim, blow, moment: Moment::draw(dice, events) }
    }

    pub fn name(&self) -> String {
        let blow = match self.blow {
            Blow::Signal(signal) => signal.as_str().to_owned(),
            Blow::Pause => "SIGSTOP, SIGCONT".to_owned(),
        };
        format!("{:?}: {blow}", self.victim)
    }

    /// Hit whoever of the run is there.
    pub fn strike(&self, dice: &mut Dice, folder: &RunFolder, follower: &Child) {
        let victims = self.victims(dice, folder, follower);
        let all = |signal| victims.iter().for_each(|pid| process::signal(*pid, signal));
        match self.blow {
            Blow::Signal(signal) => all(signal),
            Blow::Pause => {
                all(Signal::SIGSTOP);
                std::thread::sleep(Duration::from_millis(300));
                all(Signal::SIGCONT);
            }
        }
    }

    fn victims(&self, dice: &mut Dice, folder: &RunFolder, follower: &Child) -> Vec<u32> {
        let status = folder.read_status().ok();
        // Of this run, or nobody's: a pid alone is no name.
        let supervisor = status
            .filter(|status| process::is_alive(status.supervisor_pid, status.supervisor_start_ticks))
            .map(|status| status.supervisor_pid);
        let of_run = process::of_run(folder.path());
        let called = |names: &[&str]| -> Vec<u32> {
            let name = |pid: &u32| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned();
            of_run.iter().copied().filter(|pid| names.contains(&name(pid).as_str())).collect()
        };
        let ranks = called(&["hvd-train"]);
        match self.victim {
            Victim::Supervisor => supervisor.into_iter().collect(),
            Victim::Launcher => called(&["mpirun", "prterun", "prte"]),
            Victim::OneRank => (!ranks.is_empty()).then(|| *dice.pick(&ranks)).into_iter().collect(),
            Victim::AllRanks => ranks,
            Victim::Follower => vec![follower.id()],
            Victim::Everything => supervisor.into_iter().chain(of_run).chain([follower.id()]).collect(),
        }
    }
}
