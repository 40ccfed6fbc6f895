//! The state of the devices pane: the newest sample of each host, the minutes before it, and the user's choices.
//!
//! A missing figure keeps its reason.

use std::collections::BTreeMap;

use crate::domain::device::{DeviceKind, DeviceSample, TelemetrySample};
use crate::domain::event::TopologyReport;
use crate::telemetry::History;
use crate::tui::actions::cycle;

/// Points kept a device: the graphs' two minutes, with a little to spare, at two samples a second.
const POINTS: usize = 260;

/// From this number of devices on, a cell for each shows more than lines that scroll away.
pub const PACKED_FROM: usize = 33;

/// In what order devices are shown; missing figures come last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceOrder {
    #[default]
    Index,
    Use,
    Memory,
    Power,
    Temperature,
}

impl DeviceOrder {
    const ALL: [DeviceOrder; 5] =
        [DeviceOrder::Index, DeviceOrder::Use, DeviceOrder::Memory, DeviceOrder::Power, DeviceOrder::Temperature];

    pub fn name(self) -> &'static str {
        match self {
            DeviceOrder::Index => "index",
            DeviceOrder::Use => "load",
            DeviceOrder::Memory => "memory",
            DeviceOrder::Power => "power",
            DeviceOrder::Temperature => "temperature",
        }
    }

    fn figure(self, device: &DeviceSample) -> f64 {
        let figure = match self {
            DeviceOrder::Index => None,
            DeviceOrder::Use => device.utilization_percent.value().copied(),
            DeviceOrder::Memory => device.memory_used_bytes.value().map(|&bytes| bytes as f64),
            DeviceOrder::Power => device.power_watts.value().copied(),
            DeviceOrder::Temperature => device.temperature_celsius.value().copied(),
        };
        figure.unwrap_or(f64::NEG_INFINITY)
    }
}

/// What the graphs show beside the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    Memory,
    Power,
}

/// A device with its host, as a row of the table.
#[derive(Clone, Copy, Debug)]
pub struct DeviceRow<'a> {
    pub sample: &'a TelemetrySample,
    pub device: &'a DeviceSample,
}

