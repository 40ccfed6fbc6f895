//! The windows of runs that take turns.

use crate::course::Series;
use crate::tui::window::windows;

windows! {
    /// How they stand, and what they show.
    Turns {
        scroll: usize,
    }
    /// Start these runs, one after the other?
    ConfirmSeries {
        series: Box<Series>,
    }
}
