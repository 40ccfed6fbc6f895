//! What several features read: the runs, the one on the screen, the settings of the next one, and how far the learner has come.

pub mod course;
pub mod curves;
pub mod gain;
pub mod phases;
pub mod pins;
pub mod ranks;
pub mod run_form;
pub mod scaling_chart;
pub mod state;
pub mod watched;

pub use course::Mark;
pub use curves::{Along, Curve, Curves};
pub use state::{Hardware, Playing, Shared, has_steps, is_of_collectives, is_of_own, kind_of, repeatable};
pub use watched::Watched;
