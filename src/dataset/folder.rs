//! Images as files: a folder for each class, as ImageNet comes unpacked, and as `hvd-lab data make-images` draws them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::example::BoundingBox;
use super::photo::{BadImage, ImageSource, Images, ImagesError, Part, Photo, names};
use super::tfrecord::LARGEST_RECORD_BYTES;
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
}

pub(super) fn open(root: &Path, names: &[String], part: Part) -> Result<Images, ImagesError> {
    let divided = names.iter().any(|name| name == "train");
    let part_names: &[&str] = match part {
        Part::Train => &["train"],
        Part::Validation => &["validation", "val"],
    };
    let own = part_names.iter().find(|name| names.iter().any(|there| there == *name)).map(|name| root.join(name));
    let folder = match (own, divided, part) {
        (Some(own), _, _) => Folder::open(&own)?,
        (None, false, Part::Train) => Folder::open(root)?,
        (None, false, Part::Validation) if !Folder::open(root)?.files.is_empty() => {
            return Err(ImagesError::NoValidation { folder: root.display().to_string() });
        }
        _ => return Err(ImagesError::None { folder: root.display().to_string(), part: part.name() }),
    };
    // An empty class is nothing that is lost: its folder says so itself.
    Ok(Images { source: Box::new(folder), left_out: Vec::new() })
}

impl Folder {
    /// # Errors
    /// It cannot be read.
    pub fn open(root: &Path) -> Result<Folder, ImagesError> {
        let classes: Vec<String> = names(root)?.into_iter().filter(|name| root.join(name).is_dir()).collect();
        let mut files = Vec::new();
        for (class, name) in classes.iter().enumerate() {
            let jpegs = names(&root.join(name))?.into_iter().filter(|name| is_jpeg(name));
            files.extend(jpegs.map(|file| (class, file)));
        }
        Ok(Folder { root: root.to_owned(), classes, files, boxes: boxes(root)? })
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

fn boxes(root: &Path) -> Result<HashMap<String, Vec<BoundingBox>>, ImagesError> {
    let path = root.join(BOXES);
    let mut boxes: HashMap<String, Vec<BoundingBox>> = HashMap::new();
    if !path.exists() {
        return Ok(boxes);
    }
    let text = read::small_text(&path, LARGEST_LIST_BYTES).map_err(|cause| ImagesError::unreadable(&path, cause))?;
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
        let mut parts = line.rsplitn(5, ',');
        let mut number =
            || parts.next().and_then(|part| part.trim().parse::<f32>().ok()).filter(|number| (0.0..=1.0).contains(number));
        let sides = [number(), number(), number(), number()];
        let ([Some(xmax), Some(ymax), Some(xmin), Some(ymin)], Some(name)) = (sides, parts.next()) else {
            let cause = format!("line {} is not `class/file.jpg,ymin,xmin,ymax,xmax` with fractions from 0 to 1", at + 1);
            return Err(ImagesError::unreadable(&path, cause));
        };
        boxes.entry(name.to_owned()).or_default().push(BoundingBox { ymin, xmin, ymax, xmax });
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
