//! The timeline of a real run: every rank's phases and collectives, on one clock, in a file that viewers can open.
//!
//! Never looks at pixels. Runs are of the real trainer on two ranks under the real mpirun, with generated garments.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hvd_lab::domain::event::{EpochReport, Event, EventLine, MARKER};
use hvd_lab::domain::nvcnn::PREFETCH;
use hvd_lab::domain::phase::Phase;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::support::images;
use crate::support::mpi;
use crate::support::photos;
use crate::support::wait::wait_until;

const NP: usize = 2;
const LIMIT: Duration = Duration::from_secs(120);

/// One entry of the trace that lasts. Times in microseconds.
#[derive(Debug)]
struct Span {
    rank: usize,
    lane: u64,
    name: String,
    began: f64,
    ended: f64,
    args: Value,
}

/// A run with a timeline; `None` where there is no mpirun. One at a time: two ranks have a core each.
fn train(file: &Path, flags: &[&str]) -> Option<Output> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let mpirun = mpi::mpirun()?;
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    Some(mpi::run_limited(command(&mpirun, file, flags), LIMIT))
}

fn command(mpirun: &Path, file: &Path, flags: &[&str]) -> Command {
    let mut command = mpi::command(mpirun, NP);
    command.arg(env!("CARGO_BIN_EXE_hvd-train")).args(["--events", "--data-dir", images::few(), "--model", "wrn-10-1"]);
    command.args(["--train-images", "400", "--validation-images", "100", "--batch-size", "32", "--timeline"]);
    command.arg(file).args(flags);
    command
}

fn entries(text: &str) -> Vec<Value> {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {}", &text[text.len().saturating_sub(300)..]))
}

fn spans(entries: &[Value]) -> Vec<Span> {
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("no number: {value}"));
    let spans = entries.iter().filter(|entry| entry["ph"] == "X").map(|entry| Span {
        rank: number(&entry["pid"]) as usize - 1,
        lane: number(&entry["tid"]) as u64,
        name: entry["name"].as_str().unwrap().to_owned(),
        began: number(&entry["ts"]),
        ended: number(&entry["ts"]) + number(&entry["dur"]),
        args: entry["args"].clone(),
    });
    spans.collect()
}

fn read(file: &Path) -> Vec<Value> {
    entries(&std::fs::read_to_string(file).unwrap())
}

fn epochs(output: &Output, process: usize) -> Vec<EpochReport> {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let events = text.lines().filter_map(|line| EventLine::parse_line(line.strip_prefix(MARKER)?));
    let of_process = events.filter(|line| line.process == process);
    of_process.filter_map(|line| if let Event::Epoch(report) = line.event { Some(report) } else { None }).collect()
}

/// Thousandths of microseconds are all that the file keeps.
const ROUNDING: f64 = 0.002;

fn assert_spans_nest(spans: &[Span]) {
    for lane in spans.iter().map(|span| span.lane).collect::<BTreeSet<_>>() {
        let mut ordered: Vec<&Span> = spans.iter().filter(|span| span.lane == lane).collect();
        ordered.sort_by(|a, b| a.began.total_cmp(&b.began).then(b.ended.total_cmp(&a.ended)));
        let mut around: Vec<&Span> = Vec::new();
        for span in ordered {
            around.retain(|outer| outer.ended > span.began + ROUNDING);
            let fits = around.iter().all(|outer| span.ended <= outer.ended + ROUNDING);
            assert!(fits, "{span:?} reaches out of one of {around:?}");
            around.push(span);
        }
    }
}

/// Nobody leaves a collective before everybody is there: true of the times of two ranks only on one clock.
fn assert_ranks_meet(spans: &[Span], name: &str) -> usize {
    let mut calls: BTreeMap<u64, Vec<&Span>> = BTreeMap::new();
    for span in spans.iter().filter(|span| span.name == name) {
        calls.entry(span.args["call"].as_u64().unwrap()).or_default().push(span);
    }
    let error = spans.iter().filter_map(|span| span.args["clock_error_us"].as_f64()).fold(ROUNDING, f64::max);
    assert!(error < 5_000.0, "{error} microseconds is no common clock");
    for (call, ranks) in &calls {
        assert_eq!(ranks.len(), NP, "{name} {call}: {ranks:?}");
        let last_began = ranks.iter().map(|span| span.began).fold(f64::MIN, f64::max);
        let first_ended = ranks.iter().map(|span| span.ended).fold(f64::MAX, f64::min);
        assert!(last_began <= first_ended + 2.0 * error, "{name} {call} within {error} us: {ranks:?}");
    }
    calls.len()
}