impl DeviceRow<'_> {
    fn is(&self, (host, kind, index, uuid): &Identity) -> bool {
        let device = self.device;
        (device.kind, device.index) == (*kind, *index) && device.uuid == *uuid && self.sample.host == *host
    }

    fn runs(&self, rank: usize) -> bool {
        self.device.processes.iter().any(|process| process.rank == Some(rank))
    }

    fn identity(&self) -> Identity {
        (self.sample.host.clone(), self.device.kind, self.device.index, self.device.uuid.clone())
    }

    /// `GPU 3`, `GPU 1:0` for a MIG device, `CPU`.
    pub fn title(&self) -> String {
        match (self.device.kind, self.slice()) {
            (DeviceKind::Cpu, _) => "CPU".to_owned(),
            (DeviceKind::Gpu, None) => format!("GPU {}", self.device.index),
            (DeviceKind::Gpu, Some(slice)) => format!("GPU {}:{slice}", self.device.index),
        }
    }

    /// The number of a MIG device on its GPU.
    pub fn slice(&self) -> Option<usize> {
        let mut of_gpu = self.sample.devices.iter().filter(|other| other.is_slice() && other.index == self.device.index);
        of_gpu.position(|other| other.uuid == self.device.uuid)
    }

    /// Does anything that is known of the device, or runs on it, contain the text?
    fn contains(&self, text: &str) -> bool {
        let number = text.get(..5).filter(|word| word.eq_ignore_ascii_case("rank ")).and_then(|_| text[5..].trim().parse().ok());
        if let Some(rank) = number {
            // Rank 3 is not rank 31.
            return self.runs(rank);
        }
        let device = self.device;
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

/// Host, kind, index and UUID: what stays the same of a device from one sample to the next.
type Identity = (String, DeviceKind, usize, String);

#[derive(Clone, Debug)]
pub struct Devices {
    here: Option<TelemetrySample>,
    /// Hosts whose ranks report what they measure.
    others: Vec<TelemetrySample>,
    pub history: History,
    pub order: DeviceOrder,
    pub filter: String,
    pub beside: Option<Beside>,
    /// The field under the cursor, counted in [`DeviceSample::facts`].
    pub field: usize,
    chosen: Option<Identity>,
}

impl Default for Devices {
    fn default() -> Devices {
        Devices {
            here: None,
            others: Vec::new(),
            history: History::new(POINTS),
            order: DeviceOrder::Index,
            filter: String::new(),
            beside: None,
            field: 0,
            chosen: None,
        }
    }
}

impl Devices {
    /// A sample of this host.
    pub fn measured(&mut self, sample: TelemetrySample) {
        // Its ranks may have reported before it was looked at.
        self.others.retain(|other| other.host != sample.host);
        self.history.push(&sample);
        self.here = Some(sample);
    }

    /// A sample that a rank took on its own host, where it knows no other rank's number; their own reports do.
    pub fn reported(&mut self, mut sample: TelemetrySample, ranks: &BTreeMap<usize, &TopologyReport>) {
        // We know more about this host than its ranks report.
        if self.here.as_ref().is_some_and(|here| here.host == sample.host) {
            return;
        }
        for process in sample.devices.iter_mut().flat_map(|device| &mut device.processes) {
            let own = ranks.iter().find(|(_, report)| report.pid == process.pid && report.host == sample.host);
            process.rank = own.map(|(rank, _)| *rank);
        }
        self.history.push(&sample);
        match self.others.iter_mut().find(|other| other.host == sample.host) {
            Some(other) => *other = sample,
            None => {
                self.others.push(sample);
                self.others.sort_by_cached_key(|other| (first_rank(other), other.host.clone()));
            }
        }
    }

    /// A recording is played from an earlier moment: what was measured since is not known yet.
    pub fn rewind(&mut self) {
        self.history = History::new(POINTS);
        self.others.clear();
    }

    /// Drops the hosts of a run when another run is watched.
    pub fn forget_others(&mut self) {
        self.others.clear();
    }

    /// This host first, the others by their first rank.
    pub fn hosts(&self) -> impl Iterator<Item = &TelemetrySample> {
        self.here.iter().chain(&self.others)
    }

    /// Devices in the user's order, host by host, as far as they pass the filter.
    pub fn rows(&self) -> Vec<DeviceRow<'_>> {
        let mut rows = Vec::new();
        for sample in self.hosts() {
            let of_host = sample.devices.iter().map(|device| DeviceRow { sample, device });
            let mut of_host: Vec<DeviceRow> =
                of_host.filter(|row| self.filter.is_empty() || row.contains(&self.filter)).collect();
            if self.order != DeviceOrder::Index {
                of_host.sort_by(|a, b| self.order.figure(b.device).total_cmp(&self.order.figure(a.device)));
            }
            rows.extend(of_host);
        }
        rows
    }

    /// Lines that the pane would like to have.
    pub fn wished_rows(&self) -> u16 {
        let rows = self.rows();
        let ranks = |row: &DeviceRow| row.device.processes.iter().filter(|process| process.rank.is_some()).count();
        let wish = match rows.iter().any(|row| row.device.kind == DeviceKind::Gpu) {
            // A cell each, their sum, and the line under the cursor.
            _ if self.is_packed() => rows.len().div_ceil(32).max(self.hosts().count()) + 2,
            // Head, a line each, their sum, and the line under the cursor; graphs take what is left over.
            true => rows.len() + 3,
            // Facts, cores, why there is no GPU, a line each rank, and the line under the cursor.
            false => 4 + rows.iter().map(ranks).sum::<usize>(),
        };
        u16::try_from(wish).unwrap_or(u16::MAX / 2)
    }

    /// So many that each is one cell: with less room some would not be seen at all.
    pub fn is_packed(&self) -> bool {
        self.rows().len() >= PACKED_FROM
    }

    /// Devices that the filter hides.
    pub fn hidden(&self) -> usize {
        self.hosts().map(|sample| sample.devices.len()).sum::<usize>() - self.rows().len()
    }

    /// The place of the device under the cursor among [`Devices::rows`]; the first where that device is not shown.
    pub fn cursor(&self) -> usize {
        let chosen = self.chosen.as_ref();
        chosen.and_then(|chosen| self.rows().iter().position(|row| row.is(chosen))).unwrap_or(0)
    }

    pub fn chosen(&self) -> Option<DeviceRow<'_>> {
        self.rows().get(self.cursor()).copied()
    }

    /// Puts the cursor on a row; it stays with the device when the order changes.
    pub fn choose(&mut self, place: usize) {
        self.chosen = self.rows().get(place).map(DeviceRow::identity);
    }

    /// Puts the cursor on the device that a rank computes on, if any is known to.
    pub fn choose_rank(&mut self, rank: usize) {
        let all = || self.hosts().flat_map(|sample| sample.devices.iter().map(move |device| DeviceRow { sample, device }));
        let Some(found) = all().find(|row| row.runs(rank)).map(|row| row.identity()) else { return };
        self.chosen = Some(found);
        if self.chosen().is_none_or(|row| !row.runs(rank)) {
            // The filter hides it.
            self.filter.clear();
        }
    }

    pub fn reorder(&mut self) {
        if self.chosen.is_none() {
            self.choose(0);
        }
        self.order = cycle(&DeviceOrder::ALL, self.order, 1);
    }
}

