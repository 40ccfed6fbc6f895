//! The devices that a run needs of a machine that is shared: how many, which of them, and what its ranks are told of those that
//! it gets.
//!
//! Only of this host: what other hosts and allocations of a batch system have is theirs to share.

use std::time::Duration;

use super::hosts::{Host, listed};
use super::mpirun::SENSIBLE_RANKS_PER_CORE;
use super::setup::Machine;
use super::{LaunchError, mpirun};
use crate::domain::device::{DeviceKind, DeviceSample};
use crate::domain::job::RunSpec;
use crate::domain::run::{RunState, RunStatus};
use crate::domain::units;
use crate::host::{self, cores, process};
use crate::lease::{Devices, Estimate, Lease, LeaseError, Request, Rules, Share, Stray, Ticket, Turn};
use crate::runs::RunId;
use crate::telemetry;

/// Between looks at the queue.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// The beginning of what a status says of a run that waits.
const WAITING: &str = "waiting for ";

/// Of a start that depends on a run that may take any time.
pub(super) const UNKNOWN: &str = "unknown (a run before it has no time limit)";

/// What a run needs before its ranks may start.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    share: Share,
    devices: Devices,
    count: usize,
    /// The names of those that it may get, the best first.
    candidates: Vec<String>,
    limit_s: Option<f64>,
}

/// Whether it waits for devices: its message says for which, and how long.
pub fn is_queued(status: &RunStatus) -> bool {
    status.state == RunState::Preparing && status.message.starts_with(WAITING)
}

/// GPUs of this machine with what uses them, as NVML lists them.
pub fn gpus() -> Vec<DeviceSample> {
    let sample = telemetry::probe()(&[]);
    sample.devices.into_iter().filter(|device| device.kind == DeviceKind::Gpu && !device.uuid.is_empty()).collect()
}

/// What this machine lends, with its names: GPUs where there are any, unless its rules say otherwise.
pub fn shared_devices(rules: &Rules, gpus: &[DeviceSample]) -> (Devices, Vec<String>) {
    let devices = rules.devices.unwrap_or(if gpus.is_empty() { Devices::Cores } else { Devices::Gpus });
    let names = match devices {
        Devices::Gpus => gpus.iter().map(|gpu| gpu.uuid.clone()).collect(),
        Devices::Cores => cores::allowed(0).into_iter().map(Devices::core).collect(),
    };
    (devices, names)
}

/// The time limit of a run on this machine, in seconds: its own, or the longest that is allowed here.
///
/// # Errors
/// The machine's file cannot be used.
pub(super) fn time_limit(spec: &RunSpec) -> Result<Option<f64>, LaunchError> {
    if spec.resources.slurm {
        // Slurm ends it, and does not count the time in its queue.
        return Ok(None);
    }
    let asked_s = spec.resources.time_limit_s;
    Ok(Rules::of_machine()?.map_or(asked_s, |rules| rules.time_limit(asked_s)))
}

/// Refuses a time limit that is longer than this machine allows.
///
/// # Errors
/// It is not, or the machine's file cannot be used.
pub(super) fn check_time_limit(spec: &RunSpec) -> Result<(), LaunchError> {
    let (asked_s, Some(rules)) = (spec.resources.time_limit_s, Rules::of_machine()?) else { return Ok(()) };
    match rules.time_limit(asked_s) {
        allowed if allowed == asked_s || asked_s.is_none() => Ok(()),
        allowed => Err(LaunchError::Spec(format!(
            "a time limit of {} is more than the {most} that {} allows: use --time-limit {most}",
            units::clock(asked_s.unwrap_or_default()),
            rules.file.display(),
            most = units::clock(allowed.unwrap_or_default()),
        ))),
    }
}

