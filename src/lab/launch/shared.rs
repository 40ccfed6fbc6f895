//! How a shared machine stands: each device with who has it, and who waits.

use super::LaunchError;
use super::leased::{UNKNOWN, gpus, in_about, shared_devices, stray_in_words};
use crate::domain::device::{DeviceProcess, DeviceSample};
use crate::domain::printable;
use crate::host;
use crate::host::process::user_name;
use crate::lease::{Devices, Entry, Estimate, Rules, Share, Stray};

/// A machine that is shared, at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedMachine {
    pub rules: Rules,
    pub devices: Devices,
    pub rows: Vec<DeviceRow>,
    pub waiting: Vec<WaitingRow>,
    /// Unix time in seconds.
    pub now_s: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DeviceRow {
    /// `GPU 0`, `core 3`.
    pub name: String,
    /// A UUID of a GPU, or the name of a core.
    pub device: String,
    pub state: DeviceState,
}

#[derive(Clone, Debug, PartialEq)]
pub enum DeviceState {
    Free,
    Leased(RunOf),
    /// Somebody uses it who did not ask for it, in words.
    Busy(String),
}

/// A run as others may see it.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOf {
    pub user: String,
    pub run: String,
    /// Its supervisor.
    pub pid: u32,
    /// Since when it has its devices or waits, and when it will probably end; Unix times in seconds.
    pub since_s: f64,
    pub ends_s: Option<f64>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct WaitingRow {
    pub run: RunOf,
    /// Devices that it needs.
    pub count: usize,
    pub estimate: Estimate,
}

impl SharedMachine {
    /// How this machine stands; `None` where it is not shared.
    ///
    /// # Errors
    /// [`LaunchError::Lease`].
    pub fn look() -> Result<Option<SharedMachine>, LaunchError> {
        let Some(share) = Share::of_machine()? else { return Ok(None) };
        let (queue, now_s) = (share.queue()?, host::now_s());
        let gpus = gpus();
        let (devices, mut names) = shared_devices(&share.rules, &gpus);
        // Whoever looks may see fewer than others, as in a container or under `taskset`.
        let held = queue.held.iter().flat_map(|entry| &entry.allocation.devices);
        let others: Vec<String> =
            held.filter(|device| !names.contains(device)).map(|device| printable::excerpt(device).into_owned()).collect();
        names.extend(others);
        let per_user = share.rules.per_user(devices);
        let strays = share.strays(&queue, &names);
        let rows = names.iter().map(|device| {
            let gpu = gpus.iter().find(|gpu| gpu.uuid == *device);
            let holder = queue.held.iter().find(|entry| entry.allocation.devices.contains(device));
            DeviceRow {
                name: name_of(device, gpu),
                device: device.clone(),
                state: state(gpu, holder, strays.iter().find(|stray| stray.device == *device)),
            }
        });
        let waiting = queue.waiting.iter().filter_map(|entry| {
            let estimate = queue.estimate(&entry.ticket, per_user, names.len() - strays.len(), now_s)?;
            Some(WaitingRow { run: run_of(entry), count: entry.allocation.request.count, estimate })
        });
        Ok(Some(SharedMachine { rows: rows.collect(), waiting: waiting.collect(), devices, now_s, rules: share.rules }))
    }

    /// `in about 12 min`: a moment to come.
    pub fn in_about(&self, time_s: f64) -> String {
        in_about(time_s - self.now_s)
    }

    /// When one that waits will probably start, in words.
    pub fn start_of(&self, row: &WaitingRow) -> String {
        let over = if row.estimate.is_skipped { " (has as many as one user may have)" } else { "" };
        let start = row.estimate.start_s.map_or(UNKNOWN.to_owned(), |start_s| self.in_about(start_s));
        format!("{start}{over}")
    }

    /// Devices that are free although runs wait: kept for the first of them, which needs more.
    pub fn kept(&self) -> Option<String> {
        let free = self.rows.iter().filter(|row| row.state == DeviceState::Free).count();
        let first = self.waiting.iter().find(|row| !row.estimate.is_skipped)?;
        let are = if free == 1 { "is" } else { "are" };
        (free > 0).then(|| {
            format!(
                "{} {are} free and kept for {} of {}, which needs {}",
                self.devices.counted(free),
                first.run.run,
                first.run.user,
                self.devices.counted(first.count)
            )
        })
    }

    /// What the file allows: `2 GPUs per user, 30:00 per run`; empty where it says nothing.
    pub fn limits(&self) -> String {
        let per_user = self.rules.per_user(self.devices).map(|most| format!("{} per user", self.devices.counted(most)));
        let time = self.rules.time_limit.map(|limit_s| format!("{} per run", crate::domain::units::clock(limit_s)));
        per_user.into_iter().chain(time).collect::<Vec<_>>().join(", ")
    }
}

fn name_of(device: &str, gpu: Option<&DeviceSample>) -> String {
    match (gpu, Devices::number_of_core(device)) {
        (Some(gpu), _) => format!("GPU {} {}", gpu.index, gpu.name),
        (None, Some(core)) => format!("core {core}"),
        (None, None) => device.to_owned(),
    }
}

fn state(gpu: Option<&DeviceSample>, holder: Option<&Entry>, stray: Option<&Stray>) -> DeviceState {
    match (holder, stray, gpu.map(|gpu| gpu.processes.as_slice())) {
        (Some(entry), ..) => DeviceState::Leased(run_of(entry)),
        (None, Some(stray), _) => DeviceState::Busy(stray_in_words(stray)),
        (None, None, Some([first, others @ ..])) => DeviceState::Busy(used_by(first, others.len())),
        (None, None, _) => DeviceState::Free,
    }
}

fn used_by(first: &DeviceProcess, others: usize) -> String {
    let owner = first.owner.value().map(|user| format!(" of {user}")).unwrap_or_default();
    let more = if others == 0 { String::new() } else { format!(" and {others} more") };
    format!("pid {}{owner}{more}", first.pid)
}

fn run_of(entry: &Entry) -> RunOf {
    let allocation = &entry.allocation;
    RunOf {
        user: user_name(entry.user),
        run: printable::excerpt(&allocation.request.run).into_owned(),
        pid: allocation.request.pid,
        since_s: allocation.granted_s.unwrap_or(allocation.request.asked_s),
        ends_s: allocation.ends_s,
    }
}
