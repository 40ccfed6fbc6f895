//! The Fashion-MNIST images: where they are found, fetched, generated and read.
//!
//! Never names a tensor or a screen. Only [`fetch`] and [`prepare`] use the network.
//!
//! ```text
//!  locate ── the user's folder ─┐
//!         ── the cache ─────────┼─ Location ── load ── Split
//!  prepare ─ download, cache ───┤
//!         ── garments ──────────┘
//! ```

use std::path::{Path, PathBuf};

mod cache;
mod error;
mod fetch;
pub mod garments;
mod idx;
mod locate;
mod official;

pub use cache::{CacheStatus, FileState, FileStatus, cache_dir, import, status};
pub use error::DatasetError;
pub use fetch::{Fetcher, Progress, fetch};
pub use locate::{Located, is_offline, locate, prepare};
pub use official::{ADDRESSES, FILES, OfficialFile, total_bytes};

/// Rows and columns of an image.
pub const SIDE: usize = 28;
/// Bytes of an image: one grey value a pixel, row by row.
pub const IMAGE_BYTES: usize = SIDE * SIDE;
/// Name of each label, in label order.
pub const CLASS_NAMES: [&str; 10] =
    ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"];

/// Shown wherever the real files are in use.
pub const LABEL_OFFICIAL: &str = "Fashion-MNIST";
/// Shown wherever the user's own images in the same format are in use.
pub const LABEL_CUSTOM: &str = "custom images";
/// Shown wherever the bundled generator draws the images.
pub const LABEL_GENERATED: &str = "generated garments";

/// The word that stands for the generator where a folder is expected.
const GENERATED_WORD: &str = "generated";

/// Which part of the data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SplitKind {
    Train,
    Test,
}

impl SplitKind {
    /// Images in this part of Fashion-MNIST, and of the generated garments.
    pub const fn official_len(self) -> usize {
        match self {
            SplitKind::Train => 60_000,
            SplitKind::Test => 10_000,
        }
    }

    /// Names of the image and the label file, without `.gz`.
    fn file_names(self) -> (&'static str, &'static str) {
        match self {
            SplitKind::Train => ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
            SplitKind::Test => ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
        }
    }
}

/// Images and their labels. Image `i` is `images[i * IMAGE_BYTES..][..IMAGE_BYTES]`; labels are 0 to 9.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    pub images: Vec<u8>,
    pub labels: Vec<u8>,
}

impl Split {
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    pub fn image(&self, index: usize) -> &[u8] {
        &self.images[index * IMAGE_BYTES..][..IMAGE_BYTES]
    }
}

/// Where images come from. As text (`--data-dir`): a folder, or the word `generated`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    Folder(PathBuf),
    Generated,
}

impl Location {
    /// A folder that is really called `generated` is reached as `./generated`.
    pub fn from_argument(text: &Path) -> Location {
        if text == Path::new(GENERATED_WORD) { Location::Generated } else { Location::Folder(text.to_owned()) }
    }
}

impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Location::Folder(folder) => folder.display().fmt(f),
            Location::Generated => f.write_str(GENERATED_WORD),
        }
    }
}

/// Reads (or draws) one part of the data, the first `limit` images of it.
///
/// # Errors
/// A missing, unreadable, truncated, oversized or foreign file, by name. The generator never fails.
pub fn load(location: &Location, which: SplitKind, limit: Option<usize>) -> Result<Split, DatasetError> {
    match location {
        Location::Generated => Ok(garments::draw(which, limit.unwrap_or(usize::MAX).min(which.official_len()))),
        Location::Folder(folder) => idx::read_split(folder, which, limit),
    }
}
