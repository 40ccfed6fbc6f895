//! Which images a run uses: the user's folder, the cache, or the generator, in this order.
//!
//! Never downloads, and never silently replaces what was asked for by name.

use std::path::{Path, PathBuf};

use super::official::FILES;
use super::{
    DatasetError, FileState, LABEL_CUSTOM, LABEL_GENERATED, LABEL_OFFICIAL, Location, SplitKind, cache, cache_dir, error, idx,
};
use crate::domain::training::DataSource;

/// Images found, and what to call them on the screen and in the run's record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    pub location: Location,
    /// One of [`LABEL_OFFICIAL`], [`LABEL_CUSTOM`], [`LABEL_GENERATED`].
    pub label: String,
    /// Where they are, or why it is not the real ones, in one sentence.
    pub note: Option<String>,
    /// The real files are missing and may be fetched: `prepare` would try that first.
    pub fetchable: bool,
}

/// Finds the images without using the network. `data_dir` (else HVD_LAB_DATA) is a folder or the word `generated`.
///
/// # Errors
/// A folder given by the user without usable files, or real files demanded, missing and offline.
pub fn locate(choice: DataSource, data_dir: Option<&Path>, offline: bool) -> Result<Located, DatasetError> {
    let from_environment = std::env::var_os("HVD_LAB_DATA").filter(|value| !value.is_empty()).map(PathBuf::from);
    let data_dir = data_dir.map(Path::to_owned).or(from_environment);
    if choice == DataSource::Generated {
        return Ok(generated(None));
    }
    match data_dir.as_deref().map(Location::from_argument) {
        Some(Location::Folder(folder)) => locate_folder(&folder, &choice),
        Some(Location::Generated) if choice == DataSource::FashionMnist => {
            Err(DatasetError::NotFashionMnist { folder: Location::Generated.to_string() })
        }
        Some(Location::Generated) => Ok(generated(None)),
        None => locate_cache(&cache_dir()?, &choice, is_offline(offline)),
    }
}

/// Whether downloads are refused: by the flag, or by HVD_LAB_OFFLINE set to anything but empty or 0.
pub fn is_offline(flag: bool) -> bool {
    flag || std::env::var_os("HVD_LAB_OFFLINE").is_some_and(|value| !value.is_empty() && value != "0")
}

fn locate_folder(folder: &Path, choice: &DataSource) -> Result<Located, DatasetError> {
    let mut official = true;
    for file in &FILES {
        official &= file.is_at(&error::find_file(folder, file.plain_name())?)?;
    }
    if !official {
        // Looked at now: a fault shows before ranks are started, not after.
        idx::check_split(folder, SplitKind::Train)?;
        idx::check_split(folder, SplitKind::Test)?;
        if *choice == DataSource::FashionMnist {
            return Err(DatasetError::NotFashionMnist { folder: folder.display().to_string() });
        }
    }
    let label = if official { LABEL_OFFICIAL } else { LABEL_CUSTOM };
    Ok(Located {
        location: Location::Folder(folder.to_owned()),
        label: label.into(),
        note: Some(format!("in {}", folder.display())),
        fetchable: false,
    })
}

/// Digests are checked each time (30 MB in well under a tenth of a second): a run never calls damaged images Fashion-MNIST.
fn locate_cache(cache: &Path, choice: &DataSource, offline: bool) -> Result<Located, DatasetError> {
    let status = cache::status(cache)?;
    if status.is_complete() {
        return Ok(official_in(cache));
    }
    let is_damaged = status.files.iter().any(|file| matches!(file.state, FileState::Damaged { .. }));
    let what = if is_damaged { "is damaged in the cache" } else { "is not on this machine" };
    match (choice, offline) {
        (DataSource::FashionMnist, true) => Err(DatasetError::Offline { cache: cache.display().to_string() }),
        (DataSource::FashionMnist, false) => {
            Ok(Located { note: Some(format!("{what}: a run fetches it first (30 MB)")), fetchable: true, ..official_in(cache) })
        }
        (_, true) => Ok(generated(Some(format!("Fashion-MNIST {what}, and offline is set")))),
        (_, false) => Ok(Located {
            fetchable: true,
            ..generated(Some(format!("Fashion-MNIST {what}: a run tries to fetch it first (30 MB)")))
        }),
    }
}

pub(super) fn official_in(cache: &Path) -> Located {
    Located {
        location: Location::Folder(cache.to_owned()),
        label: LABEL_OFFICIAL.into(),
        note: Some(format!("in {}", cache.display())),
        fetchable: false,
    }
}

pub(super) fn generated(note: Option<String>) -> Located {
    Located { location: Location::Generated, label: LABEL_GENERATED.into(), note, fetchable: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_cache_means_a_download_or_the_generator_and_says_so() {
        let cache = tempfile::tempdir().unwrap();
        let look = |choice, offline| locate_cache(cache.path(), &choice, offline);
        let located = look(DataSource::Auto, false).unwrap();
        assert_eq!((located.location, located.label.as_str(), located.fetchable), (Location::Generated, LABEL_GENERATED, true));
        let located = look(DataSource::Auto, true).unwrap();
        assert_eq!((located.location, located.fetchable), (Location::Generated, false));
        assert!(located.note.is_some_and(|note| note.contains("offline")));
        let located = look(DataSource::FashionMnist, false).unwrap();
        assert_eq!((located.label.as_str(), located.fetchable), (LABEL_OFFICIAL, true));
        let error = look(DataSource::FashionMnist, true).unwrap_err().to_string();
        assert!(error.contains("cannot be fetched offline") && error.contains("data import"), "{error}");
    }

    #[test]
    fn a_damaged_cache_is_never_called_the_real_thing() {
        let cache = tempfile::tempdir().unwrap();
        for file in &FILES {
            // As long as the real ones, and sparse.
            std::fs::File::create(cache.path().join(file.name)).unwrap().set_len(file.bytes).unwrap();
        }
        let located = locate_cache(cache.path(), &DataSource::Auto, false).unwrap();
        assert_eq!((located.location, located.fetchable), (Location::Generated, true));
        assert!(located.note.is_some_and(|note| note.contains("damaged")));
    }
}
