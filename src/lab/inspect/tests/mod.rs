//! Reports as two ranks of a right program send them, and ways to change them.

mod apart;
mod bounds;
mod edges;
mod endings;
mod horovod;
mod mistakes;
mod right;
mod told;

use super::*;
use crate::domain::event::*;

fn at(line: usize) -> Place {
    Place { file: "/work/train.py".into(), line }
}

fn line(process: usize, report: InspectorReport) -> EventLine {
    EventLine { time_s: 1.0, process, event: Event::Inspected(Box::new(report)) }
}

/// A report that a rank sends once, about line 70 of its program.
fn told(by: &str, settings: &[&str]) -> InspectorReport {
    InspectorReport::Wrapped(WrappedReport {
        by: by.into(),
        place: at(70),
        before: String::new(),
        after: String::new(),
        tensors: 0,
        shares_buffers: false,
        settings: settings.iter().map(|text| (*text).to_owned()).collect(),
    })
}

/// Two ranks of a right program with DistributedDataParallel: two epochs, each with a validation and a checkpoint.
fn right() -> Vec<EventLine> {
    (0..2).flat_map(rank).collect()
}

fn rank(rank: usize) -> Vec<EventLine> {
    let mut all = vec![
        InspectorReport::Looking(LookingReport {
            framework: "torch".into(),
            versions: vec!["torch 2.11.0".into()],
            python: "3.11.7".into(),
            pid: 100,
            launched: 2,
            program: "train.py".into(),
        }),
        InspectorReport::Group(GroupReport {
            by: "torch.distributed".into(),
            backend: "gloo".into(),
            rank,
            size: 2,
            local_rank: rank,
            local_size: 2,
            host: "here".into(),
            device: "cpu".into(),
            threads: 1,
            cores: 2,
            place: at(5),
        }),
        InspectorReport::Wrapped(WrappedReport {
            by: "DistributedDataParallel".into(),
            place: at(10),
            before: format!("own {rank}"),
            after: "w0".into(),
            tensors: 6,
            shares_buffers: true,
            settings: Vec::new(),
        }),
    ];
    for epoch in 0..2usize {
        for update in 16 * epoch..16 * epoch + 16 {
            if update < 3 || update.is_power_of_two() {
                all.push(InspectorReport::Update(InspectedUpdate {
                    update,
                    optimizer: "SGD".into(),
                    place: at(30),
                    made: at(12),
                    rates: vec![0.1],
                    weights: format!("w{update}"),
                    gradients: format!("g{update}"),
                    buffers: format!("b{update}"),
                    state: format!("s{update}"),
                    tensors: 6,
                    forwards: 1,
                    device: "cpu".into(),
                    samples: 32,
                    ..InspectedUpdate::default()
                }));
            }
        }
        let pass = |loader: usize, made: usize, loop_line: usize, trains: bool, order: String| PassReport {
            loader,
            pass: epoch,
            made: at(made),
            place: at(loop_line),
            trains,
            updates: 16 * (epoch + 1),
            is_whole: true,
            sampler: "DistributedSampler".into(),
            replicas: Some(2),
            replica: Some(rank),
            seed: Some(0),
            epoch: Some(epoch as i64),
            shuffles: trains,
            dataset: Some(1024),
            batch_size: Some(32),
            batches: 16,
            samples: 512,
            first: (0..4).map(|batch| format!("{order} {batch}")).collect(),
            order,
            picked: (0..64).map(|index| 2 * index + rank as u32).collect(),
            every: 8,
            content: "all".into(),
            ..PassReport::default()
        };
        all.push(InspectorReport::Pass(pass(0, 15, 25, true, format!("order {epoch} of {rank}"))));
        all.push(InspectorReport::Pass(pass(1, 16, 40, false, format!("test of {rank}"))));
        all.push(InspectorReport::Collective(CollectiveReport {
            name: "all_reduce".into(),
            place: at(44),
            numbers: Some(2),
            is_count: false,
            trains: false,
            call: epoch,
            updates: 16 * (epoch + 1),
        }));
        if rank == 0 {
            all.push(InspectorReport::State(StateReport {
                action: StateAction::Written,
                by: "torch.save".into(),
                path: "/work/model.pt".into(),
                place: at(50),
                digest: String::new(),
                updates: 16 * (epoch + 1),
                meetings: (0, 0),
            }));
        }
    }
    all.push(InspectorReport::Ended(EndedReport { updates: 32, failure: None, ..EndedReport::default() }));
    all.into_iter().map(|report| line(rank, report)).collect()
}

fn stalled(place: usize, within: &str, updates: usize) -> InspectorReport {
    InspectorReport::Stalled(StalledReport {
        place: at(place),
        within: within.into(),
        calls: 1,
        updates,
        seconds: 12.0,
        batches: 0,
    })
}

/// Topic, verdict and line of one that is not right.
type Objection = (Topic, Outcome, usize);

fn judged(lines: &[EventLine], is_over: bool) -> Vec<Finding> {
    let mut inspection = Inspection::new(2);
    lines.iter().for_each(|line| inspection.take(line));
    inspection.findings(is_over)
}

fn objections(lines: &[EventLine], is_over: bool) -> Vec<Objection> {
    let all = judged(lines, is_over).into_iter().filter(Finding::is_objection);
    all.map(|finding| (finding.topic, finding.outcome, finding.place.map_or(0, |place| place.line))).collect()
}

/// Changes the reports of the ranks.
fn changed(change: impl Fn(usize, &mut InspectorReport)) -> Vec<EventLine> {
    let mut all = right();
    for line in &mut all {
        if let Event::Inspected(report) = &mut line.event {
            change(line.process, report);
        }
    }
    all
}

fn updates(change: impl Fn(usize, &mut InspectedUpdate)) -> Vec<EventLine> {
    changed(|rank, report| {
        if let InspectorReport::Update(update) = report {
            change(rank, update)
        }
    })
}

fn passes(change: impl Fn(usize, &mut PassReport)) -> Vec<EventLine> {
    changed(|rank, report| {
        if let InspectorReport::Pass(pass) = report
            && pass.trains
        {
            change(rank, pass)
        }
    })
}

fn without(test: impl Fn(usize, &InspectorReport) -> bool) -> Vec<EventLine> {
    let mut all = right();
    all.retain(|line| !matches!(&line.event, Event::Inspected(report) if test(line.process, report)));
    all
}

fn with(mut all: Vec<EventLine>, at: usize, of: &[usize], report: &InspectorReport) -> Vec<EventLine> {
    for rank in of {
        let start = all.iter().position(|line| line.process == *rank).unwrap();
        all.insert(start + at, line(*rank, report.clone()));
    }
    all
}

fn is_wrapped(report: &InspectorReport) -> bool {
    matches!(report, InspectorReport::Wrapped(_))
}
