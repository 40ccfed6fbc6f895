//! Labelled photos in a folder, as TFRecord files or as files by class: which of the two it is, and what cannot be used.

use std::path::Path;

pub use super::photo::{BadImage, BadRecords, ImageSource, Images, ImagesError, Part, Photo, generated_by};
use super::photo::{is_shard, names};
use super::{folder, shards};

/// Finds the images in a folder: TFRecord files `train-*` and `validation-*`, or a folder of JPEGs for each class.
///
/// `classes` is how many labels TFRecord files may have: 1 to `classes`, for 0 is ImageNet's background, which no image has.
/// A folder's classes are its folders, in the order of their names.
///
/// # Errors
/// There are none, they cannot be read, or one file cannot be used and `bad` says to stop.
pub fn open(root: &Path, part: Part, classes: usize, bad: BadRecords) -> Result<Images, ImagesError> {
    let names = names(root)?;
    let images = match names.iter().any(|name| is_shard(name)) {
        true => shards::open(root, &names, part, classes)?,
        false => folder::open(root, &names, part)?,
    };
    match images.left_out.first() {
        Some(first) if bad == BadRecords::Stop => Err(ImagesError::Bad(first.clone())),
        _ if images.source.is_empty() => Err(ImagesError::None { folder: root.display().to_string(), part: part.name() }),
        _ => Ok(images),
    }
}
