//! A wrapper around a communicator that reports to an observer how long each collective took.
//!
//! Never changes what is communicated, or when: it reads the clock before and after.

use std::cell::{Cell, RefCell};
use std::time::Instant;

use super::communicator::{Communicator, ReduceOp, SharedRegions, Transport, pass_on};
use super::compression::Compression;
use super::error::CommError;
use super::nccl::Gpu;
use super::observer::{Activity, Collective};
use super::region::Region;
use crate::domain::topology::{Rank, Topology};

/// Passes every call on to the communicator inside, and reports each collective that succeeded.
///
/// A collective that fails is not reported, because the job ends with it.
pub struct Observed {
    inner: Box<dyn Communicator>,
    /// Called after each collective, between the steps of training, so it must be cheap.
    observer: Box<dyn Fn(Activity)>,
    calls: Cell<u64>,
    /// Started and not yet finished, in the order of their start.
    buckets: RefCell<Vec<Bucket>>,
}

struct Bucket {
    call: u64,
    bytes: usize,
    name: &'static str,
    began: Instant,
    reported: bool,
}

impl Observed {
    /// `inner`, with every collective reported to `observer`.
    pub fn new(inner: Box<dyn Communicator>, observer: impl Fn(Activity) + 'static) -> Observed {
        Observed { inner, observer: Box::new(observer), calls: Cell::new(0), buckets: RefCell::default() }
    }

    fn next_call(&self) -> u64 {
        self.calls.replace(self.calls.get() + 1)
    }

    /// Runs one blocking collective of so many bytes.
    fn observe<T>(&self, kind: Collective, bytes: usize, call: impl FnOnce() -> Result<T, CommError>) -> Result<T, CommError> {
        self.observe_as(kind.over(self.inner.name()), kind, || Ok((call()?, bytes)))
    }

    /// The same under this name. `collective` returns its result, and its size in bytes.
    fn observe_as<T>(
        &self,
        name: &'static str,
        kind: Collective,
        collective: impl FnOnce() -> Result<(T, usize), CommError>,
    ) -> Result<T, CommError> {
        let (call, began) = (self.next_call(), Instant::now());
        let (result, bytes) = collective()?;
        (self.observer)(Activity { kind, name, call, bucket: None, bytes, began, ended: Instant::now() });
        Ok(result)
    }

    fn carrier(&self, region: Region) -> &'static str {
        if region.is_on_gpu() { "nccl" } else { self.inner.name() }
    }

    /// Reports those of the first `over` buckets that are not reported yet.
    fn report_buckets(&self, over: usize) {
        let ended = Instant::now();
        let kind = Collective::Allreduce;
        for (index, bucket) in self.buckets.borrow_mut().iter_mut().take(over).enumerate().filter(|(_, bucket)| !bucket.reported)
        {
            let Bucket { call, bytes, name, began, .. } = *bucket;
            (self.observer)(Activity { kind, name, call, bucket: Some(index), bytes, began, ended });
            bucket.reported = true;
        }
    }
}

impl Communicator for Observed {
    pass_on! {
        topology() -> Topology;
        name() -> &'static str;
        connect_gpus(gpu: Option<Gpu>) -> Result<Option<Transport>, CommError>;
        is_cuda_aware() -> bool;
        can_share() -> bool;
        share(memory: SharedRegions) -> ();
        allreduces_over() -> usize;
        abort(code: i32) -> !;
    }

    fn allreduce(&self, buffer: &mut [f32], op: ReduceOp) -> Result<(), CommError> {
        self.observe(Collective::Allreduce, size_of_val(buffer), || self.inner.allreduce(buffer, op))
    }

    fn allreduce_f64(&self, buffer: &mut [f64], op: ReduceOp) -> Result<(), CommError> {
        self.observe(Collective::Allreduce, size_of_val(buffer), || self.inner.allreduce_f64(buffer, op))
    }

    fn start_allreduce(&self, source: Region, target: Region, compression: Compression) -> Result<(), CommError> {
        let bytes = target.len() * if compression == Compression::None { 4 } else { 2 };
        let name = Collective::Allreduce.over(self.carrier(target));
        self.buckets.borrow_mut().push(Bucket { call: self.next_call(), bytes, name, began: Instant::now(), reported: false });
        self.inner.start_allreduce(source, target, compression)?;
        self.report_buckets(self.inner.allreduces_over());
        Ok(())
    }

    fn progress(&self) -> Result<(), CommError> {
        self.inner.progress()?;
        self.report_buckets(self.inner.allreduces_over());
        Ok(())
    }

    /// A bucket that nobody saw end before gets the end of this call: an upper limit for all buckets except the last one.
    fn finish_allreduces(&self) -> Result<(), CommError> {
        self.inner.finish_allreduces()?;
        self.report_buckets(usize::MAX);
        self.buckets.borrow_mut().clear();
        Ok(())
    }

    fn broadcast(&self, buffer: &mut [f32], root: Rank) -> Result<(), CommError> {
        self.observe(Collective::Broadcast, size_of_val(buffer), || self.inner.broadcast(buffer, root))
    }

    fn broadcast_region(&self, region: Region, root: Rank) -> Result<(), CommError> {
        let name = Collective::Broadcast.over(self.carrier(region));
        let bytes = size_of::<f32>() * region.len();
        self.observe_as(name, Collective::Broadcast, || Ok((self.inner.broadcast_region(region, root)?, bytes)))
    }

