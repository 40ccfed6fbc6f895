//! What the pane has a line or a cell for: a rank with the device that it computes on, or a device without a rank.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::domain::device::{DeviceKind, DeviceProcess, DeviceSample, RankPlace, Reading, TelemetrySample};

/// Where a rank of the shown run computes, as it has reported.
#[derive(Clone, Debug)]
pub struct Seat {
    pub place: RankPlace,
    /// The only core that it may use.
    pub core: Option<usize>,
}

#[derive(Clone, Debug)]
pub struct DeviceRow<'a> {
    pub sample: &'a TelemetrySample,
    /// Of ranks that share a device, each has its own load and memory here.
    pub device: Cow<'a, DeviceSample>,
    pub rank: Option<usize>,
    core: Option<usize>,
}

/// Host, kind, index, UUID and rank: what stays the same from one sample to the next.
pub type Identity = (String, DeviceKind, usize, String, Option<usize>);

impl<'a> DeviceRow<'a> {
    pub fn of_device(sample: &'a TelemetrySample, device: &'a DeviceSample) -> DeviceRow<'a> {
        DeviceRow { sample, device: Cow::Borrowed(device), rank: None, core: None }
    }

    /// The device alone, with all that runs on it.
    pub fn whole(&self) -> DeviceRow<'a> {
        let device = self.sample.devices.iter().find(|device| self.is_on(device));
        device.map_or_else(|| self.clone(), |device| DeviceRow::of_device(self.sample, device))
    }

    pub fn is_on(&self, device: &DeviceSample) -> bool {
        (self.device.kind, self.device.index, &self.device.uuid) == (device.kind, device.index, &device.uuid)
    }

    /// The same device of the same host.
    pub fn is_of(&self, (host, kind, index, uuid, _): &Identity) -> bool {
        (self.device.kind, self.device.index) == (*kind, *index) && self.device.uuid == *uuid && self.sample.host == *host
    }

    pub fn identity(&self) -> Identity {
        (self.sample.host.clone(), self.device.kind, self.device.index, self.device.uuid.clone(), self.rank)
    }

    pub fn runs(&self, rank: usize) -> bool {
        self.rank.map_or_else(|| self.device.processes.iter().any(|process| process.rank == Some(rank)), |own| own == rank)
    }

    /// `GPU 3`, `GPU 1:0` for a MIG device, `rank 3` on a CPU, `CPU`.
    pub fn title(&self) -> String {
        match (self.device.kind, self.rank) {
            (DeviceKind::Cpu, None) => "CPU".to_owned(),
            (DeviceKind::Cpu, Some(rank)) => format!("rank {rank}"),
            (DeviceKind::Gpu, _) => format!("GPU {}", self.number()),
        }
    }

    /// The index of a GPU, `1:0` of a MIG device; ranks on a CPU have theirs.
    pub fn number(&self) -> String {
        match (self.device.kind, self.slice(), self.rank) {
            (DeviceKind::Cpu, _, None) => "CPU".to_owned(),
            (DeviceKind::Cpu, _, Some(rank)) => rank.to_string(),
            (DeviceKind::Gpu, None, _) => self.device.index.to_string(),
            (DeviceKind::Gpu, Some(slice), _) => format!("{}:{slice}", self.device.index),
        }
    }

    /// Where its rank computes: `GPU0`, `core 3`, `CPU`.
    pub fn seat(&self) -> String {
        match (self.device.kind, self.core) {
            (DeviceKind::Gpu, _) => format!("GPU{}", self.number()),
            (DeviceKind::Cpu, Some(core)) => format!("core {core}"),
            (DeviceKind::Cpu, None) => "CPU".to_owned(),
        }
    }

    /// The number of a MIG device on its GPU.
    pub fn slice(&self) -> Option<usize> {
        let mut of_gpu = self.sample.devices.iter().filter(|other| other.is_slice() && other.index == self.device.index);
        of_gpu.position(|other| other.uuid == self.device.uuid)
    }

    /// Does anything that is known of the device, or runs on it, contain the text?
    pub fn contains(&self, text: &str) -> bool {
        let number = text.get(..5).filter(|word| word.eq_ignore_ascii_case("rank ")).and_then(|_| text[5..].trim().parse().ok());
        if let Some(rank) = number {
            // Rank 3 is not rank 31.
            return self.runs(rank);
        }
        let device = &self.device;
        let mut all = format!(
            "{} {} {} {} {}",
            self.sample.host,
            self.title(),
            device.name,
            device.uuid,
            device.bus_id.value().map_or("", String::as_str)
        );
        for process in &device.processes {
            let rank = process.rank.map(|rank| format!("rank {rank}")).unwrap_or_default();
            all.push_str(&format!("\n{rank} {} {}", process.pid, process.command));
        }
        all.to_lowercase().contains(&text.to_lowercase())
    }
}

