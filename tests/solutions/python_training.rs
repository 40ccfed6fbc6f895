//! The programs in Python train as the trainer does with the same steps, bit for bit: losses, rates, gradients, weights and
//! metrics, on one rank and on two under mpirun. What fails ends the whole job and names the learner's line.
//!
//! Never by the lab: the programs are started as anybody may start them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::time::Duration;

use hvd_lab::domain::event::{Event, EventLine, MARKER, Metrics};

use super::{at, read};
use crate::support::images;
use crate::support::mpi;

pub const LIMIT: Duration = Duration::from_secs(120);
/// How many steps the programs have that are run.
const RUN: [usize; 4] = [0, 3, 5, 10];
fn common_flags() -> [&'static str; 11] {
    [
        "--events",
        "--data-dir",
        images::few(),
        "--model",
        "wrn-10-1",
        "--train-images",
        "200",
        "--validation-images",
        "50",
        "--batch-size",
        "32",
    ]
}

/// The native module, built as this test is.
fn module() -> &'static Path {
    static MODULE: OnceLock<PathBuf> = OnceLock::new();
    MODULE.get_or_init(|| {
        let beside = Path::new(env!("CARGO_BIN_EXE_hvd-train")).parent().unwrap();
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--locked", "--quiet", "-p", "hvd-lab-python", "--target-dir"]);
        cargo.arg(beside.parent().unwrap()).current_dir(env!("HVD_LAB_CHECKOUT"));
        if beside.ends_with("release") {
            cargo.arg("--release");
        }
        assert!(cargo.status().unwrap().success(), "{cargo:?}");
        beside.join("libhvd_lab_python.so")
    })
}

fn path(last: usize) -> String {
    match last {
        0 => "lessons/fashion_mnist.py".into(),
        _ => format!("solutions/fashion_mnist_after_step_{last:02}.py"),
    }
}

pub fn python(mpirun: &Path, np: usize, program: &Path) -> Command {
    let named = std::env::var_os("HVD_LAB_PYTHON").filter(|name| !name.is_empty());
    let mut command = mpi::command(mpirun, np);
    command.arg(named.unwrap_or_else(|| OsString::from("python3"))).args(["-B", "-u"]).arg(program);
    command.env("PYTHONPATH", at("python")).env("HVD_LAB_PYTHON_MODULE", module());
    command
}

/// All that must be the same, in the order in which each rank said it.
#[derive(Debug, PartialEq)]
pub enum Said {
    /// Loss and rate of a step.
    Step(usize, usize, u64, u64),
    /// Weights or gradients.
    Digest(String, usize, String),
    Epoch {
        epoch: usize,
        train: Metrics,
        validation: Metrics,
        averaged: Option<Metrics>,
        lr: u64,
        images: usize,
    },
    Work(usize, usize, String, usize, f64),
    Place(String, String, Vec<usize>),
    Checkpoint(String, usize),
    Test(u64, u64, usize),
    Finished(usize),
}

impl Said {
    /// A rank that is alone cannot tell whether others write checkpoints too: it looks at what it wrote.
    pub fn is_look(&self) -> bool {
        matches!(self, Said::Checkpoint(action, _) if action == "Inspected")
    }
}

