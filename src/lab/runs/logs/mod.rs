//! The lines of a run's logs in the order in which they came: by number, by time, searched and filtered.
//!
//! Never keeps a log in memory: what is asked for is read from the files again. A million lines cost a few hundred
//! kilobytes, however long they are.
//!
//! ```text
//! rank-N.log, launcher.log ─┐
//! arrivals.txt ─────────────┴─> files (walk) ─> index (blocks) ─> scan (what a query finds in each) ─> reader (pages)
//! ```

mod arrival;
mod files;
mod index;
mod pattern;
mod reader;
mod scan;
mod text;

#[cfg(test)]
mod tests;

pub use arrival::{Arrival, Arrivals, LogSource};
pub use pattern::Pattern;
pub use reader::{Found, Jump, LogPage, LogReader, LogRequest, Place};
pub use scan::{LogFilter, LogLine, LogQuery};
pub use text::safe;
