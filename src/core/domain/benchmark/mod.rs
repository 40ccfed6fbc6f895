//! A benchmark of training on one fixed batch: its settings, what the ranks report, and the lines that others print of it.
//!
//! Never measures anything: seconds in, words and figures out.

pub(in crate::domain) mod choices;
mod fit;
mod report;
mod settings;
mod speed;
pub mod style;
pub mod table;

pub use choices::{Binding, NumberFormat, Style, UpdateRule};
pub(in crate::domain) use fit::Demand;
pub use fit::HostRoom;
pub use report::{IterationReport, PlacementReport};
pub use settings::BenchmarkSpec;
pub use speed::{Iterations, Spread};
pub use table::BENCHMARK_SETTINGS;
