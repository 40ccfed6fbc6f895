//! The menu of faults.

use crate::runs::RunId;
use crate::tui::window::windows;

windows! {
    /// Which fault, and in which rank.
    Menu {
        run: RunId,
        np: usize,
        /// The row under the cursor.
        chosen: usize,
        rank: usize,
    }
}
