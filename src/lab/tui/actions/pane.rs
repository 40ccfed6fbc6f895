//! The panes, by name.

hvd_lab_core::named! {
    /// In the order of Tab, each with its title.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    Pane {
        Steps = "Steps",
        Settings = "Next run",
        Devices = "Devices",
        Chart = "Chart",
        Log = "Log",
        Runs = "Runs",
    }
}

impl Pane {
    pub fn title(self) -> &'static str {
        self.name()
    }

    /// One of the two that share a place on a small screen.
    pub fn shares_slot(self) -> bool {
        matches!(self, Pane::Chart | Pane::Log)
    }
}
