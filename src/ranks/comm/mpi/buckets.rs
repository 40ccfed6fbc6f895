//! Allreduces that are started now and finished later: buckets of gradients in flight while backward goes on.
//!
//! Never checks a bucket with the other ranks when it starts, which would end the overlap. The schedule that all ranks
//! agreed on when they last finished says what may start, and the next negotiation checks that they kept to it.

use std::collections::VecDeque;
use std::ops::Range;

use ::mpi::collective::{SystemOperation, UnsafeUserOperation};
use ::mpi::topology::SimpleCommunicator;
use ::mpi::traits::CommunicatorCollectives as _;

use super::operation::Operations;
use super::request::{Memory, Request};
use super::shared_average::SharedAverage;
use crate::comm::average::average;
use crate::comm::compression::{Compression, Half};
use crate::comm::error::CommError;
use crate::comm::nccl::Nccl;
use crate::comm::region::Region;
use crate::comm::signature::Signature;

/// Elements in one MPI call, which counts in i32. Long enough that the cost of a call is nothing beside its transfer.
pub(super) const MESSAGE: usize = 4 << 20;

/// Elements summed in one go. Short enough that the sum is still in the core's cache when it is copied back, which makes
/// long sums twice as fast as chunks of 16 MiB. Long enough that a message's latency is little beside it.
pub(super) const CACHED: usize = 128 << 10;

/// All buckets between two calls of `finish_allreduces`.
pub(super) struct Buckets {
    operations: Operations,
    ranks: usize,
    /// What all ranks started before they last finished.
    agreed: Vec<Terms>,
    /// What this rank has started since.
    pub(super) started: Vec<Terms>,
    /// Memory for buckets that need no message.
    pub(super) shared: Option<SharedAverage>,
    /// Buckets that wait for the end. First, the part of `started` that departs from `agreed`: other ranks may have started
    /// something else, and a sum of unlike buckets would be nonsense, or make MPI end the job. So the first step overlaps
    /// nothing. Second, the last bucket, which has nothing left to overlap with: once all ranks are there, MPI's blocking
    /// call is faster. Third, those in shared memory, which are the work of the ranks themselves: there is nothing to send meanwhile.
    deferred: Vec<(Region, Region, Compression)>,
    pub(super) in_flight: VecDeque<InFlight>,
    /// Buffers to reuse.
    spare: Vec<Vec<u16>>,
}

/// What the ranks must agree on of a bucket.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Terms {
    length: usize,
    compression: Compression,
    is_shared: bool,
}

/// A bucket in flight, or one message of a long bucket.
pub(super) struct InFlight {
    /// Its place among those that were started.
    bucket: usize,
    target: Region,
    payload: Payload,
}

enum Payload {
    Full(Request<f32>),
    Compressed(Request<u16>, Half),
}

impl InFlight {
    fn test(&mut self) -> bool {
        match &mut self.payload {
            Payload::Full(request) => request.test(),
            Payload::Compressed(request, _) => request.test(),
        }
    }
}

impl Buckets {
    pub(super) fn new(ranks: usize) -> Buckets {
        Buckets {
            operations: Operations::register(),
            ranks,
            agreed: Vec::new(),
            started: Vec::new(),
            shared: None,
            deferred: Vec::new(),
            in_flight: VecDeque::new(),
            spare: Vec::new(),
        }
    }

    /// One more bucket. It is sent now if all ranks are known to start the same.
    ///
    /// # Errors
    /// [`CommError::Gpu`], if the bucket lies in GPU memory.
    pub(super) fn start(
        &mut self,
        world: &SimpleCommunicator,
        gpu: Option<&Nccl>,
        source: Region,
        target: Region,
        compression: Compression,
    ) -> Result<(), CommError> {
        let is_shared = self.shared_part(source, target, compression).is_some();
        let bucket = Terms { length: source.len(), compression, is_shared };
        let place = self.started.len();
        let expected = self.agreed.get(place) == Some(&bucket);
        let last = place + 1 == self.agreed.len();
        self.started.push(bucket);
        match (expected && self.deferred.is_empty(), gpu) {
            (true, Some(gpu)) if source.is_on_gpu() => return gpu.allreduce(source, target),
            (true, _) if !last && !is_shared => self.send(world, place, source, target, compression),
            _ => self.deferred.push((source, target, compression)),
        }
        Ok(())
    }

    /// The shared memory, and which of its numbers are those of the bucket, if it lies there.
    fn shared_part(&self, source: Region, target: Region, compression: Compression) -> Option<(&SharedAverage, Range<usize>)> {
        let shared = self.shared.as_ref().filter(|_| compression == Compression::None)?;
        Some((shared, shared.range_of(source, target)?))
    }

    /// The signature of all that this rank has started since it last finished.
    pub(super) fn signature(&self) -> Signature {
        let fnv = |digest: u64, word: usize| (digest ^ word as u64).wrapping_mul(0x0000_0100_0000_01b3);
        let digest = |digest, bucket: &Terms| {
            fnv(fnv(digest, bucket.length), 2 * bucket.compression as usize + usize::from(bucket.is_shared))
        };
        Signature::Finish {
            buckets: self.started.len(),
            numbers: self.started.iter().map(|bucket| bucket.length).sum(),
            digest: self.started.iter().fold(0xcbf2_9ce4_8422_2325, digest),
        }
    }

