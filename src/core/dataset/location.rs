//! Where images come from, and what they are called on the screen and in records.

use std::path::{Path, PathBuf};

/// Shown wherever the user's own images in the same format are in use.
pub const LABEL_CUSTOM: &str = "custom images";

/// Where images come from. As text (`--data-dir`): a folder, or one of the words `generated` and `generated-digits`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    Folder(PathBuf),
    /// Garments, for Fashion-MNIST.
    Generated,
    /// Digits, for MNIST.
    GeneratedDigits,
}

impl Location {
    /// A folder that is really called `generated` is reached as `./generated`.
    pub fn from_argument(text: &Path) -> Location {
        [Location::Generated, Location::GeneratedDigits]
            .into_iter()
            .find(|drawn| text.as_os_str() == drawn.to_string().as_str())
            .unwrap_or_else(|| Location::Folder(text.to_owned()))
    }

    /// What [`Location::from_argument`] reads, in whatever folder a process runs.
    pub fn into_argument(self) -> PathBuf {
        match self {
            Location::Folder(folder) => std::path::absolute(&folder).unwrap_or(folder),
            drawn => drawn.to_string().into(),
        }
    }
}

impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Location::Folder(folder) => folder.display().fmt(f),
            Location::Generated => f.write_str("generated"),
            Location::GeneratedDigits => f.write_str("generated-digits"),
        }
    }
}
