//! How the user likes the screen: borders, mouse, projector, tour, and what happens when a run ends.
//!
//! Never about a run: nothing here changes what is trained or measured.

use super::layout::{Shares, Split};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Habits {
    /// Where borders were dragged to.
    pub shares: Shares,
    /// The border under the pressed button.
    pub dragged: Option<Split>,
    /// The terminal tells the mouse to the lab; released, it selects text as ever.
    pub mouse: bool,
}
