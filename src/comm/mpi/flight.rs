//! An MPI operation on its way, together with the memory that it works on.
//!
//! Never lets go of that memory before MPI has: what is dropped on its way is leaked.

use ::mpi::collective::Operation;
use ::mpi::request::{Request, StaticScope};
use ::mpi::topology::{Process, SimpleCommunicator};
use ::mpi::traits::{CommunicatorCollectives as _, Destination as _, Equivalence};

/// Where MPI reads or writes: memory that the flight owns, or that is lent until the flight is over.
pub(super) enum Memory<T: 'static, Lent> {
    Own(Vec<T>),
    Lent(Lent),
}

/// A request, and the memory that only the flight may free.
pub(super) struct Flight<T: 'static> {
    /// `None` once it is over.
    request: Option<Request<'static, [T]>>,
    source: Vec<T>,
    target: Vec<T>,
}

impl<T: Equivalence + 'static> Flight<T> {
    /// Starts an allreduce from `source` into `target`, which are equally long and not empty.
    pub(super) fn allreduce(
        comm: &SimpleCommunicator,
        source: Memory<T, &'static [T]>,
        target: Memory<T, &'static mut [T]>,
        op: impl Operation + 'static,
    ) -> Flight<T> {
        let mut flight = Flight { request: None, source: Vec::new(), target: Vec::new() };
        let source = match source {
            Memory::Own(numbers) => flight.keep_source(numbers),
            Memory::Lent(numbers) => numbers,
        };
        let target = match target {
            Memory::Own(numbers) => flight.keep_target(numbers),
            Memory::Lent(numbers) => numbers,
        };
        assert!(source.len() == target.len() && !source.is_empty());
        flight.request = Some(comm.immediate_all_reduce_into(StaticScope, source, target, op));
        flight
    }

    /// Starts to send `message`. Synchronous mode: it is over when the receiver has taken the message, not before.
    pub(super) fn send(message: Vec<T>, to: &Process<'_>) -> Flight<T> {
        let mut flight = Flight { request: None, source: Vec::new(), target: Vec::new() };
        let source = flight.keep_source(message);
        flight.request = Some(to.immediate_synchronous_send(StaticScope, source));
        flight
    }

    /// Whether MPI is done with it. Asking is what moves it on.
    pub(super) fn is_over(&mut self) -> bool {
        self.request = self.request.take().and_then(|request| request.test().err());
        self.request.is_none()
    }

    /// The memory that was given to own, source and target, of a flight that is over.
    pub(super) fn land(mut self) -> (Vec<T>, Vec<T>) {
        assert!(self.request.is_none(), "it is still on its way");
        (std::mem::take(&mut self.source), std::mem::take(&mut self.target))
    }

    fn keep_source(&mut self, numbers: Vec<T>) -> &'static [T] {
        self.source = numbers;
        // SAFETY: the elements of a Vec stay where they are when the Vec moves. This one is not touched before the
        // request is over, and `drop` leaks it if it never is.
        unsafe { std::slice::from_raw_parts(self.source.as_ptr(), self.source.len()) }
    }

    fn keep_target(&mut self, numbers: Vec<T>) -> &'static mut [T] {
        self.target = numbers;
        // SAFETY: as above, and nobody else has a reference to the elements.
        unsafe { std::slice::from_raw_parts_mut(self.target.as_mut_ptr(), self.target.len()) }
    }
}

impl<T: 'static> Drop for Flight<T> {
    /// MPI cannot recall a collective. Whoever lent memory keeps it alive for as long as MPI may be called.
    fn drop(&mut self) {
        if let Some(request) = self.request.take() {
            std::mem::forget((request, std::mem::take(&mut self.source), std::mem::take(&mut self.target)));
        }
    }
}
