//! The recordings inside the program: real runs of the real trainer, on two CPU cores.
//!
//! Never anything that was not recorded: there is none of a GPU yet.

/// Name and content, in the order in which they stand in the table of runs.
pub const SHIPPED: [(&str, &[u8]); 2] = [
    ("np-1-no-steps.hvdrun", include_bytes!("../../../../assets/recordings/np-1-no-steps.hvdrun")),
    ("np-2-all-steps.hvdrun", include_bytes!("../../../../assets/recordings/np-2-all-steps.hvdrun")),
];
