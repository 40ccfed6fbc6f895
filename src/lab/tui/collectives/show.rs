//! What the window of the collectives shows of a run.

hvd_lab_core::named! {
    /// What is shown of a run, in the order of the arrow keys.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    Show {
        #[default]
        Messages = "messages",
        Time = "time by size",
        Bandwidth = "bus bandwidth by size",
    }
}
