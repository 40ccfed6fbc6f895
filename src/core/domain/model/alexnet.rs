//! AlexNet in the version for one device ("One weird trick", Krizhevsky 2014), as nvcnn has it: 64-192-384-256-256 filters.

use super::builder::{Builder, Definition};
use super::network::{Value, side};
use crate::domain::images::InputShape;

pub const ALEXNET: Definition = Definition { name: "alexnet", input: InputShape::photo(227), classes: 1000, features: alexnet };

fn alexnet(net: &mut Builder, images: Value) -> Value {
    let x = net.conv(images, 64, side(11).stride(4).valid());
    let x = net.max_pool(x, side(3).stride(2).valid());
    let x = net.conv(x, 192, side(5));
    let x = net.max_pool(x, side(3).stride(2).valid());
    let x = net.conv(x, 384, side(3));
    let x = net.conv(x, 256, side(3));
    let x = net.conv(x, 256, side(3));
    let x = net.max_pool(x, side(3).stride(2).valid());
    let x = net.flatten(x);
    let x = net.fully_connected(x, 4096);
    let x = net.dropout(x, 0.5);
    let x = net.fully_connected(x, 4096);
    net.dropout(x, 0.5)
}
