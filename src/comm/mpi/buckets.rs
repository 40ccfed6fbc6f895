//! Allreduces that are started, and finished later: the buckets of gradients that travel while backward goes on.
//!
//! Never checks a bucket with the other ranks when it starts, which would end the overlap: the schedule that all ranks
//! agreed on when they last finished tells what may start, and the next agreement whether they kept to it.

use std::collections::VecDeque;

use ::mpi::collective::SystemOperation;
use ::mpi::topology::SimpleCommunicator;
use ::mpi::traits::CommunicatorCollectives as _;

use super::super::average::average;
use super::super::call::Call;
use super::super::nccl::Nccl;
use super::super::sixteen::Format;
use super::super::{CHUNK, CommError, Compression, Region};
use super::SUM;
use super::flight::{Flight, Memory};
use super::operation::Operations;

/// All buckets between two calls of `finish_allreduces`.
pub(super) struct Buckets {
    operations: Operations,
    ranks: usize,
    /// What all ranks started, the last time that they finished.
    agreed: Vec<(usize, Compression)>,
    /// What this rank has started since.
    started: Vec<(usize, Compression)>,
    /// Buckets that wait for the end. The part of `started` that departs from `agreed`, for other ranks may have started
    /// something else: a sum of unlike buckets would be nonsense, or MPI's end of the job. So the first step overlaps
    /// nothing. And the last bucket, which has nothing left to travel beside: once all ranks are there, MPI's blocking
    /// call is the faster one.
    held: Vec<(Region, Region, Compression)>,
    travelling: VecDeque<Travelling>,
    /// Buffers to use again.
    spare: Vec<Vec<u16>>,
}

/// A bucket on its way, or a part of a long one.
struct Travelling {
    /// Its place among those that were started.
    bucket: usize,
    target: Region,
    load: Load,
}

enum Load {
    Full(Flight<f32>),
    Small(Flight<u16>, Format),
}

impl Travelling {
    fn is_over(&mut self) -> bool {
        match &mut self.load {
            Load::Full(flight) => flight.is_over(),
            Load::Small(flight, _) => flight.is_over(),
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
            held: Vec::new(),
            travelling: VecDeque::new(),
            spare: Vec::new(),
        }
    }

    /// A bucket more. It starts now if all ranks are known to start the same.
    ///
    /// # Errors
    /// Of the GPU, if the bucket lies there.
    pub(super) fn start(
        &mut self,
        world: &SimpleCommunicator,
        gpu: Option<&Nccl>,
        source: Region,
        target: Region,
        compression: Compression,
    ) -> Result<(), CommError> {
        let bucket = (source.len(), compression);
        let place = self.started.len();
        let expected = self.agreed.get(place) == Some(&bucket);
        let last = place + 1 == self.agreed.len();
        self.started.push(bucket);
        match (expected && self.held.is_empty(), gpu) {
            (true, Some(gpu)) if source.is_on_gpu() => return gpu.allreduce(source, target),
            (true, _) if !last => self.send(world, place, source, target, compression),
            _ => self.held.push((source, target, compression)),
        }
        Ok(())
    }

    /// What this rank has started since it last finished, for all ranks to agree on.
    pub(super) fn call(&self) -> Call {
        let fnv = |digest: u64, word: usize| (digest ^ word as u64).wrapping_mul(0x0000_0100_0000_01b3);
        let digest = |digest, &(length, compression): &(usize, Compression)| fnv(fnv(digest, length), compression as usize);
        Call::Finish {
            buckets: self.started.len(),
            numbers: self.started.iter().map(|(length, _)| length).sum(),
            digest: self.started.iter().fold(0xcbf2_9ce4_8422_2325, digest),
        }
    }

