//! The official files of Fashion-MNIST and MNIST: names, sizes, digests, and where they are published.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::DatasetError;
use super::files::find_file;
use super::location::{LABEL_GENERATED, LABEL_GENERATED_DIGITS, LABEL_MNIST, LABEL_OFFICIAL, Location};

/// One published file, compressed as published.
#[derive(Clone, Copy, Debug)]
pub struct OfficialFile {
    pub name: &'static str,
    pub bytes: u64,
    pub sha256: &'static str,
    /// Size and digest of its content, for folders that hold it decompressed.
    pub plain_bytes: u64,
    pub plain_sha256: &'static str,
}

/// A published set of images: four files, and where they are to be had.
#[derive(Debug)]
pub struct Collection {
    /// As people write it.
    pub name: &'static str,
    /// As flags spell it.
    pub word: &'static str,
    /// Small files first: a wrong address or proxy shows at once.
    pub files: [OfficialFile; 4],
    /// Folders that publish the files, tried in turn.
    pub addresses: [&'static str; 2],
    /// Where it is kept below the cache and in a mirror; empty for the top.
    pub subfolder: &'static str,
    /// Drawn where the files cannot be had.
    pub(super) stand_in: Location,
    /// Its label.
    pub(super) stand_in_label: &'static str,
}

impl Collection {
    /// Photos of clothes, by Zalando Research.
    pub const FASHION_MNIST: Collection = Collection {
        name: LABEL_OFFICIAL,
        word: "fashion-mnist",
        subfolder: "",
        addresses: [
            "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion",
            "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",
        ],
        stand_in: Location::Generated,
        stand_in_label: LABEL_GENERATED,
        files: [
            OfficialFile {
                name: "train-labels-idx1-ubyte.gz",
                bytes: 29_515,
                sha256: "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
                plain_bytes: 60_008,
                plain_sha256: "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
            },
            OfficialFile {
                name: "t10k-labels-idx1-ubyte.gz",
                bytes: 5_148,
                sha256: "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
                plain_bytes: 10_008,
                plain_sha256: "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
            },
            OfficialFile {
                name: "t10k-images-idx3-ubyte.gz",
                bytes: 4_422_102,
                sha256: "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
                plain_bytes: 7_840_016,
                plain_sha256: "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
            },
            OfficialFile {
                name: "train-images-idx3-ubyte.gz",
                bytes: 26_421_880,
                sha256: "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
                plain_bytes: 47_040_016,
                plain_sha256: "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
            },
        ],
    };
    /// Handwritten digits, by LeCun, Cortes and Burges.
    pub const MNIST: Collection = Collection {
        name: LABEL_MNIST,
        word: "mnist",
        subfolder: "mnist",
        addresses: ["https://storage.googleapis.com/cvdf-datasets/mnist", "https://ossci-datasets.s3.amazonaws.com/mnist"],
        stand_in: Location::GeneratedDigits,
        stand_in_label: LABEL_GENERATED_DIGITS,
        files: [
            OfficialFile {
                name: "train-labels-idx1-ubyte.gz",
                bytes: 28_881,
                sha256: "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
                plain_bytes: 60_008,
                plain_sha256: "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
            },
            OfficialFile {
                name: "t10k-labels-idx1-ubyte.gz",
                bytes: 4_542,
                sha256: "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
                plain_bytes: 10_008,
                plain_sha256: "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
            },
            OfficialFile {
                name: "t10k-images-idx3-ubyte.gz",
                bytes: 1_648_877,
                sha256: "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
                plain_bytes: 7_840_016,
                plain_sha256: "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
            },
            OfficialFile {
                name: "train-images-idx3-ubyte.gz",
                bytes: 9_912_422,
                sha256: "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
                plain_bytes: 47_040_016,
                plain_sha256: "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
            },
        ],
    };
    pub const ALL: [&Collection; 2] = [&Collection::FASHION_MNIST, &Collection::MNIST];

    /// Size of all four files as published.
    pub fn total_bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
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
        for file in &self.files {
            if !file.is_at(&find_file(folder, file.plain_name())?)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl OfficialFile {
    /// Name without `.gz`.
    pub(super) fn plain_name(&self) -> &'static str {
        self.name.trim_end_matches(".gz")
    }

    /// Whether the file at `path` is this one, bit for bit, compressed or not. Reads it only where the size fits.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn is_at(&self, path: &Path) -> Result<bool, DatasetError> {
        let unreadable = |cause: std::io::Error| DatasetError::unreadable(path, &cause);
        let length = std::fs::metadata(path).map_err(unreadable)?.len();
        let expected = match length {
            _ if length == self.bytes => self.sha256,
            _ if length == self.plain_bytes => self.plain_sha256,
            _ => return Ok(false),
        };
        Ok(sha256_of(path).map_err(unreadable)? == expected)
    }
}

/// SHA-256 of a file in lower-case hexadecimal.
pub fn sha256_of(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 17];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hexadecimal(&hasher.finalize())),
            count => hasher.update(&buffer[..count]),
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
pub(super) fn hexadecimal_sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}
