//! The negotiation before each collective: all ranks compare what they are about to do, and wait for each other.
//!
//! # Horovod
//! What its coordinator does under `NEGOTIATE_ALLREDUCE`. Here no rank is special: one short allreduce does it.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use ::mpi::collective::SystemOperation;
use ::mpi::topology::SimpleCommunicator;
use ::mpi::traits::{Communicator as _, CommunicatorCollectives as _};

use super::request::{Memory, Request};
use super::stall_inspector::{StallInspector, Wait};
use super::wait;
use crate::comm::call;
use crate::comm::error::CommError;
use crate::comm::signature::{Signature, WORDS, mismatch};

/// How long a rank polls before it sleeps, while other ranks are missing.
const SPIN: Duration = Duration::from_micros(100);
/// The same when all ranks are there and only their data is missing: it moves only while ranks are awake.
const SPIN_FOR_DATA: Duration = Duration::from_millis(100);

/// This rank's side of all negotiations of a job.
pub(super) struct Negotiation {
    /// A communicator of its own, because buckets may be in flight on the one that carries data.
    comm: SimpleCommunicator,
    size: usize,
    pub(super) inspector: RefCell<StallInspector>,
    /// Number of negotiations so far.
    number: Cell<u64>,
    /// Why no collective can work any more: something is in flight that will never arrive.
    failure: RefCell<Option<CommError>>,
}

impl Negotiation {
    /// # Collective
    /// All ranks of `world`.
    pub(super) fn new(world: &SimpleCommunicator, size: usize, inspector: StallInspector) -> Negotiation {
        let inspector = RefCell::new(inspector);
        Negotiation { comm: world.duplicate(), size, inspector, number: Cell::new(0), failure: RefCell::new(None) }
    }

    /// Waits until all ranks are about to do the same. When it returns, all ranks are known to have come this far.
    ///
    /// Each rank sends the words of its signature and their complements, and gets the maximum of each over the ranks. The
    /// maximum of a complement is the complement of the minimum: where maximum and minimum are equal, all ranks sent the
    /// same. The request owns its memory, so a wait that fails may leave it behind.
    ///
    /// # Errors
    /// [`CommError::Mismatch`] if all ranks came with different signatures, after which all may go on. A stall, or ranks
    /// that wait in different collectives, make this negotiation fail for good: see [`Negotiation::failure`].
    pub(super) fn agree(&self, signature: Signature) -> Result<Wait, CommError> {
        if let Some(cause) = self.failure() {
            return Err(cause);
        }
        let mut inspector = self.inspector.borrow_mut();
        self.number.set(self.number.get() + 1);
        let mut wait = Wait::new(self.number.get(), signature, inspector.limits.warning);

        let words = signature.to_words();
        let mut message = Vec::with_capacity(2 * WORDS + 1);
        message.extend(words);
        message.extend(words.map(|word| !word));
        message.push(inspector.has_unreceived().into());
        let answer = Memory::Owned(vec![0; message.len()]);
        let mut request = Request::allreduce(&self.comm, Memory::Owned(message), answer, SystemOperation::max());
        wait::until(SPIN, || request.test(), |waited| inspector.check(&mut wait, waited)).map_err(|error| self.fail(error))?;
        wait.everyone_came = true;

        let (_, answer) = request.into_buffers();
        if answer[2 * WORDS] != 0 {
            inspector.receive();
        }
        let are_equal = (0..WORDS).all(|at| answer[at] == !answer[WORDS + at]);
        if are_equal { Ok(wait) } else { Err(self.mismatch(signature)) }
    }

    /// Which ranks are about to do what, where they disagree. All ranks come here together.
    fn mismatch(&self, signature: Signature) -> CommError {
        let mut all = vec![0u64; WORDS * self.size];
        self.comm.all_gather_into(&signature.to_words()[..], &mut all[..]);
        let signatures = all.chunks_exact(WORDS).map(|words| Signature::from_words([words[0], words[1], words[2]]));
        let mut calls = vec![0u8; call::BYTES * self.size];
        self.comm.all_gather_into(&call::to_bytes()[..], &mut calls[..]);
        mismatch(signatures.zip(calls.chunks_exact(call::BYTES).map(call::from_bytes)))
            .unwrap_or_else(|| CommError::Mismatch("which ones is not known".into()))
    }

    /// All ranks are there. Waits for their data.
    ///
    /// # Errors
    /// What `has_arrived` says, or [`CommError::Stalled`]. The caller makes either a failure for good.
    pub(super) fn wait_for_data(
        &self,
        wait: &mut Wait,
        mut has_arrived: impl FnMut() -> Result<bool, CommError>,
    ) -> Result<(), CommError> {
        let failed = Cell::new(None);
        let is_over = || {
            has_arrived().unwrap_or_else(|error| {
                failed.set(Some(error));
                true
            })
        };
        let waited = wait::until(SPIN_FOR_DATA, is_over, |waited| self.inspector.borrow_mut().check(wait, waited));
        failed.take().map_or(waited, Err)
    }

    /// Remembers that something will never arrive: from now on MPI may only be called to abort.
    pub(super) fn fail(&self, cause: CommError) -> CommError {
        *self.failure.borrow_mut() = Some(cause.clone());
        cause
    }

    /// Why no collective can work any more, if so.
    pub(super) fn failure(&self) -> Option<CommError> {
        self.failure.borrow().clone()
    }
}
