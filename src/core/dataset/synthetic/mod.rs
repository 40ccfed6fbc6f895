//! Synthetic images: drawn garments and digits, deterministic stand-ins for Fashion-MNIST and MNIST where the real files cannot be
//! had.
//!
//! Never claims to be the real thing: labels say `generated garments` and `generated digits` wherever they are used.
//!
//! The same ten classes in the same format. Image `i` depends on the seed and `i` alone, and only on exact arithmetic (no sine, no
//! exponential): a limit gives a prefix, and every machine draws the same bits.
//!
//! Of the garments cuts, sizes, places, cloths and light vary, and what tells a shirt from a coat is a detail somewhere in the
//! picture. So a linear model stays under 80 %, while a small convolutional net learns them in a few epochs.

use super::split::{CLASS_NAMES, FASHION_MNIST, Split, SplitKind};

mod canvas;
mod cuts;
mod dice;
mod digits;

use canvas::{Canvas, Cloth, Pose};
pub use dice::Dice;

const IMAGE_BYTES: usize = FASHION_MNIST.numbers();
/// Seeds of the images that `generated` and `generated-digits` stand for: like the real files, they are the same for everybody.
const GARMENTS_SEED: u64 = 0x6761_726d_656e_7473;
const DIGITS_SEED: u64 = 0x6469_6769_7473;
/// Test images count from here, so that no image is in both parts.
const FIRST_TEST_INDEX: u64 = 1 << 32;

/// The first `count` garments of a part, drawn on all cores that this process may use.
pub fn garments(which: SplitKind, count: usize) -> Split {
    draw(which, count, true, |index, image| draw_garment(GARMENTS_SEED, index, image))
}

/// The first `count` digits of a part, as [`garments`].
pub fn digits(which: SplitKind, count: usize) -> Split {
    draw(which, count, false, |index, image| digits::draw(DIGITS_SEED, index, image))
}

/// `one` draws the image of a number, and returns its label.
fn draw(which: SplitKind, count: usize, may_mirror: bool, one: impl Fn(u64, &mut [u8]) -> u8 + Sync) -> Split {
    let first = if which == SplitKind::Train { 0 } else { FIRST_TEST_INDEX };
    let (shape, classes) = (FASHION_MNIST, CLASS_NAMES.len());
    let mut split = Split { images: vec![0; count * IMAGE_BYTES], labels: vec![0; count], shape, classes, may_mirror };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let share = count.div_ceil(threads).max(256);
    std::thread::scope(|scope| {
        let parts = split.images.chunks_mut(share * IMAGE_BYTES).zip(split.labels.chunks_mut(share));
        for (part, (images, labels)) in parts.enumerate() {
            let one = &one;
            scope.spawn(move || {
                let indices = first + (part * share) as u64..;
                for (index, (image, label)) in indices.zip(images.chunks_exact_mut(IMAGE_BYTES).zip(labels)) {
                    *label = one(index, image);
                }
            });
        }
    });
    split
}

/// Draws one image into `image` and returns its label.
fn draw_garment(seed: u64, index: u64, image: &mut [u8]) -> u8 {
    let mut dice = Dice::of_image(seed, index);
    let label = dice.below(CLASS_NAMES.len());
    let mut canvas = Canvas::new(pose(&mut dice), cloth(&mut dice));
    cuts::CUTS[label](&mut canvas, &mut dice);
    if dice.chance(0.4) {
        cuts::cover(&mut canvas, &mut dice);
    }
    let (grain, gain) = (dice.between(0.04, 0.3), dice.between(0.75, 1.1));
    canvas.develop(grain, gain, &mut dice, image);
    label as u8
}

/// Size, place and lean of a garment. Mirrored half of the time.
fn pose(dice: &mut Dice) -> Pose {
    let size = dice.between(10.5, 13.6);
    let lean = dice.between(-0.07, 0.07);
    // Cosine and sine of a small angle by half-angle tangent: exact arithmetic only.
    let (cosine, sine) = ((1.0 - lean * lean) / (1.0 + lean * lean), 2.0 * lean / (1.0 + lean * lean));
    let width = size * dice.between(0.85, 1.12) * if dice.chance(0.5) { -1.0 } else { 1.0 };
    let shear = dice.between(-0.08, 0.08);
    let room = (14.3 - size * 0.9).max(1.2);
    let (across, down) = (dice.between(-1.0, 1.0) * room, dice.between(-1.0, 1.0) * room);
    Pose { x: [width * cosine, -size * sine + size * shear, 14.0 + across], y: [width * sine, size * cosine, 14.0 + down] }
}

fn cloth(dice: &mut Dice) -> Cloth {
    // Dark, middling and light cloths alike.
    let shade = dice.between(0.3, 0.95);
    let weave = dice.below(6);
    let contrast = dice.between(0.15, 0.5);
    let pitch = dice.between(0.12, 0.4);
    let tilt = match dice.below(3) {
        0 => [1.0, 0.0],
        1 => [0.0, 1.0],
        _ => [0.7, if dice.chance(0.5) { 0.7 } else { -0.7 }],
    };
    let phase = dice.between(0.0, 2.0);
    let light = [dice.between(-0.3, 0.3), dice.between(-0.3, 0.3)];
    Cloth { shade, weave, contrast, pitch, tilt, phase, light }
}

#[cfg(test)]
mod tests;
