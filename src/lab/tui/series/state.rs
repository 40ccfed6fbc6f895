//! Runs that take turns: the last of them, and what they have shown so far.
//!
//! Never reads a file: what is kept comes in as messages.

use crate::course::{Next, Results, Series};
use crate::tui::shared::Shared;

#[derive(Clone, Debug, Default)]
pub struct SeriesView {
    /// The last runs that took turns, or do.
    pub series: Option<Series>,
    /// What they have shown so far.
    pub results: Option<Results>,
    /// One of them was begun by this screen, and nobody was told yet that all are over.
    pub is_news: bool,
}

impl SeriesView {
    /// What there is to do of them.
    pub fn next(&self, shared: &Shared) -> Next {
        self.series.as_ref().map_or(Next::Over, |series| series.next(|run| shared.turn_state(run)))
    }
}
