//! The course: lessons that parse and are proofread, evidence that is judged, progress that is kept.
//!
//! Never trusts a check that cannot fail: each is put before evidence that should fail it.

mod attempts;
mod changes;
mod changes_in_python;
mod checks;
mod class;
mod contrast;
mod exercise;
mod exercise_in_python;
mod going_on;
mod good;
mod lessons;
mod output;
mod photos;
mod photos_in_python;
mod practice;
mod progress;
mod real;
mod report;
mod ring;
mod seen;
mod series;
mod shared;
mod solutions_in_python;
mod verbs;
mod watched;

/// The first question of a lesson.
fn asked(lesson: usize) -> hvd_lab_terminal::course::QuestionId {
    hvd_lab_terminal::course::QuestionId { lesson, question: 0 }
}
