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
        /// How many seconds all of it takes, as far as that can be told.
        takes_s: Option<f64>,
    }
}
