//! The windows of the next run.

use super::fields::Field;
use crate::runs::RunId;
use crate::tui::window::windows;

windows! {
    /// A value that is typed in its place among the settings.
    Edit {
        field: Field,
        text: String,
        /// Why the text is no value, if it is none.
        error: Option<String>,
        /// Nothing has been typed yet: the first character takes the place of the whole value.
        untouched: bool,
    }
    /// Another run is going: start one beside it?
    ConfirmStart {
        going: RunId,
    }
}
