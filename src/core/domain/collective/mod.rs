//! An allreduce as data: which rank sends which numbers to whom, round by round.
//!
//! One schedule is executed over MPI, proven, measured, predicted and drawn, so that all of them speak of the same thing. An
//! algorithm is one file that makes a [`Schedule`], and a line in [`Algorithm`].

mod advice;
mod algorithm;
mod apart;
mod binomial;
mod fold;
mod hierarchical;
mod judge;
mod method;
mod naming;
mod parameter_server;
mod plan;
mod predict;
mod proof;
mod rabenseifner;
mod recursive_doubling;
mod report;
mod ring;
mod schedule;
mod settings;
mod table;
mod terms;

pub use advice::{Advice, AdviceRow, Lead};
pub use algorithm::{Algorithm, Shape};
pub use apart::{Apart, Cause};
pub use judge::{judge, judge_in};
pub use method::{Method, MpiAlgorithm};
pub use naming::Naming;
pub use predict::{Fit, Machine, Refused};
pub use proof::{Fault, prove};
pub use report::{AllreduceReport, LinkReport, LinkRow, MessageReport, MessagesReport, bus_bandwidth};
pub use schedule::{Message, Operation, Schedule, chunk};
pub use settings::CollectivesSpec;
pub use table::COLLECTIVES_SETTINGS;
pub use terms::Terms;

#[cfg(test)]
mod tests;
