//! Lists of where objects are in photos: `boxes.csv`, and the list that TensorFlow's scripts make of ImageNet's own.

use std::collections::HashMap;
use std::path::Path;

use super::example::BoundingBox;
use super::layout;
use super::photo::ImagesError;
use crate::domain::{cells, printable, units};
use crate::host::read;

/// Where objects are, a line each: `class/file.jpg,ymin,xmin,ymax,xmax`, in fractions of the image.
pub const BOXES: &str = "boxes.csv";
/// A million boxes and more.
const LARGEST_LIST_BYTES: u64 = 256 << 20;
/// How far outside of the image a side may be, by rounding: it is cut to the edge.
const A_HAIR: f32 = 0.01;

/// Lists by name, and where their columns are if they have no headings. ImageNet's own has xmin before ymin.
const LISTS: [(&str, [usize; 5]); 2] = [(BOXES, [0, 1, 2, 3, 4]), ("imagenet_2012_bounding_boxes.csv", [0, 2, 1, 4, 3])];
/// What columns are called: the photo, and the sides in the order of [`BoundingBox`].
const COLUMNS: [&[&str]; 5] = [
    &["name", "file", "filename", "file_name", "image", "image_name", "image_id", "imageid", "path", "photo", "class/file.jpg"],
    &["ymin", "y_min", "y1", "top"],
    &["xmin", "x_min", "x1", "left"],
    &["ymax", "y_max", "y2", "bottom"],
    &["xmax", "x_max", "x2", "right"],
];

/// The boxes of photos, by their place in `files` (class and name of each).
///
/// The list lies in the folder of the classes, or above it: then it may name other photos too, and `notes` says how many.
///
/// # Errors
/// A list that cannot be read or understood, with its line.
pub(super) fn read(
    root: &Path,
    classes: &[String],
    files: &[(usize, String)],
    notes: &mut Vec<String>,
) -> Result<HashMap<usize, Vec<BoundingBox>>, ImagesError> {
    let lists = |folder: &Path| LISTS.map(|(name, places)| (folder.join(name), places));
    let is_part = |folder: &&Path| folder.file_name().is_some_and(|name| layout::part(&name.to_string_lossy()).is_some());
    // Up to the folder that holds the parts, if these are in one.
    let above = root.ancestors().take(3).position(|folder| is_part(&folder)).map_or(0, |at| at + 1);
    let mut found = root.ancestors().take(above + 1).flat_map(lists).filter(|(path, _)| path.exists());
    let Some((path, places)) = found.next() else { return Ok(HashMap::new()) };
    let is_own = path == root.join(BOXES);
    let text = read::small_text(&path, LARGEST_LIST_BYTES).map_err(|cause| ImagesError::wrong(&path, cause))?;
    let photos = Photos::new(classes, files);
    let (mut boxes, mut strangers): (HashMap<usize, Vec<BoundingBox>>, _) = (HashMap::new(), Vec::new());
    let mut lines = cells::lines(&text).peekable();
    let Some(&(at, first)) = lines.peek() else { return Ok(boxes) };
    let wrong = |at: usize, cause: String| ImagesError::wrong(&path, format!("line {at} {cause}"));
    let columns = Columns::from_first_line(first, places).map_err(|cause| wrong(at, cause))?;
    for (at, line) in lines.skip(usize::from(columns.has_headings)) {
        let (name, area) = columns.row(line).map_err(|cause| wrong(at, cause))?;
        match photos.find(&name) {
            Ok(photo) => boxes.entry(photo).or_default().push(area),
            Err(cause) if is_own => return Err(wrong(at, cause)),
            Err(cause) => strangers.push(format!("line {at} {cause}")),
        }
    }
    if let Some(first) = strangers.first() {
        let (lines, are) = (units::counted(strangers.len(), "line"), if strangers.len() == 1 { "is" } else { "are" });
        notes.push(format!("{}: {lines} {are} of no photo in {}; the first one: {first}", path.display(), root.display()));
    }
    Ok(boxes)
}

/// Where the cells of a line are that say something.
struct Columns {
    separator: char,
    /// How many there are.
    count: usize,
    /// Of the photo, and of the sides in the order of [`BoundingBox`].
    places: [usize; 5],
    has_headings: bool,
}

