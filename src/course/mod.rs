//! The course: lessons, and what is known of a learner's way through them.
//!
//! Never draws, and never starts a run: it reads lessons and the evidence that runs left, and keeps one small file.

mod catalog;
mod check;
mod evidence;
mod judge;
mod lesson;
mod page;
mod progress;
mod proofread;
mod question;

pub use catalog::{Catalog, CatalogError, LESSONS_VARIABLE};
pub use check::{Outcome, Verdict, check, check_all};
pub use evidence::{Attempt, Evidence, Process};
pub use judge::{Judged, judge};
pub use lesson::{GuidedRun, Lesson, LessonError, Link};
pub use page::{Piece, Role, Row, lay_out};
pub use progress::{Answered, Done, Progress, ProgressError, ProgressFile, Reading};
pub use proofread::{Proof, SECTIONS, problems, proofread};
pub use question::{Answer, Judgement, Prediction, Question};
