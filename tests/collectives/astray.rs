//! Ranks that come late, never, or with something else in mind: each is named, and no job hangs.
//!
//! Never waits for a time where it can wait for an event: a late rank comes when it sees that it was named.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use hvd_lab::comm::{CommError, Communicator, Compression, MpiComm, ReduceOp};
use hvd_lab::domain::topology::Rank;

use super::{WARNED, expect_all_done, launch, started};
use crate::support::mpi::{mpirun, text};
use crate::support::wait::wait_until;

/// Waits for another rank's warning.
fn await_warning() {
    let sign = PathBuf::from(std::env::var(WARNED).unwrap());
    wait_until("a warning", || sign.exists());
}

/// What one rank does in a task of this file; `false` if the task is none of these.
pub fn rank(task: &str, comm: &MpiComm) -> bool {
    let rank = comm.topology().rank.0;
    match task {
        "late" => {
            comm.barrier().unwrap();
            if rank == 1 {
                await_warning();
            }
            comm.allreduce(&mut [0.0; 77], ReduceOp::Average).unwrap();
        }
        "late, and one in between" => {
            match rank {
                1 => await_warning(),
                // It has not waited for 2 s itself when rank 0 asks, and answers none the less.
                2 => std::thread::sleep(Duration::from_secs(1)),
                _ => {}
            }
            comm.barrier().unwrap();
        }
        "late to finish" => {
            started::start(comm, &[10, 1000], Compression::Bf16);
            if rank == 1 {
                await_warning();
            }
            comm.finish_allreduces().unwrap();
        }
        // Nothing follows, so that the messages about the wait are on their way when the program ends.
        "late to leave" if rank == 1 => await_warning(),
        "late to leave" => {}
        "never" if rank == 1 => std::thread::sleep(Duration::from_secs(60)),
        "never" => {
            let error = comm.allreduce(&mut [0.0; 77], ReduceOp::Average).unwrap_err();
            assert!(matches!(&error, CommError::Stalled(stall) if stall.missing == [Rank(1)] && stall.number == 1), "{error:?}");
            assert_eq!(comm.barrier(), Err(error.clone()), "and it stays so");
            println!("\ngave up: {error}");
            comm.abort(9);
        }
        "two of three differ" if rank == 2 => std::thread::sleep(Duration::from_secs(60)),
        "two of three differ" => {
            let called = if rank == 0 { comm.barrier() } else { comm.broadcast(&mut [0.0], Rank(0)) };
            println!("\ngave up: {}", called.unwrap_err());
            comm.abort(9);
        }
        "leaves early" if rank == 1 => {}
        "leaves early" => {
            let error = comm.allreduce(&mut [0.0; 77], ReduceOp::Sum).unwrap_err();
            println!("\ngave up: {error}");
            comm.abort(9);
        }
        "mismatches" => mismatches(comm),
        "buckets differ" | "bucket against barrier" => {
            // The first step settles the schedule, so that rank 0's buckets travel at once in the second.
            for lengths in [[5, 70_000], [5, 70_000 + rank]] {
                started::start(comm, &lengths, Compression::None);
                comm.progress().unwrap();
                let finished = match (task, lengths[1] != 70_000) {
                    ("bucket against barrier", true) => comm.barrier(),
                    _ => comm.finish_allreduces(),
                };
                if let Err(error) = finished {
                    println!("\ngave up: {error}");
                    comm.abort(9);
                }
            }
            if rank == 0 {
                println!("\ngave up: {}", comm.barrier().unwrap_err());
            }
            comm.abort(9);
        }
        "idle" => {
            comm.barrier().unwrap();
            let before = cpu_time();
            let start = Instant::now();
            if rank == 1 {
                std::thread::sleep(Duration::from_millis(1500));
            }
            comm.barrier().unwrap();
            let share = (cpu_time() - before).as_secs_f64() / start.elapsed().as_secs_f64();
            println!("\nrank {rank} used {:.1} % of a core", share * 100.0);
            assert!(share < 0.2, "rank {rank} used {share} of a core while it waited");
        }
        _ => return false,
    }
    true
}

/// Each in turn, on one communicator: it stays fit for use, as all ranks know of the mismatch.
fn mismatches(comm: &dyn Communicator) {
    let (odd, mut numbers) = (comm.topology().rank.0 == 1, [0.0; 8]);
    let expect = |called: Result<(), CommError>, zero: &str, one: &str| {
        let said = format!("rank 0 {zero}, rank 1 {one}");
        assert_eq!(called, Err(CommError::Mismatch(said)));
    };
    let length = if odd { 5 } else { 4 };
    expect(comm.allreduce(&mut numbers[..length], ReduceOp::Sum), "allreduce Sum of 4 f32", "allreduce Sum of 5 f32");
    let op = if odd { ReduceOp::Average } else { ReduceOp::Sum };
    expect(comm.allreduce(&mut numbers, op), "allreduce Sum of 8 f32", "allreduce Average of 8 f32");
    let called = if odd { comm.allreduce_f64(&mut [0.0; 8], op) } else { comm.allreduce(&mut numbers, op) };
    expect(called, "allreduce Sum of 8 f32", "allreduce Average of 8 f64");
    let root = Rank(odd.into());
    expect(comm.broadcast(&mut numbers, root), "broadcast of 8 f32 from rank 0", "broadcast of 8 f32 from rank 1");
    let called = comm.broadcast_bytes(&mut vec![1; 3], root);
    expect(called, "broadcast of bytes from rank 0", "broadcast of bytes from rank 1");
    let called = if odd { comm.allgather(&[1]).map(|_| ()) } else { comm.barrier() };
    expect(called, "barrier", "allgather");
    // A first step: nothing travels before all agree, so nothing is lost.
    for (zero, one) in [(&[4, 5][..], &[5, 4][..]), (&[4, 5], &[4, 5, 0]), (&[], &[1])] {
        started::start(comm, if odd { one } else { zero }, Compression::None);
        let error = comm.finish_allreduces().unwrap_err().to_string();
        assert!(error.contains(&format!("rank 0 wait for {} started", zero.len())), "{error}");
        assert!(error.contains(&format!("rank 1 wait for {} started", one.len())), "{error}");
    }
    started::start(comm, &[4], if odd { Compression::Bf16 } else { Compression::Fp16 });
    assert!(matches!(comm.finish_allreduces(), Err(CommError::Mismatch(_))), "another compression");
    let called = if odd { comm.finish_allreduces() } else { comm.barrier() };
    assert!(called.unwrap_err().to_string().contains("rank 0 barrier, rank 1 wait for 0"));
    comm.allreduce(&mut numbers, ReduceOp::Sum).unwrap();
    assert_eq!(numbers, [0.0; 8], "no number was touched");
}

