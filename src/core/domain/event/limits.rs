//! What no event of a run can say: the numbers of a damaged or a hostile line.

use serde::{Deserialize, Deserializer};

use super::inspected::{InspectedPhases, InspectorReport};
use super::{ConfigReport, EpochReport, Event, EventLine, Metrics, TopologyReport};
use crate::domain::bounds::{
    Bounded, MAX_BATCH_SIZE, MAX_CORES, MAX_COUNT, MAX_EPOCHS, MAX_RANKS, MAX_VERSIONS, at_least_one, count, figure, first,
    moment, number, process, seconds,
};
use crate::domain::phase::Phase;

/// Entries of a list in one report of the inspector.
const MOST: usize = 4096;

impl Bounded for EventLine {
    fn out_of_bounds(&self) -> Option<String> {
        let line = first([moment("time", self.time_s), process("process", self.process)]);
        line.or_else(|| match &self.event {
            Event::Launched { np } => count("number of processes", *np, MAX_RANKS),
            Event::Topology(report) => report.out_of_bounds(),
            Event::Config(report) => report.out_of_bounds(),
            Event::Epoch(report) => report.out_of_bounds(),
            Event::Logged(logged) => logged.out_of_bounds(),
            Event::Restored { epochs } => match epochs.len() {
                0..=MAX_RANKS => epochs.iter().find_map(|of| {
                    let since = count("resumed epoch", of.since.unwrap_or(0), MAX_EPOCHS);
                    first([process("process", of.process), since]).or_else(|| of.report.out_of_bounds())
                }),
                many => count("number of epochs", many, MAX_RANKS),
            },
            Event::Progress { done, of, .. } => first([count("images", *done, MAX_COUNT), count("images", *of, MAX_COUNT)]),
            Event::Digest { epoch, .. } | Event::EarlyStop { epoch } => count("epoch", *epoch, MAX_EPOCHS),
            Event::Step { epoch, batch, lr, loss } => first([
                count("epoch", *epoch, MAX_EPOCHS),
                count("batch", *batch, MAX_COUNT),
                figure("learning rate", *lr),
                figure("loss", *loss),
            ]),
            Event::Checkpoint(report) => {
                let stopped = report.stopped_seconds.and_then(|stopped| seconds("seconds of a commit", stopped));
                count("epoch", report.epoch, MAX_EPOCHS).or(stopped)
            }
            Event::Test { loss, accuracy, images, seconds: took } => first([
                figure("loss", *loss),
                figure("accuracy", *accuracy),
                count("images", *images, MAX_COUNT),
                seconds("seconds", *took),
            ]),
            Event::Devices { sample } => sample.out_of_bounds(),
            Event::Finished { epochs, training_seconds, total_seconds, .. } => first([
                count("epochs", *epochs, MAX_EPOCHS),
                seconds("training seconds", *training_seconds),
                seconds("total seconds", *total_seconds),
            ]),
            Event::Allreduce(report) => report.out_of_bounds(),
            Event::Messages(report) => report.out_of_bounds(),
            Event::Link(report) => report.out_of_bounds(),
            Event::Placement(report) => report.out_of_bounds(),
            Event::Iteration(report) => report.out_of_bounds(),
            Event::Pipeline(report) => report.out_of_bounds(),
            Event::Transforms(report) => report.out_of_bounds(),
            Event::Broadcast(report) => {
                first([seconds("seconds of a broadcast", report.seconds), figure("part of the weights", report.changed)])
            }
            Event::Observed(seen) => seen.out_of_bounds(),
            Event::Inspected(report) => report.out_of_bounds(),
            Event::Warning { .. } | Event::Lost { .. } | Event::Fatal { .. } => None,
        })
    }
}

impl Bounded for TopologyReport {
    fn out_of_bounds(&self) -> Option<String> {
        let topology = &self.topology;
        let cores = || self.cores.iter().find_map(|core| count("core", *core, MAX_CORES));
        first([
            process("rank", topology.rank.0),
            process("local rank", topology.local_rank.0),
            at_least_one("world size", topology.size.0, MAX_RANKS),
            at_least_one("local size", topology.local_size.0, MAX_RANKS),
            count("devices", self.devices_found.unwrap_or(0), MAX_CORES),
            count("threads", self.threads, MAX_CORES),
            count("number of cores", self.cores.len(), MAX_CORES),
        ])
        .or_else(cores)
    }
}

impl Bounded for ConfigReport {
    fn out_of_bounds(&self) -> Option<String> {
        first([
            count("epochs", self.epochs, MAX_EPOCHS),
            count("resumed epoch", self.resume_epoch, MAX_EPOCHS),
            count("resumed step", self.resume_step, MAX_COUNT / MAX_EPOCHS),
            at_least_one("local batch size", self.local_batch_size, MAX_BATCH_SIZE),
            at_least_one("global batch size", self.global_batch_size, MAX_BATCH_SIZE * MAX_RANKS),
            count("steps per epoch", self.steps_per_epoch, MAX_COUNT / MAX_EPOCHS),
            count("validation steps", self.validation_steps, MAX_COUNT),
            count("train images", self.train_images, MAX_COUNT),
            count("parameters", self.parameters, MAX_COUNT),
            count("gradient tensors", self.gradient_tensors, MAX_COUNT),
            figure("base learning rate", self.base_lr),
            number("warmup epochs", self.warmup_epochs, f64::from(f32::MAX)),
            figure("target accuracy", self.target_accuracy),
        ])
    }
}