    fn broadcast_bytes(&self, bytes: &mut Vec<u8>, root: Rank) -> Result<(), CommError> {
        // Ranks other than the root know the length only afterwards.
        let name = Collective::Broadcast.over(self.inner.name());
        self.observe_as(name, Collective::Broadcast, || Ok((self.inner.broadcast_bytes(bytes, root)?, bytes.len())))
    }

    fn allgather(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, CommError> {
        self.observe(Collective::Allgather, bytes.len(), || self.inner.allgather(bytes))
    }

    fn barrier(&self) -> Result<(), CommError> {
        self.observe(Collective::Barrier, 0, || self.inner.barrier())
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::comm::ThreadComm;
    use crate::comm::local::LocalComm;

    #[derive(Default)]
    struct Seen(Rc<RefCell<Vec<Activity>>>);

    impl Seen {
        fn observer(&self) -> impl Fn(Activity) + use<> {
            let seen = self.0.clone();
            move |activity| seen.borrow_mut().push(activity)
        }

        fn take(&self) -> Vec<(&'static str, u64, Option<usize>, usize)> {
            self.0.take().iter().map(|seen| (seen.name, seen.call, seen.bucket, seen.bytes)).collect()
        }
    }

    #[test]
    fn every_collective_is_told_once_and_ranks_number_them_alike() {
        let ranks = ThreadComm::group(2).into_iter().map(|comm| {
            std::thread::spawn(move || {
                let seen = Seen::default();
                let comm = Observed::new(Box::new(comm), seen.observer());
                comm.allreduce(&mut [1.0, 2.0], ReduceOp::Sum).unwrap();
                comm.allreduce_f64(&mut [1.0], ReduceOp::Sum).unwrap();
                comm.broadcast(&mut [1.0; 3], Rank(0)).unwrap();
                comm.broadcast_bytes(&mut if comm.topology().is_root() { vec![1; 5] } else { vec![] }, Rank(0)).unwrap();
                comm.allgather(&[1; 7]).unwrap();
                comm.barrier().unwrap();
                assert!(seen.0.borrow().iter().all(|seen| seen.began <= seen.ended));
                assert!(seen.0.borrow().windows(2).all(|pair| pair[0].ended <= pair[1].began), "one after the other");
                seen.take()
            })
        });
        let all = [
            ("ALLREDUCE", 0, None, 8),
            ("ALLREDUCE", 1, None, 8),
            ("BROADCAST", 2, None, 12),
            ("BROADCAST", 3, None, 5),
            ("ALLGATHER", 4, None, 7),
            ("BARRIER", 5, None, 0),
        ];
        for rank in ranks.collect::<Vec<_>>() {
            assert_eq!(rank.join().unwrap(), all);
        }
    }

    /// Says how many of its buckets are over; does nothing, as a world of one rank.
    struct Slow {
        over: Rc<Cell<usize>>,
    }

    impl Communicator for Slow {
        fn topology(&self) -> Topology {
            Topology::ALONE
        }

        fn name(&self) -> &'static str {
            "mpi"
        }

        fn allreduce(&self, buffer: &mut [f32], op: ReduceOp) -> Result<(), CommError> {
            LocalComm.allreduce(buffer, op)
        }

        fn allreduce_f64(&self, _: &mut [f64], _: ReduceOp) -> Result<(), CommError> {
            Err(CommError::Left(Rank(1)))
        }

        fn start_allreduce(&self, _: Region, _: Region, _: Compression) -> Result<(), CommError> {
            Ok(())
        }

        fn allreduces_over(&self) -> usize {
            self.over.get()
        }

        fn broadcast(&self, _: &mut [f32], _: Rank) -> Result<(), CommError> {
            Ok(())
        }

        fn broadcast_bytes(&self, _: &mut Vec<u8>, _: Rank) -> Result<(), CommError> {
            Ok(())
        }

        fn allgather(&self, _: &[u8]) -> Result<Vec<Vec<u8>>, CommError> {
            Ok(Vec::new())
        }

        fn barrier(&self) -> Result<(), CommError> {
            Ok(())
        }

        fn abort(&self, code: i32) -> ! {
            LocalComm.abort(code)
        }
    }

    #[test]
    fn a_bucket_ends_when_it_is_known_to_be_over() {
        let (seen, over) = (Seen::default(), Rc::new(Cell::new(0)));
        let comm = Observed::new(Box::new(Slow { over: over.clone() }), seen.observer());
        let bucket = Region::leaked(6);
        for round in 0..2 {
            comm.start_allreduce(bucket, bucket, Compression::None).unwrap();
            comm.start_allreduce(bucket, bucket, Compression::Bf16).unwrap();
            comm.progress().unwrap();
            assert_eq!(seen.take(), [], "on their way");
            over.set(1);
            comm.progress().unwrap();
            comm.progress().unwrap();
            assert_eq!(seen.take(), [("MPI_ALLREDUCE", 2 * round, Some(0), 24)]);
            comm.finish_allreduces().unwrap();
            assert_eq!(seen.take(), [("MPI_ALLREDUCE", 2 * round + 1, Some(1), 12)]);
            over.set(0);
        }
    }

    #[test]
    fn what_failed_is_not_told() {
        let seen = Seen::default();
        let comm = Observed::new(Box::new(Slow { over: Rc::default() }), seen.observer());
        assert!(comm.allreduce_f64(&mut [1.0], ReduceOp::Sum).is_err());
        assert_eq!(seen.take(), []);
    }
}
