//! Images as files: a folder for each class, as ImageNet comes unpacked, and as `hvd-lab data make-images` draws them.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::example::BoundingBox;
use super::photo::{BadImage, ImageSource, Images, ImagesError, Part, Photo, names};
use super::tfrecord::LARGEST_RECORD_BYTES;
use crate::domain::safe;
use crate::host::read;

/// Where objects are, a line each: `class/file.jpg,ymin,xmin,ymax,xmax`, in fractions of the image.
pub const BOXES: &str = "boxes.csv";
/// A million boxes and more.
const LARGEST_LIST_BYTES: u64 = 256 << 20;

/// A folder of JPEGs by class, for whoever packs it.
pub struct Folder {
    root: PathBuf,
    pub classes: Vec<String>,
    /// Class and name of each file.
    pub files: Vec<(usize, String)>,
    boxes: HashMap<String, Vec<BoundingBox>>,
    /// Folders without a JPEG: they are no classes.
    pub passed_over: Vec<String>,
}

pub(super) fn open(root: &Path, names: &[String], part: Part) -> Result<Images, ImagesError> {
    let divided = names.iter().any(|name| name == "train");
    let part_names: &[&str] = match part {
        Part::Train => &["train"],
        Part::Validation => &["validation", "val"],
    };
    let own = part_names.iter().find(|name| names.iter().any(|there| there == *name)).map(|name| root.join(name));
    let folder = match (own, divided, part) {
        // The labels are those that were trained on, whatever else lies in the folder.
        (Some(own), true, Part::Validation) => Folder::open_as(&own, &Folder::without_boxes(&root.join("train"), &[])?.classes)?,
        (Some(own), _, _) => Folder::open(&own)?,
        (None, false, Part::Train) => Folder::open(root)?,
        (None, false, Part::Validation) if !Folder::open(root)?.files.is_empty() => {
            return Err(ImagesError::NoValidation { folder: root.display().to_string() });
        }
        _ => return Err(ImagesError::None { folder: root.display().to_string(), part: part.name() }),
    };
    let notes = folder.passed_over();
    Ok(Images { source: Box::new(folder), left_out: Vec::new(), notes })
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
        folder.boxes = boxes(root, &folder.classes, &folder.files)?;
        Ok(folder)
    }

    fn without_boxes(root: &Path, known: &[String]) -> Result<Folder, ImagesError> {
        let (mut classes, mut files, mut passed_over) = (known.to_vec(), Vec::new(), Vec::new());
        for name in names(root)?.into_iter().filter(|name| root.join(name).is_dir()) {
            let folder = root.join(&name);
            // Some tools keep folders of such names.
            let mut jpegs = names(&folder)?.into_iter().filter(|file| is_jpeg(file) && !folder.join(file).is_dir()).peekable();
            if jpegs.peek().is_none() {
                passed_over.push(name);
                continue;
            }
            let class = match classes.iter().position(|class| *class == name) {
                Some(class) => class,
                None if known.is_empty() => {
                    classes.push(name);
                    classes.len() - 1
                }
                None => return Err(ImagesError::unreadable(&folder, "there is no such class to train on")),
            };
            files.extend(jpegs.map(|file| (class, file)));
        }
        Ok(Folder { root: root.to_owned(), classes, files, boxes: HashMap::new(), passed_over })
    }

    /// What is said of folders that are no classes.
    pub fn passed_over(&self) -> Vec<String> {
        let say = |name: &String| format!("{} holds no JPEG: it is no class and is passed over", self.root.join(name).display());
        self.passed_over.iter().map(say).collect()
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// From the root, as it is written in the list of boxes.
    fn name(&self, index: usize) -> String {
        let (class, file) = &self.files[index];
        format!("{}/{file}", self.classes[*class])
    }
}

fn is_jpeg(name: &str) -> bool {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    matches!(extension.as_deref(), Some("jpg" | "jpeg"))
}

/// How far outside of the image a side may be, by rounding: it is cut to the edge.
const A_HAIR: f32 = 0.01;

fn boxes(root: &Path, classes: &[String], files: &[(usize, String)]) -> Result<HashMap<String, Vec<BoundingBox>>, ImagesError> {
    let path = root.join(BOXES);
    let mut boxes: HashMap<String, Vec<BoundingBox>> = HashMap::new();
    if !path.exists() {
        return Ok(boxes);
    }
    let text = read::small_text(&path, LARGEST_LIST_BYTES).map_err(|cause| ImagesError::unreadable(&path, cause))?;
    let photos: HashSet<String> = files.iter().map(|(class, file)| format!("{}/{file}", classes[*class])).collect();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |cause: &str| Err(ImagesError::unreadable(&path, format!("line {} {cause}", at + 1)));
        let mut parts = line.rsplitn(5, ',');
        let mut number = || parts.next().and_then(|part| part.trim().parse::<f32>().ok());
        let sides = [number(), number(), number(), number()];
        let ([Some(xmax), Some(ymax), Some(xmin), Some(ymin)], Some(name)) = (sides, parts.next()) else {
            return wrong("is not `class/file.jpg,ymin,xmin,ymax,xmax` with fractions from 0 to 1");
        };
        if let Some(number) = [ymin, xmin, ymax, xmax].iter().find(|number| !(-A_HAIR..=1.0 + A_HAIR).contains(*number)) {
            return wrong(&format!("has {number}: the sides are fractions of the image, from 0 to 1"));
        }
        if ymin > ymax || xmin > xmax {
            return wrong("has a minimum above its maximum: the order is ymin,xmin,ymax,xmax");
        }
        if !photos.contains(name.trim()) {
            return wrong(&format!("names {}, and there is no such photo", safe::excerpt(name)));
        }
        let [ymin, xmin, ymax, xmax] = [ymin, xmin, ymax, xmax].map(|side| side.clamp(0.0, 1.0));
        boxes.entry(name.trim().to_owned()).or_default().push(BoundingBox { ymin, xmin, ymax, xmax });
    }
    Ok(boxes)
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
        let boxes = self.boxes.get(&name).cloned().unwrap_or_default();
        Ok(Photo { jpeg: 0..buffer.len(), label: self.files[index].0, boxes })
    }
}
