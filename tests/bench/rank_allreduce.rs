//! One rank of the allreduce benchmark: our communicator and raw MPI_Allreduce, in turns, within one MPI job.
//!
//! Never compares: rank 0 prints `@allreduce KIND BYTES SECONDS` for each sample, and the benchmark reads that.

use std::time::Instant;

use hvd_lab::comm::{CommError, Communicator, Compression, MpiComm, ReduceOp, Region, StallLimits};
use hvd_lab::trainer::shared_gradients::share;
use mpi::collective::SystemOperation;
use mpi::topology::SimpleCommunicator;
use mpi::traits::CommunicatorCollectives;

/// 1 KB to 64 MB of float32, each 16 times the one before.
const SIZES: [usize; 7] = [1 << 10, 1 << 14, 1 << 18, 1 << 20, 1 << 21, 1 << 22, 1 << 26];
/// Bytes that a sample moves, so that short messages are timed many at once.
const SAMPLE_BYTES: usize = 32 << 20;

fn main() -> Result<(), CommError> {
    let samples: usize = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1);
    let comm = MpiComm::connect(StallLimits::default(), |_| {})?;
    let world = SimpleCommunicator::world();
    // Of the longest, as training has them.
    let shared = share(&comm, SIZES[SIZES.len() - 1] / size_of::<f32>())?;
    shared.iter().for_each(|memory| comm.share(memory.clone()));
    for bytes in SIZES {
        let count = bytes / size_of::<f32>();
        let calls = (SAMPLE_BYTES / bytes).clamp(2, 500);
        let (mut source, mut target) = (vec![1.0f32; count], vec![1.0f32; count]);
        // The one before the first warms up.
        for sample in 0..=samples {
            let raw = timed(&comm, calls, || {
                world.all_reduce_into(&source[..], &mut target[..], SystemOperation::sum());
                Ok(())
            })?;
            assert!(target.iter().all(|&sum| sum == comm.topology().size.0 as f32));

            target.fill(1.0);
            let blocking = timed(&comm, calls, || comm.allreduce(&mut target, ReduceOp::Average))?;
            // SAFETY: both are alive and untouched until the allreduce is finished, before `timed` returns.
            let [from, into] = [&mut source, &mut target].map(|numbers| unsafe { Region::new(numbers.as_mut_ptr(), count) });
            // From one buffer into another, as training does.
            let start = |from, into| {
                comm.start_allreduce(from, into, Compression::None)?;
                comm.finish_allreduces()
            };
            let started = timed(&comm, calls, || start(from, into))?;
            assert!(target.iter().all(|&average| average == 1.0));
            let mut kinds = vec![("raw", raw), ("blocking", blocking), ("started", started)];
            if let Some(memory) = shared.as_ref().filter(|memory| memory.target.len() == count) {
                let source = memory.sources[comm.topology().rank.0];
                // SAFETY: this rank's own numbers, and no allreduce is under way.
                unsafe { std::slice::from_raw_parts_mut(source.start(), count) }.fill(1.0);
                kinds.push(("shared", timed(&comm, calls, || start(source, memory.target))?));
            }

            if comm.topology().is_root() && sample > 0 {
                for (kind, seconds) in kinds {
                    println!("@allreduce {kind} {bytes} {seconds:e}");
                }
            }
        }
    }
    comm.barrier()
}

/// Seconds of one call.
fn timed(comm: &dyn Communicator, calls: usize, mut call: impl FnMut() -> Result<(), CommError>) -> Result<f64, CommError> {
    comm.barrier()?;
    let began = Instant::now();
    for _ in 0..calls {
        call()?;
    }
    Ok(began.elapsed().as_secs_f64() / calls as f64)
}
