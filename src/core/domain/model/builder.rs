//! Writes a network down layer by layer: `net.conv`, `net.max_pool`, `net.fully_connected` ..., each from values to a value.
//!
//! It follows the network builder of NVIDIA's nvcnn examples: a convolution or dense layer is followed by a ReLU unless it is
//! called linear, and `use_batch_norm` puts a batch norm between them.

use super::network::{Layer, Network, Node, Value, Window};
use crate::domain::images::InputShape;

/// A model by name: what it takes, what it tells apart, and its layers from the images to the features.
pub struct Definition {
    pub name: &'static str,
    pub input: InputShape,
    pub classes: usize,
    /// The dense layer that gives the scores follows by itself.
    pub features: fn(&mut Builder, Value) -> Value,
}

/// A network under construction.
pub struct Builder {
    network: Network,
    /// Convolutions get a batch norm in place of a bias.
    pub use_batch_norm: bool,
    convolutions: usize,
    dense: usize,
    /// No image was too small for a window so far.
    fits: bool,
}

impl Builder {
    /// The network from images of this shape to scores; nothing if they are too small for its layers.
    pub fn build(input: InputShape, classes: usize, features: impl FnOnce(&mut Builder, Value) -> Value) -> Option<Network> {
        let mut net =
            Builder { network: Network::default(), use_batch_norm: false, convolutions: 0, dense: 0, fits: input.numbers() > 0 };
        let images = net.push(Layer::Images, &[], input);
        let features = features(&mut net, images);
        let features = net.flatten(features);
        net.dense_layer("scores".to_owned(), features, classes);
        net.fits.then_some(net.network)
    }

    /// A convolution with so many outputs, its batch norm if there is to be one, and a ReLU.
    pub fn conv(&mut self, x: Value, outputs: usize, window: Window) -> Value {
        let x = self.conv_linear(x, outputs, window);
        self.relu(x)
    }

    /// A convolution without a ReLU.
    pub fn conv_linear(&mut self, x: Value, outputs: usize, window: Window) -> Value {
        self.convolutions += 1;
        let name = format!("conv{:02}", self.convolutions);
        let conv = Layer::Conv { name: name.clone(), from: x.shape.channels, window, bias: !self.use_batch_norm };
        let shape = self.windowed(x, outputs, window);
        let y = self.push(conv, &[x], shape);
        if self.use_batch_norm { self.push(Layer::BatchNorm { name: format!("{name}.norm") }, &[y], shape) } else { y }
    }

    /// Convolutions one behind the other.
    pub fn convs(&mut self, x: Value, layers: &[(usize, Window)]) -> Value {
        layers.iter().fold(x, |x, (outputs, window)| self.conv(x, *outputs, *window))
    }

    pub fn relu(&mut self, x: Value) -> Value {
        self.push(Layer::Relu, &[x], x.shape)
    }

    /// The largest number of each window.
    pub fn max_pool(&mut self, x: Value, window: Window) -> Value {
        let shape = self.windowed(x, x.shape.channels, window);
        self.push(Layer::MaxPool(window), &[x], shape)
    }

    /// The mean of each window.
    pub fn average_pool(&mut self, x: Value, window: Window) -> Value {
        let shape = self.windowed(x, x.shape.channels, window);
        self.push(Layer::AveragePool(window), &[x], shape)
    }

    /// The mean of each channel.
    pub fn spatial_avg(&mut self, x: Value) -> Value {
        self.push(Layer::SpatialAverage, &[x], line(x.shape.channels))
    }

    /// All numbers of an image in one line. A line stays as it is.
    pub fn flatten(&mut self, x: Value) -> Value {
        self.push(Layer::Flatten, &[x], line(x.shape.numbers()))
    }

    /// A dense layer and a ReLU.
    pub fn fully_connected(&mut self, x: Value, outputs: usize) -> Value {
        self.dense += 1;
        let name = format!("dense{:02}", self.dense);
        let x = self.dense_layer(name, x, outputs);
        self.relu(x)
    }

    /// Drops numbers in training, with this probability.
    pub fn dropout(&mut self, x: Value, rate: f64) -> Value {
        self.push(Layer::Dropout { rate }, &[x], x.shape)
    }

    /// A residual block's end: the sum of what its layers made of the input and of the shortcut, and a ReLU.
    pub fn residual(&mut self, x: Value, shortcut: Value) -> Value {
        let sum = self.push(Layer::Add, &[x, shortcut], x.shape);
        self.relu(sum)
    }

    /// An inception module's end: the channels of all its branches.
    pub fn concatenate(&mut self, branches: &[Value]) -> Value {
        let shape = branches.first().map_or(line(0), |first| first.shape);
        let channels = branches.iter().map(|branch| branch.shape.channels).sum();
        self.push(Layer::Concatenate, branches, InputShape { channels, ..shape })
    }

    fn dense_layer(&mut self, name: String, x: Value, outputs: usize) -> Value {
        self.push(Layer::FullyConnected { name, from: x.shape.channels }, &[x], line(outputs))
    }

    fn windowed(&mut self, x: Value, channels: usize, window: Window) -> InputShape {
        let size = window.over(x.shape.height, x.shape.width);
        self.fits &= size.is_some();
        let (height, width) = size.unwrap_or((1, 1));
        InputShape { channels, height, width }
    }

    fn push(&mut self, layer: Layer, inputs: &[Value], shape: InputShape) -> Value {
        self.network.nodes.push(Node { layer, inputs: inputs.iter().map(|value| value.index).collect(), shape });
        Value { index: self.network.nodes.len() - 1, shape }
    }
}

const fn line(numbers: usize) -> InputShape {
    InputShape { channels: numbers, height: 1, width: 1 }
}