/// What this run needs; `None` where nothing is lent, or nothing that it uses.
///
/// # Errors
/// It needs more than there is or than one user may have, or the machine cannot say.
pub(super) fn wanted(spec: &RunSpec, force: bool) -> Result<Option<Wanted>, LaunchError> {
    // Asked first, for the price of one look at a file that mostly is not there.
    if Rules::of_machine()?.is_none() || is_elsewhere(spec) {
        return Ok(None);
    }
    let Some(share) = Share::of_machine()? else { return Ok(None) };
    let mut gpus = gpus();
    // GPUs that another program already uses come last.
    gpus.sort_by_key(|gpu| !gpu.processes.is_empty());
    let (devices, names) = shared_devices(&share.rules, &gpus);
    let candidates = match devices {
        Devices::Gpus => gpus.into_iter().filter(|gpu| !gpu.hidden).map(|gpu| gpu.uuid).collect(),
        Devices::Cores => names,
    };
    let uses_none = devices == Devices::Gpus && spec.benchmark().is_some_and(|benchmark| benchmark.no_cuda);
    if candidates.is_empty() || uses_none {
        return Ok(None);
    }
    let limit_s = time_limit(spec)?;
    let np = spec.resources.np;
    let threads = spec.benchmark().and_then(|benchmark| benchmark.threads).unwrap_or(1);
    let most = share.rules.per_user(devices).unwrap_or(usize::MAX);
    let refuse = |why: String, advice: String| if force { Ok(()) } else { Err(LaunchError::Crowded { why, advice }) };
    let file = share.rules.file.display();
    let count = match devices {
        // `mpirun::placement` refuses more ranks than GPUs.
        Devices::Gpus => {
            let count = np.min(candidates.len());
            if count > most {
                let (needed, allowed) = (devices.counted(count), devices.counted(most));
                refuse(
                    format!("np {np} needs {needed}, and {file} lets one user have {allowed} at a time"),
                    format!("use --np {most}, or add --force to share them"),
                )?;
            }
            count.min(most)
        }
        Devices::Cores => {
            let count = np.saturating_mul(threads).min(candidates.len()).min(most);
            if np > SENSIBLE_RANKS_PER_CORE * count {
                let cores = devices.counted(count);
                refuse(
                    format!(
                        "np {np} is more than {SENSIBLE_RANKS_PER_CORE} ranks on each of the {cores} that {file} lets one user have"
                    ),
                    format!("use --np {count} for the best speed, or add --force"),
                )?;
            }
            count
        }
    };
    Ok(Some(Wanted { share, devices, count, candidates, limit_s }))
}

/// Whether others than this host have a say in where ranks run.
fn is_elsewhere(spec: &RunSpec) -> bool {
    let resources = &spec.resources;
    let is_this_host = |host: &Host| ["localhost", "127.0.0.1"].contains(&host.name.as_str()) || host.name == host::name();
    let is_another = |hosts: &String| !listed(hosts).is_ok_and(|hosts| hosts.iter().all(is_this_host));
    resources.slurm
        || resources.hosts.as_ref().is_some_and(is_another)
        || resources.hostfile.is_some()
        || Machine::detect().in_allocation
}

impl Wanted {
    /// The note that the run waits for its turn.
    pub fn in_words(&self) -> String {
        format!(
            "this machine is shared: the run waits for its turn to get {} (`hvd-lab queue` shows the queue)",
            self.devices.counted(self.count)
        )
    }

