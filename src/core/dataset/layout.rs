//! Where the photos of a data folder lie: what the names of folders and files mean, and which folders hold classes or records.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::photo::{ImagesError, Part};
use crate::domain::units;

/// What a file is by the ending of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Jpeg,
    Records,
    /// Images that are not decoded.
    OtherImage,
    Archive,
    Unfinished,
    /// Beside records: indices of DALI and others, checksums, notes.
    Note,
    Unknown,
}

const ENDINGS: [(Kind, &str); 6] = [
    (Kind::Jpeg, "jpg jpeg jpe jfif"),
    (Kind::Records, "tfrecord tfrecords tfrec"),
    (Kind::OtherImage, "png webp bmp tif tiff gif avif heic heif jp2 jxl ppm pgm npy npz parquet"),
    (Kind::Archive, "tar tgz zip 7z rar"),
    (Kind::Unfinished, "part partial tmp crdownload download incomplete filepart aria2"),
    (Kind::Note, "idx index tfindex json txt md md5 sha256 csv xml py"),
];

/// Words in the names of folders and of files with records; where several are there, the first of them counts.
const PARTS: [(Part, &[&str]); 2] =
    [(Part::Train, &["train", "training"]), (Part::Validation, &["validation", "val", "valid", "eval", "test", "testing"])];

/// Folders that programs keep beside the user's own.
const OF_TOOLS: [&str; 6] = ["__MACOSX", "@eaDir", "#recycle", "$RECYCLE.BIN", "lost+found", "System Volume Information"];
/// If the only folder has one of these names, its photos belong to no class.
const NO_CLASSES: [&str; 8] = ["images", "image", "img", "imgs", "jpegs", "jpegimages", "photos", "data"];

/// How deep below the data folder photos are looked for, as archives unpack into folders of folders.
const DEPTH: usize = 4;

pub(super) fn kind(name: &str) -> Kind {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).unwrap_or_default();
    ENDINGS.iter().find(|(_, endings)| endings.split(' ').any(|known| known == ending)).map_or(Kind::Unknown, |(kind, _)| *kind)
}

/// How well a name fits a part: 0 is best.
pub(super) fn rank(name: &str, part: Part) -> Option<usize> {
    let name = name.to_lowercase();
    let words: Vec<&str> = name.split(|letter: char| !letter.is_alphanumeric()).collect();
    let is_in = |wanted: &&str| words.iter().any(|word| word.trim_end_matches(|digit: char| digit.is_ascii_digit()) == *wanted);
    let (_, wanted) = PARTS.iter().find(|(of, _)| *of == part)?;
    wanted.iter().position(|word| *word == name).or_else(|| Some(wanted.len() + wanted.iter().position(is_in)?))
}

/// The part that a name stands for.
pub(super) fn part(name: &str) -> Option<Part> {
    Part::ALL.into_iter().find(|part| rank(name, *part).is_some())
}

/// Whether a file of this name holds records: it names its part, and its number or its kind.
pub(super) fn is_shard(name: &str) -> bool {
    let plain = name.strip_suffix(".gz").unwrap_or(name);
    let is_number = |word: &str| !word.is_empty() && word.chars().all(|letter| letter.is_ascii_digit());
    let is_records = match kind(plain) {
        Kind::Records => true,
        Kind::Unknown => numbered(plain).is_some() || plain.rsplit(['-', '_']).next().is_some_and(is_number),
        _ => false,
    };
    is_records && part(name).is_some()
}

/// What all files of a set have in their names (before the number, how many there are, and what follows), and the number.
pub(super) fn numbered(name: &str) -> Option<((&str, &str, &str), usize)> {
    let (before, after) = name.rsplit_once("-of-")?;
    let (prefix, number) = before.rsplit_once('-')?;
    let (total, ending) = after.split_at(after.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(after.len()));
    Some(((prefix, total, ending), number.parse().ok()?))
}

/// What lies in a folder in the order of the names, without what is hidden, as half written files are, and without folders of tools.
#[derive(Default)]
pub(super) struct Listing {
    pub folders: Vec<String>,
    pub files: Vec<String>,
}

