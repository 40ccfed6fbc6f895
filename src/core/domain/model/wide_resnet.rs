//! The lab's Wide ResNets, by depth and width.

use crate::domain::images::{FASHION_MNIST, InputShape};

/// A Wide ResNet: depth 6n+4, and the factor on its filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WideResNetSpec {
    pub depth: usize,
    pub width: usize,
}

impl WideResNetSpec {
    /// How the names look, with examples, for messages.
    pub(super) const FORM: &'static str =
        "wrn-DEPTH-WIDTH with a depth of 6n+4 up to 1000 and a width up to 64, such as wrn-10-1 or wrn-16-10";

    pub(super) fn parse(name: &str) -> Option<WideResNetSpec> {
        let (depth, width) = name.strip_prefix("wrn-")?.split_once('-')?;
        let (depth, width): (usize, usize) = (depth.parse().ok()?, width.parse().ok()?);
        let fits = (10..=1000).contains(&depth) && (depth - 4).is_multiple_of(6) && (1..=64).contains(&width);
        fits.then_some(WideResNetSpec { depth, width })
    }

    /// The images that it is made for.
    pub fn input(self) -> InputShape {
        FASHION_MNIST
    }

    /// How many classes it has.
    pub fn classes(self) -> usize {
        10
    }

    /// Each convolution has a bias, and a batch norm behind it that scales and shifts; none is behind those of the shortcuts.
    pub(super) fn parameters(self, input: InputShape) -> Option<u64> {
        /// Two poolings halve height and width each.
        const LEAST: usize = 4;
        let (blocks, width) = ((self.depth as u64 - 4) / 6, self.width as u64);
        let conv = |side: u64, from: u64, to: u64| side * side * from * to + to;
        let conv_norm = |from, to| conv(3, from, to) + 2 * to;
        let residual = |from, to| conv_norm(from, to) + conv_norm(to, to) + if from == to { 0 } else { conv(1, from, to) };
        let groups = [(16, 16 * width), (16 * width, 32 * width), (32 * width, 64 * width)];
        let of_group = |(from, to)| residual(from, to) + (blocks - 1) * residual(to, to);
        let (last, classes) = (64 * width, self.classes() as u64);
        let convolutions = conv_norm(input.channels as u64, 16) + groups.map(of_group).iter().sum::<u64>();
        (input.height.min(input.width) >= LEAST).then_some(convolutions + last * classes + classes)
    }
}
