//! The MNIST program with which Horovod introduces itself, made distributed by four changes.

use super::super::language::Language;
use super::super::program::{Program, Solutions};
use crate::course::{Evidence, check_changes};
use crate::domain::job::{Resources, TrainingJob};
use crate::domain::model::ModelSpec;
use crate::domain::step::StepSet;
use crate::domain::training::{DataSource, TrainingSpec};
use crate::launch::default_preset;

const TITLES: [&str; 4] = [
    "Initialise, and pin a device per rank",
    "Scale the rate up and the epochs down",
    "Average the gradients",
    "Begin from the root's weights, and let it write the checkpoints",
];
/// Epochs of a single rank: the program's own number.
const EPOCHS: usize = 12;
/// Epochs of a single rank that two ranks do not share evenly: rounding down shows.
const ODD_EPOCHS: usize = 5;

pub static FOUR_CHANGES: Program = Program {
    track: "four-changes",
    title_of_all: "Horovod's MNIST program, four changes",
    lesson: Some(17),
    language: Language::Rust,
    file: "mnist.rs",
    mark: "Change",
    noun: "change",
    count: TITLES.len(),
    title: |number| number.checked_sub(1).and_then(|index| TITLES.get(index)).copied().unwrap_or_default(),
    exercise: include_str!("../../../../lessons/mnist.rs"),
    solutions: Solutions::Whole(include_str!("../../../../solutions/mnist.rs")),
    job: |_, _| {
        // Another rate than the program has by itself, so that one typed in shows.
        let workload = TrainingSpec { base_lr: 0.8, batch_size: 64, ..training(ODD_EPOCHS, 256, 128) };
        TrainingJob { resources: Resources::ranks(2), workload }.into()
    },
    check: |folder, record| Ok(check_changes(&Evidence::of(folder, record)?)),
    // Few enough for a class without GPUs.
    compared: Some(|np| TrainingJob { resources: Resources::ranks(np), workload: training(EPOCHS, 1920, 1000) }),
};

/// The same in Python, as Horovod's own program for Keras reads.
pub static FOUR_CHANGES_IN_PYTHON: Program = Program {
    language: Language::Python,
    file: "mnist.py",
    exercise: include_str!("../../../../lessons/mnist.py"),
    solutions: Solutions::Whole(include_str!("../../../../solutions/mnist.py")),
    ..FOUR_CHANGES
};

/// As the program has it, on the first so many digits. `epochs` are those of a single rank.
fn training(epochs: usize, train_images: usize, test_images: usize) -> TrainingSpec {
    TrainingSpec {
        // None of the ten: the changes are the program's own.
        steps: StepSet::NONE,
        epochs,
        batch_size: 128,
        base_lr: 1.0,
        wd: 0.0,
        warmup_epochs: 0.0,
        model: ModelSpec::MNIST_CNN,
        data: DataSource::Digits,
        train_images: Some(train_images),
        validation_images: Some(test_images),
        checkpointing: true,
        commit_every: None,
        ..default_preset(false).spec.workload
    }
}
