//! LeNet-5 as nvcnn and TensorFlow's MNIST tutorial have it: ReLU, max-pooling, and more filters than in 1998.

use super::builder::{Builder, Definition};
use super::network::{Value, side};
use crate::domain::images::FASHION_MNIST;

pub const LENET: Definition = Definition { name: "lenet", input: FASHION_MNIST, classes: 10, features: lenet };

fn lenet(net: &mut Builder, images: Value) -> Value {
    let x = net.conv(images, 32, side(5));
    let x = net.max_pool(x, side(2).stride(2).valid());
    let x = net.conv(x, 64, side(5));
    let x = net.max_pool(x, side(2).stride(2).valid());
    let x = net.flatten(x);
    net.fully_connected(x, 512)
}
