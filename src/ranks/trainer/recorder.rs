//! Spans of one rank as they happen, kept until the end of the epoch.
//!
//! Never looks at them: recording runs between the steps of training, so it is a push to a list.

use std::cell::RefCell;
use std::time::Instant;

use super::pipeline::Prepared;
use crate::comm::Activity;
use crate::domain::phase::Phase;

#[derive(Clone, Copy, Debug)]
pub(super) enum Span {
    Phase {
        phase: Phase,
        began: Instant,
        ended: Instant,
    },
    /// A named section that lies outside the phases of an epoch.
    Section {
        name: &'static str,
        began: Instant,
        ended: Instant,
    },
    Call(Activity),
    /// A batch of images that the threads of the pipeline prepared, and how many were ready when the model asked.
    Images(Prepared),
}

/// For the one thread that trains and communicates, as a communicator is: its clock and the communicator that is observed share it.
#[derive(Default)]
pub struct Recorder {
    spans: RefCell<Vec<Span>>,
}

impl Recorder {
    pub(super) fn record(&self, span: Span) {
        self.spans.borrow_mut().push(span);
    }

    /// Everything since the last time.
    pub(super) fn take(&self) -> Vec<Span> {
        self.spans.take()
    }

    /// Forgets what was recorded, and reuses the memory of `used`: the next epoch is as long as the last.
    pub(super) fn restart(&self, mut used: Vec<Span>) {
        used.clear();
        self.spans.replace(used);
    }
}