#[test]
fn two_ranks_are_drawn_on_one_clock() {
    let folder = tempfile::tempdir().unwrap();
    let (file, logs) = (folder.path().join("trace.json"), folder.path().join("logs"));
    let flags = ["--epochs", "2", "--fusion-threshold-mb", "0", "--use-checkpointing", "--log-dir", logs.to_str().unwrap()];
    let Some(output) = train(&file, &flags) else { return };
    assert!(output.status.success(), "{}", mpi::text(&output));
    assert!(mpi::text(&output).contains(&format!("Timeline: {}", file.display())));
    let entries = read(&file);
    let spans = spans(&entries);

    for rank in 0..NP {
        let named =
            |entry: &Value| entry["args"]["name"].as_str().is_some_and(|name| name.starts_with(&format!("rank {rank} (")));
        assert_eq!(entries.iter().filter(|entry| entry["name"] == "process_name" && named(entry)).count(), 1);

        // The same seconds as in the events, phase by phase.
        let sum = |name: &str| {
            spans.iter().filter(|span| span.rank == rank && span.name == name).map(|span| span.ended - span.began).sum::<f64>()
                / 1e6
        };
        let phases = epochs(&output, rank);
        assert_eq!(phases.len(), 2);
        let total = |pick: fn(&EpochReport) -> f64| phases.iter().map(pick).sum::<f64>();
        for (name, expected) in [
            ("start-up", total(|epoch| epoch.phases[Phase::StartUp])),
            ("training", total(|epoch| epoch.phases[Phase::Training])),
            ("data", total(|epoch| epoch.phases[Phase::Data])),
            ("forward", total(|epoch| epoch.phases[Phase::Forward])),
            ("backward", total(|epoch| epoch.phases[Phase::Backward])),
            ("exposed allreduce", total(|epoch| epoch.phases[Phase::AllreduceExposed])),
            ("optimizer", total(|epoch| epoch.phases[Phase::Optimizer])),
            ("validation", total(|epoch| epoch.phases[Phase::Validation])),
            ("checkpoint", total(|epoch| epoch.phases[Phase::Checkpoint])),
        ] {
            assert!(expected > 0.0 && (sum(name) / expected - 1.0).abs() < 0.01, "rank {rank}, {name}: {} {expected}", sum(name));
        }
        assert!(sum("test") > 0.0 && sum("timeline") > 0.0);

        let training: Vec<&Span> = spans.iter().filter(|span| span.rank == rank && span.name == "training").collect();
        for (span, epoch) in training.iter().zip(&phases) {
            assert_eq!(span.args["epoch"], epoch.epoch);
            let percent = 100.0 * epoch.phases.exposed_communication().unwrap();
            assert!((span.args["exposed_communication_percent"].as_f64().unwrap() - percent).abs() < 0.01, "{span:?}");
        }
    }

    assert!(spans.iter().all(|span| span.began >= 0.0), "viewers refuse negative times");
    assert_spans_nest(&spans);
    // Without fusion, each of 12 steps has a bucket for every tensor, and each bucket a lane.
    let buckets = entries.iter().filter(|entry| entry["args"]["name"].as_str().is_some_and(|name| name.starts_with("bucket ")));
    let buckets = buckets.count() / NP;
    assert!(buckets > 10, "{buckets}");
    assert_eq!(assert_ranks_meet(&spans, "MPI_ALLREDUCE"), 12 * buckets + 2 + 1, "and the metrics of 2 epochs and the test");
    let backward: Vec<&Span> = spans.iter().filter(|span| span.name == "backward").collect();
    let beside =
        |span: &&Span| backward.iter().any(|back| back.rank == span.rank && back.began < span.began && span.began < back.ended);
    let overlapped = spans.iter().filter(|span| span.name == "MPI_ALLREDUCE").filter(beside).count();
    assert!(overlapped > 12 * NP, "{overlapped} buckets left during backward");
    assert_eq!(assert_ranks_meet(&spans, "MPI_BARRIER"), 0, "the timeline's own are left out");
    let broadcast: Vec<_> =
        spans.iter().filter(|span| span.name == "MPI_BCAST" && span.args["bytes"].as_u64() > Some(100_000)).collect();
    assert!(!broadcast.is_empty(), "the weights of step 4");

    let waits: Vec<_> = spans.iter().filter(|span| span.name == "NEGOTIATE_ALLREDUCE").collect();
    assert!(!waits.is_empty());
    assert!(waits.iter().all(|wait| wait.args["last_rank"] == 1 - wait.rank), "{waits:?}");
}

