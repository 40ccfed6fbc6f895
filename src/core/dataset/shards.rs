//! Images in TFRecord files, as ImageNet is kept for TensorFlow: `train-00000-of-01024`, `validation-00000-of-00128`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::example;
use super::layout::{self, Kind, Listing, is_shard, numbered, rank};
use super::photo::{BadImage, ImageSource, Images, ImagesError, Part, Photo};
use super::tfrecord::{self, Span};
use crate::host::read;

struct Shard {
    name: String,
    file: File,
    spans: Vec<Span>,
    /// How many images the files before it have.
    before: usize,
}

struct Shards {
    shards: Vec<Shard>,
    images: usize,
    classes: usize,
}

pub(super) fn open(root: &Path, part: Part, classes: usize) -> Result<Images, ImagesError> {
    let names = Listing::read(root)?.files;
    // `validation` before `test`, where there are both.
    let best = names.iter().filter(|name| is_shard(name)).filter_map(|name| rank(name, part)).min();
    let own: Vec<&String> = names.iter().filter(|name| is_shard(name) && rank(name, part) == best && best.is_some()).collect();
    if let Some(name) = own.iter().find(|name| is_gzip(&root.join(name))) {
        let to_rename = if name.ends_with(".gz") { "" } else { ", once its name ends with .gz" };
        let cause = format!("it is compressed with gzip, which cannot be read from any place: unpack it with gunzip{to_rename}");
        return Err(ImagesError::wrong(&root.join(name), cause));
    }
    let mut left_out = missing(root, &names, &own)?;
    let mut shards = Vec::new();
    let mut images = 0;
    for name in own {
        let path: PathBuf = root.join(name);
        let index = tfrecord::index(&path).map_err(|cause| ImagesError::unreadable(&path, cause))?;
        let mut note = |reason| left_out.push(BadImage { place: path.display().to_string(), reason });
        match index.broken {
            Some(reason) => note(reason),
            None if index.spans.is_empty() => note("the file is empty: it holds no records".into()),
            None => {}
        }
        let before = images;
        images += index.spans.len();
        shards.push(Shard { name: path.display().to_string(), file: index.file, spans: index.spans, before });
    }
    Ok(Images { source: Box::new(Shards { shards, images, classes }), left_out, notes: Vec::new() })
}

fn is_gzip(path: &Path) -> bool {
    let mut start = [0; 2];
    let read = read::open(path).and_then(|mut file| file.read_exact(&mut start));
    path.extension().is_some_and(|ending| ending == "gz") || (read.is_ok() && start == [0x1f, 0x8b])
}

/// Files that the names of the others promise: `-of-00008` says that there are eight.
fn missing(root: &Path, names: &[String], own: &[&String]) -> Result<Vec<BadImage>, ImagesError> {
    let mut sets: BTreeMap<(&str, &str, &str), BTreeSet<usize>> = BTreeMap::new();
    for (set, at) in own.iter().filter_map(|name| numbered(name)) {
        sets.entry(set).or_default().insert(at);
    }
    let mut sets = sets.into_iter();
    let Some(((prefix, total, ending), there)) = sets.next() else { return Ok(Vec::new()) };
    let pattern = |(prefix, total, ending): (&str, &str, &str)| format!("{prefix}-*-of-{total}{ending}");
    if let Some((other, _)) = sets.next() {
        let cause = format!(
            "it holds two sets of records, {} and {}: move one of them",
            pattern((prefix, total, ending)),
            pattern(other)
        );
        return Err(ImagesError::wrong(root, cause));
    }
    let Ok(count) = total.parse::<usize>() else { return Ok(Vec::new()) };
    // A name that promises a billion files is no reason to look for them.
    let gone = (0..count.min(100_000)).filter(|at| !there.contains(at));
    let reason = |at: usize| {
        let name = format!("{prefix}-{at:0width$}-of-{total}{ending}", width = total.len());
        let unfinished = names.iter().find(|other| layout::kind(other) == Kind::Unfinished && other.starts_with(&name));
        let unfinished = unfinished.map(|other| format!(", and the download {other} is not finished")).unwrap_or_default();
        let reason = format!("the file is missing: {} of {count} are here{unfinished}", there.len());
        BadImage { place: root.join(name).display().to_string(), reason }
    };
    Ok(gone.map(reason).collect())
}

impl Shards {
    fn find(&self, index: usize) -> (&Shard, usize) {
        let shard = self.shards.partition_point(|shard| shard.before <= index) - 1;
        // Empty files have the same count before them as the one behind: the last of them is the one with images.
        (&self.shards[shard], index - self.shards[shard].before)
    }
}

impl ImageSource for Shards {
    fn len(&self) -> usize {
        self.images
    }

    fn classes(&self) -> usize {
        self.classes
    }

    fn place(&self, index: usize) -> String {
        let (shard, at) = self.find(index);
        format!("{}, record {}", shard.name, at + 1)
    }

    fn read(&self, index: usize, buffer: &mut Vec<u8>) -> Result<Photo, BadImage> {
        let (shard, at) = self.find(index);
        let bad = |reason: String| BadImage { place: self.place(index), reason };
        tfrecord::message(&shard.file, shard.spans[at], buffer).map_err(bad)?;
        let example = example::parse(buffer).map_err(|_| bad("it is not a tf.train.Example".into()))?;
        if example.jpeg.is_empty() {
            return Err(bad("it has no image (image/encoded)".into()));
        }
        let label = example.label.ok_or_else(|| bad("it has no label (image/class/label)".into()))?;
        let from_0 = usize::try_from(label).ok().and_then(|label| label.checked_sub(1)).filter(|label| *label < self.classes);
        let label = from_0.ok_or_else(|| bad(format!("its label is {label}, out of the range 1 to {}", self.classes)))?;
        let start = example.jpeg.as_ptr() as usize - buffer.as_ptr() as usize;
        Ok(Photo { jpeg: start..start + example.jpeg.len(), label, boxes: example.boxes })
    }
}
