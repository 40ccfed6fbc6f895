//! The other programs in Python train as those in Rust do, bit for bit: the MNIST program without a change and with all four, on one
//! rank and on two under mpirun, and the training on photos with all five on two.
//!
//! Never by the lab: the programs are started as anybody may start them.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::at;
use super::python_training::{LIMIT, Said, python, said};
use crate::support::images;
use crate::support::mpi;

/// The exercise and its solution, in Rust as examples and in Python.
const PROGRAMS: [(&str, &str); 2] = [("mnist", "lessons/mnist.py"), ("mnist_solution", "solutions/mnist.py")];
const PHOTOS: (&str, &str) = ("nvcnn_solution", "solutions/nvcnn.py");
fn common_flags() -> [&'static str; 11] {
    [
        "--events",
        "--data-dir",
        images::few(),
        "--train-images",
        "200",
        "--validation-images",
        "50",
        "--batch-size",
        "64",
        "--epochs",
        "3",
    ]
}

/// The programs in Rust, built as this test is.
fn built() -> PathBuf {
    let beside = Path::new(env!("CARGO_BIN_EXE_hvd-train")).parent().unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--locked", "--quiet", "--target-dir"]);
    cargo.arg(beside.parent().unwrap()).current_dir(env!("HVD_LAB_CHECKOUT"));
    if beside.ends_with("release") {
        cargo.arg("--release");
    }
    cargo.args(PROGRAMS.iter().chain([&PHOTOS]).flat_map(|(name, _)| ["--example", name]));
    assert!(cargo.status().unwrap().success(), "{cargo:?}");
    beside.join("examples")
}

#[test]
fn the_mnist_program_in_python_trains_as_the_one_in_rust_bit_for_bit() {
    let Some(mpirun) = mpi::mpirun() else { return };
    let examples = built();
    for np in [1, 2] {
        let mut before: Option<Vec<Vec<Said>>> = None;
        for (name, program) in PROGRAMS {
            let is_whole = name.ends_with("solution");
            let logs = [(); 2].map(|()| tempfile::tempdir().unwrap());
            let flags = |log: &tempfile::TempDir| {
                let folder = log.path().display().to_string();
                let own = ["--log-dir".to_owned(), folder].to_vec();
                // Without change 4 both ranks write one file.
                let keeps = if np == 1 || is_whole { vec!["--use-checkpointing".to_owned()] } else { Vec::new() };
                [own, keeps].concat()
            };
            let mut rust = mpi::command(&mpirun, np);
            rust.arg(examples.join(name)).args(common_flags()).args(flags(&logs[0]));
            let rust = said(&mpi::run_limited(rust, LIMIT), np);
            let mut own = python(&mpirun, np, &at(program));
            own.args(common_flags()).args(flags(&logs[1]));
            let mut own = said(&mpi::run_limited(own, LIMIT), np);
            // The library looks at a file that one rank wrote alone, and the Rust program does not.
            own.iter_mut().for_each(|said| said.retain(|said| !said.is_look()));
            assert_eq!(own, rust, "{program} on {np} ranks");
            // 4 batches of 200 images. With all changes two ranks train 2 of the 3 epochs.
            let steps = own[0].iter().filter(|said| matches!(said, Said::Step(..))).count();
            assert_eq!(steps, if is_whole && np == 2 { 8 } else { 12 }, "{program} on {np} ranks");
            if np == 2 {
                assert_ne!(before.as_ref(), Some(&own), "the changes change nothing");
            }
            before = Some(own);
        }
    }
}

#[test]
fn the_training_on_photos_in_python_trains_as_the_one_in_rust_bit_for_bit() {
    let Some(mpirun) = mpi::mpirun() else { return };
    let (name, program) = PHOTOS;
    let flags = "--events -m alexnet --image-size 67 -b 8 --num-batches 6 --threads 1 --no-cuda";
    // An epoch without validation is equal to no other one: its numbers are compared step by step.
    let compared = |output| {
        let mut said = said(&output, 2);
        said.iter_mut().for_each(|said| said.retain(|said| !matches!(said, Said::Epoch { .. })));
        said
    };
    let mut rust = mpi::command(&mpirun, 2);
    rust.arg(built().join(name)).args(flags.split_whitespace());
    let rust = compared(mpi::run_limited(rust, LIMIT));
    let mut own = python(&mpirun, 2, &at(program));
    own.args(flags.split_whitespace());
    let own = compared(mpi::run_limited(own, LIMIT));
    assert_eq!(own, rust);
    assert_eq!(own[1].iter().filter(|said| matches!(said, Said::Step(..))).count(), 6);
}
