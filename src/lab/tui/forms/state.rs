//! What the forms remember: how each was left.

use super::windows::Window;
use crate::domain::job::RunSpec;
use crate::tui::window::opens;

#[derive(Clone, Debug, Default)]
pub struct Forms {
    pub benchmark: Option<RunSpec>,
    pub photos: Option<RunSpec>,
    pub window: Option<Window>,
}

opens!(Forms, Window);
