//! The course: lessons that parse and are proofread, evidence that is judged, progress that is kept.
//!
//! Never trusts a check that cannot fail: each is put before evidence that should fail it.

#![allow(clippy::unwrap_used)]

#[path = "course/changes.rs"]
mod changes;
#[path = "course/checks.rs"]
mod checks;
#[path = "course/class.rs"]
mod class;
#[path = "course/contrast.rs"]
mod contrast;
#[path = "course/exercise.rs"]
mod exercise;
#[path = "support/fashion_mnist.rs"]
mod fashion_mnist;
#[path = "course/good.rs"]
mod good;
// Shared with tests/launch.rs, which uses the other half of it.
#[allow(dead_code)]
#[path = "launch/lab.rs"]
mod lab;
#[path = "course/lessons.rs"]
mod lessons;
#[path = "course/practice.rs"]
mod practice;
#[path = "course/progress.rs"]
mod progress;
#[path = "course/real.rs"]
mod real;
#[path = "course/report.rs"]
mod report;
#[path = "course/ring.rs"]
mod ring;
#[path = "course/seen.rs"]
mod seen;
#[path = "course/series.rs"]
mod series;
#[path = "support/trainer.rs"]
mod trainer;
#[path = "course/verbs.rs"]
mod verbs;

/// The first question of a lesson.
fn asked(lesson: usize) -> hvd_lab::course::QuestionId {
    hvd_lab::course::QuestionId { lesson, question: 0 }
}