    /// All ranks have started the same. Deferred buckets are sent now, and those of the next step may be sent at once.
    ///
    /// # Errors
    /// [`CommError::Gpu`], if buckets lie in GPU memory.
    pub(super) fn launch_deferred(&mut self, world: &SimpleCommunicator, gpu: Option<&Nccl>) -> Result<(), CommError> {
        std::mem::swap(&mut self.agreed, &mut self.started);
        self.started.clear();
        let first = self.agreed.len() - self.deferred.len();
        for (place, (source, target, compression)) in (first..).zip(std::mem::take(&mut self.deferred)) {
            match (compression, gpu) {
                (_, Some(gpu)) if source.is_on_gpu() => gpu.allreduce(source, target)?,
                _ if let Some((shared, range)) = self.shared_part(source, target, compression) => shared.average_part(range),
                (Compression::None, _) if !source.overlaps(target) => self.allreduce_now(world, source, target),
                _ => self.send(world, place, source, target, compression),
            }
        }
        if self.agreed.iter().any(|bucket| bucket.is_shared) {
            // After this barrier all averages are written, and no rank reads the others' gradients any more.
            world.barrier();
        }
        Ok(())
    }

    /// The ranks disagree: what is in flight will never arrive.
    pub(super) fn abandon(&mut self) {
        self.agreed.clear();
        self.started.clear();
        self.deferred.clear();
        self.in_flight.clear();
    }

    /// Makes progress. One test moves all requests as far as MPI can, and they complete in order.
    pub(super) fn progress(&mut self) {
        while self.in_flight.front_mut().is_some_and(InFlight::test) {
            self.complete_first();
        }
    }

    /// How many of the started buckets are complete, in the order of their start.
    pub(super) fn completed(&self) -> usize {
        self.in_flight.front().map_or(self.started.len() - self.deferred.len(), |first| first.bucket)
    }

    /// Whether nothing is in flight any more. Asking makes progress.
    pub(super) fn have_arrived(&mut self) -> bool {
        self.progress();
        self.in_flight.is_empty()
    }

    /// All ranks are there: sums and divides at once, chunk by chunk, so that a chunk is divided while it is in the cache.
    fn allreduce_now(&self, world: &SimpleCommunicator, source: Region, target: Region) {
        for (source, target) in source.chunks(CACHED).zip(target.chunks(CACHED)) {
            let target = target.numbers_mut();
            match self.mean_of_two() {
                Some(mean) => world.all_reduce_into(source.numbers(), target, mean),
                None => {
                    world.all_reduce_into(source.numbers(), target, SystemOperation::sum());
                    average(target, self.ranks);
                }
            }
        }
    }

    fn send(&mut self, world: &SimpleCommunicator, bucket: usize, source: Region, target: Region, compression: Compression) {
        // Messages that MPI can count, cut at the same places on every rank.
        for (source, target) in source.chunks(MESSAGE).zip(target.chunks(MESSAGE)) {
            let payload = match compression.half() {
                None => {
                    let in_place = source.overlaps(target);
                    let from = if in_place { Memory::Owned(source.numbers().to_vec()) } else { Memory::Lent(source.numbers()) };
                    let into = Memory::Lent(target.numbers_mut());
                    Payload::Full(match self.mean_of_two() {
                        Some(mean) => Request::allreduce(world, from, into, mean),
                        None => Request::allreduce(world, from, into, SystemOperation::sum()),
                    })
                }
                Some(half) => {
                    let (mut from, mut into) = (self.spare.pop().unwrap_or_default(), self.spare.pop().unwrap_or_default());
                    half.compress(source.numbers(), self.ranks, &mut from);
                    into.resize(from.len(), 0);
                    let request = Request::allreduce(world, Memory::Owned(from), Memory::Owned(into), self.operations.sum(half));
                    Payload::Compressed(request, half)
                }
            };
            self.in_flight.push_back(InFlight { bucket, target, payload });
        }
    }

    /// Of two ranks, the operation by which MPI's results are averages already.
    pub(super) fn mean_of_two(&self) -> Option<&'static UnsafeUserOperation> {
        (self.ranks == 2).then_some(self.operations.mean_of_two)
    }

    /// The first request is complete: write the average to where the caller wants it.
    fn complete_first(&mut self) {
        let Some(InFlight { target, payload, .. }) = self.in_flight.pop_front() else { return };
        match payload {
            Payload::Full(_) if self.mean_of_two().is_some() => {}
            Payload::Full(_) => average(target.numbers_mut(), self.ranks),
            Payload::Compressed(request, half) => {
                let (from, into) = request.into_buffers();
                half.decompress(&into, target.numbers_mut());
                self.spare.extend([from, into]);
            }
        }
    }
}