/// A host without ranks comes last.
fn first_rank(sample: &TelemetrySample) -> usize {
    let processes = sample.devices.iter().flat_map(|device| &device.processes);
    processes.filter_map(|process| process.rank).min().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::testing::samples;

    fn view() -> Devices {
        let mut view = Devices::default();
        let mut sample = samples::gpu_sample();
        for (gpu, percent) in sample.devices.iter_mut().zip([10.0, 90.0, 50.0, 30.0]) {
            gpu.utilization_percent = crate::domain::device::Reading::Value(percent);
        }
        view.measured(sample);
        view
    }

    fn shown(view: &Devices) -> Vec<usize> {
        view.rows().iter().map(|row| row.device.index).collect()
    }

    #[test]
    fn the_cursor_stays_with_its_device_in_every_order() {
        let mut view = view();
        view.choose(2);
        for order in ["load", "memory", "power", "temperature", "index"] {
            view.reorder();
            assert_eq!(view.order.name(), order);
            assert_eq!(view.chosen().unwrap().device.index, 2, "{order}");
        }
        view.reorder();
        assert_eq!(shown(&view), [1, 4, 5, 7, 2, 3, 0, 6], "the busiest first, what does not tell last");
    }

    #[test]
    fn the_filter_looks_at_devices_and_at_what_runs_on_them() {
        let mut view = view();
        for (filter, expected) in [
            ("gpu 3", vec![3]),
            ("RANK 2", vec![2]),
            ("415", vec![3]),
            ("h200", vec![0, 1, 2, 3, 4, 5, 6, 7]),
            ("nothing", vec![]),
        ] {
            view.filter = filter.into();
            assert_eq!(shown(&view), expected, "{filter}");
            assert_eq!(view.hidden(), 8 - expected.len());
        }
        assert!(view.chosen().is_none());
    }

    #[test]
    fn other_hosts_come_behind_this_one_and_never_in_its_place() {
        let mut view = view();
        let mut other = samples::cpu_sample(&[]);
        view.reported(other.clone(), &BTreeMap::new());
        assert_eq!(view.hosts().count(), 1, "a rank of this host tells nothing new");
        other.host = "other".into();
        view.reported(other.clone(), &BTreeMap::new());
        view.reported(other, &BTreeMap::new());
        assert_eq!(view.hosts().map(|sample| sample.host.as_str()).collect::<Vec<_>>(), ["node", "other"]);
        assert_eq!(view.rows().len(), 9);
        view.forget_others();
        assert_eq!(view.rows().len(), 8);
    }
}
