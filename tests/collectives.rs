//! The laws of the collectives, at 1, 2, 3 and 5 ranks on threads, and at 1 to 4 ranks under the real mpirun.
//!
//! Never leaves a process behind: every launch has a time limit, and is searched for survivors by a mark in their
//! environment. Without mpirun its tests are skipped by name; `HVD_LAB_REQUIRE=mpi` turns the skip into a failure.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hvd_lab::comm::{CommError, Communicator, LocalComm, MpiComm, ReduceOp, StallLimits, ThreadComm, library_version};
use hvd_lab::domain::topology::Rank;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::mpi::{self, mpirun, run_limited, text};

mod astray;
mod measure;
mod shared;
mod started;

// ---------------------------------------------------------------------------------------------- the laws, for any ranks

/// Every law has a closed form, so that a rank needs no other rank's word to judge its result.
fn check_laws(comm: &dyn Communicator) {
    let topology = comm.topology();
    let (rank, size) = (topology.rank.0, topology.size.0);
    assert!(rank < size && topology.local_rank.0 < topology.local_size.0 && topology.local_size.0 <= size);

    let everyone = comm.allgather(&[rank as u8]).unwrap();
    assert_eq!(everyone, (0..size).map(|rank| vec![rank as u8]).collect::<Vec<_>>(), "ranks are 0 to size - 1, in order");

    // rank * 1000 + i: the sum over ranks is size * i + 1000 * (0 + 1 + ... + size - 1), exact in f32.
    for length in [0, 1, 17, 10_000] {
        let mine = |i| (rank * 1000 + i) as f32;
        let sum = |i| (size * i + 500 * size * (size - 1)) as f32;
        let mut buffer: Vec<f32> = (0..length).map(mine).collect();
        comm.allreduce(&mut buffer, ReduceOp::Sum).unwrap();
        assert_eq!(buffer, (0..length).map(sum).collect::<Vec<_>>(), "sum of {length}");

        let mut buffer: Vec<f32> = (0..length).map(mine).collect();
        comm.allreduce(&mut buffer, ReduceOp::Average).unwrap();
        assert_eq!(buffer, (0..length).map(|i| sum(i) / size as f32).collect::<Vec<_>>(), "average of {length}");
    }

    // f64 keeps what f32 cannot: 2^40 + rank.
    let mut buffer = [(1u64 << 40) as f64 + rank as f64];
    comm.allreduce_f64(&mut buffer, ReduceOp::Sum).unwrap();
    assert_eq!(buffer, [((1u64 << 40) * size as u64) as f64 + (size * (size - 1) / 2) as f64]);
    comm.allreduce_f64(&mut buffer, ReduceOp::Average).unwrap();
    assert_eq!(buffer, [((1u64 << 40) * size as u64) as f64 + (size * (size - 1) / 2) as f64], "average of equal values");

    for root in [0, size - 1] {
        let mut buffer = [rank as f32, -(rank as f32), 0.25];
        comm.broadcast(&mut buffer, Rank(root)).unwrap();
        assert_eq!(buffer, [root as f32, -(root as f32), 0.25], "broadcast from {root}");

        let text = |rank: usize| format!("rank {rank} {}", "x".repeat(rank * 100)).into_bytes();
        let mut bytes = text(rank);
        comm.broadcast_bytes(&mut bytes, Rank(root)).unwrap();
        assert_eq!(bytes, text(root), "bytes from {root}");
    }
    let mut nothing = vec![7; rank];
    comm.broadcast_bytes(&mut nothing, Rank(0)).unwrap();
    assert!(nothing.is_empty(), "root's bytes are empty, so all are");

    let unequal = comm.allgather(&vec![rank as u8; rank * 7]).unwrap();
    assert_eq!(unequal, (0..size).map(|rank| vec![rank as u8; rank * 7]).collect::<Vec<_>>());
    assert_eq!(comm.allgather(&[]).unwrap(), vec![Vec::<u8>::new(); size]);

    let beyond = CommError::NoSuchRank { root: Rank(size), size: topology.size };
    assert_eq!(comm.broadcast(&mut [0.0], Rank(size)), Err(beyond), "known before anyone waits");

    check_average_has_equal_bits(comm);
    comm.barrier().unwrap();
}

