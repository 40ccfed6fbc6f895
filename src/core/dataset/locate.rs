//! Which images a run uses: the user's folder, the cache, or the generator, in this order.
//!
//! Never downloads, and never silently replaces what was asked for by name.

use std::path::{Path, PathBuf};

use super::official::Collection;
use super::{DatasetError, FileState, LABEL_CUSTOM, Location, SplitKind, cache, cache_dir, idx};
use crate::domain::training::DataSource;

/// Images found, and what to call them on the screen and in the run's record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    pub location: Location,
    /// The name of a collection, [`LABEL_CUSTOM`], or what [`is_generated`](super::is_generated) knows.
    pub label: String,
    /// Where they are, or why it is not the real ones, in one sentence.
    pub note: Option<String>,
    /// The real files are missing and may be fetched: `prepare` would try that first.
    pub fetchable: bool,
}

/// Finds the images without using the network. `data_dir` (else HVD_LAB_DATA) is a folder, or the word of a generator.
///
/// # Errors
/// A folder given by the user without usable files, or real files demanded, missing and offline.
pub fn locate(choice: DataSource, data_dir: Option<&Path>, offline: bool) -> Result<Located, DatasetError> {
    let from_environment = std::env::var_os("HVD_LAB_DATA").filter(|value| !value.is_empty()).map(PathBuf::from);
    let data_dir = data_dir.map(Path::to_owned).or(from_environment);
    if matches!(choice, DataSource::Generated | DataSource::GeneratedDigits) {
        return Ok(drawn(collection(&choice), None));
    }
    match data_dir.as_deref().map(Location::from_argument) {
        Some(Location::Folder(folder)) => locate_folder(&folder, &choice),
        Some(generator) if is_demanded(&choice) => {
            let (folder, wanted) = (generator.to_string(), collection(&choice).name);
            Err(DatasetError::NotWhatWasAskedFor { folder, wanted })
        }
        Some(generator) => {
            let of = Collection::ALL.into_iter().find(|collection| collection.stand_in == generator);
            Ok(drawn(of.unwrap_or(collection(&choice)), None))
        }
        None => locate_cache(&cache_dir()?, &choice, is_offline(offline)),
    }
}

/// What a choice is about.
pub fn collection(choice: &DataSource) -> &'static Collection {
    match choice {
        DataSource::Auto | DataSource::FashionMnist | DataSource::Generated => &Collection::FASHION_MNIST,
        DataSource::Digits | DataSource::Mnist | DataSource::GeneratedDigits => &Collection::MNIST,
    }
}

/// The real files or nothing.
pub fn is_demanded(choice: &DataSource) -> bool {
    matches!(choice, DataSource::FashionMnist | DataSource::Mnist)
}

/// Whether downloads are refused: by the flag, or by HVD_LAB_OFFLINE set to anything but empty or 0.
pub fn is_offline(flag: bool) -> bool {
    flag || std::env::var_os("HVD_LAB_OFFLINE").is_some_and(|value| !value.is_empty() && value != "0")
}

fn locate_folder(folder: &Path, choice: &DataSource) -> Result<Located, DatasetError> {
    let mut official = None;
    for collection in Collection::ALL {
        if collection.is_in(folder)? {
            official = Some(collection);
        }
    }
    if official.is_none() {
        // Looked at now: a fault shows before ranks are started, not after.
        idx::check_split(folder, SplitKind::Train)?;
        idx::check_split(folder, SplitKind::Test)?;
    }
    let (found, wanted) = (official.map(|collection| collection.name), collection(choice).name);
    if is_demanded(choice) && found != Some(wanted) {
        return Err(DatasetError::NotWhatWasAskedFor { folder: folder.display().to_string(), wanted });
    }
    Ok(Located {
        location: Location::Folder(folder.to_owned()),
        label: found.unwrap_or(LABEL_CUSTOM).into(),
        note: Some(format!("in {}", folder.display())),
        fetchable: false,
    })
}

/// The content is checked each time: damaged images never pass for the real ones.
fn locate_cache(cache: &Path, choice: &DataSource, offline: bool) -> Result<Located, DatasetError> {
    let collection = collection(choice);
    let (name, size) = (collection.name, collection.total_bytes().div_ceil(1_000_000));
    let status = cache::status(collection, cache)?;
    if status.is_complete() {
        return Ok(official_in(collection, cache));
    }
    let is_damaged = status.files.iter().any(|file| matches!(file.state, FileState::Damaged { .. }));
    let what = if is_damaged { "is damaged in the cache" } else { "is not on this machine" };
    let (found, note) = match (is_demanded(choice), offline) {
        (true, true) => return Err(collection.offline(cache)),
        (true, false) => (official_in(collection, cache), format!("{what}: a run fetches it first ({size} MB)")),
        (false, true) => (drawn(collection, None), format!("{name} {what}, and offline is set")),
        (false, false) => (drawn(collection, None), format!("{name} {what}: a run tries to fetch it first ({size} MB)")),
    };
    Ok(Located { note: Some(note), fetchable: !offline, ..found })
}

pub fn official_in(collection: &Collection, cache: &Path) -> Located {
    let folder = collection.folder_in(cache);
    let note = Some(format!("in {}", folder.display()));
    Located { location: Location::Folder(folder), label: collection.name.into(), note, fetchable: false }
}

/// What stands in for a collection.
pub fn drawn(collection: &Collection, note: Option<String>) -> Located {
    let (location, label) = (collection.stand_in.clone(), collection.stand_in_label.into());
    Located { location, label, note, fetchable: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_cache_means_a_download_or_the_generator_and_says_so() {
        let cache = tempfile::tempdir().unwrap();
        let look = |choice, offline| locate_cache(cache.path(), &choice, offline);
        let located = look(DataSource::Auto, false).unwrap();
        assert_eq!(
            (located.location, located.label.as_str(), located.fetchable),
            (Location::Generated, "generated garments", true)
        );
        let located = look(DataSource::Auto, true).unwrap();
        assert_eq!((located.location, located.fetchable), (Location::Generated, false));
        assert!(located.note.is_some_and(|note| note.contains("offline")));
        let located = look(DataSource::FashionMnist, false).unwrap();
        assert_eq!((located.label.as_str(), located.fetchable), ("Fashion-MNIST", true));
        let error = look(DataSource::FashionMnist, true).unwrap_err().to_string();
        assert!(error.contains("cannot be fetched offline") && error.contains("data import"), "{error}");
    }

    #[test]
    fn a_damaged_cache_is_never_called_the_real_thing() {
        let cache = tempfile::tempdir().unwrap();
        for file in Collection::FASHION_MNIST.files() {
            // As long as the real ones, and sparse.
            std::fs::File::create(cache.path().join(file.name)).unwrap().set_len(file.bytes).unwrap();
        }
        let located = locate_cache(cache.path(), &DataSource::Auto, false).unwrap();
        assert_eq!((located.location, located.fetchable), (Location::Generated, true));
        assert!(located.note.is_some_and(|note| note.contains("damaged")));
    }
}
