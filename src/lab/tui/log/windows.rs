//! The windows of the log.

use super::keys::Prompt;

use crate::runs::{Pattern, Place};
use crate::tui::window::windows;

windows! {
    /// The line that a search or a filter is typed into.
    Ask {
        prompt: Prompt,
        regex: bool,
        text: String,
        /// Why the text is no pattern, if it is none.
        error: Option<String>,
        /// What was searched for and where the view was: for Esc, and for each next letter of a search.
        before: Option<Pattern>,
        from: Place,
    }
    /// The line that a rank is asked for in.
    Find {
        text: String,
        /// Why there is no such rank, if there is none.
        error: Option<String>,
    }
}