impl Bounded for EpochReport {
    fn out_of_bounds(&self) -> Option<String> {
        let metrics = |metrics: Metrics| first([figure("loss", metrics.loss), figure("accuracy", metrics.accuracy)]);
        first([
            at_least_one("epoch", self.epoch, MAX_EPOCHS),
            metrics(self.train),
            metrics(self.validation),
            self.averaged.and_then(metrics),
            figure("learning rate", self.lr),
            count("batches", self.batches, MAX_COUNT),
            count("images", self.images, MAX_COUNT),
            figure("images per second", self.images_per_sec),
            seconds("cumulative seconds", self.cumulative_seconds),
            Phase::ALL.into_iter().find_map(|phase| seconds(phase.name(), self.phases[phase])),
        ])
    }
}

/// The first [`MAX_VERSIONS`] versions: no rank has more libraries.
pub(super) fn few_versions<'de, D: Deserializer<'de>>(value: D) -> Result<Vec<String>, D::Error> {
    let mut versions = Vec::deserialize(value)?;
    versions.truncate(MAX_VERSIONS);
    Ok(versions)
}

impl Bounded for InspectorReport {
    fn out_of_bounds(&self) -> Option<String> {
        let list = |length: usize| count("entries of a list", length, MOST);
        match self {
            InspectorReport::Looking(report) => first([list(report.versions.len()), count("ranks", report.launched, MAX_RANKS)]),
            InspectorReport::Group(report) => first([
                count("rank", report.rank.max(report.local_rank), MAX_RANKS),
                count("ranks", report.size.max(report.local_size), MAX_RANKS),
            ]),
            InspectorReport::Wrapped(report) => first([count("tensors", report.tensors, MAX_COUNT), list(report.settings.len())]),
            InspectorReport::Update(report) => first([
                count("update", report.update, MAX_COUNT),
                count("tensors", report.tensors.max(report.unwrapped), MAX_COUNT),
                count("samples", report.samples, MAX_COUNT),
                list(report.rates.len()),
                report.rates.iter().find_map(|rate| figure("learning rate", *rate)),
            ]),
            InspectorReport::Pass(report) => first([
                count("pass", report.pass.max(report.loader), MAX_COUNT),
                count("batches", report.batches, MAX_COUNT),
                count("samples", report.samples.max(report.dataset.unwrap_or(0)), MAX_COUNT),
                [&report.picked, &report.labels, &report.rows].iter().find_map(|numbers| list(numbers.len())),
                list(report.first.len()),
                seconds("seconds of a pass", report.seconds),
                seconds("seconds of waiting", report.waited),
            ]),
            InspectorReport::Collective(report) => count("numbers", report.numbers.unwrap_or(0), MAX_COUNT),
            InspectorReport::State(report) => count("updates", report.updates, MAX_COUNT),
            InspectorReport::Printed(report) => count("prints", report.times, MAX_COUNT),
            InspectorReport::Result(report) => count("updates", report.updates, MAX_COUNT),
            InspectorReport::Decision(report) => count("decision", report.number, MAX_COUNT),
            InspectorReport::Workers(report) => list(report.numpy.len().max(report.python.len()).max(report.torch.len())),
            InspectorReport::Phases(InspectedPhases { data, forward, backward, optimizer, exchange, others, all, .. }) => {
                [data, forward, backward, optimizer, exchange, others, all].into_iter().find_map(|time| seconds("seconds", *time))
            }
            InspectorReport::Stalled(report) => seconds("seconds of standing still", report.seconds),
            InspectorReport::Blind { .. } => None,
            InspectorReport::Ended(report) => seconds("seconds of the inspector", report.inspector_seconds),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::topology::{Topology, WorldSize};

    #[test]
    fn an_event_that_no_run_can_have_sent_is_not_taken() {
        let said = |event: Event| EventLine::read(&EventLine { time_s: 1.0, process: 0, event }.to_line()).unwrap_err();
        let step = |epoch, batch| Event::Step { epoch, batch, lr: 0.1, loss: 1.0 };
        assert_eq!(said(step(1 << 63, 0)), "epoch 9223372036854775808 is beyond 1000000");
        assert!(said(step(0, usize::MAX)).starts_with("batch "));
        assert_eq!(said(Event::Config(ConfigReport { local_batch_size: 0, ..ConfigReport::sample() })), "local batch size is 0");
        assert_eq!(said(Event::Epoch(EpochReport { epoch: 0, ..EpochReport::sample() })), "epoch is 0");
        let wide = Topology { size: WorldSize(usize::MAX), ..Topology::ALONE };
        assert!(said(Event::Topology(TopologyReport { topology: wide, ..TopologyReport::sample() })).starts_with("world size "));
        let other = |time_s, process| EventLine { time_s, process, event: Event::EarlyStop { epoch: 1 } }.to_line();
        assert!(EventLine::read(&other(1e300, 0)).unwrap_err().starts_with("time 1e300 "));
        assert!(EventLine::read(&other(-1.0, 0)).unwrap_err().starts_with("time -1"));
        assert_eq!(EventLine::read(&other(1.0, 4_000_000_000)).unwrap_err(), "process 4000000000 is beyond 4095");
        assert_eq!(EventLine::read(&other(-5.0, 0)).unwrap_err(), "time -5 is before 1970");
        assert!(EventLine::read(&"[".repeat(1 << 20)).unwrap_err().starts_with("a line is not an event: "));
    }

    #[test]
    fn of_a_rank_with_countless_versions_a_few_are_kept() {
        let versions = (0..200_000).map(|number| number.to_string()).collect();
        let event = Event::Topology(TopologyReport { versions, ..TopologyReport::sample() });
        let line = EventLine { time_s: 1.0, process: 0, event }.to_line();
        let Some(Event::Topology(report)) = EventLine::parse_line(&line).map(|line| line.event) else { panic!() };
        assert_eq!((report.versions.len(), report.versions[99].as_str()), (100, "99"));
    }
}
