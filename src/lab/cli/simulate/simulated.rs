//! What a table of a simulation is made of.

use crate::simulate::{Scaling, Simulation};

/// A simulation with what is said about it.
pub struct Simulated {
    pub simulation: Simulation,
    /// Where the rate of one GPU is from.
    pub rate_source: String,
    pub within: String,
    pub network: String,
    pub nics: usize,
    pub epoch_images: usize,
    pub scaling: Scaling,
}
