//! Runs that the chart keeps beside others, and the colour and letter that each shown run has.

use std::collections::BTreeMap;

use crate::runs::RunId;
use crate::tui::widgets::RUN_COLOURS;

/// With the run on the screen and the baseline there is a colour for each.
pub const MOST_PINS: usize = RUN_COLOURS - 2;

#[derive(Clone, Debug, Default)]
pub struct Pins {
    /// In the order in which they were pinned.
    pub pinned: Vec<RunId>,
    /// Which colour and letter each shown run has.
    slots: BTreeMap<RunId, usize>,
}

impl Pins {
    /// Pins these runs and no others.
    pub fn set(&mut self, mut runs: Vec<RunId>) {
        runs.truncate(MOST_PINS);
        self.pinned = runs;
    }

    pub fn contains(&self, run: RunId) -> bool {
        self.pinned.contains(&run)
    }

    /// Number of the colour that a shown run has: see [`crate::tui::widgets::theme::Theme::run`].
    pub fn slot(&self, run: RunId) -> Option<usize> {
        self.slots.get(&run).copied()
    }

    /// The letter that a shown run has beside its colour, which tells it apart without colours.
    pub fn letter(&self, run: RunId) -> Option<char> {
        self.slot(run).map(|slot| char::from(b'A' + slot as u8))
    }

    /// A shown run keeps its slot; a new one gets the slot of its number, or the next that is free.
    pub fn assign(&mut self, shown: &[RunId]) {
        self.slots.retain(|run, _| shown.contains(run));
        for run in shown {
            let wanted = (run.0 as usize).saturating_sub(1);
            let mut slots = (0..RUN_COLOURS).map(|step| (wanted + step) % RUN_COLOURS);
            if !self.slots.contains_key(run)
                && let Some(free) = slots.find(|slot| self.slots.values().all(|taken| taken != slot))
            {
                self.slots.insert(*run, free);
            }
        }
    }
}
