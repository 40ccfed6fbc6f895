//! What more GPUs would give: a machine is put together, and the simulation of it is drawn. All figures are simulated.

mod draw;
pub mod fields;
pub mod front;
pub mod keys;
pub mod state;
#[cfg(test)]
mod tests;
pub mod update;
pub mod windows;
