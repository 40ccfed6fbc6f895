//! What an allreduce of MpiComm costs beside MPI's own, and a started one: prints a table, asserts nothing.
//!
//! Never part of a test run: `cargo test --release --test ranks collectives -- --ignored
//! --nocapture`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use ::mpi::collective::SystemOperation;
use ::mpi::topology::SimpleCommunicator;
use ::mpi::traits::CommunicatorCollectives;
use hvd_lab::comm::{Communicator, Compression, MpiComm, ReduceOp, Region};

use super::launch;
use crate::support::mpi::{mpirun, text};

/// Microseconds of one call in a short series of them.
fn series(comm: &MpiComm, calls: usize, mut call: impl FnMut()) -> f64 {
    comm.barrier().unwrap();
    let start = Instant::now();
    (0..calls).for_each(|_| call());
    start.elapsed().as_secs_f64() * 1e6 / calls as f64
}

pub fn rank(comm: &MpiComm) {
    let world = SimpleCommunicator::world();
    if comm.topology().is_root() {
        println!("\n{:>10} {:>10} {:>10} {:>10} {:>10} {:>10}  us", "bytes", "MPI", "MpiComm", "started", "fp16", "bf16");
    }
    for bytes in [4usize, 1 << 10, 64 << 10, 1 << 20, 4 << 20, 32 << 20] {
        let (length, calls) = (bytes / 4, (5_000_000 / (bytes + 50_000)).max(1));
        let (mut numbers, mut sum) = (vec![1f32; length], vec![0f32; length]);
        let mut best = [f64::INFINITY; 5];
        // In turns, and the best of each: other programs share the machine.
        for _ in 0..if bytes > 1 << 20 { 20 } else { 100 } {
            let raw = series(comm, calls, || {
                world.all_reduce_into(&numbers[..], &mut sum[..], SystemOperation::sum());
                black_box(&sum);
            });
            let blocking = series(comm, calls, || comm.allreduce(&mut numbers, ReduceOp::Average).unwrap());
            let [plain, fp16, bf16] = [Compression::None, Compression::Fp16, Compression::Bf16].map(|compression| {
                series(comm, calls, || {
                    // SAFETY: both are left alone until `finish_allreduces` returns.
                    let [source, target] = [&mut numbers, &mut sum].map(|part| unsafe { Region::new(part.as_mut_ptr(), length) });
                    comm.start_allreduce(source, target, compression).unwrap();
                    comm.finish_allreduces().unwrap();
                })
            });
            best.iter_mut().zip([raw, blocking, plain, fp16, bf16]).for_each(|(best, time)| *best = best.min(time));
        }
        if comm.topology().is_root() {
            let [raw, blocking, plain, fp16, bf16] = best;
            println!("{bytes:>10} {raw:>10.2} {blocking:>10.2} {plain:>10.2} {fp16:>10.2} {bf16:>10.2}");
        }
    }
}

#[test]
#[ignore = "a measurement"]
fn latency() {
    let Some(mpirun) = mpirun() else { return };
    for size in [2, 4] {
        println!("{size} ranks\n{}", text(&launch(&mpirun, size, "measure", "10000,0", Duration::from_secs(300))));
    }
}
