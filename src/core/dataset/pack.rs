//! A folder of JPEGs by class, packed into TFRecord files as ImageNet is kept for TensorFlow.

use std::io;
use std::path::{Path, PathBuf};

use super::example::Example;
use super::folder::{self, Folder};
use super::layout::{self, Listing, Place, Set};
use super::photo::{BadImage, BadRecords, ImageSource, ImagesError, Part, generated_by, generated_note};
use super::synthetic::Dice;
use super::{jpeg, tfrecord};
use crate::host::folders::NewFolder;

/// The names of the classes, a line each: the first one's label is 1.
pub const LABELS: &str = "labels.txt";

/// How a folder is packed.
#[derive(Clone, Copy, Debug)]
pub struct Packing {
    /// Files of training images.
    pub shards: usize,
    /// The part of the images that is kept for validation.
    pub validation: f64,
    pub seed: u64,
    pub bad: BadRecords,
}

/// What was packed, and what was not.
#[derive(Debug, Default)]
pub struct Packed {
    pub train: usize,
    pub validation: usize,
    pub validation_shards: usize,
    pub classes: usize,
    /// Of all images.
    pub boxes: usize,
    pub left_out: Vec<BadImage>,
    /// What of the folder is not used, in a sentence each.
    pub notes: Vec<String>,
}

/// Images of a folder, in the order in which they are packed.
struct Share {
    source: Folder,
    order: Vec<usize>,
}

