//! What the forms remember: how each was left.

use crate::domain::job::RunSpec;

#[derive(Clone, Debug, Default)]
pub struct Forms {
    pub benchmark: Option<RunSpec>,
    pub photos: Option<RunSpec>,
    /// The line of a program of the user's own.
    pub program: Option<String>,
}
