//! ResNets with bottlenecks, version 1 (He et al. 2015): the stride is in the first 1x1 convolution of a block.

use super::builder::{Builder, Definition};
use super::network::{Value, side};
use crate::domain::images::InputShape;

const IMAGENET: InputShape = InputShape::photo(224);

pub const RESNET50: Definition =
    Definition { name: "resnet50", input: IMAGENET, classes: 1000, features: |net, images| resnet(net, images, [3, 4, 6, 3]) };

pub const RESNET101: Definition =
    Definition { name: "resnet101", input: IMAGENET, classes: 1000, features: |net, images| resnet(net, images, [3, 4, 23, 3]) };

fn resnet(net: &mut Builder, images: Value, blocks: [usize; 4]) -> Value {
    net.use_batch_norm = true;
    let x = net.conv(images, 64, side(7).stride(2));
    let mut x = net.max_pool(x, side(3).stride(2));
    for (group, count) in blocks.into_iter().enumerate() {
        for block in 0..count {
            let stride = if group > 0 && block == 0 { 2 } else { 1 };
            x = bottleneck(net, x, 64 << group, stride);
        }
    }
    net.spatial_avg(x)
}

/// 1x1 to fewer channels, 3x3, and 1x1 to four times as many; where shapes change, the shortcut is a 1x1 convolution.
fn bottleneck(net: &mut Builder, x: Value, filters: usize, stride: usize) -> Value {
    let outputs = 4 * filters;
    let y = net.conv(x, filters, side(1).stride(stride));
    let y = net.conv(y, filters, side(3));
    let y = net.conv_linear(y, outputs, side(1));
    let shortcut = if x.shape == y.shape { x } else { net.conv_linear(x, outputs, side(1).stride(stride)) };
    net.residual(y, shortcut)
}
