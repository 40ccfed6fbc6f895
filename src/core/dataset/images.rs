//! Opens a set of labelled photos: TFRecord files, or folders by class.

use std::path::Path;

use super::layout::{Place, Set};
pub use super::photo::{BadImage, BadRecords, ImageSource, Images, ImagesError, Part, Photo, generated_by};
use super::{folder, layout, shards};

/// Finds the images in a folder or below it: TFRecord files of each part, or a folder of JPEGs for each class.
///
/// `classes` is how many labels TFRecord files may have: 1 to `classes`, for 0 is ImageNet's background, which no image has.
/// A folder's classes are its folders, in the order of their names.
///
/// # Errors
/// There are none, they cannot be read, or one file cannot be used and `bad` says to stop.
pub fn open(root: &Path, part: Part, classes: usize, bad: BadRecords) -> Result<Images, ImagesError> {
    let mut set = Set::find(root)?;
    let place = if part == Part::Train { &set.train } else { &set.validation };
    let mut images = match place {
        Some(Place::Records(folder)) => shards::open(folder, part, classes)?,
        _ => folder::open(root, &set, part)?,
    };
    images.notes.extend(set.note.take());
    match images.left_out.first() {
        Some(first) if bad == BadRecords::Stop => Err(ImagesError::Bad(first.clone())),
        _ if images.source.is_empty() => Err(layout::none(root, part)),
        _ => Ok(images),
    }
}
