//! The five changes of nvcnn's training on photos, in words.

use crate::domain::event::BroadcastReport;
use crate::domain::images::InputShape;
use crate::domain::pipeline::TransformsReport;
use crate::domain::units;

/// How the program's own error begins.
pub const UNKNOWN_MODEL: &str = "Invalid model type";

/// What a rank has not reported.
pub const TWO_STEPS: &str = "two steps or more";
pub const PIPELINE: &str = "what its image pipeline did";
pub const BROADCASTS: &str = "its broadcasts";
pub const WEIGHTS_AT_START: &str = "the weights that it begins with";
pub const WEIGHTS_AT_END: &str = "the weights that it ends with";

pub const ONE_RANK: &str = "one rank has nobody to share its weights with: run with np 2 or more";
pub const NOT_COMPARED: &str = "no rank has compared the two transforms";
pub const NO_PHOTO: &str = "no photo was prepared";
pub const NOT_OF_ROOT: &str = "all ranks began from the same weights, but not from rank 0's: broadcast from the root";
pub const NO_BROADCAST: &str = "all ranks began from the same weights, and no broadcast was reported";
pub const NONE_INSIDE: &str = "no broadcast was made inside the loop: call sync() in every second step, to see what it costs";
pub const ALL_INSIDE: &str =
    "a broadcast was made in every step: leave it out of every second one, to have steps to compare with";

pub fn unknown_model(cause: &str) -> String {
    format!("the program ended with `{cause}`: write the model down, and add its name to those that it knows")
}

pub fn other_tensors(tensors: usize, wanted: usize) -> String {
    format!(
        "the model has {tensors} tensors of weights and biases, and AlexNet's 8 layers have {wanted}: 5 convolutions and 3 dense layers, \
         of which the last one is added for you"
    )
}

fn count(number: u64) -> String {
    units::count(usize::try_from(number).unwrap_or(usize::MAX))
}

pub fn other_parameters(parameters: usize, wanted: u64, input: InputShape) -> String {
    let (parameters, wanted, InputShape { height, width, .. }) = (units::count(parameters), count(wanted), input);
    format!(
        "the model learns {parameters} numbers, and AlexNet learns {wanted} from images of {height}x{width} pixels: compare each layer's \
         outputs, window and stride"
    )
}

pub fn other_rate(rate: f64, wanted: f64) -> String {
    format!("it trains AlexNet with a rate of {rate}, and nvcnn's is {wanted}")
}

pub fn does_not_learn(rank: usize, first: f64, last: f64) -> String {
    format!("the loss of rank {rank} was {first:.2} at first and {last:.2} in the end: it does not learn")
}

/// Its tensors, its numbers, and the losses of rank 0.
pub fn trained(np: usize, tensors: usize, parameters: u64, losses: &[f64]) -> String {
    let (first, last) = (losses.first().copied().unwrap_or(f64::NAN), losses.last().copied().unwrap_or(f64::NAN));
    let (parameters, steps) = (count(parameters), units::counted(losses.len(), "step"));
    format!(
        "all {np} ranks trained AlexNet: {tensors} tensors, {parameters} numbers, and a loss of {first:.2} that fell to {last:.2} in \
         {steps}"
    )
}

pub fn fast_transform(rank: usize, fast: u64, images: u64) -> String {
    format!("rank {rank} decoded {fast} of {images} photos with the fast transform: ask the decoder for the accurate one")
}

pub fn accurate(images: u64, both: &TransformsReport) -> String {
    format!(
        "all {images} photos were decoded with the accurate transform. On {} of them it takes {:.0} us an image and the fast one \
         {:.0} us ({:+.0} %), and {:.1} % of the values differ, by at most {} of 255",
        both.images,
        both.accurate_us,
        both.fast_us,
        100.0 * (both.accurate_us / both.fast_us.max(1e-9) - 1.0),
        100.0 * both.differing,
        both.largest,
    )
}

pub fn none_mirrored(images: u64) -> String {
    format!("none of {images} photos was mirrored: give each a chance of a half")
}

pub fn all_mirrored(images: u64) -> String {
    format!("all {images} photos were mirrored, so the model still sees one side only: a half")
}

pub fn mirrored(mirrored: u64, images: u64) -> String {
    let part = 100.0 * mirrored as f64 / images.max(1) as f64;
    format!("{mirrored} of {images} photos were mirrored ({part:.0} %)")
}

pub fn not_half(mirrored: u64, images: u64) -> String {
    format!("{}: half of them should be", self::mirrored(mirrored, images))
}

pub fn began_late(rank: usize) -> String {
    format!(
        "rank {rank} had weights of its own when the loop began, and took rank 0's later: a step was taken from different weights, so \
         call sync() before the loop"
    )
}

pub fn other_weights(rank: usize) -> String {
    format!("rank {rank} trained from other weights than rank 0, and kept them: call sync() on all ranks before the loop")
}

pub fn too_often(times: usize) -> String {
    format!("sync() was called {times} times before the first step was done: once is enough")
}

pub fn ended_apart(rank: usize) -> String {
    format!("rank {rank} ended with other weights than rank 0, after an equal start")
}

pub fn one_broadcast(report: &BroadcastReport, steps: usize) -> String {
    format!(
        "one broadcast of {} before the first step gave rank 1 the weights of rank 0 (it changed {:.0} % of them), and after {} all \
         ranks were still equal",
        units::bytes(report.bytes),
        100.0 * report.changed,
        units::counted(steps, "step"),
    )
}

pub fn changed_inside(steps: usize, rank: usize, report: &BroadcastReport) -> String {
    format!(
        "the broadcast after step {steps} changed {:.0} % of the weights of rank {rank}: the ranks were not equal, so begin with one \
         before the loop",
        100.0 * report.changed
    )
}

pub fn few_inside(steps: usize) -> String {
    format!("only {} had a broadcast: call sync() in every second step", units::counted(steps, "step"))
}

/// What a broadcast took in the mean of so many steps, and a step with one and without, all in seconds.
pub fn cost_inside(bytes: u64, steps: usize, mean_s: f64, (with_s, without_s): (f64, f64)) -> String {
    let (bytes, steps) = (units::bytes(bytes), units::counted(steps, "step"));
    format!(
        "a broadcast of {bytes} in {steps} took {mean_s:.3} s in the mean. A step took {with_s:.3} s with it and {without_s:.3} s without \
         it (medians), and not one of the weights that were looked at changed: that is why it stands before the loop"
    )
}
