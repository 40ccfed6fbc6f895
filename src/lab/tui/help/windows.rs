//! The windows of the help.

use crate::tui::window::windows;

windows! {
    /// All keys, or those with some words.
    Keys {
        scroll: usize,
        /// Only keys with these words are shown.
        words: String,
        /// The words are being typed.
        typing: bool,
    }
    /// A command is looked for by its words.
    Palette {
        typed: String,
        chosen: usize,
    }
}
