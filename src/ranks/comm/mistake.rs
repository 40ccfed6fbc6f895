//! A wrapper around a communicator whose rank makes a mistake of a program when it is told to: see [`FaultKind::is_mistake`].

use std::cell::Cell;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::communicator::{Communicator, ReduceOp, SharedRegions, Transport, pass_on};
use super::compression::Compression;
use super::error::CommError;
use super::nccl::Gpu;
use super::region::Region;
use crate::domain::fault::FaultKind;
use crate::domain::topology::{Rank, Topology};

/// Between two questions: a question takes some microseconds.
const ASK_EVERY: Duration = Duration::from_millis(200);

/// Says which mistake this rank is to make now, once for each.
pub type Told = fn() -> Option<FaultKind>;

static TOLD: OnceLock<Told> = OnceLock::new();

/// From now on this process asks `told` for mistakes to make, if it then connects with others.
pub fn make_mistakes(told: Told) {
    // The first answer stands, as it does for simulated hosts.
    let _ = TOLD.set(told);
}

/// Passes every call on to the communicator inside, apart from the one mistake that it has to make.
struct Mistaken {
    inner: Box<dyn Communicator>,
    told: Told,
    asked: Cell<Instant>,
    /// To be made when its place comes.
    next: Cell<Option<FaultKind>>,
    /// Allreduces were started and are not finished: no other collective may come between.
    is_open: Cell<bool>,
}

/// `inner`, with the mistakes of this process after [`make_mistakes`]; else `inner` itself.
pub(super) fn with_mistakes(inner: Box<dyn Communicator>) -> Box<dyn Communicator> {
    match TOLD.get() {
        Some(told) => Box::new(Mistaken::new(inner, *told)),
        None => inner,
    }
}

impl Mistaken {
    fn new(inner: Box<dyn Communicator>, told: Told) -> Mistaken {
        Mistaken { inner, told, asked: Cell::new(Instant::now()), next: Cell::default(), is_open: Cell::default() }
    }

    /// Whether this mistake is to be made now. It is made once.
    fn makes(&self, kind: FaultKind) -> bool {
        if self.next.get().is_none() && self.asked.get().elapsed() >= ASK_EVERY {
            self.asked.set(Instant::now());
            self.next.set((self.told)());
        }
        let is_now = self.next.get() == Some(kind);
        if is_now {
            self.next.set(None);
        }
        is_now
    }
}

impl Communicator for Mistaken {
    pass_on! {
        topology() -> Topology;
        name() -> &'static str;
        allreduce(buffer: &mut [f32], op: ReduceOp) -> Result<(), CommError>;
        allreduce_f64(buffer: &mut [f64], op: ReduceOp) -> Result<(), CommError>;
        connect_gpus(gpu: Option<Gpu>) -> Result<Option<Transport>, CommError>;
        is_cuda_aware() -> bool;
        can_share() -> bool;
        share(memory: SharedRegions) -> ();
        progress() -> Result<(), CommError>;
        allreduces_over() -> usize;
        broadcast_region(region: Region, root: Rank) -> Result<(), CommError>;
        broadcast_bytes(bytes: &mut Vec<u8>, root: Rank) -> Result<(), CommError>;
        allgather(bytes: &[u8]) -> Result<Vec<Vec<u8>>, CommError>;
        barrier() -> Result<(), CommError>;
        abort(code: i32) -> !;
    }

    fn start_allreduce(&self, source: Region, target: Region, compression: Compression) -> Result<(), CommError> {
        if !self.is_open.replace(true) {
            if self.makes(FaultKind::RootCollective) {
                self.inner.allreduce_f64(&mut [0.0], ReduceOp::Sum)?;
            }
            if source.len() > 1 && self.makes(FaultKind::WrongShape) {
                let fewer = |region: Region| region.chunks(region.len() - 1).next().unwrap_or(region);
                return self.inner.start_allreduce(fewer(source), fewer(target), compression);
            }
        }
        self.inner.start_allreduce(source, target, compression)
    }

    fn finish_allreduces(&self) -> Result<(), CommError> {
        self.is_open.set(false);
        self.inner.finish_allreduces()
    }

    fn broadcast(&self, buffer: &mut [f32], root: Rank) -> Result<(), CommError> {
        self.inner.broadcast(buffer, root)?;
        // The only broadcast of one number is the decision whether to stop.
        if let [decision] = buffer
            && self.makes(FaultKind::OwnEarlyStop)
        {
            *decision = 1.0;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::ThreadComm;

    /// What each of two ranks gets to hear of a program when this one is told to make a mistake.
    fn two_ranks(who: usize, told: Told, program: fn(&dyn Communicator) -> Result<(), CommError>) -> Vec<Result<(), CommError>> {
        let rank = |(rank, comm): (usize, ThreadComm)| {
            std::thread::spawn(move || {
                let comm = Mistaken::new(Box::new(comm), if rank == who { told } else { || None });
                // As if some time had passed.
                comm.asked.set(Instant::now().checked_sub(ASK_EVERY).unwrap());
                program(&comm)
            })
        };
        let ranks: Vec<_> = ThreadComm::group(2).into_iter().enumerate().map(rank).collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    }

    fn one_step(comm: &dyn Communicator) -> Result<(), CommError> {
        let gradients = Region::leaked(8);
        comm.start_allreduce(gradients, gradients, Compression::None)?;
        comm.finish_allreduces()
    }

    #[test]
    fn a_wrong_shape_and_a_collective_of_the_root_alone_are_found_by_all_ranks() {
        let shape: Told = || Some(FaultKind::WrongShape);
        let alone: Told = || Some(FaultKind::RootCollective);
        for (who, told, words) in [(1, shape, "of 7 f32"), (0, alone, "of 1 f64")] {
            for ended in two_ranks(who, told, one_step) {
                let error = ended.unwrap_err().to_string();
                assert!(error.starts_with("the ranks called different collectives") && error.contains(words), "{error}");
            }
        }
    }

    #[test]
    fn a_rank_that_stops_alone_gets_another_decision_than_the_root_sent() {
        let decide = |comm: &dyn Communicator| {
            let mut decision = [0.0];
            comm.broadcast(&mut decision, Rank(0))?;
            assert_eq!(decision, [if comm.topology().is_root() { 0.0 } else { 1.0 }]);
            comm.broadcast(&mut decision, Rank(0))?;
            assert_eq!(decision, [0.0], "once");
            Ok(())
        };
        assert!(two_ranks(1, || Some(FaultKind::OwnEarlyStop), decide).iter().all(Result::is_ok));
    }

    #[test]
    fn nothing_changes_for_a_rank_that_is_told_nothing() {
        assert!(two_ranks(0, || None, one_step).iter().all(Result::is_ok));
    }
}
