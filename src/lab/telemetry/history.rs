//! The last minutes of each device, bounded, for graphs.
//!
//! A missing figure stays a gap.

use std::collections::VecDeque;

use crate::domain::device::{DeviceKind, DeviceSample, TelemetrySample};

/// The figures of one device at one moment; `None` if one was not given.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    pub time_s: f64,
    pub utilization_percent: Option<f64>,
    /// Of the device's memory.
    pub memory_percent: Option<f64>,
    pub power_watts: Option<f64>,
}

/// One device's ring of points, oldest first.
#[derive(Clone, Debug)]
pub struct DeviceHistory {
    host: String,
    kind: DeviceKind,
    index: usize,
    uuid: String,
    points: VecDeque<Point>,
}

/// Points that are kept of a device: two minutes at two samples a second, with a little to spare.
const KEPT: usize = 260;

/// All devices seen, in the order in which they appeared.
#[derive(Clone, Debug, Default)]
pub struct History {
    devices: Vec<DeviceHistory>,
}

impl History {
    /// Adds a sample. A device of that host that is not in it gets a gap.
    pub fn push(&mut self, sample: &TelemetrySample) {
        for device in &sample.devices {
            if self.of(&sample.host, device).is_none() {
                let (host, kind, index, uuid) = (sample.host.clone(), device.kind, device.index, device.uuid.clone());
                self.devices.push(DeviceHistory { host, kind, index, uuid, points: VecDeque::new() });
            }
        }
        for known in self.devices.iter_mut().filter(|known| known.host == sample.host) {
            let device = sample.devices.iter().find(|device| known.is(&sample.host, device));
            if known.points.len() == KEPT {
                known.points.pop_front();
            }
            known.points.push_back(Point {
                time_s: sample.time_s,
                utilization_percent: device.and_then(|device| device.utilization_percent.value().copied()),
                memory_percent: device.and_then(|device| device.memory_percent().value().copied()),
                power_watts: device.and_then(|device| device.power_watts.value().copied()),
            });
        }
    }

    /// The history of a device of a sample from this host.
    pub fn of(&self, host: &str, device: &DeviceSample) -> Option<&DeviceHistory> {
        self.devices.iter().find(|known| known.is(host, device))
    }
}

/// A figure stands until the next sample, but for no longer than this: then it is a gap.
const HOLD_S: f64 = 2.0;

impl DeviceHistory {
    /// A figure over the `span_s` seconds before `end_s` in `columns` equal parts, oldest first: the highest of each part,
    /// `None` where nothing was measured.
    pub fn columns(&self, pick: impl Fn(&Point) -> Option<f64>, end_s: f64, span_s: f64, columns: usize) -> Vec<Option<f64>> {
        let mut parts = vec![None; columns];
        let part_of = |time_s: f64| ((time_s - end_s + span_s) / span_s * columns as f64).ceil() - 1.0;
        for (index, point) in self.points.iter().enumerate() {
            let Some(value) = pick(point) else { continue };
            let next = self.points.get(index + 1).map(|next| next.time_s).filter(|next| next - point.time_s <= HOLD_S);
            let first = part_of(point.time_s);
            let last = next.map_or(first, |next| (part_of(next) - 1.0).max(first));
            if last < 0.0 || first >= columns as f64 {
                continue;
            }
            for part in &mut parts[first.max(0.0) as usize..=(last as usize).min(columns - 1)] {
                *part = Some(part.map_or(value, |other: f64| other.max(value)));
            }
        }
        parts
    }

    fn is(&self, host: &str, device: &DeviceSample) -> bool {
        let is_same = (self.host.as_str(), self.kind, &self.uuid) == (host, device.kind, &device.uuid);
        is_same && (!self.uuid.is_empty() || self.index == device.index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::cpu::CpuProbe;

    fn sample(time_s: f64, utilization: &[(&str, Option<f64>)]) -> TelemetrySample {
        let template = CpuProbe::new("test").sample(&[]).devices.remove(0);
        let devices = utilization.iter().map(|(uuid, percent)| DeviceSample {
            kind: DeviceKind::Gpu,
            uuid: (*uuid).to_owned(),
            utilization_percent: percent
                .map_or_else(|| crate::domain::device::Reading::missing("N/A"), crate::domain::device::Reading::Value),
            ..template.clone()
        });
        TelemetrySample { time_s, host: "node".into(), devices: devices.collect(), gpu_missing: None, machine: None }
    }

    #[test]
    fn rings_are_bounded_and_gaps_stay_gaps() {
        let mut history = History::default();
        for time in 0..KEPT + 2 {
            let time = time as f64 - KEPT as f64 + 3.0;
            history.push(&sample(time, &[("GPU-a", Some(time)), ("GPU-b", None)]));
        }
        history.push(&sample(5.0, &[("GPU-b", Some(50.0))]));
        assert_eq!(history.devices.len(), 2);
        assert!(history.devices.iter().all(|device| device.points.len() == KEPT));
        let seen = |index: usize| -> Vec<Option<f64>> {
            history.devices[index].points.iter().skip(KEPT - 3).map(|point| point.utilization_percent).collect()
        };
        assert_eq!(seen(0), [Some(3.0), Some(4.0), None], "a device that is gone leaves a gap");
        assert_eq!(seen(1), [None, None, Some(50.0)]);
        assert_eq!(history.devices[0].points.back().map(|point| point.time_s), Some(5.0));
    }

    #[test]
    fn columns_hold_a_figure_until_the_next_but_never_over_a_gap() {
        let mut history = History::default();
        for (time_s, percent) in [(10.0, Some(10.0)), (11.0, Some(90.0)), (11.5, Some(20.0)), (12.0, None), (19.0, Some(50.0))] {
            history.push(&sample(time_s, &[("GPU-a", percent)]));
        }
        let columns = |end_s, span_s, columns| {
            let seen = history.devices[0].columns(|point| point.utilization_percent, end_s, span_s, columns);
            seen.into_iter().map(|value| value.unwrap_or(-1.0)).collect::<Vec<f64>>()
        };
        assert_eq!(columns(19.0, 10.0, 10), [10.0, 90.0, 20.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0, 50.0]);
        assert_eq!(columns(12.0, 2.0, 8), [10.0, 10.0, 10.0, 90.0, 90.0, 20.0, 20.0, -1.0], "finer than the samples");
        assert_eq!(columns(19.0, 10.0, 2), [90.0, 50.0], "coarser: the highest");
        assert_eq!(columns(5.0, 2.0, 3), [-1.0; 3]);
        assert!(columns(19.0, 10.0, 0).is_empty());
    }
}
