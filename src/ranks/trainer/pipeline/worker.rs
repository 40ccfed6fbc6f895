//! One image from its file to its place in a batch: read, decode, crop and resize, distort.
//!
//! Never depends on the thread that does it: the same image at the same place of an epoch comes out the same.

use std::time::Instant;

use rand_chacha::ChaCha8Rng;
use rand_core::Rng;

use super::clocks::Clocks;
use super::colour::{self, Distortion, Order};
use super::crop::{self, Cropping};
use super::decode::{Dct, Decoder, Decoding, Window};
use super::resize::{Corners, Resizer};
use crate::dataset::images::{BadImage, ImageSource};
use crate::dataset::jpeg;
use crate::domain::pipeline::Stage;
use crate::trainer::random::{Purpose, stream};

/// Numbers that one image may draw: a hundred attempts at a crop take half of them.
const DRAWS: u128 = 1024;

/// What is done to the images.
#[derive(Clone, Copy, Debug)]
pub struct Operations {
    /// Width and height that the model wants.
    pub side: usize,
    pub decoding: Decoding,
    /// Decode only the part that is shown, where the pixels are the same.
    pub partial: bool,
    /// Decode at a half, a quarter or an eighth where that is still as large as the model wants. Quicker, and other pixels.
    pub scaled: bool,
    pub corners: Corners,
    pub view: View,
}

/// What part of an image the model sees.
#[derive(Clone, Copy, Debug)]
pub enum View {
    /// A random part, mirrored by chance, with other colours if asked.
    /// `flip` is the chance to be mirrored: nvcnn's is a half, and 0 is never.
    Train { cropping: Cropping, flip: f64, colour: bool },
    /// The middle, with this part of each side.
    Validation { part: f64 },
}

impl Default for Operations {
    /// nvcnn's, for training, at 224 pixels.
    fn default() -> Operations {
        Operations {
            side: 224,
            decoding: Decoding::default(),
            partial: true,
            scaled: false,
            corners: Corners::default(),
            view: View::Train { cropping: Cropping::default(), flip: 0.5, colour: false },
        }
    }
}

/// nvcnn's part of the middle.
pub const VALIDATION_PART: f64 = 224.0 / 256.0;

/// What one image's random numbers come from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draw {
    pub(super) seed: u64,
    pub(super) process: usize,
    pub(super) epoch: usize,
    /// Where the image stands in this rank's epoch.
    pub(super) place: usize,
}

impl Draw {
    fn numbers(self) -> ChaCha8Rng {
        let mut numbers = stream(self.seed, self.process, self.epoch, Purpose::Augmentation);
        numbers.set_word_pos(self.place as u128 * DRAWS);
        numbers
    }
}

/// One thread's tools. Their memory is used again for every image.
pub(super) struct Worker {
    operations: Operations,
    decoder: Decoder,
    resizer: Resizer,
    file: Vec<u8>,
}

impl Worker {
    /// # Errors
    /// Nothing here decodes.
    pub(super) fn open(operations: Operations) -> Result<Worker, String> {
        let resizer = Resizer::new(operations.side, operations.corners);
        Ok(Worker { operations, decoder: Decoder::open(operations.decoding)?, resizer, file: Vec::new() })
    }

    /// Prepares one image, and says its label.
    ///
    /// # Errors
    /// What is wrong with this image.
    pub(super) fn prepare(
        &mut self,
        source: &dyn ImageSource,
        index: usize,
        draw: Draw,
        planes: &mut [f32],
        clocks: &Clocks,
    ) -> Result<usize, BadImage> {
        let bad = |reason| BadImage { place: source.place(index), reason };
        let mut since = Instant::now();
        let photo = source.read(index, &mut self.file)?;
        clocks.spent(Stage::Read, &mut since);

        let bytes = &self.file[photo.jpeg];
        let head = jpeg::head(bytes).map_err(bad)?;
        let mut numbers = draw.numbers();
        let (window, mirrored, distortion) = match self.operations.view {
            View::Validation { part } => (crop::central(head.width, head.height, part), false, None),
            View::Train { cropping, flip, colour } => {
                let window = crop::sample(&cropping, head.width, head.height, &photo.boxes, &mut numbers);
                let mirrored = flip > 0.0 && chance(&mut numbers) < flip;
                // nvcnn's threads take turns at the images, and the odd ones have the other order.
                let order = if draw.place.is_multiple_of(2) { Order::ContrastLast } else { Order::ContrastFirst };
                (window, mirrored, colour.then(|| Distortion::draw(&mut numbers, order)))
            }
        };
        let times = if self.operations.scaled { smaller(window, self.operations.side as u32) } else { 1 };
        let Operations { partial, .. } = self.operations;
        let pixels = self.decoder.decode(bytes, if partial { window } else { Window::whole(head) }, times).map_err(bad)?;
        let pixels = if partial { pixels } else { pixels.part(window.smaller(times)) };
        clocks.spent(Stage::Decode, &mut since);

        // Colours are distorted where white is 1; the model sees -1 to 1, as in nvcnn.
        let range = if distortion.is_some() { [1.0 / 255.0, 0.0] } else { [2.0 / 255.0, -1.0] };
        self.resizer.resize(&pixels, mirrored, range, planes);
        clocks.spent(Stage::CropResize, &mut since);

        if let Some(distortion) = distortion {
            colour::distort(planes, distortion);
        }
        clocks.spent(Stage::Colour, &mut since);
        clocks.image(mirrored, self.operations.decoding.dct == Dct::Accurate);
        Ok(photo.label)
    }
}

/// A number from 0 to 1. Below a half it is by the last bit of what is drawn.
fn chance(numbers: &mut ChaCha8Rng) -> f64 {
    1.0 - f64::from(numbers.next_u32().rotate_right(1)) / f64::from(u32::MAX)
}

/// How many times smaller an image can be decoded so that the part is still as large as is wanted.
fn smaller(window: Window, side: u32) -> u32 {
    let least = window.width.min(window.height);
    [8, 4, 2].into_iter().find(|times| least / times >= side).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_chances_are_below_a_half() {
        let mut numbers = stream(1, 0, 0, Purpose::Augmentation);
        let below = |limit: f64, numbers: &mut ChaCha8Rng| (0..10_000).filter(|_| chance(numbers) < limit).count();
        assert!((4_800..5_200).contains(&below(0.5, &mut numbers)));
        assert!((900..1_100).contains(&below(0.1, &mut numbers)));
        assert_eq!((below(0.0, &mut numbers), below(1.0, &mut numbers)), (0, 10_000));
    }

    #[test]
    fn each_place_of_an_epoch_has_numbers_of_its_own() {
        let draw = |epoch, place| Draw { seed: 1, process: 0, epoch, place }.numbers().next_u64();
        let all = [draw(0, 0), draw(0, 1), draw(0, 2), draw(1, 0), draw(1, 1)];
        assert_eq!(all, [draw(0, 0), draw(0, 1), draw(0, 2), draw(1, 0), draw(1, 1)]);
        assert!((0..5).all(|at| !all[..at].contains(&all[at])), "{all:?}");
    }

    #[test]
    fn an_image_is_never_decoded_smaller_than_it_is_wanted() {
        let of = |side| smaller(Window { x: 0, y: 0, width: 500, height: 375 }, side);
        assert_eq!([224, 188, 187, 93, 46, 20].map(of), [1, 1, 2, 4, 8, 8]);
    }
}
