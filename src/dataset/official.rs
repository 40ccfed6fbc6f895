//! The four official Fashion-MNIST files: names, sizes, digests, and where they are published.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::DatasetError;

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

/// Small files first: a wrong address or proxy shows at once.
pub const FILES: [OfficialFile; 4] = [
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
];

/// Folders that publish the files, tried in turn.
pub const ADDRESSES: [&str; 2] = [
    "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion",
    "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",
];

/// Size of all four files as published.
pub fn total_bytes() -> u64 {
    FILES.iter().map(|file| file.bytes).sum()
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
    pub(super) fn is_at(&self, path: &Path) -> Result<bool, DatasetError> {
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
pub(super) fn sha256_of(path: &Path) -> std::io::Result<String> {
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
