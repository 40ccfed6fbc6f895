//! Makes the faults that a user asked for in the ranks of a run, and records how long it took until the rank at fault was named.
//!
//! The supervisor does it, so that a fault is undone when its time is over even if the program that asked for it has ended.

use std::fs::{OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::link_monitor::Hub;
use crate::domain::bounds::Bounded;
use crate::domain::fault::{FaultKind, FaultRecord, FaultRequest, MAX_FAULTS, mistake_file};
use crate::domain::step::Step;
use crate::host::{self, cores, files, owners, read};
use crate::process::{self, ProcessHandle};
use crate::runs::{RunFolder, RunRecord};

/// How long a rank that is made slow is stopped, and then runs. The sum must not be a multiple of the time between two looks, or every
/// look would see the same state.
const STOPPED_FOR: Duration = Duration::from_millis(30);
const RUNS_FOR: Duration = Duration::from_millis(50);
/// No file of the root may be larger: less than any checkpoint.
const FILE_LIMIT: u64 = 4096;
/// A request takes much less.
const MOST_BYTES: u64 = 4096;

/// Begins a line of launcher.log that says why a fault was not made.
pub const FAULT_REFUSED: &str = "hvd-lab: no fault was made: ";

/// A fault that lasts.
struct Going {
    kind: FaultKind,
    process: usize,
    rank: ProcessHandle,
    until: Instant,
    /// When it is stopped or let go next.
    turn: Instant,
    is_stopped: bool,
    /// The cores that each thread might use before.
    cores: Vec<(u32, Vec<usize>)>,
}

/// A fault whose rank has not been named yet.
struct Open {
    index: usize,
    kind: FaultKind,
    process: usize,
    began: Instant,
}

/// The faults of one launch.
pub(super) struct Faults {
    folder: RunFolder,
    going: Option<Going>,
    open: Option<Open>,
    /// Where the cables are, if the ranks have some.
    hub: Option<Hub>,
    /// What the folder of checkpoints allowed before it became read-only.
    writable: Option<Permissions>,
}

impl Faults {
    /// `hub` is where the ranks have links, which can be made slow.
    pub(super) fn new(folder: RunFolder, hub: Option<Hub>) -> Faults {
        // What was asked of a launch before is not for this one.
        let _ = std::fs::remove_file(folder.fault_file());
        let is_mistake = |name: &String| name.strip_prefix("mistake-").is_some_and(|process| process.parse::<usize>().is_ok());
        let left = files::names_in(folder.path()).filter(is_mistake);
        left.for_each(|name| _ = std::fs::remove_file(folder.path().join(name)));
        // A supervisor that was killed could not undo it.
        if let Ok(log_dir) = folder.log_dir().metadata()
            && log_dir.permissions().mode() & 0o200 == 0
        {
            let _ = std::fs::set_permissions(folder.log_dir(), Permissions::from_mode(log_dir.permissions().mode() | 0o200));
        }
        Faults { folder, going: None, open: None, hub, writable: None }
    }

    /// A request that has come, or what is wrong with it.
    pub(super) fn requested(&self) -> Option<Result<FaultRequest, String>> {
        let path = self.folder.fault_file();
        let text = match read::small_text(&path, MOST_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            text => text.map_err(|error| error.to_string()),
        };
        // One that cannot be removed would come again and again.
        if let Err(error) = std::fs::remove_file(&path) {
            return Some(Err(format!("cannot remove {}: {error}", path.display())));
        }
        let request = text.and_then(|text| serde_json::from_str::<FaultRequest>(&text).map_err(|error| error.to_string()));
        Some(request.and_then(|request| request.out_of_bounds().map_or(Ok(request), Err)))
    }

    /// Makes it. `ranks` are the processes of this host with their pids.
    ///
    /// # Errors
    /// Why it cannot be made, as a sentence.
    pub(super) fn begin(&mut self, request: FaultRequest, ranks: &[(usize, u32)]) -> Result<(), String> {
        if let Some(going) = &self.going {
            let left = going.until.saturating_duration_since(Instant::now()).as_secs() + 1;
            return Err(format!("another fault lasts {left} s more: wait for its end"));
        }
        let FaultRequest { kind, process, seconds } = request;
        only_on_linux(kind).map_or(Ok(()), Err)?;
        let rank = self.find(process, ranks)?;
        let other = (kind == FaultKind::SharedCore).then(|| self.partner(process, ranks)).transpose()?;
        match kind {
            FaultKind::DamagedCheckpoint => _ = newest_checkpoint(&self.folder)?,
            FaultKind::SlowNetwork => {
                let none = "these ranks talk through memory, and have no network to slow: start the run with --link 1gbit";
                let hub = self.hub.as_ref().ok_or(none)?;
                // As it is already: what cannot be changed is not noted.
                hub.set(process, hub.bits)?;
            }
            FaultKind::NoWrite if nix::unistd::geteuid().is_root() => {
                return Err("root may write everywhere: run the lab as another user, or make file-limit".into());
            }
            _ if kind.is_mistake() => {
                let record = self.folder.read_record().map_err(|error| error.to_string())?;
                never_happens(kind, &record).map_or(Ok(()), Err)?;
            }
            _ => {}
        }
        let began = Instant::now();
        let mut going = Going {
            kind,
            process,
            rank: rank.clone(),
            until: began + Duration::from_secs_f64(seconds),
            turn: began + Duration::from_secs_f64(seconds),
            is_stopped: false,
            cores: Vec::new(),
        };
        let record = FaultRecord { request, began_s: host::now_s(), found_after_s: None, found_by: None };
        let mut index = 0;
        let noted = self.folder.change_record(|record_of_run| {
            if let Some(attempt) = record_of_run.attempts.last_mut().filter(|attempt| attempt.faults.len() < MAX_FAULTS) {
                index = attempt.faults.len();
                attempt.faults.push(record);
            }
        });
        noted.map_err(|error| format!("it cannot be noted in the record of the run, so it is not made: {error}"))?;
        match kind {
            FaultKind::Kill => _ = rank.signal(Signal::SIGKILL),
            FaultKind::Freeze => going.is_stopped = rank.signal(Signal::SIGSTOP),
            FaultKind::Slow => {
                going.is_stopped = rank.signal(Signal::SIGSTOP);
                going.turn = began + STOPPED_FOR;
            }
            FaultKind::SharedCore => going.cores = other.map(|other| crowd(&rank, &other)).unwrap_or_default(),
            FaultKind::SlowNetwork => self.hub.as_ref().map_or(Ok(()), |hub| hub.set(process, hub.slow_bits()))?,
            // From now on no file of the process may grow beyond a size that a checkpoint has.
            FaultKind::FileLimit => host::process::limit_files(rank.pid, FILE_LIMIT)
                .map_err(|error| format!("the limit of its files cannot be set: {error}"))?,
            FaultKind::DamagedCheckpoint => {
                // Before the cut: a rank that still runs would soon write a whole one.
                rank.signal(Signal::SIGKILL);
                cut(&newest_checkpoint(&self.folder)?)?;
            }
            FaultKind::NoWrite => self.writable = Some(forbid_writing(&self.folder.log_dir())?),
            FaultKind::WrongShape | FaultKind::RootCollective | FaultKind::OwnEarlyStop => {
                let file = self.folder.path().join(mistake_file(process));
                let told = files::write(&file, kind.name().as_bytes());
                told.map_err(|error| format!("{} cannot be written: {error}", file.display()))?;
            }
        }
        self.open = Some(Open { index, kind, process, began });
        self.going = kind.lasts().then_some(going);
        Ok(())
    }

    fn find(&self, process: usize, ranks: &[(usize, u32)]) -> Result<ProcessHandle, String> {
        let pid = ranks.iter().find(|(rank, _)| *rank == process).map(|(_, pid)| *pid);
        let is_ours = |rank: &ProcessHandle| {
            let found = process::look_up(rank.pid);
            found.is_some_and(|found| process::prove(found.pid, found.start_ticks, self.folder.path()) == process::Proof::Ours)
        };
        pid.and_then(ProcessHandle::open)
            .filter(is_ours)
            .ok_or_else(|| format!("rank {process} does not run on this host, or has not reported yet"))
    }

    /// Another rank of this host.
    fn partner(&self, process: usize, ranks: &[(usize, u32)]) -> Result<ProcessHandle, String> {
        let other = ranks.iter().find(|(other, _)| *other != process);
        let (other, _) = other.ok_or("there is no other rank on this host to share a core with")?;
        self.find(*other, ranks)
    }

    /// When [`Faults::turn`] has something to do; never without a fault that lasts.
    pub(super) fn turn_at(&self) -> Option<Instant> {
        self.going.as_ref().map(|going| going.turn.min(going.until))
    }

    /// Lets the rank go, or stops it again, or ends the fault.
    pub(super) fn turn(&mut self) {
        let Some(mut going) = self.going.take() else { return };
        let now = Instant::now();
        if now >= going.until {
            self.going = Some(going);
            return self.undo();
        }
        if going.kind == FaultKind::Slow && now >= going.turn {
            let (signal, next) = if going.is_stopped { (Signal::SIGCONT, RUNS_FOR) } else { (Signal::SIGSTOP, STOPPED_FOR) };
            going.is_stopped = !going.is_stopped;
            if !going.rank.signal(signal) {
                // It has ended.
                return;
            }
            going.turn = now + next;
        }
        self.going = Some(going);
    }

    /// The rank is as it was before.
    pub(super) fn undo(&mut self) {
        if let Some(before) = self.writable.take() {
            // Where that fails, the next launch of the run does it.
            let _ = std::fs::set_permissions(self.folder.log_dir(), before);
        }
        let Some(going) = self.going.take() else { return };
        if going.is_stopped {
            going.rank.signal(Signal::SIGCONT);
        }
        if let (FaultKind::SlowNetwork, Some(hub)) = (going.kind, &self.hub) {
            // It fails only where the ranks are gone, and their cables with them.
            let _ = hub.set(going.process, hub.bits);
        }
        for (thread, cores) in &going.cores {
            // One that has ended needs none.
            let _ = cores::bind(*thread, cores);
        }
    }

    /// A process was named: if it is the one at fault, its fault is found. Returns the line to log then.
    pub(super) fn found(&mut self, process: usize, words: &str) -> Option<String> {
        let open = self.open.take_if(|open| open.process == process)?;
        let after = open.began.elapsed().as_secs_f64();
        // Good to know, but no reason for a run to fail.
        let _ = self.folder.change_record(|record| {
            let faults = record.attempts.last_mut().map(|attempt| &mut attempt.faults);
            if let Some(fault) = faults.and_then(|faults| faults.get_mut(open.index)) {
                fault.found_after_s = Some((after * 1000.0).round() / 1000.0);
                fault.found_by = Some(words.chars().take(300).collect());
            }
        });
        Some(format!("hvd-lab: the fault in rank {process} was found after {after:.1} s: {words}"))
    }

    /// As [`Faults::found`], of what a rank says of others: `rank 1 has not arrived`, or what rank 1 called where others called
    /// something else.
    pub(super) fn found_in(&mut self, words: &str) -> Option<String> {
        let Open { process, kind, .. } = *self.open.as_ref()?;
        let names_it = words.contains(&format!("rank {process} has not"))
            || kind.is_mistake() && words.contains("different collectives") && words.contains(&format!("rank {process} "));
        names_it.then(|| self.found(process, words))?
    }
}

/// Why this run would never come to the place of this mistake.
fn never_happens(kind: FaultKind, record: &RunRecord) -> Option<String> {
    let steps = record.request.spec.training().map(|training| training.steps);
    let misses = |step| steps.is_some_and(|steps| !steps.contains(step));
    match kind {
        _ if steps.is_none() => Some(format!("{kind} is for runs of the ten steps, and this is none")),
        _ if misses(Step::InitAndPin) => Some(format!("{kind} needs step 1: here no rank knows of the others")),
        FaultKind::WrongShape | FaultKind::RootCollective if misses(Step::DistributedOptimizer) => {
            Some(format!("{kind} needs step 3: here no gradient goes from rank to rank"))
        }
        _ => None,
    }
}

/// Nobody may write into the folder any more. Returns what was allowed before.
fn forbid_writing(folder: &Path) -> Result<Permissions, String> {
    let forbid = || {
        let before = folder.metadata()?.permissions();
        std::fs::set_permissions(folder, Permissions::from_mode(before.mode() & !0o222))?;
        Ok(before)
    };
    forbid().map_err(|error: io::Error| format!("{} cannot be made read-only: {error}", folder.display()))
}

/// The checkpoint that a run would go on from.
fn newest_checkpoint(folder: &RunFolder) -> Result<PathBuf, String> {
    let newest = folder.last_checkpoint().ok_or("there is no checkpoint yet: try again when rank 0 has written one")?;
    Ok(folder.log_dir().join(newest.file_name()))
}

/// Half of the file is gone.
fn cut(path: &Path) -> Result<(), String> {
    let cut = || {
        let file = owners::open(path, OpenOptions::new().write(true), 0)?;
        file.set_len(file.metadata()?.len() / 2)
    };
    cut().map_err(|error: io::Error| format!("{} cannot be cut: {error}", path.display()))
}

/// Of the faults that take something of Linux: why they are not made elsewhere.
fn only_on_linux(kind: FaultKind) -> Option<String> {
    let takes_linux = matches!(kind, FaultKind::SharedCore | FaultKind::FileLimit) && !cfg!(target_os = "linux");
    takes_linux.then(|| {
        format!("{kind} can be made on Linux only: this system sets no limits of another process, and binds none to a core")
    })
}

/// Both ranks, with all their threads, may only use one core of the second. Returns what they might use before.
fn crowd(rank: &ProcessHandle, other: &ProcessHandle) -> Vec<(u32, Vec<usize>)> {
    let core = cores::allowed(other.pid).first().copied().unwrap_or(0);
    let threads = [rank.pid, other.pid].into_iter().flat_map(host::process::threads);
    // A thread that ends meanwhile needs no core.
    let before = threads.map(|thread| (thread, cores::allowed(thread))).filter(|(_, cores)| !cores.is_empty());
    before.filter(|(thread, _)| cores::bind(*thread, &[core]).is_ok()).collect()
}