/// Values that no sum of floats hits exactly, of very different sizes: any difference in order or rounding shows.
fn check_average_has_equal_bits(comm: &dyn Communicator) {
    let (rank, size) = (comm.topology().rank.0, comm.topology().size.0);
    let value = |rank: usize, i: usize| ((i * 31 + rank * 17) as f32 + 0.1).sin() * 10f32.powi((i % 9) as i32 - 4);
    let mut buffer: Vec<f32> = (0..5000).map(|i| value(rank, i)).collect();
    comm.allreduce(&mut buffer, ReduceOp::Average).unwrap();
    for (i, &average) in buffer.iter().enumerate() {
        let terms = (0..size).map(|rank| f64::from(value(rank, i)));
        let (exact, scale) = terms.fold((0.0, 0.0), |(sum, scale), term| (sum + term / size as f64, scale + term.abs()));
        assert!((f64::from(average) - exact).abs() <= 1e-6 * scale, "element {i}: {average} is not {exact}");
    }
    let bits: Vec<u8> = buffer.iter().flat_map(|value| value.to_le_bytes()).collect();
    let all = comm.allgather(&bits).unwrap();
    assert!(all.iter().all(|other| *other == bits), "averages differ between ranks");
}

/// 8 Mi floats and three: more than one chunk, and a rest.
fn check_large_buffer(comm: &dyn Communicator) {
    let (rank, size) = (comm.topology().rank.0, comm.topology().size.0);
    let length = (8 << 20) + 3;
    let mut buffer: Vec<f32> = (0..length).map(|i| (i % 1000 + rank) as f32).collect();
    comm.allreduce(&mut buffer, ReduceOp::Sum).unwrap();
    let wrong = (0..length).find(|&i| buffer[i] != (size * (i % 1000) + size * (size - 1) / 2) as f32);
    assert_eq!(wrong, None, "first wrong element of the sum");

    buffer.iter_mut().enumerate().for_each(|(i, value)| *value = if rank == 0 { (i % 777) as f32 } else { -1.0 });
    comm.broadcast(&mut buffer, Rank(0)).unwrap();
    assert_eq!((0..length).find(|&i| buffer[i] != (i % 777) as f32), None, "first wrong element of the broadcast");
}

// --------------------------------------------------------------------------------------------------------- on threads

