//! The decoder's two cosine transforms on the same photos: what each takes, and how far apart their pixels are.

use std::time::Instant;

use super::decode::{Dct, Decoder, Decoding, Window};
use super::error::PipelineError;
use crate::dataset::images::{BadImage, ImageSource};
use crate::dataset::jpeg;
use crate::domain::pipeline::TransformsReport;

/// Each image is decoded so often with each transform, and the quickest counts: other programs have the core at times.
const TIMES: usize = 3;

/// Decodes the first images both ways, as a whole.
///
/// # Errors
/// Nothing here decodes, or one of these images cannot be used.
pub fn compare_transforms(source: &dyn ImageSource, images: usize) -> Result<TransformsReport, PipelineError> {
    let open = |dct| Decoder::open(Decoding { dct, ..Decoding::default() }).map_err(PipelineError::Decoder);
    let (mut fast, mut accurate) = (open(Dct::Fast)?, open(Dct::Accurate)?);
    let images = images.min(source.len());
    let (mut fast_s, mut accurate_s) = (0.0, 0.0);
    let (mut values, mut differing, mut largest) = (0, 0, 0);
    let mut file = Vec::new();
    for index in 0..images {
        let bad = |reason| PipelineError::Bad(BadImage { place: source.place(index), reason });
        let photo = source.read(index, &mut file).map_err(PipelineError::Bad)?;
        let bytes = &file[photo.jpeg];
        let (one, one_s) = decoded(&mut fast, bytes).map_err(bad)?;
        let (other, other_s) = decoded(&mut accurate, bytes).map_err(bad)?;
        (fast_s, accurate_s) = (fast_s + one_s, accurate_s + other_s);
        values += one.len();
        for apart in one.iter().zip(&other).map(|(one, other)| one.abs_diff(*other)) {
            differing += usize::from(apart > 0);
            largest = largest.max(apart);
        }
    }
    let each_us = |seconds: f64| 1e6 * seconds / images.max(1) as f64;
    Ok(TransformsReport {
        images,
        fast_us: each_us(fast_s),
        accurate_us: each_us(accurate_s),
        differing: differing as f64 / values.max(1) as f64,
        largest,
    })
}

/// All values of an image, and the seconds that it took to get them.
fn decoded(decoder: &mut Decoder, bytes: &[u8]) -> Result<(Vec<u8>, f64), String> {
    let whole = Window::whole(jpeg::head(bytes)?);
    let (mut values, mut seconds) = (Vec::new(), f64::INFINITY);
    for _ in 0..TIMES {
        let since = Instant::now();
        let pixels = decoder.decode(bytes, whole, 1)?;
        seconds = seconds.min(since.elapsed().as_secs_f64());
        values = (0..pixels.height).flat_map(|y| pixels.line(y).to_vec()).collect();
    }
    Ok((values, seconds))
}