    /// All ranks have started the same: what was held back may go, and the next step's buckets may go at once.
    ///
    /// # Errors
    /// Of the GPU, if buckets lie there.
    pub(super) fn agree(&mut self, world: &SimpleCommunicator, gpu: Option<&Nccl>) -> Result<(), CommError> {
        std::mem::swap(&mut self.agreed, &mut self.started);
        self.started.clear();
        let first = self.agreed.len() - self.held.len();
        for (place, (source, target, compression)) in (first..).zip(std::mem::take(&mut self.held)) {
            match (compression, gpu) {
                (_, Some(gpu)) if source.is_on_gpu() => gpu.allreduce(source, target)?,
                (Compression::None, _) if !source.overlaps(target) => self.sum(world, source, target),
                _ => self.send(world, place, source, target, compression),
            }
        }
        Ok(())
    }

    /// The ranks disagree: what travels will never arrive.
    pub(super) fn abandon(&mut self) {
        self.agreed.clear();
        self.started.clear();
        self.held.clear();
        self.travelling.clear();
    }

    pub(super) fn are_started(&self) -> bool {
        !self.started.is_empty()
    }

    pub(super) fn are_travelling(&self) -> bool {
        !self.travelling.is_empty()
    }

    /// Moves on what travels. Any test moves all, as far as MPI can; those in front are over first.
    pub(super) fn progress(&mut self) {
        while self.travelling.front_mut().is_some_and(Travelling::is_over) {
            self.receive();
        }
    }

    /// How many of the started buckets are over, in their order.
    pub(super) fn over(&self) -> usize {
        self.travelling.front().map_or(self.started.len() - self.held.len(), |first| first.bucket)
    }

    /// Whether nothing travels any more. Asking is what moves it on.
    pub(super) fn have_arrived(&mut self) -> bool {
        self.progress();
        self.travelling.is_empty()
    }

    /// All ranks are there: sums and divides at once, in pieces that are divided while they are still in the cache.
    fn sum(&self, world: &SimpleCommunicator, source: Region, target: Region) {
        for (source, target) in source.chunks(SUM).zip(target.chunks(SUM)) {
            let target = target.numbers_mut();
            if self.is_pair() {
                world.all_reduce_into(source.numbers(), target, self.operations.mean_of_two());
            } else {
                world.all_reduce_into(source.numbers(), target, SystemOperation::sum());
                average(target, self.ranks);
            }
        }
    }

    fn send(&mut self, world: &SimpleCommunicator, bucket: usize, source: Region, target: Region, compression: Compression) {
        // Pieces as long as MPI can count, and in the same places on every rank.
        for (source, target) in source.chunks(CHUNK).zip(target.chunks(CHUNK)) {
            let load = match compression.format() {
                None => {
                    let in_place = source.overlaps(target);
                    let from = if in_place { Memory::Own(source.numbers().to_vec()) } else { Memory::Lent(source.numbers()) };
                    let into = Memory::Lent(target.numbers_mut());
                    Load::Full(match self.is_pair() {
                        true => Flight::allreduce(world, from, into, self.operations.mean_of_two()),
                        false => Flight::allreduce(world, from, into, SystemOperation::sum()),
                    })
                }
                Some(format) => {
                    let (mut from, mut into) = (self.spare.pop().unwrap_or_default(), self.spare.pop().unwrap_or_default());
                    format.shrink(source.numbers(), self.ranks, &mut from);
                    into.resize(from.len(), 0);
                    let flight = Flight::allreduce(world, Memory::Own(from), Memory::Own(into), self.operations.sum(format));
                    Load::Small(flight, format)
                }
            };
            self.travelling.push_back(Travelling { bucket, target, load });
        }
    }

    /// Whether what MPI gives back are averages already, see [`Operations::mean_of_two`].
    fn is_pair(&self) -> bool {
        self.ranks == 2
    }

    /// The first of those that travel is over: make an average of the sum, where the caller wants it.
    fn receive(&mut self) {
        let Some(Travelling { target, load, .. }) = self.travelling.pop_front() else { return };
        match load {
            Load::Full(_) if self.is_pair() => {}
            Load::Full(_) => average(target.numbers_mut(), self.ranks),
            Load::Small(flight, format) => {
                let (from, into) = flight.land();
                format.decode(&into, target.numbers_mut());
                self.spare.extend([from, into]);
            }
        }
    }
}
