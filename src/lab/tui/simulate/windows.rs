//! The window of the simulation.

use super::fields::Machine;
use crate::simulate::Scaling;
use crate::tui::window::windows;

windows! {
    /// A machine, and what is simulated of it; or why nothing can be.
    Simulator {
        machine: Machine,
        /// The row under the cursor.
        chosen: usize,
        shows_chart: bool,
        simulated: Result<Box<Scaling>, String>,
    }
}
