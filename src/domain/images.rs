//! What an image is to a model: its channels, height and width.

use std::fmt;

/// Shape of one image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputShape {
    pub channels: usize,
    pub height: usize,
    pub width: usize,
}

impl InputShape {
    /// Numbers of one image.
    pub const fn numbers(self) -> usize {
        self.channels * self.height * self.width
    }
}

impl fmt::Display for InputShape {
    /// `1x28x28`: channels, height, width.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}", self.channels, self.height, self.width)
    }
}
