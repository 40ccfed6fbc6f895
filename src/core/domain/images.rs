//! What an image is to a model: its channels, height and width.

use std::fmt;

/// Shape of an image of Fashion-MNIST, and of all images in its file format that are read here.
pub const FASHION_MNIST: InputShape = InputShape { channels: 1, height: 28, width: 28 };

/// Shape of one image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputShape {
    pub channels: usize,
    pub height: usize,
    pub width: usize,
}

impl InputShape {
    /// A square in colour.
    pub const fn photo(side: usize) -> InputShape {
        InputShape { channels: 3, height: side, width: side }
    }

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
