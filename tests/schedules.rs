//! Schedules as they are executed: on threads with 1 to 9 ranks, and under the real mpirun with 2 to 8.
//!
//! What every rank received is held against the schedule, and what MPI itself counted against both. Without mpirun its tests are
//! skipped by name; `HVD_LAB_REQUIRE=mpi` turns the skip into a failure.

use std::path::Path;
use std::time::Duration;

use hvd_lab::comm::p2p::{Plan, PointToPoint, gather};
use hvd_lab::comm::{Communicator, MpiComm, StallLimits, ThreadComm, ThreadPoint, library_version};
use hvd_lab::domain::collective::{Algorithm, MessageReport, Schedule, Shape};

use crate::support::mpi::{self, mpirun, run_limited, text};

const LENGTHS: [usize; 5] = [0, 1, 2, 7, 1_000_003];
const SHAPES: [Shape; 3] = [shape(1, 1), shape(2, 2), shape(9, 3)];

const fn shape(servers: usize, ranks_per_host: usize) -> Shape {
    Shape { servers, ranks_per_host }
}

/// Every algorithm, once for each shape that changes it.
fn cases() -> impl Iterator<Item = (Algorithm, Shape)> {
    let has_shapes = |algorithm: Algorithm| algorithm.needs_servers() || algorithm.needs_ranks_per_host();
    let shapes = move |algorithm| SHAPES[..if has_shapes(algorithm) { SHAPES.len() } else { 1 }].iter().copied();
    Algorithm::ALL.into_iter().flat_map(move |algorithm| shapes(algorithm).map(move |shape| (algorithm, shape)))
}

/// All that holds for one algorithm at one length: sums, numbers that are none, equal bits, and a log that is the schedule.
fn check(peers: &dyn PointToPoint, comm: &dyn Communicator, algorithm: Algorithm, shape: Shape, elements: usize) {
    let (rank, ranks) = (peers.rank(), peers.size());
    assert_eq!((rank, ranks), (comm.topology().rank.0, comm.topology().size.0));
    let schedule = algorithm.schedule(ranks, elements, shape);
    let plan = Plan::new(&schedule, rank);
    let what = format!("{algorithm:?} {shape:?} p {ranks} n {elements} rank {rank}");
    let mut scratch = Vec::new();

    let mine = |rank: usize, place: usize| (rank * 1000 + place % 1000) as f32;
    let mut data: Vec<f32> = (0..elements).map(|place| mine(rank, place)).collect();
    let log = plan.run_logged(peers, &mut data, &mut scratch).unwrap();
    let sum = |place: usize| (ranks * (place % 1000) + 500 * ranks * (ranks - 1)) as f32;
    assert_eq!((0..elements).find(|&place| data[place] != sum(place)), None, "first wrong sum of {what}");
    check_log(&gather(comm, &log, None).unwrap(), &schedule, rank, &what);

    // The last number is none on one rank, the first infinite on another, and of no simple binary form on all.
    let value = |place: usize| ((place * 31 + rank * 17) as f32 + 0.1).sin();
    let mut data: Vec<f32> = (0..elements).map(value).collect();
    if elements >= 2 && ranks >= 2 {
        data[0] = if rank == 0 { f32::INFINITY } else { data[0] };
        data[elements - 1] = if rank == ranks - 1 { f32::NAN } else { data[elements - 1] };
    }
    plan.run(peers, &mut data, &mut scratch).unwrap();
    if elements >= 2 && ranks >= 2 {
        assert!(data[0] == f32::INFINITY && data[elements - 1].is_nan(), "{what}");
        data[elements - 1] = 0.0;
    }
    // FNV-1a: what differs in a bit has another digest.
    let digest = |digest: u64, number: &f32| (digest ^ u64::from(number.to_bits())).wrapping_mul(0x0100_0000_01b3);
    let bits = data.iter().fold(0xcbf2_9ce4_8422_2325, digest).to_le_bytes();
    assert!(comm.allgather(&bits).unwrap().iter().all(|other| other.as_slice() == bits), "bits differ: {what}");
}

/// Each message of the schedule for this rank came, once, and no other; none before it left or before its sender had begun.
fn check_log(log: &[MessageReport], schedule: &Schedule, rank: usize, what: &str) {
    let key = |message: &MessageReport| (message.round, message.from, message.start, message.end, message.operation as u8);
    let mut logged: Vec<_> = log.iter().map(key).collect();
    let due = schedule.messages().filter(|(_, message)| message.to == rank);
    let mut due: Vec<_> =
        due.map(|(round, due)| (round, due.from, due.range.start, due.range.end, due.operation as u8)).collect();
    logged.sort_unstable();
    due.sort_unstable();
    assert_eq!(logged, due, "{what}");
    for message in log {
        assert!(message.to == rank && 0.0 <= message.began_s && message.began_s <= message.ended_s, "{what}: {message:?}");
        assert!(message.ended_s < 60.0, "{what}: {message:?}");
    }
}

// --------------------------------------------------------------------------------------------------------- on threads

fn on_threads(size: usize, body: impl Fn(&ThreadPoint, &ThreadComm) + Sync) {
    let body = &body;
    std::thread::scope(|scope| {
        let ranks = ThreadPoint::group(size).into_iter().zip(ThreadComm::group(size));
        let ranks: Vec<_> = ranks.map(|(peers, comm)| scope.spawn(move || body(&peers, &comm))).collect();
        ranks.into_iter().for_each(|rank| rank.join().unwrap());
    });
}

#[test]
fn every_algorithm_sums_on_threads() {
    for size in 1..=9 {
        on_threads(size, |peers, comm| {
            for ((algorithm, shape), elements) in cases().flat_map(|case| LENGTHS.map(|elements| (case, elements))) {
                if elements < 100 || shape == SHAPES[0] {
                    check(peers, comm, algorithm, shape, elements);
                }
            }
        });
    }
}

