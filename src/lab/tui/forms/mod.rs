//! Forms that start a benchmark, a training on photos or a program of your own: their fields, which are flags, and what they start.

pub mod form;
pub mod program;
pub mod state;
#[cfg(test)]
pub mod tests;