    /// Stand in line until they are there, saying how that is going.
    ///
    /// # Errors
    /// The queue cannot be written or read.
    pub async fn get(self, run: RunId, mut tell: impl FnMut(String)) -> Result<Lease, LeaseError> {
        let request = Request {
            run: format!("run {run}"),
            count: self.count,
            limit_s: self.limit_s,
            pid: std::process::id(),
            asked_s: host::now_s(),
        };
        let per_user = self.share.rules.per_user(self.devices);
        let mut ticket = Ticket::enter(self.share, request, per_user, self.candidates)?;
        let (devices, mut told) = (self.devices.counted(self.count), String::new());
        loop {
            match ticket.look()? {
                Turn::Granted(lease) => return Ok(*lease),
                Turn::Waits(estimate, strays) => {
                    let strays: String = strays.iter().map(|stray| format!("; {}", stray_in_words(stray))).collect();
                    let words = format!("{WAITING}{devices}: {}{strays}", in_words(&estimate, host::now_s()));
                    if words != told {
                        tell(words.clone());
                        told = words;
                    }
                }
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
}

/// `place 1 of 3 in the queue, expected to start in about 12 min`.
fn in_words(estimate: &Estimate, now_s: f64) -> String {
    let Estimate { place, of, start_s, is_skipped } = *estimate;
    let own = if is_skipped { "; you have as many as one user may have" } else { "" };
    let start = start_s.map_or(format!("start {UNKNOWN}"), |start_s| format!("expected to start {}", in_about(start_s - now_s)));
    format!("place {place} of {of} in the queue{own}, {start}")
}

/// What keeps a device although it has no ticket, and who can be asked.
pub(super) fn stray_in_words(stray: &Stray) -> String {
    let there = stray.pid.filter(|pid| process::look_up(*pid).is_some());
    let by = match there {
        Some(pid) => format!("by process {pid} (`{}`)", process::command(pid)),
        None => format!("by a process that has {} open (`fuser` names it)", stray.lock.display()),
    };
    format!("{} is locked {by}, which has no ticket: it is free when that process ends", stray.device)
}

/// `in about 12 min`.
pub(super) fn in_about(seconds: f64) -> String {
    match seconds / 60.0 {
        minutes if minutes <= 1.0 => "within a minute".into(),
        minutes if minutes < 120.0 => format!("in about {:.0} min", minutes.ceil()),
        minutes => format!("in about {:.0} h", minutes / 60.0),
    }
}

/// Of cores, this process and all that it starts may use those of the lease only. Returns what the launcher and the ranks are
/// to find in their environment, with a line for the log.
pub(super) fn settle(lease: &Lease) -> (Vec<(String, String)>, String) {
    let names: Vec<&str> = lease.devices().collect();
    let numbers: Vec<usize> = names.iter().filter_map(|name| Devices::number_of_core(name)).collect();
    if numbers.is_empty() {
        let note = format!("leased: {}", names.join(", "));
        return (vec![("CUDA_VISIBLE_DEVICES".into(), names.join(","))], note);
    }
    let bound = cores::bind(0, &numbers);
    let list = numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
    let failed = bound.err().map(|error| format!(" (they cannot be bound to: {error})")).unwrap_or_default();
    // Open MPI would bind ranks to the first cores of the machine, whatever its own are.
    let env = mpirun::CORES_OF_LAUNCHER.map(|name| (name.to_owned(), list.clone()));
    (env.to_vec(), format!("leased: {} {list}{failed}", if numbers.len() == 1 { "core" } else { "cores" }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu(index: usize, uuid: &str) -> DeviceSample {
        DeviceSample { uuid: uuid.into(), ..DeviceSample::silent(DeviceKind::Gpu, index, "GPU", "not asked") }
    }

    #[test]
    fn the_expected_start_is_told_in_words() {
        let estimate = |start_s| Estimate { place: 2, of: 3, start_s, is_skipped: false };
        let words = |start_s| in_words(&estimate(start_s), 1000.0);
        assert_eq!(words(Some(1000.0 + 11.5 * 60.0)), "place 2 of 3 in the queue, expected to start in about 12 min");
        assert_eq!(words(Some(990.0)), "place 2 of 3 in the queue, expected to start within a minute");
        assert_eq!(words(Some(1000.0 + 7200.0 * 1.5)), "place 2 of 3 in the queue, expected to start in about 3 h");
        assert_eq!(words(None), "place 2 of 3 in the queue, start unknown (a run before it has no time limit)");
    }

    #[test]
    fn without_gpus_cores_are_lent() {
        let (devices, names) = shared_devices(&Rules::default(), &[]);
        assert_eq!(devices, Devices::Cores);
        assert!(!names.is_empty() && Devices::number_of_core(&names[0]).is_some(), "{names:?}");
        let gpus = [gpu(0, "GPU-aa")];
        assert_eq!(shared_devices(&Rules::default(), &gpus), (Devices::Gpus, vec!["GPU-aa".to_owned()]));
        let rules = Rules { devices: Some(Devices::Cores), ..Rules::default() };
        assert_eq!(shared_devices(&rules, &gpus).0, Devices::Cores);
    }
}
