//! The windows of the devices.

use crate::tui::window::windows;

windows! {
    /// The line that the filter is typed into.
    Ask {
        text: String,
    }
    /// All about the device under the cursor.
    Details {
        scroll: usize,
    }
}
