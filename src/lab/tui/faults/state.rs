//! What the screen knows of faults: only its menu. What was made is in the record of the run.

use super::windows::Window;
use crate::tui::window::opens;

#[derive(Clone, Debug, Default)]
pub struct Faults {
    pub window: Option<Window>,
}

opens!(Faults, Window);
