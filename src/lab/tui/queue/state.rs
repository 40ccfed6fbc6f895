//! What the screen knows of the queue: only its window. It is read anew once a second while that is open.

use super::windows::Window;
use crate::tui::window::opens;

#[derive(Clone, Debug, Default)]
pub struct Queue {
    pub window: Option<Window>,
}

opens!(Queue, Window);
