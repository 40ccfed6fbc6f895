//! A network as data: layers in the order of the forward pass, each with its name and the shape of what it gives.
//!
//! Never holds a number that is learned: the trainer makes the tensors, and runs the layers.

use crate::domain::images::InputShape;

/// What a layer gives for one image: its place among the layers, and its shape. Features without height and width have 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    pub index: usize,
    pub shape: InputShape,
}

/// Layers in the order of the forward pass. The first is the images, the last the scores.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    pub nodes: Vec<Node>,
}

/// One layer: what it does, to what, and what comes out.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub layer: Layer,
    /// Places of the layers whose results it takes.
    pub inputs: Vec<usize>,
    pub shape: InputShape,
}

/// What a layer does. Those that learn have a name, under which the trainer keeps their tensors.
#[derive(Clone, Debug, PartialEq)]
pub enum Layer {
    Images,
    Conv {
        name: String,
        /// Channels that come in.
        from: usize,
        window: Window,
        bias: bool,
    },
    /// Normalises each channel, with the statistics of the batch in training and of the past otherwise.
    BatchNorm {
        name: String,
    },
    Relu,
    MaxPool(Window),
    /// The mean over a window; the zeros of the padding count.
    AveragePool(Window),
    /// The mean of each channel over height and width.
    SpatialAverage,
    /// Height, width and channels in one line, channel by channel.
    Flatten,
    FullyConnected {
        name: String,
        from: usize,
    },
    /// The sum of two results of the same shape.
    Add,
    /// The channels of all inputs, one after the other.
    Concatenate,
    /// In training sets each number to 0 with this probability, and divides the others by the rest of it.
    Dropout {
        rate: f64,
    },
}

/// What a convolution or a pooling sees at a time, and how it moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub height: usize,
    pub width: usize,
    pub stride: usize,
    /// Zeros around the image so that a stride of 1 keeps its size; without them every window lies inside.
    pub same: bool,
}

/// A square window that moves by 1 and keeps the size.
pub const fn side(side: usize) -> Window {
    sides(side, side)
}

/// A window of this height and width that moves by 1 and keeps the size.
pub const fn sides(height: usize, width: usize) -> Window {
    Window { height, width, stride: 1, same: true }
}

impl Window {
    /// It moves by this many pixels.
    pub const fn stride(self, stride: usize) -> Window {
        Window { stride, ..self }
    }

    /// It stays inside the image.
    pub const fn valid(self) -> Window {
        Window { same: false, ..self }
    }

    /// Zeros above and below, and left and right.
    pub const fn padding(self) -> [usize; 2] {
        if self.same { [(self.height - 1) / 2, (self.width - 1) / 2] } else { [0, 0] }
    }

    /// Height and width of what it gives; nothing if the image is smaller than the window.
    pub fn over(self, height: usize, width: usize) -> Option<(usize, usize)> {
        let [above, left] = self.padding();
        let places = |length: usize, padding: usize, window: usize| {
            (length + 2 * padding).checked_sub(window).map(|room| room / self.stride + 1)
        };
        Some((places(height, above, self.height)?, places(width, left, self.width)?))
    }
}

impl Node {
    /// The numbers that this layer learns.
    pub fn parameters(&self) -> u64 {
        let to = self.shape.channels as u64;
        match &self.layer {
            Layer::Conv { from, window, bias, .. } => {
                to * (*from as u64) * (window.height * window.width) as u64 + if *bias { to } else { 0 }
            }
            Layer::BatchNorm { .. } => 2 * to,
            Layer::FullyConnected { from, .. } => to * (*from as u64) + to,
            _ => 0,
        }
    }
}

impl Network {
    /// The numbers that all layers learn.
    pub fn parameters(&self) -> u64 {
        self.nodes.iter().map(Node::parameters).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_move_as_they_do_in_pytorch() {
        assert_eq!(side(3).over(28, 14), Some((28, 14)));
        assert_eq!(side(7).stride(2).over(224, 224), Some((112, 112)));
        assert_eq!(side(3).stride(2).over(112, 112), Some((56, 56)));
        assert_eq!(side(11).stride(4).valid().over(227, 227), Some((55, 55)));
        assert_eq!(side(3).stride(2).valid().over(55, 55), Some((27, 27)));
        assert_eq!(sides(1, 7).over(17, 17), Some((17, 17)));
        assert_eq!(side(3).valid().over(2, 9), None);
    }
}
