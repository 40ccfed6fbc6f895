//! Laws of averages in memory that all ranks of a host see: the bits of a sum in the order of the ranks, and a rank that cannot see it.

use hvd_lab::comm::{Communicator, Compression, Region};
use hvd_lab::trainer::shared_gradients::share;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// No whole number of pages, of cache lines or of ranks.
const LENGTH: usize = 50_021;

/// Of one element on one rank: of many sizes, so that another order would show.
fn value(rank: usize, step: usize, i: usize) -> f32 {
    ((i * 31 + rank * 17 + step * 5) as f32 + 0.1).sin() * 10f32.powi((i % 9) as i32 - 4)
}

fn average(size: usize, step: usize, i: usize) -> f32 {
    (1..size).fold(value(0, step, i), |sum, rank| sum + value(rank, step, i)) / size as f32
}

/// The parts of a step, as buckets of gradients are: from the end, at any cuts.
fn start_parts(comm: &dyn Communicator, source: Region, target: Region, cuts: &[usize]) {
    for (end, start) in cuts.iter().zip(&cuts[1..]) {
        // SAFETY: within the shared memory, whose numbers nobody touches before `finish_allreduces`.
        let part = |whole: Region| unsafe { Region::new(whole.start().wrapping_add(*start), end - start) };
        comm.start_allreduce(part(source), part(target), Compression::None).unwrap();
        comm.progress().unwrap();
    }
}

pub fn check(comm: &dyn Communicator) {
    let (rank, size) = (comm.topology().rank.0, comm.topology().size.0);
    if size > 1 {
        check_that_one_cannot(comm);
        assert!(share(comm, if rank == 0 { LENGTH } else { 7 }).unwrap().is_none(), "lengths are compared");
    }
    let shared = share(comm, LENGTH).unwrap();
    assert_eq!(shared.is_some(), cfg!(target_os = "linux"), "all ranks are on this host");
    let Some(shared) = shared else { return };
    comm.share(shared.clone());
    assert!(share(comm, LENGTH).unwrap().is_none(), "there is one memory only");
    let own = shared.sources[rank];
    for (step, cuts) in
        [&[LENGTH, 0][..], &[LENGTH, 0], &[LENGTH, 40_000, 39_999, 39_999, 7, 0], &[LENGTH, 30_000, 0]].into_iter().enumerate()
    {
        // SAFETY: this rank's own numbers, between two steps.
        let source = unsafe { std::slice::from_raw_parts_mut(own.start(), LENGTH) };
        source.iter_mut().enumerate().for_each(|(i, number)| *number = value(rank, step, i));
        start_parts(comm, own, shared.target, cuts);
        // Buckets elsewhere travel as before, in the same step.
        let mut beside = [rank as f32, 1.0];
        // SAFETY: not touched before `finish_allreduces`.
        let region = unsafe { Region::new(beside.as_mut_ptr(), 2) };
        comm.start_allreduce(region, region, Compression::None).unwrap();
        comm.finish_allreduces().unwrap();
        assert_eq!(beside, [(size - 1) as f32 / 2.0, 1.0]);
        // SAFETY: no rank writes here before all have come to the next step.
        let averages = unsafe { std::slice::from_raw_parts(shared.target.start(), LENGTH) };
        let wrong = (0..LENGTH).find(|&i| averages[i].to_bits() != average(size, step, i).to_bits());
        assert_eq!(wrong, None, "first wrong average of step {step}");
        assert!(source.iter().enumerate().all(|(i, number)| *number == value(rank, step, i)), "the source stays");
        comm.barrier().unwrap();
    }
}

/// The last rank can open no file: none of them shares memory, and all go on.
fn check_that_one_cannot(comm: &dyn Communicator) {
    let (rank, size) = (comm.topology().rank.0, comm.topology().size.0);
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    let limit = |files| setrlimit(Resource::RLIMIT_NOFILE, files, hard).unwrap();
    limit(if rank + 1 == size { 3 } else { soft });
    assert!(share(comm, LENGTH).unwrap().is_none(), "one of the ranks cannot");
    limit(soft);
}
