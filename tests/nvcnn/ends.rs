//! How a training on photos is ended and goes on: asked to end it leaves a checkpoint, and other settings are said.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use hvd_lab::domain::event::{DigestMoment, Event, EventLine, MARKER};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{command, digests, run, warnings};
use crate::support::mpi::{mpirun, text};

/// On synthetic images, without an end.
const ENDLESS: &str = "-m lenet --image-size 28 --num-batches 1000000 --events";

/// Waits until a rank has taken a few steps, asks all ranks to end, and waits until the job has.
fn ended_by(signal: Signal, mut job: Child) -> (Option<i32>, String) {
    let mut lines = BufReader::new(job.stdout.take().unwrap()).lines();
    let mut ranks = Vec::new();
    for line in lines.by_ref() {
        match line.unwrap().strip_prefix(MARKER).and_then(EventLine::parse_line).map(|line| line.event) {
            Some(Event::Topology(report)) => ranks.push(Pid::from_raw(report.pid as i32)),
            Some(Event::Step { batch: 3, .. }) => break,
            _ => {}
        }
    }
    ranks.iter().for_each(|rank| kill(*rank, signal).unwrap());
    let since = Instant::now();
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    let status = job.wait().unwrap();
    assert!(since.elapsed() < Duration::from_secs(20), "it takes {:?} to end", since.elapsed());
    (status.code(), rest.join("\n"))
}

fn checkpoints(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|extension| extension == "safetensors")).collect()
}

#[test]
fn a_training_that_is_asked_to_end_leaves_one_checkpoint_and_goes_on_from_it() {
    let Some(_) = mpirun() else { return };
    for (size, signal) in [(2, Signal::SIGTERM), (2, Signal::SIGUSR1), (1, Signal::SIGINT)] {
        let logs = tempfile::tempdir().unwrap();
        let scratch = tempfile::tempdir().unwrap();
        let flags = format!("{ENDLESS} --log-dir {}", logs.path().display());
        let mut command = command(size, &flags);
        command.env("TMPDIR", scratch.path()).stdout(Stdio::piped()).stderr(Stdio::null());
        let (code, said) = ended_by(signal, command.spawn().unwrap());
        assert_ne!(code, Some(0), "{said}");
        let found = checkpoints(logs.path());
        assert_eq!(found.len(), 1, "{signal} on {size} ranks: {said}");
        assert!(said.contains("Warning: asked to end after step "), "{said}");
        let step = found[0].file_stem().unwrap().to_str().unwrap().strip_prefix("checkpoint-").unwrap().to_owned();
        let more = step.parse::<usize>().unwrap() + 2;
        let output = run(size, &format!("-m lenet --image-size 28 --num-batches {more} --log-dir {}", logs.path().display()));
        assert!(output.status.success() && text(&output).contains(&format!("Resuming after step {step}: ")), "{}", text(&output));
    }
}

#[test]
fn other_settings_than_those_of_the_checkpoint_are_said() {
    let Some(_) = mpirun() else { return };
    let logs = tempfile::tempdir().unwrap();
    let train = |flags: &str| {
        let output = run(1, &format!("-m lenet --image-size 28 {flags} --log-dir {}", logs.path().display()));
        assert!(output.status.success(), "{}", text(&output));
        warnings(&output)
    };
    assert_eq!(train("--num-batches 2 --learning-rate 0.01"), Vec::<String>::new());
    assert_eq!(train("--num-batches 3 --learning-rate 0.01"), Vec::<String>::new(), "more of the same is nothing to say");
    let said = train("--num-batches 4 --learning-rate 0.02 -b 2");
    assert_eq!(said.len(), 1, "{said:?}");
    for words in
        ["the batch was 4 on each of 1 ranks and is 2 on each of 1 ranks now", "the first learning rate was 0.01 and is 0.02 now"]
    {
        assert!(said[0].contains(words), "{words}: {said:?}");
    }
}

/// A power of two changes no bit of what is multiplied by it and divided again.
#[test]
fn a_loss_that_is_scaled_gives_the_gradients_of_one_that_is_not() {
    let Some(_) = mpirun() else { return };
    let gradients = |scale: &str| {
        let output = run(2, &format!("-m lenet --image-size 28 --num-batches 2 --events --loss-scale {scale}"));
        assert!(output.status.success(), "{}", text(&output));
        digests(&output, DigestMoment::FirstGradients)
    };
    let plain = gradients("1");
    assert_eq!((plain[0].len(), &plain[0]), (1, &plain[1]), "they are averaged");
    assert_eq!(gradients("1024"), plain);
}
