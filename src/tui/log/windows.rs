//! The windows of the log.

use super::keys::Prompt;
use crate::tui::window::windows;

windows! {
    /// The line that a search or a filter is typed into.
    Ask {
        prompt: Prompt,
        regex: bool,
        text: String,
        /// Why the text is no pattern, if it is none.
        error: Option<String>,
    }
}
