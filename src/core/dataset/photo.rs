//! What a set of labelled photos is, wherever it is kept.
//!
//! Never decodes an image: it hands out the bytes of its file.

use std::ops::Range;
use std::path::{Path, PathBuf};

use super::example::BoundingBox;
pub use crate::domain::nvcnn::BadRecords;

crate::named! {
    /// Which part of a set: the names that ImageNet's own files begin with.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    Part {
        Train = "train",
        Validation = "validation",
    }
}

/// An image that cannot be used, in one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct BadImage {
    /// The file, and the number of the record in it.
    pub place: String,
    pub reason: String,
}

/// Images that cannot be trained on at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImagesError {
    #[error("cannot read {path}: {cause}. Check the path and its permissions")]
    Unreadable { path: String, cause: String },

    #[error("{path}: {cause}")]
    Wrong { path: String, cause: String },

    #[error(
        "{folder} holds no {part} images{others}. A data folder holds TFRecord files ({part}-00000-of-00008, ...) or a folder of JPEGs for each class"
    )]
    /// `others` says what it holds instead.
    None { folder: String, part: &'static str, others: String },

    #[error(
        "{folder} has a folder for each class, but none with validation images. Move some of them to {folder}/validation/CLASS and \
         the others to {folder}/train/CLASS, or pack it: hvd-lab data tfrecord {folder} --out records --validation 0.1"
    )]
    NoValidation { folder: String },

    #[error("{0}. Replace it, or leave such out with --bad-records skip")]
    Bad(BadImage),
}

impl ImagesError {
    /// What is wrong with a file or a folder that can be read, and what to do.
    pub(super) fn wrong(path: &Path, cause: impl ToString) -> ImagesError {
        ImagesError::Wrong { path: path.display().to_string(), cause: cause.to_string() }
    }

    pub(super) fn unreadable(path: &Path, cause: impl ToString) -> ImagesError {
        ImagesError::Unreadable { path: path.display().to_string(), cause: cause.to_string() }
    }
}

/// What is read of one image, beside the buffer that its file's bytes are in.
#[derive(Clone, Debug, PartialEq)]
pub struct Photo {
    /// Where in the buffer the JPEG is.
    pub jpeg: Range<usize>,
    /// From 0.
    pub label: usize,
    pub boxes: Vec<BoundingBox>,
}

/// A set of images that can be read in any order, by several threads at once.
pub trait ImageSource: Send + Sync {
    fn len(&self) -> usize;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Labels are below it.
    fn classes(&self) -> usize;

    /// What to call an image when something is wrong with it.
    fn place(&self, index: usize) -> String;

    /// Reads an image's bytes into `buffer`, which holds nothing else then.
    ///
    /// # Errors
    /// What is wrong with this image. The others can be read all the same.
    fn read(&self, index: usize, buffer: &mut Vec<u8>) -> Result<Photo, BadImage>;
}

/// A set of images, and what of it cannot be used.
pub struct Images {
    pub source: Box<dyn ImageSource>,
    /// Empty, missing or cut off files; none where they were to end the run.
    pub left_out: Vec<BadImage>,
    /// What of the folder is not used, and where its photos are, in a sentence each.
    pub notes: Vec<String>,
}

/// Where a set says that its images were drawn, and by what.
pub fn generated_by(root: &Path) -> Option<String> {
    let text = crate::host::read::small_text(&generated_note(root), 4096).ok()?;
    text.lines().next().map(str::to_owned)
}

/// The note that lies beside images that a program has drawn.
pub fn generated_note(root: &Path) -> PathBuf {
    root.join("GENERATED.txt")
}
