//! The exercise and the solutions train as the trainer does with the same steps, bit for bit, on two ranks under mpirun.
//!
//! Never builds all eleven programs: the first, the last and two between them show that text and training agree.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use hvd_lab::domain::event::{Event, EventLine, MARKER, Metrics};

use crate::support::images;
use crate::support::mpi;

const NP: usize = 2;
const LIMIT: Duration = Duration::from_secs(120);
/// How many steps the programs have that are run.
const RUN: [usize; 4] = [0, 3, 5, 10];

/// The program with steps 1 to `last`, built as this test is.
fn program(last: usize) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let beside = Path::new(env!("CARGO_BIN_EXE_hvd-train")).parent().unwrap();
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--locked", "--quiet", "--target-dir"]);
        cargo.arg(beside.parent().unwrap()).current_dir(env!("HVD_LAB_CHECKOUT"));
        if beside.ends_with("release") {
            cargo.arg("--release");
        }
        cargo.args(RUN.iter().flat_map(|last| ["--example".to_owned(), name(*last)]));
        assert!(cargo.status().unwrap().success(), "{cargo:?}");
        beside.join("examples")
    });
    folder.join(name(last))
}

fn name(last: usize) -> String {
    Path::new(&super::derive::path(last)).file_stem().unwrap().to_str().unwrap().to_owned()
}

/// What a run says about its steps, the loss of every step of every rank, and how each judged every epoch.
#[derive(Debug, PartialEq)]
struct Trained {
    steps: String,
    losses: Vec<Vec<u64>>,
    judged: Vec<Vec<(Metrics, Option<Metrics>)>>,
}

fn train(mpirun: &Path, program: &Path, flags: &[&str]) -> Trained {
    let mut command = mpi::command(mpirun, NP);
    command.arg(program).args(["--events", "--data-dir", images::few(), "--model", "wrn-10-1", "--epochs", "2"]);
    command.args(["--train-images", "200", "--validation-images", "50", "--batch-size", "32"]).args(flags);
    let output = mpi::run_limited(command, LIMIT);
    assert!(output.status.success(), "{}", mpi::text(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let events = text.lines().filter_map(|line| EventLine::parse_line(line.strip_prefix(MARKER)?));
    let mut trained = Trained { steps: String::new(), losses: vec![Vec::new(); NP], judged: vec![Vec::new(); NP] };
    for EventLine { process, event, .. } in events {
        match event {
            Event::Step { loss, .. } => trained.losses[process].push(loss.to_bits()),
            Event::Epoch(report) => trained.judged[process].push((report.validation, report.averaged)),
            Event::Config(report) => trained.steps = report.steps.to_string(),
            _ => {}
        }
    }
    trained
}

#[test]
fn a_program_trains_as_the_trainer_with_its_steps_bit_for_bit() {
    let Some(mpirun) = mpi::mpirun() else { return };
    let mut all: Vec<Trained> = Vec::new();
    for last in RUN {
        let steps = if last == 0 { "none".to_owned() } else { format!("1-{last}") };
        let trainer = train(&mpirun, Path::new(env!("CARGO_BIN_EXE_hvd-train")), &["--steps", &steps]);
        // What the flag says does not matter: the program's steps are those written in it.
        let program = train(&mpirun, &program(last), &["--steps", "2,9"]);
        assert_eq!(program, trainer, "{}", super::derive::path(last));
        assert_eq!(trainer.steps, steps);
        // ceil(200 / 32) = 7 batches, shared by two ranks from step 5 on, in each of two epochs.
        let batches = if last < 5 { 14 } else { 6 };
        assert!(trainer.losses.iter().all(|losses| losses.len() == batches), "{trainer:?}");
        assert!(trainer.judged.iter().flatten().all(|(_, averaged)| averaged.is_some() == (last >= 6)));
        assert!(all.iter().all(|other| other.losses != trainer.losses), "other steps, the same losses");
        all.push(trainer);
    }
}
