//! What the window of the collectives shows of a run.

/// What is shown of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Show {
    #[default]
    Messages,
    Time,
    Bandwidth,
}

impl Show {
    /// In the order of the arrow keys.
    pub const ALL: [Show; 3] = [Show::Messages, Show::Time, Show::Bandwidth];

    pub fn name(self) -> &'static str {
        match self {
            Show::Messages => "messages",
            Show::Time => "time by size",
            Show::Bandwidth => "bus bandwidth by size",
        }
    }
}
