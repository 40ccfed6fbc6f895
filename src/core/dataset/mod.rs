//! The images: Fashion-MNIST, MNIST, and labelled photos in TFRecord files or folders. Where they are found, generated and
//! read.
//!
//! Never names a tensor, a screen or the network: the lab's `download` does.
//!
//! ```text
//!  locate ── the user's folder ─┐
//!         ── the cache ─────────┼─ Location ── load ── Split
//!  the lab ─ download, cache ───┤
//!         ── synthetic ─────────┘
//!
//!  shards (tfrecord, example) ──┐
//!  folder (boxes) ──────────────┴─ images (layout): ImageSource
//!  photos (drawn) ── folder ── pack ── shards
//! ```

mod boxes;
mod cache;
mod error;
pub mod example;
mod files;
pub mod folder;
mod idx;
pub mod images;
pub mod jpeg;
mod layout;
mod locate;
mod location;
mod official;
pub mod pack;
mod photo;
pub mod photos;
pub mod protobuf;
mod shards;
mod split;
pub mod synthetic;
pub mod testing;
pub mod tfrecord;

pub use cache::{CacheStatus, FileState, FileStatus, cache_dir, import, keep, official_at, part_path, status};
pub use error::DatasetError;
pub use idx::files_of;
pub use locate::{Located, collection, drawn, is_demanded, is_offline, locate, official_in};
pub use location::{LABEL_CUSTOM, Location};
pub use official::{Collection, OfficialFile, is_generated, sha256_of};
pub use split::{CLASS_NAMES, FASHION_MNIST, Split, SplitKind};

impl Located {
    /// Reads (or draws) one part of the data, the first `limit` images of it.
    ///
    /// # Errors
    /// As [`load`].
    pub fn load(&self, which: SplitKind, limit: Option<usize>) -> Result<Split, DatasetError> {
        let split = load(&self.location, which, limit)?;
        // The files of MNIST do not say that they hold digits.
        Ok(Split { may_mirror: split.may_mirror && self.label != Collection::MNIST.name, ..split })
    }
}

/// Reads (or draws) one part of the data, the first `limit` images of it.
///
/// # Errors
/// A missing, unreadable, truncated, oversized or foreign file, by name. The generator never fails.
pub fn load(location: &Location, which: SplitKind, limit: Option<usize>) -> Result<Split, DatasetError> {
    let count = limit.unwrap_or(usize::MAX).min(which.official_len());
    match location {
        Location::Generated => Ok(synthetic::garments(which, count)),
        Location::GeneratedDigits => Ok(synthetic::digits(which, count)),
        Location::Folder(folder) => idx::read_split(folder, which, limit),
    }
}
