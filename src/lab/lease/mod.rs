//! A machine that is shared: its GPUs or cores are lent to one run at a time, in the order in which runs ask for them.
//!
//! It orders the runs that are started with the lab. Devices that other programs use are only shown as busy.
//!
//! ```text
//!  FOLDER/BOOT/GPU-....lock       locked by the run that has this device
//!             /queue/TICKET       locked by a run that waits
//!             /held/TICKET        locked by a run that has devices, with their names
//! ```
//!
//! What counts is the lock, not the file: the system lets go of it when its holder is gone, however it went. The launcher of a
//! run inherits the locks, so that devices on which ranks still train are never free.

mod error;
mod files;
mod granted;
mod queue;
mod rules;
mod share;
mod ticket;

pub use error::LeaseError;
pub use granted::Lease;
pub use queue::{Allocation, Entry, Estimate, Queue, Request};
pub use rules::{Devices, Rules};
pub use share::{Share, Stray};
pub use ticket::{Ticket, Turn};
