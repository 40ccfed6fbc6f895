//! Where the cursor is among the settings.

use super::fields::Field;
use crate::tui::actions::Move;

#[derive(Clone, Debug, Default)]
pub struct NextRun {
    /// The setting under the cursor.
    pub field: Field,
}

impl NextRun {
    pub fn choose(&mut self, by: Move) {
        let place = Field::ALL.iter().position(|other| *other == self.field).unwrap_or(0);
        self.field = Field::ALL[by.within(place, Field::ALL.len())];
    }
}
