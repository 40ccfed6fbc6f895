//! The course: lessons that parse and are proofread, evidence that is judged, progress that is kept.
//!
//! Never trusts a check that cannot fail: each is put before evidence that should fail it.

#[path = "course/lessons.rs"]
mod lessons;
