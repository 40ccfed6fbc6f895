//! Inception V3 (Szegedy et al. 2015), without the second head that it trains with.

use super::builder::{Builder, Definition};
use super::network::{Value, side, sides};
use crate::domain::images::InputShape;

pub const INCEPTION3: Definition =
    Definition { name: "inception3", input: InputShape::photo(299), classes: 1000, features: inception3 };

fn inception3(net: &mut Builder, images: Value) -> Value {
    net.use_batch_norm = true;
    let x = net.convs(images, &[(32, side(3).stride(2).valid()), (32, side(3).valid()), (64, side(3))]);
    let x = net.max_pool(x, side(3).stride(2).valid());
    let x = net.convs(x, &[(80, side(1)), (192, side(3).valid())]);
    let mut x = net.max_pool(x, side(3).stride(2).valid());
    for pooled in [32, 64, 64] {
        x = module_a(net, x, pooled);
    }
    x = module_b(net, x);
    for inner in [128, 160, 160, 192] {
        x = module_c(net, x, inner);
    }
    x = module_d(net, x);
    for _ in 0..2 {
        x = module_e(net, x);
    }
    let x = net.spatial_avg(x);
    net.dropout(x, 0.5)
}

fn module_a(net: &mut Builder, x: Value, pooled: usize) -> Value {
    let one = net.conv(x, 64, side(1));
    let five = net.convs(x, &[(48, side(1)), (64, side(5))]);
    let threes = net.convs(x, &[(64, side(1)), (96, side(3)), (96, side(3))]);
    let pool = pooled_conv(net, x, pooled);
    net.concatenate(&[one, five, threes, pool])
}

/// Halves height and width.
fn module_b(net: &mut Builder, x: Value) -> Value {
    let three = net.conv(x, 384, side(3).stride(2).valid());
    let threes = net.convs(x, &[(64, side(1)), (96, side(3)), (96, side(3).stride(2).valid())]);
    let pool = net.max_pool(x, side(3).stride(2).valid());
    net.concatenate(&[three, threes, pool])
}

fn module_c(net: &mut Builder, x: Value, inner: usize) -> Value {
    let (wide, tall) = (sides(1, 7), sides(7, 1));
    let one = net.conv(x, 192, side(1));
    let seven = net.convs(x, &[(inner, side(1)), (inner, wide), (192, tall)]);
    let sevens = net.convs(x, &[(inner, side(1)), (inner, tall), (inner, wide), (inner, tall), (192, wide)]);
    let pool = pooled_conv(net, x, 192);
    net.concatenate(&[one, seven, sevens, pool])
}

/// Halves height and width.
fn module_d(net: &mut Builder, x: Value) -> Value {
    let last = side(3).stride(2).valid();
    let three = net.convs(x, &[(192, side(1)), (320, last)]);
    let seven = net.convs(x, &[(192, side(1)), (192, sides(1, 7)), (192, sides(7, 1)), (192, last)]);
    let pool = net.max_pool(x, side(3).stride(2).valid());
    net.concatenate(&[three, seven, pool])
}

fn module_e(net: &mut Builder, x: Value) -> Value {
    let (wide, tall) = (sides(1, 3), sides(3, 1));
    let one = net.conv(x, 320, side(1));
    let three = net.conv(x, 384, side(1));
    let (three_wide, three_tall) = (net.conv(three, 384, wide), net.conv(three, 384, tall));
    let threes = net.convs(x, &[(448, side(1)), (384, side(3))]);
    let (threes_wide, threes_tall) = (net.conv(threes, 384, wide), net.conv(threes, 384, tall));
    let pool = pooled_conv(net, x, 192);
    net.concatenate(&[one, three_wide, three_tall, threes_wide, threes_tall, pool])
}

fn pooled_conv(net: &mut Builder, x: Value, outputs: usize) -> Value {
    let x = net.average_pool(x, side(3));
    net.conv(x, outputs, side(1))
}
