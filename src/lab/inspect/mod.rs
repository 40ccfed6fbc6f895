//! The ten steps, judged on a program of the user's own by what the inspector saw in its ranks.
//!
//! Reports in, findings out: never reads a clock, and names no window. `course` judges the lab's own trainer, which says more of itself.

mod alone;
mod apart;
mod applied;
mod batches;
mod checkpoint;
mod data;
mod finding;
mod gradients;
mod hang;
mod inspection;
mod judges;
mod library;
mod metrics;
mod prints;
mod randomness;
mod ranks;
mod rate;
mod reading;
mod samples;
mod speed;
mod table;
mod totals;
mod weights;

#[cfg(test)]
mod tests;

pub use finding::{Finding, Outcome, Topic};
pub use inspection::Inspection;
pub use reading::{Inspected, inspected};
