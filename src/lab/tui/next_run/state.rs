//! Where the cursor is among the settings, and the window that asks about one.

use super::fields::Field;
use super::windows::Window;
use crate::tui::window::opens;

#[derive(Clone, Debug)]
pub struct NextRun {
    /// The setting under the cursor.
    pub field: Field,
    pub window: Option<Window>,
}

impl Default for NextRun {
    fn default() -> NextRun {
        NextRun { field: Field::Preset, window: None }
    }
}

opens!(NextRun, Window);
