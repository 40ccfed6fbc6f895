//! A run of 512 ranks on 64 hosts for tests, as its events tell it.
//!
//! Never used outside tests; every figure in it is made up.

use super::samples::{self, START, cpu_sample, say, status, summary};
use crate::domain::event::{Event, EventLine, TopologyReport};
use crate::domain::run::RunState;
use crate::runs::{RunId, RunUpdate};
use crate::tui::message::Message;
use crate::tui::state::State;

pub const RANKS: usize = 512;
const OF_HOST: usize = 8;

pub fn host(rank: usize) -> String {
    format!("node{:02}", rank / OF_HOST)
}

fn told(process: usize, seconds: f64, event: Event) -> RunUpdate {
    RunUpdate::Event(EventLine { time_s: START + seconds, process, event })
}

/// All have begun, and trained for 20 seconds; nothing was heard of node17 for 12 of them.
pub fn going() -> State {
    let mut state = samples::never_used();
    say(&mut state, Message::Runs(vec![summary(1, RANKS, status(RunState::Running, "training"), None)]));
    let mut updates = vec![RunUpdate::Status(status(RunState::Running, "training"))];
    for rank in 0..RANKS {
        let Event::Topology(report) = samples::topology(rank, RANKS) else { continue };
        updates.push(told(rank, 0.0, Event::Topology(TopologyReport { host: host(rank), ..report })));
    }
    updates.push(told(0, 0.5, Event::Config(samples::config(3))));
    for rank in 0..RANKS {
        let seconds = if host(rank) == "node17" { 8.0 } else { 20.0 };
        let batch = seconds as usize * 2;
        updates.push(told(rank, seconds, Event::Step { epoch: 0, batch, lr: 0.01, loss: 1.5 }));
    }
    // The hosts report in any order.
    for first in (0..RANKS).step_by(OF_HOST).rev() {
        let pids: Vec<(usize, u32)> = (first..first + OF_HOST).map(|rank| (rank, 412 + rank as u32)).collect();
        let mut sample = cpu_sample(&pids);
        sample.host = host(first);
        updates.push(told(first, 20.0, Event::Devices { sample }));
    }
    say(&mut state, Message::Updates(RunId(1), updates));
    state
}

/// Rank 317 ran out of memory, and rank 44 noticed.
pub fn failed() -> State {
    let mut state = going();
    let fatal = |rank, cause: &str| told(rank, 20.5, Event::Fatal { during: "epoch 1".into(), cause: cause.into() });
    let mut status = status(RunState::Failed, "rank 317 failed during epoch 1: out of memory: 812 MiB asked");
    status.failed_process = Some(317);
    status.last_lines = vec!["error: out of memory".into()];
    let updates = vec![fatal(317, "out of memory: 812 MiB asked"), fatal(44, "process 317 is gone"), RunUpdate::Status(status)];
    say(&mut state, Message::Updates(RunId(1), updates));
    state
}
