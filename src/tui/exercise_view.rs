//! What the screen knows of the learner's own trainer.
//!
//! Never holds a process or a file: `runner` builds and reads.

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExerciseView {
    /// Diffs in one column, even where there is room for two.
    pub one_column: bool,
}