impl Listing {
    pub fn read(folder: &Path) -> Result<Listing, ImagesError> {
        let unreadable = |cause: std::io::Error| ImagesError::unreadable(folder, cause);
        let mut listing = Listing::default();
        for entry in std::fs::read_dir(folder).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            // Left out, it would shift the classes behind it.
            let name = entry.file_name().into_string().map_err(|name| {
                let cause = format!("the name {name:?} in it is not UTF-8 text: rename it");
                ImagesError::Unreadable { path: folder.display().to_string(), cause }
            })?;
            // Where the system says the kind, a million files are not asked for it one by one.
            let is_folder = match entry.file_type() {
                Ok(kind) if !kind.is_symlink() => kind.is_dir(),
                _ => entry.path().is_dir(),
            };
            match is_folder {
                _ if name.starts_with('.') || (is_folder && OF_TOOLS.contains(&name.as_str())) => {}
                true => listing.folders.push(name),
                false => listing.files.push(name),
            }
        }
        listing.folders.sort();
        listing.files.sort();
        Ok(listing)
    }

    pub fn jpegs(&self) -> impl Iterator<Item = &String> {
        self.files.iter().filter(|file| kind(file) == Kind::Jpeg)
    }

    /// The folders in it that have JPEGs themselves.
    pub fn with_jpegs(&self, folder: &Path) -> Result<Vec<&String>, ImagesError> {
        let mut with_jpegs = Vec::new();
        for name in &self.folders {
            if has_jpeg(&folder.join(name))? {
                with_jpegs.push(name);
            }
        }
        Ok(with_jpegs)
    }

    /// What the folder holds itself.
    fn place(&self, folder: &Path, with_jpegs: &[&String]) -> Option<Place> {
        match with_jpegs {
            _ if self.files.iter().any(|name| is_shard(name)) => Some(Place::Records(folder.to_owned())),
            [] => self.jpegs().next().map(|_| Place::Flat(folder.to_owned())),
            [only] if NO_CLASSES.contains(&only.to_lowercase().as_str()) => Some(Place::Flat(folder.join(only))),
            _ => Some(Place::Classes(folder.to_owned())),
        }
    }

    /// The folder whose name fits a part best.
    fn part(&self, part: Part) -> Option<&String> {
        self.folders.iter().filter_map(|name| Some((rank(name, part)?, name))).min().map(|(_, name)| name)
    }
}

/// Whether there is a JPEG in a folder itself: the first one is the last that is looked at.
fn has_jpeg(folder: &Path) -> Result<bool, ImagesError> {
    let entries = std::fs::read_dir(folder).map_err(|cause| ImagesError::unreadable(folder, cause))?;
    Ok(entries.flatten().any(|entry| {
        let is_jpeg = |name: &str| !name.starts_with('.') && kind(name) == Kind::Jpeg;
        entry.file_name().to_str().is_some_and(is_jpeg) && !entry.path().is_dir()
    }))
}

/// A folder with photos.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Of records of any part.
    Records(PathBuf),
    /// Of a folder for each class.
    Classes(PathBuf),
    /// Of JPEGs in no class.
    Flat(PathBuf),
}

/// Where the parts of a set lie.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Set {
    pub train: Option<Place>,
    pub validation: Option<Place>,
    /// All classes are in one folder: none of their photos is kept for validation.
    pub is_undivided: bool,
    /// The photos are deeper than where they were looked for.
    pub note: Option<String>,
}

impl Set {
    /// Finds the photos in or below a folder.
    ///
    /// # Errors
    /// It cannot be read, or there are several sets.
    pub fn find(root: &Path) -> Result<Set, ImagesError> {
        let mut sets = Vec::new();
        look(root, DEPTH, &mut sets)?;
        // Photos in no class matter only where there are no others.
        let is_flat = |(_, set): &(PathBuf, Set)| matches!((&set.train, &set.validation), (Some(Place::Flat(_)), None));
        if !sets.iter().all(is_flat) {
            sets.retain(|set| !is_flat(set));
        }
        if let [(one, _), (other, _), ..] = &sets[..] {
            let several = format!("it holds several sets of photos ({}, {}): name one of them", one.display(), other.display());
            return Err(ImagesError::wrong(root, several));
        }
        let Some((folder, mut set)) = sets.pop() else { return Ok(Set::default()) };
        set.note = (folder != root).then(|| format!("the photos of {} are in {}", root.display(), folder.display()));
        Ok(set)
    }
}

