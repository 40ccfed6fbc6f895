//! The processes of runs: finding them, proving whose they are, signalling them, and removing what killed ones left behind.
//!
//! ```text
//!  of_run         finds the processes of a run or a session, proves that they are, and signals them
//!  handle         holds one process, so that a signal reaches no later process with the same number
//!  lock           the lock of a run folder, held by its supervisor
//!  supervisor     starts the supervisor of a run, and hands it the lock
//!  probe_command  asks another program a short question, and ends all that it started
//!  scratch        temporary folders that are removed after their owner, even if it was killed
//! ```
//!
//! `runs::supervision` combines them into who supervises a run, and `runs::orphans` into what to do when its supervisor was killed.

mod handle;
pub mod lock;
mod of_run;
pub mod probe_command;
pub mod scratch;
pub mod this_program;

pub use handle::ProcessHandle;
pub use lock::{LockError, LockIdentity, RunLock};
pub use of_run::{
    Proof, QUESTION_VARIABLE, RUN_DIR_VARIABLE, adopted, descendants, is_adopted, is_alive, of_run, of_session, prove, signal,
    signal_descendants, signal_each, signal_own_session, signal_proven, signal_run, with_variable,
};
pub use scratch::Scratch;

pub use crate::host::process::{Process, look_up};
