//! The panes, by name.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pane {
    Steps,
    Settings,
    Devices,
    Chart,
    Log,
    Runs,
}

impl Pane {
    /// In the order of Tab.
    pub const ALL: [Pane; 6] = [Pane::Steps, Pane::Settings, Pane::Devices, Pane::Chart, Pane::Log, Pane::Runs];

    pub fn title(self) -> &'static str {
        match self {
            Pane::Steps => "Steps",
            Pane::Settings => "Next run",
            Pane::Devices => "Devices",
            Pane::Chart => "Chart",
            Pane::Log => "Log",
            Pane::Runs => "Runs",
        }
    }

    /// One of the two that share a place on a small screen.
    pub fn shares_slot(self) -> bool {
        matches!(self, Pane::Chart | Pane::Log)
    }
}