/// Runs `body` as every rank of a group, and returns the results in rank order.
fn on_threads<T: Send>(size: usize, body: impl Fn(ThreadComm) -> T + Sync) -> Vec<T> {
    let body = &body;
    std::thread::scope(|scope| {
        let ranks: Vec<_> = ThreadComm::group(size).into_iter().map(|comm| scope.spawn(move || body(comm))).collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

#[test]
fn the_laws_hold_alone() {
    check_laws(&LocalComm);
}

#[test]
fn the_laws_hold_on_threads() {
    for size in [1, 2, 3, 5] {
        on_threads(size, |comm| check_laws(&comm));
    }
}

#[test]
fn rounds_do_not_mix() {
    on_threads(5, |comm| {
        for round in 0..2000 {
            let mut buffer = [round as f32];
            comm.allreduce(&mut buffer, ReduceOp::Sum).unwrap();
            assert_eq!(buffer, [5.0 * round as f32]);
        }
    });
}

#[test]
fn a_barrier_lets_nobody_through_before_all_are_there() {
    let arrived = AtomicUsize::new(0);
    on_threads(3, |comm| {
        arrived.fetch_add(1, Ordering::SeqCst);
        comm.barrier().unwrap();
        assert_eq!(arrived.load(Ordering::SeqCst), 3);
    });
}

#[test]
fn sums_on_threads_follow_rank_order() {
    // In rank order 1e8 - 1e8 leaves room for the 1; in the order 1e8 + 1 - 1e8 it drowns.
    let sums = on_threads(3, |comm| {
        let mut buffer = [[1e8, -1e8, 1.0][comm.topology().rank.0]];
        comm.allreduce(&mut buffer, ReduceOp::Sum).unwrap();
        buffer[0]
    });
    assert_eq!(sums, [1.0; 3]);
}

#[test]
fn calls_that_do_not_match_are_reported_on_every_rank() {
    let lengths = on_threads(3, |comm| {
        let odd = comm.topology().rank.0 == 2;
        comm.allreduce(&mut vec![0.0; if odd { 5 } else { 4 }], ReduceOp::Sum).unwrap_err().to_string()
    });
    for message in lengths {
        assert!(message.contains("rank 0 allreduce Sum of 4 f32, rank 2 allreduce Sum of 5 f32"), "{message}");
    }
    let operations = on_threads(2, |comm| match comm.topology().is_root() {
        true => comm.allreduce(&mut [0.0], ReduceOp::Sum).unwrap_err().to_string(),
        false => comm.allreduce(&mut [0.0], ReduceOp::Average).unwrap_err().to_string(),
    });
    assert!(operations[0].contains("Sum") && operations[0].contains("Average"), "{}", operations[0]);
    let order = on_threads(2, |comm| match comm.topology().is_root() {
        true => comm.barrier().unwrap_err().to_string(),
        false => comm.broadcast(&mut [0.0], Rank(0)).unwrap_err().to_string(),
    });
    assert!(order[0].contains("barrier") && order[0] == order[1], "{order:?}");
}

#[test]
fn whoever_waits_for_a_rank_that_left_is_told() {
    let results = on_threads(3, |comm| if comm.topology().rank.0 == 1 { Ok(()) } else { comm.barrier() });
    assert_eq!(results, [Err(CommError::Left(Rank(1))), Ok(()), Err(CommError::Left(Rank(1)))]);
}

#[test]
fn an_abort_reaches_every_thread() {
    let mut group = ThreadComm::group(2);
    let (second, first) = (group.pop().unwrap(), group.pop().unwrap());
    let aborter = std::thread::spawn(move || second.abort(3));
    assert_eq!(first.barrier(), Err(CommError::Aborted { rank: Rank(1), code: 3 }));
    assert!(aborter.join().is_err(), "the thread that aborts ends");
}

// ------------------------------------------------------------------------------------------------------ under mpirun

/// What each process under mpirun does; chosen by the launching test through this variable.
const TASK: &str = "HVD_LAB_COLLECTIVES_TASK";
/// StallLimits for waiting, in milliseconds: `WARNING,SHUTDOWN`.
const LIMITS: &str = "HVD_LAB_COLLECTIVES_LIMITS";
/// A file that appears when a rank warns.
const WARNED: &str = "HVD_LAB_COLLECTIVES_WARNED";

/// The body of one rank: not a test of its own but the program that mpirun starts.
/// Without a task it is an empty test.
#[test]
fn rank_process() {
    let Ok(task) = std::env::var(TASK) else { return };
    let comm = MpiComm::connect(limits(), |message| {
        println!("\nwarning: {message}");
        std::fs::write(std::env::var(WARNED).unwrap(), message).unwrap();
    })
    .unwrap();
    let rank = comm.topology().rank.0;
    match task.as_str() {
        "laws" => {
            check_laws(&comm);
            shared::check(&comm);
            started::check(&comm);
        }
        "as threads" => started::check_against_threads(&comm),
        "large" => {
            check_large_buffer(&comm);
            started::check_large(&comm);
        }
        "measure" => measure::rank(&comm),
        task if astray::rank(task, &comm) => {}
        end if rank == 1 => end_without_the_others(end, &comm),
        // The others wait for a rank that will never come.
        _ => comm.allreduce(&mut [1.0], ReduceOp::Sum).unwrap(),
    }
    println!("\nrank {rank} of {} is done", comm.topology().size);
}

fn limits() -> StallLimits {
    let text = std::env::var(LIMITS).unwrap_or_default();
    match text.split_once(',').map(|(warning, shutdown)| [warning, shutdown].map(|limit| limit.parse().unwrap())) {
        Some([warning, shutdown]) => {
            let (warning, shutdown) = (Duration::from_millis(warning), Duration::from_millis(shutdown));
            StallLimits { warning, shutdown, ..StallLimits::default() }
        }
        None => StallLimits::default(),
    }
}

/// The ways in which one rank may leave a collective program.
fn end_without_the_others(end: &str, comm: &dyn Communicator) {
    println!("\nlast words before {end}");
    match end {
        "abort" => comm.abort(7),
        "panic" => panic!("rank 1 fails on purpose"),
        "exit" => std::process::exit(3),
        "kill" => kill(Pid::this(), Signal::SIGKILL).unwrap(),
        other => panic!("unknown task {other}"),
    }
}

#[test]
fn the_laws_hold_under_mpirun() {
    let Some(mpirun) = mpirun() else { return };
    // Four ranks share two cores here.
    for size in [1, 2, 3, 4] {
        let output = launch(&mpirun, size, "laws", "", Duration::from_secs(60));
        expect_all_done(&output, size);
    }
}

#[test]
fn threads_and_processes_agree_to_the_bit() {
    let Some(mpirun) = mpirun() else { return };
    for size in [1, 2] {
        expect_all_done(&launch(&mpirun, size, "as threads", "", Duration::from_secs(60)), size);
    }
}

#[test]
fn large_buffers_travel_in_chunks() {
    let Some(mpirun) = mpirun() else { return };
    for size in [2, 3] {
        let output = launch(&mpirun, size, "large", "", Duration::from_secs(120));
        expect_all_done(&output, size);
    }
}

#[test]
fn one_rank_that_fails_ends_all_and_is_heard() {
    let Some(mpirun) = mpirun() else { return };
    // Of a rank that leaves without a word, MPICH's launcher tells now its code and now that of those that it killed.
    let left = (!library_version().contains("MPICH")).then_some(3);
    for (end, code) in [("abort", Some(7)), ("panic", Some(101)), ("exit", left), ("kill", None)] {
        for size in [2, 3] {
            let output = launch(&mpirun, size, end, "", Duration::from_secs(20));
            let text = text(&output);
            assert!(!output.status.success() && code.is_none_or(|code| output.status.code() == Some(code)), "{end}: {text}");
            // What a rank prints before it fails must arrive: it is all that tells why.
            assert!(text.contains(&format!("last words before {end}")) && !text.contains("is done"), "{end}: {text}");
        }
    }
}

#[test]
fn without_mpirun_mpi_is_rank_0_of_1() {
    if mpirun().is_none() {
        return;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "collectives::rank_process", "--nocapture", "--test-threads=1"]).env(TASK, "laws");
    expect_all_done(&run_limited(command, Duration::from_secs(60)), 1);
}

fn expect_all_done(output: &Output, size: usize) {
    let text = text(output);
    assert!(output.status.success(), "{:?}\n{text}", output.status);
    for rank in 0..size {
        assert!(text.contains(&format!("rank {rank} of {size} is done")), "rank {rank} is missing:\n{text}");
    }
}

fn launch(mpirun: &Path, size: usize, task: &str, limits: &str, time: Duration) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let mut command = mpi::command(mpirun, size);
    command.arg(std::env::current_exe().unwrap());
    command.args(["--exact", "collectives::rank_process", "--nocapture", "--test-threads=1"]);
    command.env(TASK, task).env(LIMITS, limits).env(WARNED, folder.path().join("warned"));
    run_limited(command, time)
}
