//! The windows of the lessons.

use crate::tui::window::windows;

windows! {
    /// A lesson that is read, and its question answered.
    Reading {
        number: usize,
        scroll: usize,
        /// Hints that were asked for.
        hints: usize,
        /// A number that is being typed.
        typed: String,
    }
}
