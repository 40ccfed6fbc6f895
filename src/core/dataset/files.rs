//! The IDX files of a data folder, under the names that programs give them and in the folders that they unpack into.

use std::path::{Path, PathBuf};

use super::DatasetError;

/// How deep they are looked for: torchvision has `FashionMNIST/raw`, and Kaggle's archives a folder of each file's own name.
const DEPTH: usize = 3;
/// Folders that are looked into at most.
const MOST_FOLDERS: usize = 1000;
/// Endings of other forms in which the same images are published.
const OTHER_FORMS: [&str; 8] = [".npz", ".csv", ".parquet", ".pt", ".pkl", ".mat", ".arrow", ".zip"];

/// The file that a folder holds under this name, compressed or plain.
///
/// # Errors
/// It is not there, or there are several.
pub(super) fn find_file(folder: &Path, name: &str) -> Result<PathBuf, DatasetError> {
    let listed = |folder: &Path| -> std::io::Result<Vec<PathBuf>> {
        let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)?.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        Ok(paths)
    };
    let top = listed(folder).map_err(|cause| DatasetError::unreadable(folder, &cause))?;
    let (mut level, mut visited, mut others) = (top.clone(), 0, Vec::new());
    for _ in 0..=DEPTH {
        let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) = level.into_iter().partition(|path| path.is_dir());
        let (mut found, rest): (Vec<PathBuf>, Vec<PathBuf>) = files.into_iter().partition(|path| is_called(path, name));
        others.extend(rest);
        // A file comes behind its compressed form where both are there, as torchvision leaves them.
        found.sort_by_key(|path| (without_gz(path), path.extension().is_none_or(|ending| ending != "gz")));
        found.dedup_by_key(|path| without_gz(path));
        match &found[..] {
            [] => {}
            [only] => return Ok(only.clone()),
            [one, other, ..] => {
                // By the name as published, it is meant.
                let is_exact = |path: &&PathBuf| path.parent() == Some(folder) && without_gz(path).ends_with(name);
                let several = || DatasetError::Several {
                    folder: folder.display().to_string(),
                    one: one.display().to_string(),
                    other: other.display().to_string(),
                };
                return found.iter().find(is_exact).cloned().ok_or_else(several);
            }
        }
        let folders = folders.into_iter().take(MOST_FOLDERS - visited);
        level = folders.inspect(|_| visited += 1).filter_map(|folder| listed(&folder).ok()).flatten().collect();
    }
    // A folder or a pipe of this name is returned too: opening it gives the error.
    if let Some(odd) = top.into_iter().find(|path| is_called(path, name)) {
        return Ok(odd);
    }
    let near = |path: &&PathBuf| key(path).contains(&key(Path::new(name)));
    let other_form = |path: &&PathBuf| OTHER_FORMS.iter().any(|ending| path.to_string_lossy().to_lowercase().ends_with(ending));
    let there = others.iter().find(near).or_else(|| others.iter().find(other_form));
    let there = there.map(|path| format!(" (there is only {})", path.display())).unwrap_or_default();
    Err(DatasetError::Missing { folder: folder.display().to_string(), file: name.into(), there })
}

fn without_gz(path: &Path) -> PathBuf {
    if path.extension().is_some_and(|ending| ending == "gz") { path.with_extension("") } else { path.to_owned() }
}

/// The letters and digits of a file's name without what the format adds: `trainimages`.
fn key(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let letters: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let letters = letters.strip_suffix("ubyte").unwrap_or(&letters);
    let letters = letters.strip_suffix("idx3").or_else(|| letters.strip_suffix("idx1")).unwrap_or(letters);
    letters.replace("t10k", "test")
}

/// Whether a file has this name, as it is published or as unpackers, Kaggle and EMNIST (`emnist-digits-...`) write it.
fn is_called(path: &Path, name: &str) -> bool {
    key(path).ends_with(&key(Path::new(name)))
}
