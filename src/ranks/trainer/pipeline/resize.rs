//! A part of an image, made as large as the model wants it: bilinear, from pixels (RGB, a byte each) to planes of numbers.
//!
//! Without antialiasing, as TensorFlow's `resize_images(BILINEAR, align_corners=False)` does it: each new pixel lies between four
//! old ones, however many there are between it and the next.

use super::decode::Pixels;
use super::wide::wide;

/// Which old pixel a new one begins at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Corners {
    /// The first at the first, as TensorFlow 1 does
    #[default]
    Legacy,
    /// The middles of both images at the same place, as TensorFlow 2 does
    HalfPixel,
}

/// Where a new pixel lies between two old ones.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Between {
    lower: u32,
    share: f32,
}

fn between(corners: Corners, old: usize, new: usize, at: usize) -> Between {
    let scale = old as f32 / new as f32;
    let place = match corners {
        Corners::Legacy => at as f32 * scale,
        Corners::HalfPixel => (at as f32 + 0.5) * scale - 0.5,
    };
    let last = old as f32 - 1.0;
    // Before the middle of the first pixel and behind that of the last there is nothing to lie between.
    let place = place.clamp(0.0, last);
    let lower = place.floor();
    Between { lower: lower as u32, share: place - lower }
}

/// Resizes images to one size; its memory is used again for every image.
pub struct Resizer {
    side: usize,
    corners: Corners,
    columns: Vec<Between>,
    /// A row between two old ones, and four numbers for each new pixel of it.
    row: Vec<f32>,
    line: Vec<[f32; 4]>,
}

impl Resizer {
    pub fn new(side: usize, corners: Corners) -> Resizer {
        Resizer { side, corners, columns: Vec::new(), row: Vec::new(), line: vec![[0.0; 4]; side] }
    }

    /// Writes red, green and blue, a plane of `side` x `side` each. Mirrored, left and right change places. Of what is between
    /// 0 and 255 comes `factor` times as much, plus `base`.
    ///
    /// # Panics
    /// If `planes` has another length.
    pub fn resize(&mut self, from: &Pixels, mirrored: bool, [factor, base]: [f32; 2], planes: &mut [f32]) {
        let side = self.side;
        assert_eq!(planes.len(), 3 * side * side);
        let column = |at| between(self.corners, from.width, side, at);
        self.columns.clear();
        self.columns.extend((0..side).map(column));
        if mirrored {
            self.columns.reverse();
        }
        // Behind the last pixel it stands once more, to be the upper one of two. Pixels are read four numbers at a time.
        let end = 3 * from.width;
        self.row.resize(end + 4, 0.0);
        let (red, rest) = planes.split_at_mut(side * side);
        let (green, blue) = rest.split_at_mut(side * side);
        let lines = red.chunks_exact_mut(side).zip(green.chunks_exact_mut(side)).zip(blue.chunks_exact_mut(side));
        for (y, ((red, green), blue)) in lines.enumerate() {
            let at = between(self.corners, from.height, side, y);
            let (upper, lower) = (at.lower as usize, (at.lower as usize + 1).min(from.height - 1));
            blend(from.line(upper), from.line(lower), at.share, factor, base, &mut self.row);
            self.row.copy_within(end - 3..end, end);
            pick(&self.row, &self.columns, &mut self.line);
            part(&self.line, red, green, blue);
        }
    }
}

wide! {
    /// A row that lies between two.
    fn blend(upper: &[u8], lower: &[u8], share: f32, factor: f32, base: f32, row: &mut [f32]) {
        for ((upper, lower), value) in upper.iter().zip(lower).zip(row) {
            let (upper, lower) = (f32::from(*upper), f32::from(*lower));
            *value = (upper + (lower - upper) * share) * factor + base;
        }
    }
}

wide! {
    /// Pixels that lie between two of a row. The fourth number of each is of no use.
    fn pick(row: &[f32], columns: &[Between], line: &mut [[f32; 4]]) {
        for (pixel, column) in line.iter_mut().zip(columns) {
            // Both pixels, and the number behind them.
            let Some(pair) = row.get(3 * column.lower as usize..).and_then(|rest| rest.first_chunk::<7>()) else { return };
            for channel in 0..4 {
                pixel[channel] = pair[channel] + (pair[channel + 3] - pair[channel]) * column.share;
            }
        }
    }
}

wide! {
    fn part(line: &[[f32; 4]], red: &mut [f32], green: &mut [f32], blue: &mut [f32]) {
        for (((pixel, red), green), blue) in line.iter().zip(red).zip(green).zip(blue) {
            *red = pixel[0];
            *green = pixel[1];
            *blue = pixel[2];
        }
    }
}
