//! The window of the queue.

use crate::launch::SharedMachine;
use crate::tui::window::windows;

windows! {
    /// How the machine stands: outer `None` until that was read, inner where it is not shared.
    Shown {
        machine: Option<Option<Box<SharedMachine>>>,
        /// The first line that is shown.
        scroll: usize,
    }
}
