//! What is exported: runs compared with one of them, and what others published.

use crate::runs::{Row, RunSummary, Source};

/// Runs compared with one of them, and what others published where that is wanted.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    pub baseline: &'a RunSummary,
    pub runs: Vec<(Row, &'a RunSummary)>,
    pub published: &'a [Source],
}

impl<'a> Report<'a> {
    pub fn new(runs: impl IntoIterator<Item = &'a RunSummary>, baseline: &'a RunSummary, published: &'a [Source]) -> Report<'a> {
        Report { baseline, runs: runs.into_iter().map(|run| (Row::new(run, baseline), run)).collect(), published }
    }
}
