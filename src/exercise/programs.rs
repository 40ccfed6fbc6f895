//! The exercises and their solutions, as this program carries them inside.
//!
//! Those of the trainer are never edited: `tests/solutions.rs` derives them.

use crate::domain::step::Step;

/// No step done, a `TODO: Step N` at each place.
pub const EXERCISE: &str = include_str!("../../lessons/fashion_mnist.rs");

const SOLUTIONS: [&str; Step::ALL.len()] = [
    include_str!("../../solutions/fashion_mnist_after_step_01.rs"),
    include_str!("../../solutions/fashion_mnist_after_step_02.rs"),
    include_str!("../../solutions/fashion_mnist_after_step_03.rs"),
    include_str!("../../solutions/fashion_mnist_after_step_04.rs"),
    include_str!("../../solutions/fashion_mnist_after_step_05.rs"),
    include_str!("../../solutions/fashion_mnist_after_step_06.rs"),
    include_str!("../../solutions/fashion_mnist_after_step_07.rs"),
    include_str!("../../solutions/fashion_mnist_after_step_08.rs"),
    include_str!("../../solutions/fashion_mnist_after_step_09.rs"),
    include_str!("../../solutions/fashion_mnist_after_step_10.rs"),
];

/// The ring allreduce with its two places open, and done.
pub const RING: &str = include_str!("../../lessons/ring.py");
pub const RING_SOLUTION: &str = include_str!("../../solutions/ring.py");

/// The program with steps 1 to `step` done.
pub fn solution(step: Step) -> &'static str {
    SOLUTIONS[step.number() - 1]
}

/// The program that a step begins from: the solution before it, or the exercise.
pub fn before(step: Step) -> &'static str {
    step.number().checked_sub(2).map_or(EXERCISE, |before| SOLUTIONS[before])
}