impl Columns {
    /// By the first line, which may be one of headings; without them the columns are at `places`.
    fn from_first_line(line: &str, places: [usize; 5]) -> Result<Columns, String> {
        let (separator, headings) = cells::headings(line);
        let is_figure = |cell: &String| cell.starts_with(|letter: char| letter.is_ascii_digit() || "-+.".contains(letter));
        let has_headings = headings.len() > 1 && !headings.iter().skip(1).any(is_figure);
        if !has_headings {
            return Ok(Columns { separator, count: places.len(), places, has_headings });
        }
        let place = |known: &[&str]| headings.iter().position(|heading| known.contains(&heading.as_str()));
        match COLUMNS.map(place) {
            [Some(name), Some(ymin), Some(xmin), Some(ymax), Some(xmax)] => {
                Ok(Columns { separator, count: headings.len(), places: [name, ymin, xmin, ymax, xmax], has_headings })
            }
            _ => Err(format!("has the headings {}: write name, ymin, xmin, ymax and xmax", printable::excerpt(line))),
        }
    }

    /// The photo and the box of a line.
    fn row(&self, line: &str) -> Result<(String, BoundingBox), String> {
        let mut cells = cells::cells(line, self.separator, self.count);
        // A name may have commas in it.
        if !self.has_headings && cells.len() > self.count {
            let rest = cells.split_off(cells.len() - 4);
            cells = [vec![cells.join(&self.separator.to_string())], rest].concat();
        }
        let [name, sides @ ..] = self.places;
        let sides = sides.map(|at| cells.get(at).and_then(|cell| cells::number(cell, self.separator)).map(|side| side as f32));
        let ([Some(ymin), Some(xmin), Some(ymax), Some(xmax)], Some(name)) = (sides, cells.get(name)) else {
            return Err("is not `class/file.jpg,ymin,xmin,ymax,xmax` with fractions from 0 to 1".into());
        };
        if let Some(number) = [ymin, xmin, ymax, xmax].iter().find(|number| !(-A_HAIR..=1.0 + A_HAIR).contains(*number)) {
            return Err(format!("has {number}: the sides are fractions of the image, from 0 to 1, not pixels or percent"));
        }
        if ymin > ymax || xmin > xmax {
            return Err("has a minimum above its maximum: the order is ymin,xmin,ymax,xmax".into());
        }
        let [ymin, xmin, ymax, xmax] = [ymin, xmin, ymax, xmax].map(|side| side.clamp(0.0, 1.0));
        Ok((name.clone(), BoundingBox { ymin, xmin, ymax, xmax }))
    }
}

/// Photos by what lists call them: with or without their folders, and with or without their ending.
struct Photos<'a> {
    classes: &'a [String],
    files: &'a [(usize, String)],
    by_stem: HashMap<&'a str, Vec<usize>>,
}

impl<'a> Photos<'a> {
    fn new(classes: &'a [String], files: &'a [(usize, String)]) -> Photos<'a> {
        let mut by_stem: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, (_, file)) in files.iter().enumerate() {
            by_stem.entry(split(file).2).or_default().push(at);
        }
        Photos { classes, files, by_stem }
    }

    fn find(&self, name: &str) -> Result<usize, String> {
        let name = name.replace('\\', "/");
        let (folders, file, stem) = split(&name);
        // A dot may belong to the name of a photo that is written without its ending.
        let stems = [Some(stem), Some(file).filter(|file| *file != stem)];
        let like = stems.into_iter().flatten().filter_map(|stem| self.by_stem.get(stem)).flatten().copied();
        let folders: Vec<&str> = folders.split('/').filter(|folder| !folder.is_empty()).collect();
        let is_there = |at: &usize| folders.is_empty() || folders.contains(&self.classes[self.files[*at].0].as_str());
        let like: Vec<usize> = like.filter(is_there).collect();
        let exact: Vec<usize> = like.iter().copied().filter(|at| split(&self.files[*at].1).1 == file).collect();
        match (&exact[..], &like[..]) {
            ([only], _) | ([], [only]) => Ok(*only),
            ([], []) => Err(format!("names {}, and there is no such photo", printable::excerpt(&name))),
            _ => Err(format!("names {}, and there are several such photos: write class/file.jpg", printable::excerpt(&name))),
        }
    }
}

/// The folders of a path, its file, and that without its ending.
fn split(path: &str) -> (&str, &str, &str) {
    let (folders, file) = path.rsplit_once('/').unwrap_or(("", path));
    (folders, file, file.rsplit_once('.').map_or(file, |(stem, _)| stem))
}