#[test]
fn without_steps_3_and_6_nobody_reduces() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.json");
    let Some(output) = train(&file, &["--epochs", "1", "--steps", "1,2,4,5,7-10"]) else { return };
    assert!(output.status.success(), "{}", mpi::text(&output));
    let spans = spans(&read(&file));
    assert!(spans.iter().any(|span| span.name == "MPI_BCAST"));
    assert!(!spans.iter().any(|span| span.name.ends_with("_ALLREDUCE")));
    assert_eq!(spans.iter().map(|span| span.rank).collect::<BTreeSet<_>>(), BTreeSet::from([0, 1]));
}

#[test]
fn without_step_1_strangers_write_files_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let Some(output) = train(&folder.path().join("trace.json"), &["--epochs", "1", "--steps", "2-10"]) else { return };
    assert!(output.status.success(), "{}", mpi::text(&output));
    for name in ["trace.json", "trace.1.json"] {
        let spans = spans(&read(&folder.path().join(name)));
        assert_eq!(spans.iter().filter(|span| span.name == "training").count(), 1);
        assert!(spans.iter().all(|span| span.rank == 0 && !span.name.starts_with("MPI")), "alone, nothing is communicated");
    }
}

#[test]
fn a_killed_run_leaves_a_file_that_opens() {
    let Some(mpirun) = mpi::mpirun() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.json");
    let (output, killed) = std::thread::scope(|scope| {
        let killer = scope.spawn(|| kill_after_two_epochs(&file));
        (mpi::run_limited(command(&mpirun, &file, &["--epochs", "100000"]), LIMIT), killer.join())
    });
    killed.unwrap();
    assert!(!output.status.success());
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(serde_json::from_str::<Value>(&text).is_err(), "it was not closed");
    let spans = spans(&entries(&(text + "]")));
    assert!(spans.iter().filter(|span| span.name == "training").count() >= 2 * NP);
}

/// SIGKILL for rank 0, once its file holds two epochs.
fn kill_after_two_epochs(file: &Path) {
    let epochs = || std::fs::read_to_string(file).unwrap_or_default().matches(r#""epoch":2,"#).count();
    wait_until("the second epoch of all ranks", || epochs() >= NP);
    let wanted = file.to_str().unwrap();
    let runs = |pid: &i32| {
        let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let arguments: Vec<_> = arguments.split(|&byte| byte == 0).map(String::from_utf8_lossy).collect();
        arguments[0].ends_with("hvd-train") && arguments.iter().any(|argument| argument == wanted)
    };
    let is_root = |pid: &i32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let rank_0: [&[u8]; 3] = [b"OMPI_COMM_WORLD_RANK=0", b"PMIX_RANK=0", b"PMI_RANK=0"];
        environment.split(|&byte| byte == 0).any(|entry| rank_0.contains(&entry))
    };
    let pids = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let root: Vec<i32> = pids.filter(runs).filter(is_root).collect();
    assert_eq!(root.len(), 1, "{root:?}");
    kill(Pid::from_raw(root[0]), Signal::SIGKILL).unwrap();
}

