//! The cache: one folder for each collection that holds its official files and nothing else.
//!
//! Never keeps a file whose digest was not checked when it came in, and never downloads: `fetch` does.

use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

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
    /// As it lies there, or as it is published.
    pub name: &'static str,
    /// Of it when whole.
    pub bytes: u64,
    pub state: FileState,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileState {
    /// There, and the published one.
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

/// Looks at every file and checks its content; reads up to 55 MB.
///
/// # Errors
/// A file that is there and cannot be read.
pub fn status(collection: &Collection, cache: &Path) -> Result<CacheStatus, DatasetError> {
    let folder = collection.folder_in(cache);
    let files = collection.files();
    let files = files.iter().map(|file| {
        let is_plain = folder.join(file.plain_name()).is_file();
        let (name, bytes) = if is_plain { (file.plain_name(), file.plain_bytes) } else { (file.name, file.bytes) };
        Ok(FileStatus { name, bytes, state: state_of(&folder, file)? })
    });
    Ok(CacheStatus { folder: folder.clone(), files: files.collect::<Result<_, DatasetError>>()? })
}

fn state_of(cache: &Path, file: &OfficialFile) -> Result<FileState, DatasetError> {
    if official_at(cache, file)?.is_some() {
        return Ok(FileState::Official);
    }
    let Some(path) = entries(cache, file).next() else {
        let part = std::fs::metadata(part_path(cache, file)).map(|meta| meta.len()).unwrap_or(0);
        return Ok(if part > 0 { FileState::Partial { bytes: part } } else { FileState::Missing });
    };
    let bytes = std::fs::metadata(&path).map_err(|cause| DatasetError::unreadable(&path, &cause))?.len();
    let whole = if path.ends_with(file.name) { file.bytes } else { file.plain_bytes };
    let found = if bytes == whole { "other content".into() } else { format!("{bytes} bytes instead of {whole}") };
    Ok(FileState::Damaged { found })
}

/// Where a folder holds this file, compressed or not.
///
/// # Errors
/// A file of its name cannot be read.
pub fn official_at(folder: &Path, file: &OfficialFile) -> Result<Option<PathBuf>, DatasetError> {
    for path in entries(folder, file) {
        if file.is_at(&path)? {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// Puts a checked file into the cache, with its content as it is: 24 MB more on the disk, and no rank unpacks it at each start.
///
/// # Errors
/// The system's, or those of a damaged file.
pub fn keep(file: &OfficialFile, checked: &Path, cache: &Path) -> std::io::Result<()> {
    let source = std::fs::File::open(checked)?;
    let (name, plain) = (cache.join(file.name), cache.join(file.plain_name()));
    let is_packed = name != plain && source.metadata()?.len() == file.bytes;
    files::export(&plain, true, |copy| match is_packed {
        true => std::io::copy(&mut MultiGzDecoder::new(std::io::BufReader::new(&source)), copy).map(drop),
        false => std::io::copy(&mut &source, copy).map(drop),
    })?;
    // Where it was before under its published name, damaged or not, it is of no use any more.
    if name != plain && name.is_file() { std::fs::remove_file(name) } else { Ok(()) }
}

/// Where a download of this file is kept until it is whole.
pub fn part_path(cache: &Path, file: &OfficialFile) -> PathBuf {
    cache.join(format!("{}.part", file.name))
}

fn entries(folder: &Path, file: &OfficialFile) -> impl Iterator<Item = PathBuf> {
    [folder.join(file.plain_name()), folder.join(file.name)].into_iter().filter(|path| path.is_file())
}

/// Copies the four official files of a collection from a folder into the cache. All are checked before the first is copied. Which
/// collection it is shows in the files.
///
/// # Errors
/// A file is missing, damaged or not an official one, or the cache cannot be written.
pub fn import(from: &Path, cache: &Path) -> Result<&'static Collection, DatasetError> {
    let is_there =
        |file: &OfficialFile| find_file(from, file.plain_name()).and_then(|path| file.is_published_at(&path)).unwrap_or(false);
    let is_of = |collection: &&Collection| collection.files().first().is_some_and(is_there);
    let collection = Collection::ALL.into_iter().find(is_of).unwrap_or(&Collection::FASHION_MNIST);
    let files = collection.files();
    let sources = files.iter().map(|file| official_in(from, file)).collect::<Result<Vec<_>, _>>()?;
    let cache = &collection.folder_in(cache);
    std::fs::create_dir_all(cache).map_err(|cause| DatasetError::unwritable(cache, &cause))?;
    for (file, source) in files.iter().zip(&sources) {
        if official_at(cache, file)?.is_none() {
            keep(file, source, cache).map_err(|cause| DatasetError::unwritable(&cache.join(file.plain_name()), &cause))?;
        }
    }
    Ok(collection)
}

fn official_in(from: &Path, file: &OfficialFile) -> Result<PathBuf, DatasetError> {
    let path = find_file(from, file.plain_name())?;
    if file.is_published_at(&path)? {
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
