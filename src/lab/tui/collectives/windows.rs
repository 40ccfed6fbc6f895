//! The windows of the collectives.

use super::settings::Settings;
use super::show::Show;
use crate::runs::RunId;
use crate::tui::window::windows;

windows! {
    /// Over all panes: the player, or a chart.
    Stage {
        /// Whose measurements it shows; `None` for schedules alone.
        run: Option<RunId>,
        show: Show,
    }
    /// What the next run measures.
    Form {
        settings: Settings,
        /// The row under the cursor.
        chosen: usize,
    }
}
