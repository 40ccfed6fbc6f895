//! What a set of labelled photos is, wherever it is kept: an index of them, and reading one.
//!
//! Never decodes an image: it hands out the bytes of its file.

use std::ops::Range;
use std::path::{Path, PathBuf};

use super::example::BoundingBox;
pub use crate::domain::nvcnn::BadRecords;

/// Which part of a set: the names that ImageNet's own files begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Train,
    Validation,
}

impl Part {
    pub fn name(self) -> &'static str {
        match self {
            Part::Train => "train",
            Part::Validation => "validation",
        }
    }
}

/// Beside records: indices of DALI and others, checksums, notes.
const NO_RECORDS: [&str; 9] = ["idx", "index", "tfindex", "json", "txt", "md", "md5", "sha256", "csv"];

/// Whether a file of this name holds records.
pub(super) fn is_shard(name: &str) -> bool {
    let is_of = |part: &Part| name.strip_prefix(part.name()).is_some_and(|rest| rest.starts_with('-'));
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    [Part::Train, Part::Validation].iter().any(is_of) && !ending.is_some_and(|ending| NO_RECORDS.contains(&ending.as_str()))
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

    #[error(
        "{folder} holds no {part} images. A data folder holds TFRecord files ({part}-00000-of-00008, ...) or a folder of JPEGs for each class"
    )]
    None { folder: String, part: &'static str },

    #[error(
        "{folder} has a folder for each class, but none with validation images. Move some of them to {folder}/validation/CLASS and \
         the others to {folder}/train/CLASS, or pack it: hvd-lab data tfrecord {folder} --out records --validation 0.1"
    )]
    NoValidation { folder: String },

    #[error("{0}. Replace it, or leave such out with --bad-records skip")]
    Bad(BadImage),
}

impl ImagesError {
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
    /// Folders that are no class, in a sentence each.
    pub notes: Vec<String>,
}

/// The names in a folder in their order, without those that are hidden, as half written files are.
pub(super) fn names(folder: &Path) -> Result<Vec<String>, ImagesError> {
    let unreadable = |cause: std::io::Error| ImagesError::unreadable(folder, cause);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        // Left out, it would shift the classes behind it.
        let name = entry.map_err(unreadable)?.file_name().into_string().map_err(|name| {
            let cause = format!("the name {name:?} in it is not UTF-8 text: rename it");
            ImagesError::Unreadable { path: folder.display().to_string(), cause }
        })?;
        if !name.starts_with('.') {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
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

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    /// Left out without a word, a class would shift the labels of all behind it.
    #[test]
    fn a_name_that_is_no_text_is_named_and_not_left_out() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b", "a", ".half"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        assert_eq!(names(folder.path()).unwrap(), ["a", "b"]);
        std::fs::create_dir(folder.path().join(OsStr::from_bytes(b"k\xe9"))).unwrap();
        let said = names(folder.path()).unwrap_err().to_string();
        assert!(said.contains(r"k\xE9") && said.contains("rename it") && !said.contains('\n'), "{said}");
    }
}
