//! Images as files: a folder for each class, as ImageNet comes unpacked, and as `hvd-lab data make-images` draws them.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use super::boxes;
use super::example::BoundingBox;
use super::layout::{self, Kind, Listing, Place, Set};
use super::photo::{BadImage, ImageSource, Images, ImagesError, Part, Photo};
use super::tfrecord::LARGEST_RECORD_BYTES;
use crate::domain::units;
use crate::host::read;

/// A folder that holds a folder of JPEGs for each class.
pub struct Folder {
    pub root: PathBuf,
    pub classes: Vec<String>,
    /// Class and name of each file.
    pub files: Vec<(usize, String)>,
    boxes: HashMap<usize, Vec<BoundingBox>>,
    /// What in it is not used, in a sentence each.
    pub notes: Vec<String>,
}

pub(super) fn open(root: &Path, set: &Set, part: Part) -> Result<Images, ImagesError> {
    let place = match (part, &set.train) {
        (Part::Train, _) => &set.train,
        (Part::Validation, Some(Place::Classes(folder))) if set.is_undivided && !Folder::open(folder)?.files.is_empty() => {
            return Err(ImagesError::NoValidation { folder: folder.display().to_string() });
        }
        (Part::Validation, _) => &set.validation,
    };
    let folder = match (place, part, &set.train) {
        // The labels are those that were trained on, whatever else lies in the folder.
        (Some(Place::Classes(own)), Part::Validation, Some(Place::Classes(train))) => {
            Folder::open_as(own, &Folder::without_boxes(train, &[])?.classes)?
        }
        (Some(Place::Classes(own)), ..) => Folder::open(own)?,
        (Some(Place::Flat(folder)), ..) => return Err(flat(folder)),
        _ => return Err(layout::none(root, part)),
    };
    let notes = folder.notes.clone();
    Ok(Images { source: Box::new(folder), left_out: Vec::new(), notes })
}

/// The error for photos that are in no class.
pub(super) fn flat(folder: &Path) -> ImagesError {
    let cause =
        "its JPEGs lie in no folder of a class: move them to a folder for each class (CLASS/file.jpg), whose name is the label";
    ImagesError::wrong(folder, cause)
}

impl Folder {
    /// # Errors
    /// It cannot be read.
    pub fn open(root: &Path) -> Result<Folder, ImagesError> {
        Folder::open_as(root, &[])
    }

    /// With these classes and no others, if there are any.
    ///
    /// # Errors
    /// It cannot be read, or it has a class more.
    pub fn open_as(root: &Path, known: &[String]) -> Result<Folder, ImagesError> {
        let mut folder = Folder::without_boxes(root, known)?;
        folder.boxes = boxes::read(root, &folder.classes, &folder.files, &mut folder.notes)?;
        Ok(folder)
    }

    fn without_boxes(root: &Path, known: &[String]) -> Result<Folder, ImagesError> {
        let (mut classes, mut files, mut notes) = (known.to_vec(), Vec::new(), Vec::new());
        let mut unused: BTreeMap<Kind, (usize, String)> = BTreeMap::new();
        let listing = Listing::read(root)?;
        // Some sets keep the photos of each class in a folder of it.
        let are_deeper = listing.with_jpegs(root)?.is_empty();
        if let Some(first) = listing.jpegs().next() {
            let loose = units::counted(listing.jpegs().count(), "JPEG");
            notes.push(format!("{loose} in {} itself, such as {first}, belong to no class and are not used", root.display()));
        }
        for name in listing.folders {
            let folder = root.join(&name);
            let own = Listing::read(&folder)?;
            let mut jpegs: Vec<String> = own.jpegs().cloned().collect();
            let deeper = own.with_jpegs(&folder)?;
            for inner in deeper.iter().filter(|_| are_deeper) {
                let listing = Listing::read(&folder.join(inner))?;
                jpegs.extend(listing.jpegs().map(|file| format!("{inner}/{file}")));
            }
            for file in own.files.iter().filter(|file| !matches!(layout::kind(file), Kind::Jpeg)) {
                unused.entry(layout::kind(file)).or_insert((0, format!("{name}/{file}"))).0 += 1;
            }
            if jpegs.is_empty() {
                notes.push(format!("{} holds no JPEG: it is no class and is passed over", folder.display()));
                continue;
            }
            if let (Some(inner), false) = (deeper.first(), are_deeper) {
                notes.push(format!("{}: the JPEGs in it are a level too deep and are not used", folder.join(inner).display()));
            }
            let class = match classes.iter().position(|class| *class == name) {
                Some(class) => class,
                None if known.is_empty() => {
                    classes.push(name);
                    classes.len() - 1
                }
                None => return Err(ImagesError::wrong(&folder, "there is no such class to train on")),
            };
            files.extend(jpegs.into_iter().map(|file| (class, file)));
        }
        if let ([only], []) = (&classes[..], known) {
            notes.push(format!("{} has a single class, {only}: the folders in it are the classes", root.display()));
        }
        let unused = unused.iter().filter_map(|(kind, (number, first))| layout::said(*kind, *number, first));
        notes.extend(unused.map(|said| format!("{}: {said}", root.display())));
        Ok(Folder { root: root.to_owned(), classes, files, boxes: HashMap::new(), notes })
    }

    /// From the root, with its class.
    fn name(&self, index: usize) -> String {
        let (class, file) = &self.files[index];
        format!("{}/{file}", self.classes[*class])
    }
}

impl ImageSource for Folder {
    fn len(&self) -> usize {
        self.files.len()
    }

    fn classes(&self) -> usize {
        self.classes.len()
    }

    fn place(&self, index: usize) -> String {
        self.root.join(self.name(index)).display().to_string()
    }

    fn read(&self, index: usize, buffer: &mut Vec<u8>) -> Result<Photo, BadImage> {
        let name = self.name(index);
        let read = read::small_file(&self.root.join(&name), LARGEST_RECORD_BYTES);
        *buffer = read.map_err(|cause| BadImage { place: self.place(index), reason: format!("it cannot be read: {cause}") })?;
        let boxes = self.boxes.get(&index).cloned().unwrap_or_default();
        Ok(Photo { jpeg: 0..buffer.len(), label: self.files[index].0, boxes })
    }
}
