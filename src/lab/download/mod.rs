//! Finds the images as [`locate`] does, and downloads the real ones where they are missing and wanted.

use std::path::Path;

mod fetch;

pub use fetch::{Fetcher, Progress, fetch};

use crate::dataset::{DatasetError, Located, cache_dir, collection, drawn, is_demanded, locate, official_in};
use crate::domain::training::DataSource;

/// Like [`locate`], but fetches the real files into the cache where they are missing and wanted; without a network the
/// generator stands in, and the note says why. Blocks while it downloads.
///
/// # Errors
/// As [`locate`]; and a failed download, where the real files were asked for by name.
pub fn prepare(
    choice: DataSource,
    data_dir: Option<&Path>,
    offline: bool,
    progress: &mut dyn FnMut(Progress),
) -> Result<Located, DatasetError> {
    let (demanded, collection) = (is_demanded(&choice), collection(&choice));
    let located = locate(choice, data_dir, offline)?;
    if !located.fetchable {
        return Ok(located);
    }
    let cache = cache_dir()?;
    match Fetcher::official(collection).fetch(&collection.folder_in(&cache), progress) {
        Ok(()) => Ok(official_in(collection, &cache)),
        Err(error) if demanded => Err(error),
        Err(error) => Ok(drawn(collection, Some(format!("{} could not be fetched: {error}", collection.name)))),
    }
}
