//! A non-blocking MPI operation, together with the memory that it works on.
//!
//! Never frees that memory before MPI is done with it: a request that is dropped early leaks it.

use ::mpi::collective::Operation;
use ::mpi::request::{Request as MpiRequest, StaticScope};
use ::mpi::topology::{Process, SimpleCommunicator};
use ::mpi::traits::{CommunicatorCollectives as _, Destination as _, Equivalence};

/// Where MPI reads or writes: memory that the request owns, or that is lent until the request is complete.
pub(super) enum Memory<T: 'static, Lent> {
    Owned(Vec<T>),
    Lent(Lent),
}

/// An MPI request, and the memory that only the request may free.
pub(super) struct Request<T: 'static> {
    /// `None` once it is complete.
    request: Option<MpiRequest<'static, [T]>>,
    source: Vec<T>,
    target: Vec<T>,
}

impl<T: Equivalence + 'static> Request<T> {
    /// Starts an allreduce from `source` into `target`, which are equally long and not empty (MPI_Iallreduce).
    pub(super) fn allreduce(
        comm: &SimpleCommunicator,
        source: Memory<T, &'static [T]>,
        target: Memory<T, &'static mut [T]>,
        op: impl Operation + 'static,
    ) -> Request<T> {
        let mut this = Request { request: None, source: Vec::new(), target: Vec::new() };
        let source = match source {
            Memory::Owned(numbers) => this.keep_source(numbers),
            Memory::Lent(numbers) => numbers,
        };
        let target = match target {
            Memory::Owned(numbers) => this.keep_target(numbers),
            Memory::Lent(numbers) => numbers,
        };
        assert!(source.len() == target.len() && !source.is_empty());
        this.request = Some(comm.immediate_all_reduce_into(StaticScope, source, target, op));
        this
    }

    /// Starts to send `message` (MPI_Issend). It is complete when the receiver has taken the message, not before.
    pub(super) fn send(message: Vec<T>, to: &Process<'_>) -> Request<T> {
        let mut this = Request { request: None, source: Vec::new(), target: Vec::new() };
        let source = this.keep_source(message);
        this.request = Some(to.immediate_synchronous_send(StaticScope, source));
        this
    }

    /// Whether it is complete (MPI_Test). Testing is what lets MPI make progress.
    pub(super) fn test(&mut self) -> bool {
        self.request = self.request.take().and_then(|request| request.test().err());
        self.request.is_none()
    }

    /// The memory that the request owned, source and target.
    ///
    /// # Panics
    /// If the request is not complete.
    pub(super) fn into_buffers(mut self) -> (Vec<T>, Vec<T>) {
        assert!(self.request.is_none(), "the request is not complete");
        (std::mem::take(&mut self.source), std::mem::take(&mut self.target))
    }

    fn keep_source(&mut self, numbers: Vec<T>) -> &'static [T] {
        self.source = numbers;
        // SAFETY: the elements of a Vec stay where they are when the Vec moves. This one is not touched before the
        // request is complete, and `drop` leaks it if it never is.
        unsafe { std::slice::from_raw_parts(self.source.as_ptr(), self.source.len()) }
    }

    fn keep_target(&mut self, numbers: Vec<T>) -> &'static mut [T] {
        self.target = numbers;
        // SAFETY: as above, and nobody else has a reference to the elements.
        unsafe { std::slice::from_raw_parts_mut(self.target.as_mut_ptr(), self.target.len()) }
    }
}

impl<T: 'static> Drop for Request<T> {
    /// MPI cannot cancel a collective. Lent memory stays alive for as long as MPI may be called: its owner promised that.
    fn drop(&mut self) {
        if let Some(request) = self.request.take() {
            std::mem::forget((request, std::mem::take(&mut self.source), std::mem::take(&mut self.target)));
        }
    }
}
