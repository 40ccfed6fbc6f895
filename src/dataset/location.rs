//! Where images come from, and what they are called on the screen and in records.

use std::path::{Path, PathBuf};

/// Shown wherever the real files are in use.
pub const LABEL_OFFICIAL: &str = "Fashion-MNIST";
/// Shown wherever the user's own images in the same format are in use.
pub const LABEL_CUSTOM: &str = "custom images";
/// Shown wherever the bundled generator draws the images.
pub const LABEL_GENERATED: &str = "generated garments";

/// The word that stands for the generator where a folder is expected.
const GENERATED_WORD: &str = "generated";

/// Where images come from. As text (`--data-dir`): a folder, or the word `generated`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    Folder(PathBuf),
    Generated,
}

impl Location {
    /// A folder that is really called `generated` is reached as `./generated`.
    pub fn from_argument(text: &Path) -> Location {
        if text == Path::new(GENERATED_WORD) { Location::Generated } else { Location::Folder(text.to_owned()) }
    }
}

impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Location::Folder(folder) => folder.display().fmt(f),
            Location::Generated => f.write_str(GENERATED_WORD),
        }
    }
}
