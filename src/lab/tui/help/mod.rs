//! All keys and commands: the help, the palette and the tour.

pub mod palette;
pub mod state;
#[cfg(test)]
pub mod tests;
pub mod tour;
pub mod windows;
