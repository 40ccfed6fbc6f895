//! The other ranks, as long as the program needs them.

use hvd_lab::comm::Communicator;

/// What a communicator that lives as long as a session is kept by.
pub struct Ranks(*mut dyn Communicator);

impl Ranks {
    /// The communicator, for all that a session holds.
    pub fn join(comm: Box<dyn Communicator>) -> (Ranks, &'static dyn Communicator) {
        let comm = Box::into_raw(comm);
        // SAFETY: `leave` frees it, after everything else of the session is gone, and nothing else does.
        (Ranks(comm), unsafe { &*comm })
    }

    /// Leave the job, together with all others. Whatever used the communicator is gone.
    pub fn leave(self) {
        // SAFETY: it came from `Box::into_raw`, and all that refers to it was part of the session, which is gone.
        drop(unsafe { Box::from_raw(self.0) });
    }
}
