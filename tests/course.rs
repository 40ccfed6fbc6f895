//! The course: lessons that parse and are proofread, evidence that is judged, progress that is kept.
//!
//! Never trusts a check that cannot fail: each is put before evidence that should fail it.

#![allow(clippy::unwrap_used)]

#[path = "course/attempts.rs"]
mod attempts;
#[path = "course/changes.rs"]
mod changes;
#[path = "course/changes_in_python.rs"]
mod changes_in_python;
#[path = "course/checks.rs"]
mod checks;
#[path = "course/class.rs"]
mod class;
#[path = "course/contrast.rs"]
mod contrast;
#[path = "course/exercise.rs"]
mod exercise;
#[path = "course/exercise_in_python.rs"]
mod exercise_in_python;
#[path = "support/fashion_mnist.rs"]
mod fashion_mnist;
#[path = "course/going_on.rs"]
mod going_on;
#[path = "course/good.rs"]
mod good;
// Shared with tests/launch.rs, which uses the other half of it.
#[allow(dead_code)]
#[path = "launch/lab.rs"]
mod lab;
#[path = "course/lessons.rs"]
mod lessons;
#[path = "course/output.rs"]
mod output;
#[path = "course/photos.rs"]
mod photos;
#[path = "course/photos_in_python.rs"]
mod photos_in_python;
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
#[path = "course/shared.rs"]
mod shared;
#[path = "course/solutions_in_python.rs"]
mod solutions_in_python;
#[path = "support/trainer.rs"]
mod trainer;
#[path = "course/verbs.rs"]
mod verbs;
#[path = "course/watched.rs"]
mod watched;

/// The first question of a lesson.
fn asked(lesson: usize) -> hvd_lab_terminal::course::QuestionId {
    hvd_lab_terminal::course::QuestionId { lesson, question: 0 }
}
