//! Allreduces on the screen: the picture follows from the messages, whoever sent them, and the keys move through them.

mod form;
mod pictures;
mod played;
pub mod samples;
