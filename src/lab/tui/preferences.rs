//! How the user likes the screen: borders, mouse, projector, tour, and what happens when a run ends.
//!
//! Nothing here changes what is trained or measured.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::tui::config::Config;

/// A border that can be dragged, by what lies before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Split {
    /// The left column, with steps and settings.
    Left,
    Steps,
    /// The middle column of three.
    Middle,
    Devices,
    Chart,
    Log,
}

/// Where borders were dragged to, in thousandths of what they divide, so that they keep their place in any terminal.
pub type Shares = BTreeMap<Split, u16>;

/// What the learner has tried since the screen was opened, for the hint at what to do next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tried {
    pub compared: bool,
    pub switched: bool,
    /// A lesson.
    pub read: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dragged {
    Border(Split),
    /// The cursor of the chart.
    Cursor,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Preferences {
    pub config: Config,
    /// Where borders were dragged to.
    pub shares: Shares,
    /// The terminal reports the mouse to the lab; released, it selects text as usual.
    pub mouse: bool,
}
