//! Images with their labels, in memory, and what those of Fashion-MNIST are like.

pub use crate::domain::images::FASHION_MNIST;
use crate::domain::images::InputShape;

/// Name of each label of Fashion-MNIST, in label order.
pub const CLASS_NAMES: [&str; 10] =
    ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"];

/// Which part of the data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SplitKind {
    Train,
    Test,
}

impl SplitKind {
    /// Images in this part of Fashion-MNIST, and of the generated images.
    pub const fn official_len(self) -> usize {
        match self {
            SplitKind::Train => 60_000,
            SplitKind::Test => 10_000,
        }
    }

    /// Names of the image and the label file, without `.gz`.
    pub(super) fn file_names(self) -> (&'static str, &'static str) {
        match self {
            SplitKind::Train => ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
            SplitKind::Test => ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
        }
    }
}

/// Images and their labels, and what they are like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// One image after another, each row by row, the channels of a pixel side by side.
    pub images: Vec<u8>,
    /// From 0 to `classes - 1`.
    pub labels: Vec<u8>,
    /// As the header of the files says.
    pub shape: InputShape,
    pub classes: usize,
    /// Whether an image means the same in a mirror: a shoe does, a digit does not.
    pub may_mirror: bool,
}

impl Split {
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// # Shapes
    /// [height, width, channels] bytes, row by row.
    pub fn image(&self, index: usize) -> &[u8] {
        let bytes = self.shape.numbers();
        &self.images[index * bytes..][..bytes]
    }
}
