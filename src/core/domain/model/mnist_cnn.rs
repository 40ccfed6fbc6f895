//! The two convolutions with which Keras and Horovod introduce themselves on MNIST.

use super::builder::{Builder, Definition};
use super::network::{Value, side};
use crate::domain::images::FASHION_MNIST;

pub const MNIST_CNN: Definition = Definition { name: "mnist-cnn", input: FASHION_MNIST, classes: 10, features: mnist_cnn };

fn mnist_cnn(net: &mut Builder, images: Value) -> Value {
    let x = net.conv(images, 32, side(3).valid());
    let x = net.conv(x, 64, side(3).valid());
    let x = net.max_pool(x, side(2).stride(2).valid());
    let x = net.dropout(x, 0.25);
    let x = net.flatten(x);
    let x = net.fully_connected(x, 128);
    net.dropout(x, 0.5)
}