/// The ranks on each device of a host. `seats` are those of all its ranks.
fn ranks<'a>(sample: &'a TelemetrySample, seats: &'a [Seat]) -> impl Iterator<Item = (&'a DeviceSample, BTreeSet<usize>)> {
    let measured: BTreeSet<usize> =
        sample.devices.iter().flat_map(|device| &device.processes).filter_map(|process| process.rank).collect();
    sample.devices.iter().map(move |device| {
        let own = device.processes.iter().filter_map(|process| process.rank);
        // A rank that has not been measured yet, or has ended, is where it said.
        let sits = |seat: &&Seat| match device.kind {
            DeviceKind::Gpu => seat.place.is_on(&device.uuid),
            DeviceKind::Cpu => seat.place.device_uuid.is_none(),
        };
        let unseen = seats.iter().filter(|seat| !measured.contains(&seat.place.rank)).filter(sits);
        (device, own.chain(unseen.map(|seat| seat.place.rank)).collect())
    })
}

/// How many lanes [`lanes`] would make of a host, by rank.
pub fn count(sample: &TelemetrySample, seats: &[Seat]) -> usize {
    ranks(sample, seats).map(|(_, ranks)| ranks.len().max(1)).sum()
}

/// The lanes of a host: its ranks in their order, then the devices without one. With `by_rank` off a lane for each device.
/// `seats` are those of its ranks.
pub fn lanes<'a>(sample: &'a TelemetrySample, seats: &'a [Seat], by_rank: bool) -> Vec<DeviceRow<'a>> {
    let mut lanes = Vec::new();
    for (device, ranks) in ranks(sample, seats) {
        let is_own = ranks.len() == 1 && device.kind == DeviceKind::Gpu;
        if !by_rank || ranks.is_empty() {
            lanes.push(DeviceRow::of_device(sample, device));
            continue;
        }
        for (place, rank) in ranks.into_iter().enumerate() {
            let core = seats.iter().find(|seat| seat.place.rank == rank).and_then(|seat| seat.core);
            let device = if is_own { Cow::Borrowed(device) } else { Cow::Owned(part(device, rank, place == 0)) };
            lanes.push(DeviceRow { sample, device, rank: Some(rank), core });
        }
    }
    // A GPU that is cut stays before the first of its parts.
    let parts = lanes.iter().filter(|lane| lane.device.is_slice());
    let mut parts: Vec<(usize, usize)> = parts.filter_map(|part| Some((part.device.index, part.rank?))).collect();
    parts.sort_unstable();
    let of_parts = |gpu: usize| parts.iter().find(|(index, _)| *index == gpu).map(|(_, rank)| *rank);
    lanes.sort_by_key(|lane| match lane.rank {
        None if !lane.device.is_slice() => of_parts(lane.device.index).unwrap_or(usize::MAX),
        rank => rank.unwrap_or(usize::MAX),
    });
    lanes
}

/// A rank's part of a device that it shares, where that is measured. Processes that are no ranks stand with the first one.
fn part(device: &DeviceSample, rank: usize, is_first: bool) -> DeviceSample {
    const OVER: &str = "the process of this rank is not running";
    let processes = device.processes.iter().filter(|process| process.rank.map_or(is_first, |own| own == rank));
    let mut part = DeviceSample { processes: processes.cloned().collect(), core_percent: Vec::new(), ..device.clone() };
    let own: Option<&DeviceProcess> = device.processes.iter().find(|process| process.rank == Some(rank));
    let load = own.map_or(Reading::missing(OVER), |process| process.utilization_percent.clone());
    let memory = own.map_or(Reading::missing(OVER), |process| process.memory_bytes.clone());
    let is_cpu = device.kind == DeviceKind::Cpu;
    if is_cpu || load.value().is_some() {
        part.utilization_percent = load;
    }
    if is_cpu || memory.value().is_some() {
        part.memory_used_bytes = memory;
    }
    part
}