/// Finds the sets in a folder, else those in the folders of it.
fn look(folder: &Path, depth: usize, sets: &mut Vec<(PathBuf, Set)>) -> Result<(), ImagesError> {
    let listing = Listing::read(folder)?;
    let with_jpegs = listing.with_jpegs(folder)?;
    let place = listing.place(folder, &with_jpegs);
    let parts = match &place {
        Some(Place::Records(_)) => [None, None],
        _ => Part::ALL.map(|part| listing.part(part)),
    };
    // A class may be called `train`: then it lies beside other classes, with JPEGs as they have.
    let is_divided = match parts {
        [None, None] => false,
        [Some(train), _] if !with_jpegs.contains(&train) => true,
        _ => with_jpegs.iter().all(|name| part(name).is_some()),
    };
    let set = if is_divided {
        let within = |part: Option<&String>| part.map(|name| within(&folder.join(name), DEPTH)).transpose().map(Option::flatten);
        Set { train: within(parts[0])?, validation: within(parts[1])?, ..Set::default() }
    } else {
        let validation = place.clone().filter(|place| matches!(place, Place::Records(_)));
        Set { is_undivided: matches!(place, Some(Place::Classes(_))), train: place, validation, note: None }
    };
    if set.train.is_some() || set.validation.is_some() {
        sets.push((folder.to_owned(), set));
    } else if depth > 0 {
        listing.folders.iter().try_for_each(|name| look(&folder.join(name), depth - 1, sets))?;
    }
    Ok(())
}

/// The photos of a part, whose classes may lie deeper.
fn within(folder: &Path, depth: usize) -> Result<Option<Place>, ImagesError> {
    let listing = Listing::read(folder)?;
    if let Some(place) = listing.place(folder, &listing.with_jpegs(folder)?) {
        return Ok(Some(place));
    }
    let mut places = Vec::new();
    for name in listing.folders.iter().filter(|_| depth > 0) {
        places.extend(within(&folder.join(name), depth - 1)?);
    }
    // Of several, each is a class whose photos lie in a folder of it.
    Ok(if places.len() > 1 { Some(Place::Classes(folder.to_owned())) } else { places.pop() })
}

/// The error for a folder without images of a part: what else lies in it shows why.
pub(super) fn none(root: &Path, part: Part) -> ImagesError {
    let mut kinds = BTreeMap::new();
    count(root, DEPTH, &mut kinds);
    let others = kinds.iter().find_map(|(kind, (number, first))| said(*kind, *number, first)).map(|said| format!(" ({said})"));
    ImagesError::None { folder: root.display().to_string(), part: part.name(), others: others.unwrap_or_default() }
}

fn count(folder: &Path, depth: usize, kinds: &mut BTreeMap<Kind, (usize, String)>) {
    let Ok(listing) = Listing::read(folder) else { return };
    for file in listing.files {
        kinds.entry(kind(&file)).or_insert((0, file)).0 += 1;
    }
    if depth > 0 {
        listing.folders.iter().for_each(|name| count(&folder.join(name), depth - 1, kinds));
    }
}

/// Files that are not used, and what to do with them.
pub(super) fn said(kind: Kind, number: usize, first: &str) -> Option<String> {
    let (noun, advice) = match kind {
        Kind::OtherImage => ("file", "not used, because only JPEGs are read: save them as JPEGs"),
        Kind::Archive => ("archive", "not unpacked: unpack them first"),
        Kind::Unfinished => ("unfinished download", "not used: download them to their end"),
        _ => return None,
    };
    let (them, are) = (units::counted(number, noun), if number == 1 { "is" } else { "are" });
    Some(format!("{them} such as {first} {are} {advice}"))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    /// Left out without a word, a class would shift the labels of all behind it.
    #[test]
    fn a_name_that_is_no_text_is_named_and_not_left_out() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b", "a", ".half"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        std::fs::create_dir(folder.path().join("@eaDir")).unwrap();
        std::fs::write(folder.path().join("c"), "").unwrap();
        let listing = Listing::read(folder.path()).unwrap();
        assert_eq!((listing.folders, listing.files), (vec!["a".to_owned(), "b".to_owned()], vec!["c".to_owned()]));
        std::fs::create_dir(folder.path().join(OsStr::from_bytes(b"k\xe9"))).unwrap();
        let said = Listing::read(folder.path()).err().unwrap().to_string();
        assert!(said.contains(r"k\xE9") && said.contains("rename it") && !said.contains('\n'), "{said}");
    }
}
