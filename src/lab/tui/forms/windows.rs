//! The window of the forms.

use crate::domain::job::RunSpec;
use crate::tui::window::windows;

windows! {
    /// What the next benchmark, or the next training on photos, does.
    Form {
        spec: Box<RunSpec>,
        /// The row under the cursor.
        chosen: usize,
    }
}
