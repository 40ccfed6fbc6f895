//! The windows of runs that take turns.

use crate::tui::window::windows;

windows! {
    /// How they stand, and what they show.
    Turns {
        scroll: usize,
    }
    /// Run all steps but one, in turn?
    ConfirmAblation {}
}
