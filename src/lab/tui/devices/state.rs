//! The state of the devices pane: the newest sample of each host, the minutes before it, and the user's choices.
//!
//! A missing figure keeps its reason.

use std::collections::{BTreeMap, HashMap};

use super::lane::{DeviceRow, Identity, Seat, count, lanes};
use crate::domain::device::{DeviceKind, DeviceSample, TelemetrySample};
use crate::domain::event::TopologyReport;
use crate::telemetry::{History, Point};

/// From this number of devices on, a cell for each shows more than lines that scroll away.
pub const PACKED_FROM: usize = 33;

type Figure = fn(&DeviceSample) -> Option<f64>;

/// In what order devices are shown: its name, and the figure whose highest value comes first. Missing figures come last.
pub const ORDERS: [(&str, Figure); 5] = [
    ("index", |_| None),
    ("load", |device| device.utilization_percent.value().copied()),
    ("memory", |device| device.memory_used_bytes.value().map(|&bytes| bytes as f64)),
    ("power", |device| device.power_watts.value().copied()),
    ("temperature", |device| device.temperature_celsius.value().copied()),
];

type Percent = fn(&Point, Option<f64>) -> Option<f64>;

/// What graphs can show beside the load: a name among [`DeviceSample::facts`], and the percent of it at a point, where the device
/// has this limit of watts.
pub const BESIDE: [(&str, Percent); 2] =
    [("memory", |point, _| point.memory_percent), ("power", |point, limit| Some(point.power_watts? / limit? * 100.0))];

#[derive(Clone, Debug, Default)]
pub struct Devices {
    here: Option<TelemetrySample>,
    /// Hosts whose ranks report what they measure.
    others: Vec<TelemetrySample>,
    /// The ranks of the run on the screen, by their host.
    seats: HashMap<String, Vec<Seat>>,
    pub history: History,
    /// Which of [`ORDERS`].
    pub order: usize,
    pub filter: String,
    /// Which of [`BESIDE`] the graphs show.
    pub beside: Option<usize>,
    /// The field under the cursor, counted in [`DeviceSample::facts`].
    pub field: usize,
    chosen: Option<Identity>,
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

    /// The ranks of the run on the screen have said where they compute.
    pub fn seated(&mut self, ranks: &BTreeMap<usize, &TopologyReport>) {
        let core = |report: &TopologyReport| Some(*report.cores.first()?).filter(|_| report.cores.len() == 1);
        self.seats.clear();
        for (rank, report) in ranks {
            let seat = Seat { place: report.place(*rank), core: core(report) };
            self.seats.entry(report.host.clone()).or_default().push(seat);
        }
    }

    /// A recording is played from an earlier moment: what was measured since is not known yet.
    pub fn rewind(&mut self) {
        self.history = History::default();
        self.others.clear();
    }

    /// Drops the ranks of a run, and their hosts, when another run is watched.
    pub fn forget_others(&mut self) {
        self.others.clear();
        self.seats.clear();
    }

    /// This host first, the others by their first rank.
    pub fn hosts(&self) -> impl Iterator<Item = &TelemetrySample> {
        self.here.iter().chain(&self.others)
    }

    /// Lanes in the user's order, host by host, as far as they pass the filter.
    pub fn rows(&self) -> Vec<DeviceRow<'_>> {
        // With many hosts a CPU is one cell for all of its ranks.
        let may_fold = self.hosts().nth(1).is_some();
        if may_fold && self.filter.is_empty() {
            // Counted first: a lane of each of hundreds of ranks is a copy of its device.
            let lanes: usize = self.hosts().map(|sample| count(sample, self.seats_of(sample))).sum();
            return self.filtered(lanes < PACKED_FROM, "");
        }
        let rows = self.filtered(true, &self.filter);
        if may_fold && rows.len() >= PACKED_FROM { self.filtered(false, &self.filter) } else { rows }
    }

    fn seats_of(&self, sample: &TelemetrySample) -> &[Seat] {
        self.seats.get(&sample.host).map_or(&[], Vec::as_slice)
    }

    fn filtered(&self, by_rank: bool, filter: &str) -> Vec<DeviceRow<'_>> {
        let mut rows = Vec::new();
        for sample in self.hosts() {
            let mut of_host = lanes(sample, self.seats_of(sample), by_rank);
            of_host.retain(|row| filter.is_empty() || row.contains(filter));
            let figure = |row: &DeviceRow| ORDERS[self.order].1(&row.device).unwrap_or(f64::NEG_INFINITY);
            of_host.sort_by(|a, b| figure(b).total_cmp(&figure(a)));
            rows.extend(of_host);
        }
        rows
    }

    /// The number of lines that the pane asks for, and whether there are so many devices that each is drawn as one cell. With fewer lines
    /// some of these would be hidden.
    pub fn wished_rows(&self) -> (u16, bool) {
        let rows = self.rows();
        let wish = match rows.len() {
            // A cell each, their sum, and the line under the cursor.
            packed @ PACKED_FROM.. => packed.div_ceil(32).max(self.hosts().count()) + 2,
            // Head, a line each, a line for each host and the line under the cursor; graphs take what is left over.
            lanes if rows.iter().any(|row| row.device.kind == DeviceKind::Gpu) => lanes + 2 + self.hosts().count(),
            // Why there is no GPU as well.
            lanes => lanes + 3 + self.hosts().count(),
        };
        (u16::try_from(wish).unwrap_or(u16::MAX / 2), rows.len() >= PACKED_FROM)
    }

    /// Lanes that the filter hides.
    pub fn hidden(&self) -> usize {
        if self.filter.is_empty() { 0 } else { self.filtered(true, "").len() - self.filtered(true, &self.filter).len() }
    }

    /// The place of the lane under the cursor among [`Devices::rows`]: of the same device where its rank has come or gone, the
    /// first where that device is not shown.
    pub fn cursor(&self) -> usize {
        if self.chosen.is_some() { self.place_among(&self.rows()) } else { 0 }
    }

    /// [`Devices::cursor`], where the rows are known.
    pub fn place_among(&self, rows: &[DeviceRow]) -> usize {
        let Some(chosen) = &self.chosen else { return 0 };
        let same = rows.iter().position(|row| row.is_of(chosen) && row.rank == chosen.4);
        same.or_else(|| rows.iter().position(|row| row.is_of(chosen))).unwrap_or(0)
    }

    pub fn chosen(&self) -> Option<DeviceRow<'_>> {
        let rows = self.rows();
        let place = self.place_among(&rows);
        rows.into_iter().nth(place)
    }

    /// Puts the cursor on a lane; it stays there when the order changes.
    pub fn choose(&mut self, place: usize) {
        self.chosen = self.rows().get(place).map(DeviceRow::identity);
    }

    /// Puts the cursor on the device that a rank computes on, if any is known to.
    pub fn choose_rank(&mut self, rank: usize) {
        let all = self.filtered(true, "");
        let Some(found) = all.iter().find(|row| row.runs(rank)).map(DeviceRow::identity) else { return };
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
        self.order = (self.order + 1) % ORDERS.len();
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
            assert_eq!(ORDERS[view.order].0, order);
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
