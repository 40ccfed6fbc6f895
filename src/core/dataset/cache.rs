//! The cache: one folder for each collection that holds its official files and nothing else.
//!
//! Never keeps a file whose digest was not checked when it came in, and never downloads: `fetch` does.

use std::path::{Path, PathBuf};

use super::files::find_file;
use super::official::{Collection, OfficialFile, sha256_of};
use super::{DatasetError, SplitKind, idx};
use crate::host::{self, files};

/// What the cache holds of a collection, file by file, in its order.
#[derive(Clone, Debug)]
pub struct CacheStatus {
    pub folder: PathBuf,
    pub files: Vec<FileStatus>,
}

#[derive(Clone, Debug)]
pub struct FileStatus {
    pub name: &'static str,
    pub state: FileState,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileState {
    /// There, and bit for bit the published one.
    Official,
    Missing,
    /// A download stopped after `bytes` bytes; the next one continues there.
    Partial {
        bytes: u64,
    },
    /// There, and not the published one, for this reason.
    Damaged {
        found: String,
    },
}

impl CacheStatus {
    pub fn is_complete(&self) -> bool {
        self.files.iter().all(|file| file.state == FileState::Official)
    }
}

/// `data` in [`host::home_dir`].
///
/// # Errors
/// [`DatasetError::NoHome`].
pub fn cache_dir() -> Result<PathBuf, DatasetError> {
    let home = host::home_dir().map_err(|cause| DatasetError::NoHome { cause: cause.to_string() })?;
    Ok(home.join("data"))
}

/// Looks at every file and checks its digest; reads up to 30 MB.
///
/// # Errors
/// A file that is there and cannot be read.
pub fn status(collection: &Collection, cache: &Path) -> Result<CacheStatus, DatasetError> {
    let folder = collection.folder_in(cache);
    let files = collection.files();
    let files = files.iter().map(|file| Ok(FileStatus { name: file.name, state: state_of(&folder, file)? }));
    Ok(CacheStatus { folder: folder.clone(), files: files.collect::<Result<_, DatasetError>>()? })
}

fn state_of(cache: &Path, file: &OfficialFile) -> Result<FileState, DatasetError> {
    let Some(path) = entry(cache, file) else {
        let part = std::fs::metadata(part_path(cache, file)).map(|meta| meta.len()).unwrap_or(0);
        return Ok(if part > 0 { FileState::Partial { bytes: part } } else { FileState::Missing });
    };
    if file.is_at(&path)? {
        return Ok(FileState::Official);
    }
    let bytes = std::fs::metadata(&path).map_err(|cause| DatasetError::unreadable(&path, &cause))?.len();
    let found = if bytes == file.bytes { "other content".into() } else { format!("{bytes} bytes instead of {}", file.bytes) };
    Ok(FileState::Damaged { found })
}

/// Where a download of this file is kept until it is whole.
pub fn part_path(cache: &Path, file: &OfficialFile) -> PathBuf {
    cache.join(format!("{}.part", file.name))
}

fn entry(cache: &Path, file: &OfficialFile) -> Option<PathBuf> {
    [cache.join(file.name), cache.join(file.plain_name())].into_iter().find(|path| path.is_file())
}

/// Copies the four official files of a collection from a folder into the cache. All are checked before the first is copied. Which
/// collection it is shows in the files.
///
/// # Errors
/// A file is missing, damaged or not an official one, or the cache cannot be written.
pub fn import(from: &Path, cache: &Path) -> Result<&'static Collection, DatasetError> {
    let is_there = |file: &OfficialFile| find_file(from, file.plain_name()).and_then(|path| file.is_at(&path)).unwrap_or(false);
    let is_of = |collection: &&Collection| collection.files().first().is_some_and(is_there);
    let collection = Collection::ALL.into_iter().find(is_of).unwrap_or(&Collection::FASHION_MNIST);
    let files = collection.files();
    let sources = files.iter().map(|file| official_in(from, file)).collect::<Result<Vec<_>, _>>()?;
    let cache = &collection.folder_in(cache);
    std::fs::create_dir_all(cache).map_err(|cause| DatasetError::unwritable(cache, &cause))?;
    for (file, source) in files.iter().zip(&sources) {
        let is_packed = std::fs::metadata(source).is_ok_and(|meta| meta.len() == file.bytes);
        let target = cache.join(if is_packed { file.name } else { file.plain_name() });
        if target.exists() && file.is_at(&target)? {
            continue;
        }
        let copied = files::export(&target, true, |copy| std::io::copy(&mut std::fs::File::open(source)?, copy).map(drop));
        copied.map_err(|cause| DatasetError::unwritable(&target, &cause))?;
    }
    Ok(collection)
}

fn official_in(from: &Path, file: &OfficialFile) -> Result<PathBuf, DatasetError> {
    let path = find_file(from, file.plain_name())?;
    if file.is_at(&path)? {
        return Ok(path);
    }
    // A damaged file deserves its own message; only a sound one is "not official".
    let which = if file.name.starts_with("train") { SplitKind::Train } else { SplitKind::Test };
    idx::check_split(from, which)?;
    let found = sha256_of(&path).map_err(|cause| DatasetError::unreadable(&path, &cause))?;
    Err(DatasetError::NotOfficial {
        file: path.display().to_string(),
        expected: format!("SHA-256 {}", file.sha256),
        found: format!("SHA-256 {found}"),
    })
}
