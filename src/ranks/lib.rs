//! What the programs of the ranks are made of, and a learner's own: the communicators and the trainer, on the ground floor.

#[deny(clippy::print_stderr, clippy::print_stdout)]
pub mod comm;
pub mod trainer;

pub use hvd_lab_core::{dataset, domain, flags, host};
