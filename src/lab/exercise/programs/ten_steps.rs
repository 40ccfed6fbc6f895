//! The trainer, from serial to distributed in ten steps, in Rust and in Python.
//!
//! The programs in Rust are never edited: `tests/solutions.rs` derives them. In Python, the exercise and the last solution are
//! the two that are edited.

use super::super::language::Language;
use super::super::program::{self, Program, Solutions};
use crate::course::{Evidence, check_all};
use crate::domain::job::{Resources, RunSpec, TrainingJob};
use crate::domain::model::ModelSpec;
use crate::domain::step::{Step, StepSet};
use crate::domain::training::TrainingSpec;
use crate::launch::default_preset;

pub static TEN_STEPS: Program = Program {
    track: program::TEN_STEPS,
    title_of_all: "the trainer, ten steps",
    lesson: None,
    language: Language::Rust,
    file: "fashion_mnist.rs",
    mark: "Step",
    noun: "step",
    count: Step::ALL.len(),
    title: |number| Step::from_number(number).map_or("", Step::title),
    exercise: include_str!("../../../../lessons/fashion_mnist.rs"),
    solutions: Solutions::Each(&[
        include_str!("../../../../solutions/fashion_mnist_after_step_01.rs"),
        include_str!("../../../../solutions/fashion_mnist_after_step_02.rs"),
        include_str!("../../../../solutions/fashion_mnist_after_step_03.rs"),
        include_str!("../../../../solutions/fashion_mnist_after_step_04.rs"),
        include_str!("../../../../solutions/fashion_mnist_after_step_05.rs"),
        include_str!("../../../../solutions/fashion_mnist_after_step_06.rs"),
        include_str!("../../../../solutions/fashion_mnist_after_step_07.rs"),
        include_str!("../../../../solutions/fashion_mnist_after_step_08.rs"),
        include_str!("../../../../solutions/fashion_mnist_after_step_09.rs"),
        include_str!("../../../../solutions/fashion_mnist_after_step_10.rs"),
    ]),
    job,
    check: |folder, record| Ok(check_all(&Evidence::of(folder, record)?)),
    compared: None,
};

/// The same in Python, on the package `hvd_lab`, which speaks as Keras and Horovod do.
pub static TEN_STEPS_IN_PYTHON: Program = Program {
    language: Language::Python,
    file: "fashion_mnist.py",
    exercise: include_str!("../../../../lessons/fashion_mnist.py"),
    solutions: Solutions::Whole(include_str!("../../../../solutions/fashion_mnist_after_step_10.py")),
    ..TEN_STEPS
};

/// Two epochs on two ranks, with a checkpoint in each: enough for all ten checks, in a few seconds. No flag has the value that it has
/// where nobody gives it, so that a program that has typed in such values instead of the flags shows. Batches are so many that ranks do
/// not share them evenly, and the warmup is so long that another length is the asked one times or by nothing else.
fn job(program: &Program, text: &str) -> RunSpec {
    let done = program.done(text).into_iter().filter_map(Step::from_number);
    let workload = TrainingSpec {
        // What the learner takes for done; the checks look at what the program does.
        steps: done.fold(StepSet::NONE, StepSet::with),
        epochs: 2,
        batch_size: 30,
        base_lr: 0.012,
        momentum: 0.8,
        wd: 1e-5,
        patience: 3,
        warmup_epochs: 8.0,
        model: ModelSpec::wrn(10, 1),
        train_images: Some(390),
        validation_images: Some(100),
        checkpointing: true,
        commit_every: None,
        ..default_preset(false).spec.workload
    };
    TrainingJob { resources: Resources::ranks(2), workload }.into()
}