#[test]
fn whoever_waits_for_a_thread_that_left_is_told() {
    let mut group = ThreadPoint::group(2);
    drop(group.pop());
    let plan = Plan::new(&Algorithm::Ring.schedule(2, 4, SHAPES[0]), 0);
    assert!(plan.run(&group[0], &mut [0.0; 4], &mut Vec::new()).is_err());
    assert!(group[0].barrier().is_err());
}

// -------------------------------------------------------------------------------------------------------- under mpirun

/// What each process under mpirun does; chosen by the launching test.
const TASK: &str = "HVD_LAB_SCHEDULES_TASK";

/// The body of one rank: not a test of its own but the program that mpirun starts. Without a task it is an empty test.
#[test]
fn rank_process() {
    let Ok(task) = std::env::var(TASK) else { return };
    let comm = MpiComm::connect(StallLimits::default(), |_| {}).unwrap();
    let peers = comm.point_to_point();
    let rank = peers.rank();
    match task.as_str() {
        "check" => {
            for ((algorithm, shape), elements) in cases().flat_map(|case| LENGTHS.map(|elements| (case, elements))) {
                // Many ranks on few cores: long ones by some numbers of ranks, and in one shape.
                if elements < 100 || [2, 3, 8].contains(&peers.size()) && shape == SHAPES[0] {
                    check(&peers, &comm, algorithm, shape, elements);
                }
            }
        }
        "once each" => {
            for (algorithm, shape) in cases() {
                let schedule = algorithm.schedule(peers.size(), COUNTED, shape);
                let mut data = vec![1.0; COUNTED];
                Plan::new(&schedule, rank).run(&peers, &mut data, &mut Vec::new()).unwrap();
                assert!(data.iter().all(|number| *number == peers.size() as f32));
            }
        }
        other => panic!("unknown task {other}"),
    }
    drop(peers);
    println!("\nrank {rank} of {} is done", comm.topology().size);
}

/// Numbers of each execution that MPI counts.
const COUNTED: usize = 4_001;

fn launch(mpirun: &Path, size: usize, task: &str, monitor: Option<&Path>) {
    let mut command = mpi::command(mpirun, size);
    if let Some(file) = monitor {
        // The monitor stands in front of ob1, which must not be named then.
        let kept: Vec<_> = command.get_args().map(|word| word.to_owned()).collect();
        let pml = kept.windows(3).position(|words| words == ["--mca", "pml", "ob1"]).unwrap();
        command = std::process::Command::new(mpirun);
        command.args(&kept[..pml]).args(&kept[pml + 3..]);
        let settings = ["pml_monitoring_enable 2", "pml_monitoring_enable_output 3"].map(str::to_owned);
        for setting in settings.into_iter().chain([format!("pml_monitoring_filename {}", file.display())]) {
            let (name, value) = setting.split_once(' ').unwrap();
            command.args(["--mca", name, value]);
        }
    }
    command.arg(std::env::current_exe().unwrap());
    command.args(["--exact", "schedules::rank_process", "--nocapture", "--test-threads=1"]).env(TASK, task);
    let output = run_limited(command, Duration::from_secs(120));
    let text = text(&output);
    assert!(output.status.success(), "{task} {size}: {:?}\n{text}", output.status);
    for rank in 0..size {
        assert!(text.contains(&format!("rank {rank} of {size} is done")), "rank {rank} is missing:\n{text}");
    }
}

#[test]
fn every_algorithm_sums_under_mpirun() {
    let Some(mpirun) = mpirun() else { return };
    for size in 2..=8 {
        launch(&mpirun, size, "check", None);
    }
}

/// What MPI counted of one rank: messages and bytes to each other one, of those that a program sends (`E`) rather than the library
/// for a collective of its own.
fn counted(folder: &Path, rank: usize, size: usize) -> Vec<(usize, usize)> {
    let text = std::fs::read_to_string(folder.join(format!("counted.{rank}.prof"))).unwrap();
    let mut sent = vec![(0, 0); size];
    for line in text.lines().filter(|line| line.starts_with('E')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |place: usize| words[place].parse::<usize>().unwrap();
        assert_eq!((number(1), words[4], words[6]), (rank, "bytes", "msgs"), "{line}");
        sent[number(2)] = (number(5), number(3));
    }
    sent
}

#[test]
fn messages_and_bytes_are_those_that_mpi_counts() {
    let Some(mpirun) = mpirun() else { return };
    if !library_version().contains("Open MPI") {
        return eprintln!("skipped: this MPI library counts no messages");
    }
    for size in [2, 3, 5, 8] {
        let folder = tempfile::tempdir().unwrap();
        launch(&mpirun, size, "once each", Some(&folder.path().join("counted")));
        let schedules: Vec<Schedule> = cases().map(|(algorithm, shape)| algorithm.schedule(size, COUNTED, shape)).collect();
        for rank in 0..size {
            let mut due = vec![(0, 0); size];
            for (_, message) in schedules.iter().flat_map(Schedule::messages).filter(|(_, message)| message.from == rank) {
                let (messages, bytes) = &mut due[message.to];
                (*messages, *bytes) = (*messages + 1, *bytes + 4 * message.range.len());
            }
            assert_eq!(counted(folder.path(), rank, size), due, "p {size} rank {rank}");
            let total = due.iter().fold((0, 0), |sum, due| (sum.0 + due.0, sum.1 + due.1));
            let of = |schedule: &Schedule| (schedule.messages_from(rank), schedule.bytes_from(rank) as usize);
            assert_eq!(schedules.iter().map(of).fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1)), total);
        }
    }
}
