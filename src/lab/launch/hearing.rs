//! How each process of a launch sends its events, and the number of the last one.

use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Default)]
pub(super) struct Hearing {
    /// Processes of the launch.
    np: usize,
    /// The connection of each process that has one: the first that named it.
    connections: BTreeMap<usize, u64>,
    /// The number of the last event that a process printed.
    numbers: BTreeMap<usize, u64>,
    /// Processes whose last line was empty: it may belong to an event.
    pub blanks: BTreeSet<usize>,
    /// Processes for which another program has sent events.
    pub distrusted: BTreeSet<usize>,
}

impl Hearing {
    pub fn new(np: usize) -> Hearing {
        Hearing { np, ..Hearing::default() }
    }

    /// Whether this connection is the one of this process, which is one of the launch.
    pub fn is_connection_of(&mut self, process: usize, connection: u64) -> bool {
        process < self.np && *self.connections.entry(process).or_insert(connection) == connection
    }

    pub fn is_connected(&self, process: usize) -> bool {
        self.connections.contains_key(&process)
    }

    /// Events that are missing before the one with this number. A program that starts again counts from 1.
    pub fn lost_before(&mut self, process: usize, number: Option<u64>) -> u64 {
        let Some(number) = number else { return 0 };
        let before = self.numbers.insert(process, number).unwrap_or(0);
        number.saturating_sub(before + 1)
    }
}
