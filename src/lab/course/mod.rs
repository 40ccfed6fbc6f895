//! The course: lessons, and what is known of a learner's way through them.
//!
//! It reads lessons and the evidence that runs left, and keeps one small file.

mod catalog;
mod check;
mod class;
mod contrast;
mod evidence;
mod fold;
mod judge;
mod lesson;
mod level;
mod page;
mod practice;
mod progress;
mod progress_file;
mod proofread;
mod question;
mod report;
mod results;
mod series;
mod share;
mod step;
mod written;

pub use crate::domain::history::{Attempt, Process, Test};
pub use catalog::{Catalog, CatalogError, LESSONS_VARIABLE};
pub use check::{
    Claim, Finding, Outcome, Verdict, check, check_all, check_changes, check_collectives, check_photos, concluded, failed,
    numbered, unclear,
};
pub use class::{Class, Failing, STUCK_S, Standing, State};
pub use contrast::{Contrast, Fact, contrast};
pub use evidence::Evidence;
pub use fold::{fold, has_folds};
pub use judge::{Judged, conclude, credit, judge};
pub use lesson::{GuidedRun, Lesson, LessonError, Link};
pub use level::{Level, tries_in_words};
pub use page::{Piece, Role, Row, lay_out};
pub use practice::{CheckedRun, Practised};
pub use progress::{Answered, Done, Progress, Proven, Tried};
pub use progress_file::{ProgressError, ProgressFile, Reading};
pub use proofread::{Proof, SECTIONS, problems, proofread};
pub use question::{Answer, Judgement, Prediction, Question, QuestionId};
pub use report::{Bar, Chart, InspectedRow, MachineRow, PredictionRow, Private, Report, RunRow, Sources, StepRow};
pub use results::{Results, SideBySide, Without, results, side_by_side};
pub use series::{Next, Purpose, Series, SeriesFile, Turn};
pub use share::{CLASS_VARIABLE, LONGEST_NAME, Share, file_name, login_name};
