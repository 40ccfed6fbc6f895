//! Forms that start a benchmark or a training on photos: their fields, which are flags, and what they start.

pub mod form;
pub mod state;
#[cfg(test)]
pub mod tests;
