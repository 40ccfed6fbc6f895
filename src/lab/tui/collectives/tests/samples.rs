//! A run of collectives as it would have been: a schedule executed in memory, with the times of a made-up network.

use crate::domain::collective::{
    Algorithm, AllreduceReport, CollectivesSpec, LinkReport, LinkRow, MessageReport, MessagesReport, Shape,
};
use crate::domain::event::{Event, EventLine};
use crate::domain::job::Workload;
use crate::domain::measured::{Measured, MessageLog};
use crate::domain::run::RunState;
use crate::runs::{RunId, RunSummary};
use crate::tui::app::update::update;
use crate::tui::message::Message;
use crate::tui::state::State;
use crate::tui::testing::samples;

const LATENCY_S: f64 = 4e-6;
const BYTES_A_SECOND: f64 = 2e9;

/// What each rank would have logged. Rank 1 is late by `late_s`.
pub fn execution(algorithm: Algorithm, ranks: usize, elements: usize, late_s: f64) -> MessageLog {
    let schedule = algorithm.schedule(ranks, elements, Shape { servers: 1, ranks_per_host: 2 });
    let mut ready: Vec<f64> = (0..ranks).map(|rank| if rank == 1 { late_s } else { 0.0 }).collect();
    let mut messages = Vec::new();
    for (round, sent) in schedule.rounds.iter().enumerate() {
        let before = ready.clone();
        for message in sent.iter().filter(|message| !message.range.is_empty()) {
            let began_s = before[message.from];
            let ended_s = began_s.max(before[message.to]) + LATENCY_S + 4.0 * message.range.len() as f64 / BYTES_A_SECOND;
            ready[message.to] = ready[message.to].max(ended_s);
            ready[message.from] = ready[message.from].max(ended_s);
            let (from, to, operation) = (message.from, message.to, message.operation);
            messages.push(MessageReport {
                round,
                from,
                to,
                start: message.range.start,
                end: message.range.end,
                operation,
                began_s,
                ended_s,
            });
        }
    }
    MessageLog { method: algorithm.name().into(), elements, messages }
}

/// Two methods and MPI's own at five sizes: the second is faster for small buffers.
pub fn rows() -> Vec<AllreduceReport> {
    let models = [("ring", 24e-6, 1.6e9), ("recursive-doubling", 8e-6, 0.8e9), ("mpi", 10e-6, 1.9e9)];
    let row = |(method, latency_s, speed): (&str, f64, f64), bytes: u64| {
        let mean_s = latency_s + bytes as f64 / speed;
        AllreduceReport {
            method: method.into(),
            bytes,
            elements: bytes as usize / 4,
            iterations: 20,
            mean_s,
            median_s: mean_s,
            min_s: 0.9 * mean_s,
            max_s: 1.4 * mean_s,
            wrong: Some(0),
        }
    };
    let sizes = [1 << 10, 1 << 13, 1 << 16, 1 << 19, 1 << 22];
    sizes.into_iter().flat_map(|bytes| models.map(|model| row(model, bytes))).collect()
}

/// As the ranks tell it: the messages that each received, and the table by rank 0.
pub fn events(execution: &MessageLog, rows: &[AllreduceReport]) -> Vec<EventLine> {
    let ranks = execution.messages.iter().map(|message| message.to + 1).max().unwrap_or(1);
    let line = |process, event| EventLine { time_s: 1_700_000_000.0, process, event };
    let of = |rank: usize| {
        let messages = execution.messages.iter().filter(|message| message.to == rank).cloned().collect();
        let MessageLog { method, elements, .. } = execution;
        line(rank, Event::Messages(MessagesReport { method: method.clone(), elements: *elements, messages, part: 0 }))
    };
    (0..ranks).map(of).chain(rows.iter().map(|row| line(0, Event::Allreduce(row.clone())))).collect()
}

pub fn summary(id: u32, np: usize) -> RunSummary {
    let mut run = samples::summary(id, np, samples::status(RunState::Finished, "measured 15 rows"), None);
    if let Some(record) = &mut run.record {
        record.request.spec.resources.np = np;
        record.request.spec.workload = Workload::Collectives(CollectivesSpec::sample());
    }
    run
}

/// The window is open on run 3, which executed a ring, and what it measured is there.
pub fn opened(np: usize, size: (u16, u16)) -> State {
    let mut state = samples::never_used();
    update(&mut state, Message::Resize(size.0, size.1));
    update(&mut state, Message::Runs(vec![samples::finished(1, 1, 1023.0), summary(3, np)]));
    crate::tui::tests::type_text(&mut state, "C");
    let told = told(np, &events(&execution(Algorithm::Ring, np, 4096, 9e-6), &rows()));
    update(&mut state, Message::Collectives(RunId(3), Box::new(told)));
    state
}

/// What these events of run 3 add up to.
pub fn told(np: usize, events: &[EventLine]) -> Measured {
    Measured::from_events(np, &CollectivesSpec::sample(), events.iter().cloned())
}

/// Rank 0 has a core for each rank, and what was measured between two ranks predicts the times.
pub fn predictable(np: usize) -> Vec<EventLine> {
    let row = |bytes: u64| {
        let one_way_s = LATENCY_S + bytes as f64 / BYTES_A_SECOND;
        LinkRow { bytes, one_way_s, exchange_s: 1.3 * one_way_s, sum_s: bytes as f64 / 8e9 }
    };
    let link = Event::Link(LinkReport { rows: [4, 1 << 12, 1 << 18, 1 << 24].map(row).to_vec() });
    let line = |process, event| EventLine { time_s: 1_700_000_000.0, process, event };
    let places = (0..np).map(|rank| line(rank, samples::topology(rank, np)));
    let rest = events(&execution(Algorithm::Ring, np, 4096, 9e-6), &rows());
    places.chain([line(0, link)]).chain(rest).collect()
}