#[derive(Debug, thiserror::Error)]
pub enum PackError {
    #[error(transparent)]
    Images(#[from] ImagesError),
    #[error("{0}")]
    Request(String),
    #[error(transparent)]
    Write(#[from] io::Error),
}

impl Packing {
    /// Packs all images of `from` into files in a new folder, in an order that the seed alone decides.
    ///
    /// # Errors
    /// The images cannot be read, the request makes no sense, the files cannot be written, or `progress` wants no more: then nothing
    /// is left of them.
    pub fn pack(
        &self,
        from: &Path,
        target: &Path,
        mut progress: impl FnMut(usize, usize) -> io::Result<()>,
    ) -> Result<Packed, PackError> {
        let (train, validation) = self.parts(from)?;
        // Files of both parts are about as large.
        let validation_shards = match validation.order.len() {
            0 => 0,
            images => (self.shards * images).div_ceil(train.order.len().max(1)).clamp(1, images),
        };
        if self.shards == 0 || self.shards > train.order.len() {
            let (shards, images) = (self.shards, train.order.len());
            if images == 0 {
                return Err(PackError::Request("--validation leaves no training image: ask for less".into()));
            }
            return Err(PackError::Request(format!("--shards {shards} of {images} training images: use 1 to {images}")));
        }
        let folder = NewFolder::create(target)?;
        let mut notes = [&train.source.notes[..], &validation.source.notes].concat();
        // Both are the same folder where it is not divided.
        notes.sort();
        notes.dedup();
        let mut packed = Packed { validation_shards, classes: train.source.classes.len(), notes, ..Packed::default() };
        let (mut done, total) = (0, train.order.len() + validation.order.len());
        let mut tell = || {
            done += 1;
            progress(done, total)
        };
        for (part, images, shards) in [(Part::Train, &train, self.shards), (Part::Validation, &validation, validation_shards)] {
            let mut written = 0;
            for shard in 0..shards {
                let share = &images.order[images.order.len() * shard / shards..images.order.len() * (shard + 1) / shards];
                let name = format!("{}-{shard:05}-of-{shards:05}", part.name());
                written += self.shard(&images.source, share, &folder, &name, &mut packed, &mut tell)?;
            }
            match part {
                Part::Train => packed.train = written,
                Part::Validation => packed.validation = written,
            }
        }
        let labels = train.source.classes.join("\n") + "\n";
        folder.write(LABELS, |file| file.write_all(labels.as_bytes()))?;
        if let Some(note) = generated_by(from) {
            let name = generated_note(Path::new("")).display().to_string();
            folder.write(&name, |file| writeln!(file, "{note}"))?;
        }
        folder.finish()?;
        Ok(packed)
    }

    /// What is trained on and what is kept for validation: as the folder is divided already, else by chance.
    fn parts(&self, from: &Path) -> Result<(Share, Share), PackError> {
        let set = Set::find(from)?;
        let mut train = match &set.train {
            Some(Place::Classes(folder)) => Folder::open(folder)?,
            Some(Place::Flat(folder)) => return Err(folder::flat(folder).into()),
            Some(Place::Records(folder)) => {
                let name = folder.display();
                return Err(PackError::Request(format!("{name} holds TFRecord files already: give the folder of JPEGs")));
            }
            None => return Err(layout::none(from, Part::Train).into()),
        };
        train.notes.extend(set.note);
        let validation = match set.validation {
            Some(Place::Flat(folder)) => return Err(folder::flat(&folder).into()),
            Some(Place::Classes(folder)) => Some(folder),
            _ => None,
        };
        let mut order = shuffled(train.len(), self.seed);
        let Some(validation) = validation else {
            let kept = (train.len() as f64 * self.validation).round() as usize;
            let rest = order.split_off(kept);
            let again = Folder::open(&train.root)?;
            return Ok((Share { source: train, order: rest }, Share { source: again, order }));
        };
        if self.validation > 0.0 {
            let name = validation.display();
            return Err(PackError::Request(format!("{name} is the validation part already: leave --validation out")));
        }
        let beside = validation.parent().map(Listing::read).transpose()?.unwrap_or_default().folders.into_iter();
        let others =
            beside.filter(|name| layout::part(name) == Some(Part::Validation)).map(|name| validation.with_file_name(name));
        let say = |folder: PathBuf| format!("{} is not packed: records have two parts, train and validation", folder.display());
        train.notes.extend(others.filter(|folder| *folder != validation).map(say));
        let validation = Folder::open_as(&validation, &train.classes)?;
        let kept = shuffled(validation.len(), self.seed);
        Ok((Share { source: train, order }, Share { source: validation, order: kept }))
    }

    /// Writes one file, and says how many images it has.
    fn shard(
        &self,
        source: &Folder,
        images: &[usize],
        folder: &NewFolder,
        name: &str,
        packed: &mut Packed,
        tell: &mut impl FnMut() -> io::Result<()>,
    ) -> Result<usize, PackError> {
        let (mut written, mut stopped, mut buffer) = (0, None, Vec::new());
        folder.write(name, |file| {
            for &index in images {
                match example(source, index, &mut buffer) {
                    Ok((example, boxes)) => {
                        file.write_all(&tfrecord::record(&example))?;
                        written += 1;
                        packed.boxes += boxes;
                    }
                    Err(bad) if self.bad == BadRecords::Skip => packed.left_out.push(bad),
                    Err(bad) => {
                        stopped = Some(bad);
                        return Ok(());
                    }
                }
                tell()?;
            }
            Ok(())
        })?;
        stopped.map_or(Ok(written), |bad| Err(ImagesError::Bad(bad).into()))
    }
}

/// The example of one image, whose size is read and nothing else, and how many boxes it has.
fn example(source: &Folder, index: usize, buffer: &mut Vec<u8>) -> Result<(Vec<u8>, usize), BadImage> {
    let photo = source.read(index, buffer)?;
    let bad = |reason| BadImage { place: source.place(index), reason };
    let head = jpeg::head(buffer).map_err(bad)?;
    jpeg::whole(buffer).map_err(bad)?;
    let boxes = photo.boxes.len();
    let example = Example {
        jpeg: buffer,
        // 0 is ImageNet's background.
        label: Some(photo.label as i64 + 1),
        text: &source.classes[photo.label],
        boxes: photo.boxes,
        size: Some((head.height, head.width)),
    };
    Ok((example.to_bytes(), boxes))
}

/// The images of a folder come class by class: no file is to hold a single class.
fn shuffled(count: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    let mut dice = Dice::of_image(seed, 0);
    for last in (1..count).rev() {
        order.swap(last, dice.below(last + 1));
    }
    order
}