pub fn said(output: &Output, np: usize) -> Vec<Vec<Said>> {
    assert!(output.status.success(), "{}", mpi::text(output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut all: Vec<Vec<Said>> = (0..np).map(|_| Vec::new()).collect();
    for EventLine { process, event, .. } in text.lines().filter_map(|line| EventLine::parse_line(line.strip_prefix(MARKER)?)) {
        all[process].push(match event {
            Event::Step { epoch, batch, lr, loss } => Said::Step(epoch, batch, loss.to_bits(), lr.to_bits()),
            Event::Digest { moment, epoch, digest, .. } => Said::Digest(format!("{moment:?}"), epoch, digest),
            Event::Epoch(report) => Said::Epoch {
                epoch: report.epoch,
                train: report.train,
                validation: report.validation,
                averaged: report.averaged,
                lr: report.lr.to_bits(),
                images: report.images,
            },
            Event::Config(of) => {
                Said::Work(of.steps_per_epoch, of.validation_steps, of.optimizer, of.resume_epoch, of.warmup_epochs)
            }
            Event::Topology(of) => Said::Place(format!("{:?}", of.topology), of.device, of.cores),
            Event::Checkpoint(of) => Said::Checkpoint(format!("{:?}", of.action), of.epoch),
            Event::Test { loss, accuracy, images, .. } => Said::Test(loss.to_bits(), accuracy.to_bits(), images),
            Event::Finished { epochs, .. } => Said::Finished(epochs),
            _ => continue,
        });
    }
    all
}

#[test]
fn a_program_in_python_trains_as_the_trainer_with_its_steps_bit_for_bit() {
    let Some(mpirun) = mpi::mpirun() else { return };
    for np in [1, 2] {
        let mut before: Option<Vec<Vec<Said>>> = None;
        for last in RUN {
            let steps = if last == 0 { "none".to_owned() } else { format!("1-{last}") };
            let logs = [(); 2].map(|()| tempfile::tempdir().unwrap());
            let flags = |log: &tempfile::TempDir| {
                let folder = log.path().display().to_string();
                let own = ["--epochs", "2", "--steps", &steps, "--log-dir", &folder].map(String::from).to_vec();
                // Without step 7 both ranks write one file, and which of them it holds in the end is chance.
                let keeps = if np == 1 || last >= 7 { vec!["--use-checkpointing".to_owned()] } else { Vec::new() };
                [own, keeps].concat()
            };
            let mut trainer = mpi::command(&mpirun, np);
            trainer.arg(env!("CARGO_BIN_EXE_hvd-train")).args(common_flags()).args(flags(&logs[0]));
            let mut trainer = said(&mpi::run_limited(trainer, LIMIT), np);
            let mut program = python(&mpirun, np, &at(&path(last)));
            program.args(common_flags()).args(flags(&logs[1]));
            let mut program = said(&mpi::run_limited(program, LIMIT), np);
            if np == 1 {
                [&mut trainer, &mut program].into_iter().flatten().for_each(|said| said.retain(|said| !said.is_look()));
            }
            assert_eq!(program, trainer, "{} on {np} ranks", path(last));
            // 7 batches, which two ranks share from step 5 on.
            let batches = if last < 5 || np == 1 { 14 } else { 6 };
            let count = program[0].iter().filter(|said| matches!(said, Said::Step(..))).count();
            assert_eq!(count, batches, "{}", path(last));
            if np == 2 {
                assert_ne!(before.as_ref(), Some(&program), "another step changes nothing");
            }
            before = Some(program);
        }
    }
}

#[test]
fn a_training_goes_on_from_a_checkpoint_bit_for_bit() {
    let Some(mpirun) = mpi::mpirun() else { return };
    let run = |of: Option<&str>, folder: &Path, epochs: &str| {
        let mut command = match of {
            Some(program) => python(&mpirun, 2, &at(program)),
            None => {
                let mut command = mpi::command(&mpirun, 2);
                command.arg(env!("CARGO_BIN_EXE_hvd-train"));
                command
            }
        };
        command
            .args(common_flags())
            .args(["--steps", "1-10", "--use-checkpointing", "--epochs", epochs, "--log-dir"])
            .arg(folder);
        said(&mpi::run_limited(command, LIMIT), 2)
    };
    let whole = tempfile::tempdir().unwrap();
    let last = path(10);
    let whole = run(None, whole.path(), "3");
    let parts = tempfile::tempdir().unwrap();
    run(Some(&last), parts.path(), "2");
    let rest = run(Some(&last), parts.path(), "3");
    let third = |all: &[Vec<Said>]| {
        let of = |said: &&Said| matches!(said, Said::Step(2, ..) | Said::Test(..) | Said::Finished(3));
        all.iter().map(|all| format!("{:?}", all.iter().filter(of).collect::<Vec<_>>())).collect::<Vec<_>>()
    };
    assert_eq!(third(&rest), third(&whole));
    assert!(rest[0].contains(&Said::Checkpoint("Loaded".into(), 2)), "{rest:?}");
}

/// A program that fails on rank 1 alone, where it is the place of this line.
fn failing(line: &str, with: &str) -> (Output, usize) {
    let mpirun = mpi::mpirun().unwrap();
    let text = read(&path(10));
    assert_eq!(text.matches(line).count(), 1, "{line}");
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("fashion_mnist.py");
    let changed = text.replace(line, with);
    let at = 1 + changed.lines().position(|line| line.contains("MINE")).unwrap_or(0);
    std::fs::write(&program, changed).unwrap();
    let mut command = python(&mpirun, 2, &program);
    command.args(common_flags()).args(["--epochs", "2", "--stall-warning-secs", "1", "--stall-shutdown-secs", "5"]);
    (mpi::run_limited(command, LIMIT), at)
}

#[test]
fn a_rank_that_fails_names_its_line_and_ends_the_job() {
    if mpi::mpirun().is_none() {
        return;
    }
    let fit = "model.fit(\n";
    let cases = [
        // An exception of Python's, one of the package's own, and an end that nobody expects.
        ("if hvd.rank() == 1:\n    1 / 0  # MINE\n", "ZeroDivisionError: division by zero"),
        ("if hvd.rank() == 1:\n    hvd.broadcast(1, 7)  # MINE\n", "root rank 7 does not exist among 2 ranks"),
        (
            "if hvd.rank() == 1:\n    model.fit(train_iter, test_iter, steps_per_epoch=1.5)  # MINE\n",
            "divide with // instead of /",
        ),
        ("def mine():\n    1 / 0  # MINE\n\n\nif hvd.rank() == 1:\n    mine()\n", "ZeroDivisionError: division by zero"),
    ];
    for (lines, wanted) in cases {
        let (output, line) = failing(fit, &format!("{lines}{fit}"));
        let text = mpi::text(&output);
        assert!(!output.status.success(), "{text}");
        let fatal = text.lines().filter_map(|line| EventLine::parse_line(line.strip_prefix(MARKER)?));
        let fatal: Vec<_> = fatal.filter(|line| matches!(line.event, Event::Fatal { .. })).collect();
        let [EventLine { process: 1, event: Event::Fatal { cause, .. }, .. }] = &fatal[..] else { panic!("{text}") };
        assert!(cause.contains(&format!("fashion_mnist.py:{line}: ")) && cause.contains(wanted), "{cause}");
        // One line says where it is. What led there is worth more lines where there is more of it.
        let has_way = lines.starts_with("def ");
        assert_eq!(text.contains("Traceback (most recent call last)") && text.contains("# MINE"), has_way, "{text}");
        assert!(!text.contains("models.py"), "lines of the package tell a learner nothing: {text}");
    }
    // A rank that leaves early says so, and the others do not wait for it.
    let (output, _) = failing(fit, &format!("import sys\nif hvd.rank() == 1:\n    sys.exit()\n{fit}"));
    let text = mpi::text(&output);
    assert!(
        !output.status.success() && text.contains("rank 0 came to model.fit at") && text.contains("rank 1 came to sys.exit at"),
        "{text}"
    );
}