#[test]
fn a_file_that_cannot_be_written_is_refused_before_training() {
    let folder = tempfile::tempdir().unwrap();
    let Some(output) = train(&folder.path().join("nowhere/trace.json"), &["--epochs", "1"]) else { return };
    let text = mpi::text(&output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    let said: Vec<_> = text.lines().filter(|line| line.contains("--timeline")).collect();
    assert!(said.len() == 1 && said[0].contains("nowhere/trace.json") && said[0].contains("cannot be written"), "{text}");
    assert!(!text.contains(MARKER), "{text}");
}

#[test]
fn what_the_trainer_writes_is_its_users_alone_whatever_the_umask() {
    use std::os::unix::fs::PermissionsExt;
    let place = tempfile::tempdir().unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "umask 000; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_hvd-train")]);
    command.args(["--steps", "none", "--data-dir", images::few(), "--model", "wrn-10-1", "--epochs", "1", "--batch-size", "32"]);
    command.args(["--train-images", "64", "--validation-images", "32", "--use-checkpointing", "--timeline", "trace.json"]);
    let output = mpi::run_limited(
        {
            command.args(["--log-dir", "logs"]).current_dir(place.path());
            command
        },
        LIMIT,
    );
    assert!(output.status.success(), "{}", mpi::text(&output));
    let files = |folder: &Path| -> Vec<std::path::PathBuf> {
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    let all = [files(place.path()), files(&place.path().join("logs"))].concat();
    // The folder, the timeline, a checkpoint and a TensorBoard file.
    assert_eq!(all.len(), 4, "{all:?}");
    for path in all {
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o077, 0, "{}", path.display());
    }
}

/// Nearly no model, on photos that threads decode.
fn train_on_photos(photos: &Path, file: &Path, flags: &[&str]) -> Option<Output> {
    let mut command = mpi::command(&mpi::mpirun()?, NP);
    command.args([env!("CARGO_BIN_EXE_hvd-measure"), "nvcnn"]).args([
        "-m",
        "trivial",
        "--image-size",
        "32",
        "-b",
        "4",
        "--no-cuda",
    ]);
    command.args(["--threads", "2", "--data-dir"]).arg(photos).arg("--timeline").arg(file).args(flags);
    Some(mpi::run_limited(command, LIMIT))
}

#[test]
fn training_on_photos_shows_when_each_batch_was_prepared_and_how_many_waited() {
    let Some(jpegs) = photos::jpegs() else { return };
    let (photos, folder) = (photos::folder(&jpegs), tempfile::tempdir().unwrap());
    let file = folder.path().join("trace.json");
    let Some(output) = train_on_photos(photos.path(), &file, &["--num-batches", "7"]) else { return };
    assert!(output.status.success(), "{}", mpi::text(&output));
    let entries = read(&file);
    let spans = spans(&entries);
    assert_spans_nest(&spans);
    for rank in 0..NP {
        let of = |name: &str| -> Vec<&Span> { spans.iter().filter(|span| span.rank == rank && span.name == name).collect() };
        let (batches, waits) = (of("batch of images"), of(Phase::Data.name()));
        assert_eq!((batches.len(), waits.len()), (7, 7), "rank {rank}");
        // The model gets a batch when it is ready, and never before.
        for (batch, wait) in batches.iter().zip(&waits) {
            assert!(batch.ended <= wait.ended + ROUNDING, "{batch:?} {wait:?}");
        }
        let count = |entry: &&Value| entry["ph"] == "C" && entry["pid"] == rank + 1;
        let ready: Vec<u64> =
            entries.iter().filter(count).map(|entry| entry["args"]["batches ready"].as_u64().unwrap()).collect();
        assert_eq!(ready.len(), 7, "{ready:?}");
        assert!(ready.iter().all(|ready| *ready <= PREFETCH as u64 + 1), "{ready:?}");
    }
}

#[test]
fn a_test_on_photos_has_no_timeline_and_a_bad_file_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let gone = folder.path().join("gone").display().to_string();
    for (file, flags, words) in [
        ("nowhere/trace.json", &[][..], "nowhere/trace.json` cannot be written"),
        ("trace.json", &["--eval", "--log-dir", gone.as_str()], "--timeline draws a training"),
    ] {
        let Some(output) = train_on_photos(folder.path(), &folder.path().join(file), flags) else { return };
        let text = mpi::text(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert_eq!(text.lines().filter(|line| line.contains(words)).count(), 1, "{text}");
    }
}
