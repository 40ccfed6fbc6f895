//! What a run of collectives has told: the rows of its table, and the messages of the executions that it logged.

use crate::domain::collective::{AllreduceReport, LinkReport, MessageReport};
use crate::domain::event::EventLine;
use crate::domain::history::{History, Keep};
use crate::runs::RunSummary;

/// Of the newest attempt of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    pub rows: Vec<AllreduceReport>,
    pub executions: Vec<Execution>,
    pub link: Option<LinkReport>,
}

/// One execution of a method: what all ranks received.
#[derive(Clone, Debug, PartialEq)]
pub struct Execution {
    pub method: String,
    pub elements: usize,
    pub messages: Vec<MessageReport>,
}

impl Measured {
    pub fn of(events: impl IntoIterator<Item = EventLine>) -> Measured {
        let mut history = History::new(Keep::Everything);
        events.into_iter().for_each(|line| history.take(&line));
        let Some(attempt) = history.attempt() else { return Measured::default() };
        let mut executions: Vec<Execution> = Vec::new();
        for report in attempt.processes.values().flat_map(|process| &process.messages) {
            let known = executions.iter_mut().find(|known| known.method == report.method && known.elements == report.elements);
            match known {
                Some(known) => known.messages.extend(report.messages.iter().cloned()),
                None => executions.push(Execution {
                    method: report.method.clone(),
                    elements: report.elements,
                    messages: report.messages.clone(),
                }),
            }
        }
        let rows = attempt.processes.values().flat_map(|process| process.allreduces.iter().cloned()).collect();
        let link = attempt.processes.values().find_map(|process| process.link.clone());
        Measured { rows, executions, link }
    }

    /// The methods in the order of the table, then those that have a log only.
    pub fn methods(&self) -> Vec<&str> {
        let mut methods: Vec<&str> = Vec::new();
        let all = self.rows.iter().map(|row| row.method.as_str());
        for method in all.chain(self.executions.iter().map(|execution| execution.method.as_str())) {
            if !methods.contains(&method) {
                methods.push(method);
            }
        }
        methods
    }

    /// The sizes of the table, smallest first.
    pub fn sizes(&self) -> Vec<u64> {
        let mut sizes: Vec<u64> = self.rows.iter().map(|row| row.bytes).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// What a method took at a size.
    pub fn row(&self, method: &str, bytes: u64) -> Option<&AllreduceReport> {
        self.rows.iter().find(|row| row.method == method && row.bytes == bytes)
    }
}

/// Whether a run measures collectives.
pub fn is_of_collectives(run: &RunSummary) -> bool {
    run.record.as_ref().is_some_and(|record| record.spec.workload.kind() == "collectives")
}
