//! VGG-16 (Simonyan and Zisserman 2014), configuration D, without batch norm.

use super::builder::{Builder, Definition};
use super::network::{Value, side};
use crate::domain::images::InputShape;

pub const VGG16: Definition = Definition { name: "vgg16", input: InputShape::photo(224), classes: 1000, features: vgg16 };

fn vgg16(net: &mut Builder, images: Value) -> Value {
    let groups: [&[usize]; 5] = [&[64, 64], &[128, 128], &[256, 256, 256], &[512, 512, 512], &[512, 512, 512]];
    let mut x = images;
    for group in groups {
        for filters in group {
            x = net.conv(x, *filters, side(3));
        }
        x = net.max_pool(x, side(2).stride(2).valid());
    }
    let x = net.flatten(x);
    let x = net.fully_connected(x, 4096);
    let x = net.dropout(x, 0.5);
    let x = net.fully_connected(x, 4096);
    net.dropout(x, 0.5)
}