/// Of this thread: MPI's helpers have theirs.
fn cpu_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split_whitespace().next().unwrap().parse().unwrap())
}

const LIMIT: Duration = Duration::from_secs(30);

#[test]
fn a_late_rank_is_named_by_one_rank_and_the_job_goes_on() {
    let Some(mpirun) = mpirun() else { return };
    for (task, call) in [
        ("late", "allreduce Average of 77 f32 (collective 2)"),
        ("late to finish", "wait for 2 started allreduces of 1010 f32 in all"),
        ("late to leave", "end of the program (collective 1)"),
    ] {
        for size in [2, 3] {
            let output = launch(&mpirun, size, task, "200,0", LIMIT);
            expect_all_done(&output, size);
            let text = text(&output);
            let warnings: Vec<&str> = text.lines().filter(|line| line.starts_with("warning: ")).collect();
            assert!(!warnings.is_empty(), "{task}: {text}");
            for warning in warnings {
                assert!(warning.contains("rank 0 has waited 0.") || warning.contains("rank 0 has waited 1."), "{warning}");
                assert!(warning.contains(call) && warning.ends_with("; rank 1 has not arrived"), "{task}: {warning}");
            }
        }
    }
}

#[test]
fn a_rank_that_has_just_come_is_not_taken_for_missing() {
    let Some(mpirun) = mpirun() else { return };
    let output = launch(&mpirun, 3, "late, and one in between", "2000,0", LIMIT);
    expect_all_done(&output, 3);
    let text = text(&output);
    let warning = text.lines().find(|line| line.starts_with("warning: ")).unwrap();
    assert!(warning.contains("rank 0 has waited 2.") && warning.ends_with("; rank 1 has not arrived"), "{text}");
}

#[test]
fn limits_of_zero_are_never_reached() {
    let Some(mpirun) = mpirun() else { return };
    let output = launch(&mpirun, 2, "idle", "0,0", LIMIT);
    expect_all_done(&output, 2);
    assert!(!text(&output).contains("warning: "), "{}", text(&output));
}

#[test]
fn a_waiting_rank_leaves_its_core_to_others() {
    let Some(mpirun) = mpirun() else { return };
    let output = launch(&mpirun, 3, "idle", "200,0", LIMIT);
    expect_all_done(&output, 3);
    print!("{}", text(&output));
}

#[test]
fn a_wait_beyond_the_limit_ends_the_job_with_its_cause() {
    let Some(mpirun) = mpirun() else { return };
    for limits in ["200,800", "0,800"] {
        let output = launch(&mpirun, 3, "never", limits, LIMIT);
        let text = text(&output);
        assert_eq!(output.status.code(), Some(9), "{text}");
        let cause = "s in allreduce Average of 77 f32 (collective 1); rank 1 has not arrived. It was the limit for waiting";
        assert!(text.contains("gave up: rank ") && text.contains(cause), "{text}");
        assert_eq!(text.contains("warning: "), limits != "0,800", "{text}");
    }
}

#[test]
fn ranks_that_differ_do_not_wait_for_the_third() {
    let Some(mpirun) = mpirun() else { return };
    let output = launch(&mpirun, 3, "two of three differ", "200,0", LIMIT);
    let text = text(&output);
    assert_eq!(output.status.code(), Some(9), "{text}");
    assert!(text.contains("rank 0 barrier") && text.contains("rank 1 broadcast of 1 f32 from rank 0"), "{text}");
}

#[test]
fn different_collectives_are_reported_over_mpi() {
    let Some(mpirun) = mpirun() else { return };
    for size in [2, 3] {
        expect_all_done(&launch(&mpirun, size, "mismatches", "10000,0", LIMIT), size);
    }
}

#[test]
fn buckets_that_travel_and_never_arrive_are_reported() {
    let Some(mpirun) = mpirun() else { return };
    let cases = [
        ("buckets differ", 2, "gave up: the ranks called different collectives: rank 0 wait for 2", "rank 1 wait for 2"),
        (
            "buckets differ",
            3,
            "rank 0 wait for 2 started allreduces of 70005 f32",
            "rank 1 wait for 2 started allreduces of 70006",
        ),
        ("bucket against barrier", 2, "rank 1 barrier before finish_allreduces", ""),
        ("leaves early", 2, "rank 0 allreduce Sum of 77 f32", "rank 1 end of the program"),
    ];
    for (task, size, one, other) in cases {
        let output = launch(&mpirun, size, task, "10000,0", LIMIT);
        let text = text(&output);
        assert!(!output.status.success() && text.contains(one) && text.contains(other), "{task}: {text}");
    }
}
