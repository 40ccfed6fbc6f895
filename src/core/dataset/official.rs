//! The official files of Fashion-MNIST and MNIST: names, sizes, digests, and where they are published.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::DatasetError;
use super::files::find_file;
use super::location::Location;

/// One published file, compressed as published.
#[derive(Clone, Copy, Debug)]
pub struct OfficialFile {
    pub name: &'static str,
    pub bytes: u64,
    pub sha256: &'static str,
    /// Size and digest of its content, for folders that hold it decompressed.
    pub plain_bytes: u64,
    pub plain_sha256: &'static str,
    pub plain_crc32c: u32,
}

/// A published set of images: four files, and where they are to be had.
#[derive(Debug)]
pub struct Collection {
    /// As people write it, and as it is shown wherever the real files are in use.
    pub name: &'static str,
    /// As flags spell it.
    pub word: &'static str,
    /// A line for each of its files: see [`Collection::files`].
    table: &'static str,
    /// Folders that publish the files, tried in turn.
    pub addresses: [&'static str; 2],
    /// Where it is kept below the cache and in a mirror; empty for the top.
    pub subfolder: &'static str,
    /// Drawn where the files cannot be had.
    pub(super) stand_in: Location,
    /// What is shown wherever the bundled generator draws the images.
    pub(super) stand_in_label: &'static str,
}

impl Collection {
    /// Photos of clothes, by Zalando Research.
    pub const FASHION_MNIST: Collection = Collection {
        name: "Fashion-MNIST",
        word: "fashion-mnist",
        subfolder: "",
        addresses: [
            "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion",
            "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",
        ],
        stand_in: Location::Generated,
        stand_in_label: "generated garments",
        table: include_str!("../../../assets/digests/fashion_mnist.txt"),
    };
    /// Handwritten digits, by LeCun, Cortes and Burges.
    pub const MNIST: Collection = Collection {
        name: "MNIST",
        word: "mnist",
        subfolder: "mnist",
        addresses: ["https://storage.googleapis.com/cvdf-datasets/mnist", "https://ossci-datasets.s3.amazonaws.com/mnist"],
        stand_in: Location::GeneratedDigits,
        stand_in_label: "generated digits",
        table: include_str!("../../../assets/digests/mnist.txt"),
    };
    pub const ALL: [&Collection; 2] = [&Collection::FASHION_MNIST, &Collection::MNIST];

    /// Its four files, small ones first.
    pub fn files(&self) -> Vec<OfficialFile> {
        let rows = self.table.lines().filter(|line| !line.starts_with('#'));
        let file = |row: &'static str| {
            let mut columns = row.split(' ');
            Some(OfficialFile {
                name: columns.next()?,
                bytes: columns.next()?.parse().ok()?,
                sha256: columns.next()?,
                plain_bytes: columns.next()?.parse().ok()?,
                plain_sha256: columns.next()?,
                plain_crc32c: u32::from_str_radix(columns.next()?, 16).ok()?,
            })
        };
        rows.filter_map(file).collect()
    }

    /// Size of all four files as published.
    pub fn total_bytes(&self) -> u64 {
        self.files().iter().map(|file| file.bytes).sum()
    }

    /// The collection by its word.
    ///
    /// # Errors
    /// What the words are.
    pub fn by_word(word: &str) -> Result<&'static Collection, String> {
        let found = Collection::ALL.into_iter().find(|collection| collection.word == word);
        found.ok_or_else(|| {
            format!("`{word}` is no data set: use {}", Collection::ALL.map(|collection| collection.word).join(" or "))
        })
    }

    /// Its folder in the cache.
    pub fn folder_in(&self, cache: &Path) -> PathBuf {
        if self.subfolder.is_empty() { cache.to_owned() } else { cache.join(self.subfolder) }
    }

    /// Its files are not there, and may not be downloaded.
    pub fn offline(&self, cache: &Path) -> DatasetError {
        let cache = self.folder_in(cache).display().to_string();
        DatasetError::Offline { name: self.name, cache, stand_in: self.stand_in.to_string() }
    }

    /// Whether a folder holds its four files, bit for bit.
    ///
    /// # Errors
    /// A file is missing or cannot be read.
    pub(super) fn is_in(&self, folder: &Path) -> Result<bool, DatasetError> {
        for file in self.files() {
            if !file.is_at(&find_file(folder, file.plain_name())?)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Whether the bundled generator drew what is called so.
pub fn is_generated(label: &str) -> bool {
    Collection::ALL.into_iter().any(|collection| collection.stand_in_label == label)
}

impl OfficialFile {
    /// Name without `.gz`.
    pub(super) fn plain_name(&self) -> &'static str {
        self.name.trim_end_matches(".gz")
    }

    /// Whether the file at `path` is this one, compressed or not. Reads it only where the size fits.
    ///
    /// Its content is checked by a checksum: every rank does it at each start, and SHA-256 takes ten times as long.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn is_at(&self, path: &Path) -> Result<bool, DatasetError> {
        self.is_whole(path, || Ok(crc32c_of(path)? == self.plain_crc32c))
    }

    /// The same by SHA-256 in any case: for what comes from elsewhere.
    pub(super) fn is_published_at(&self, path: &Path) -> Result<bool, DatasetError> {
        self.is_whole(path, || Ok(sha256_of(path)? == self.plain_sha256))
    }

    fn is_whole(&self, path: &Path, is_plain: impl Fn() -> std::io::Result<bool>) -> Result<bool, DatasetError> {
        let unreadable = |cause: std::io::Error| DatasetError::unreadable(path, &cause);
        match std::fs::metadata(path).map_err(unreadable)?.len() {
            length if length == self.bytes => Ok(sha256_of(path).map_err(unreadable)? == self.sha256),
            length if length == self.plain_bytes => is_plain().map_err(unreadable),
            _ => Ok(false),
        }
    }
}

fn crc32c_of(path: &Path) -> std::io::Result<u32> {
    let mut sum = 0;
    each_piece(path, |piece| sum = crc32c::crc32c_append(sum, piece))?;
    Ok(sum)
}

/// SHA-256 of a file in lower-case hexadecimal.
pub fn sha256_of(path: &Path) -> std::io::Result<String> {
    let mut hasher = Sha256::new();
    each_piece(path, |piece| hasher.update(piece))?;
    Ok(hexadecimal(&hasher.finalize()))
}

fn each_piece(path: &Path, mut hand_on: impl FnMut(&[u8])) -> std::io::Result<()> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 1 << 17];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => hand_on(&buffer[..count]),
            Err(cause) if cause.kind() == std::io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(cause),
        }
    }
}

pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_of_a_table_is_a_file() {
        for collection in Collection::ALL {
            let files = collection.files();
            let is_sound = |file: &OfficialFile| {
                file.bytes < file.plain_bytes && [file.sha256, file.plain_sha256].iter().all(|digest| digest.len() == 64)
            };
            assert!(files.len() == 4 && files.iter().all(is_sound), "{}: {files:?}", collection.name);
        }
    }
}
