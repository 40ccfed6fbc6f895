//! TensorBoard's event files while a program writes them: the scalars that are figures of a training.
//!
//! Never reads what was there before the run, and never a record that is not whole yet.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::event_file::Reader;
use crate::dataset::protobuf::{Fields, Value};
use crate::domain::user_metrics::{Figure, Logged, TENSORBOARD};
use crate::launch::adapter::{Name, Percents, Scope, meaning, scope_of};

/// Folders below the named one: runs, and in them train and validation.
const DEPTH: usize = 4;
/// Files that are followed, and entries of folders that are looked at for them.
const MOST_FILES: usize = 256;
const MOST_ENTRIES: usize = 10_000;
/// Bytes at the end of a file that are read in any case.
const END: u64 = 1 << 20;
/// Steps that may still get another scalar.
const OPEN_STEPS: usize = 8;
/// Tags of a file that are remembered.
const MOST_TAGS: usize = 10_000;

/// Follows the files of one folder.
#[derive(Debug)]
pub(super) struct TensorBoard {
    folder: PathBuf,
    /// Up to where each file was read; `None` of one that is damaged.
    read: BTreeMap<PathBuf, Option<u64>>,
    percents: Percents,
}

impl TensorBoard {
    /// From what is in the folder now on. It may not be there yet.
    pub fn new(folder: &Path) -> TensorBoard {
        let there = files(folder).into_iter();
        let read = there.map(|file| (file.clone(), fs::metadata(&file).ok().map(|of| of.len()))).collect();
        TensorBoard { folder: folder.to_owned(), read, percents: Percents::default() }
    }

    /// What was written since the last look, in the order of steps within each file, as far as it can be read in about `patience`; with
    /// `None` the end of each file alone. Returns the bytes that are left, or that were left out before the ends.
    pub fn look(&mut self, patience: Option<Duration>, take: &mut dyn FnMut(Logged)) -> u64 {
        let (begin, mut left) = (Instant::now(), 0);
        for file in files(&self.folder) {
            let Some(from) = *self.read.entry(file.clone()).or_insert(Some(0)) else { continue };
            let within = file.strip_prefix(&self.folder).unwrap_or(&file).display().to_string();
            // One that cannot be read now may be at the next look.
            let Ok(mut reader) = Reader::open(&file, from) else { continue };
            let mut steps = Steps { file: within, open: VecDeque::new(), tags: HashMap::new(), percents: &self.percents };
            if patience.is_none() {
                let before = reader.left();
                while reader.left() > END && reader.piece(|_| {}) {}
                left += before - reader.left();
            }
            // Each file is read on a little, however many there are.
            while reader.piece(|record| steps.read(record, take)) && patience.is_none_or(|patience| begin.elapsed() < patience) {}
            steps.open.drain(..).for_each(|(.., logged)| take(logged));
            left += patience.map_or(0, |_| reader.left());
            self.read.insert(file, reader.at);
        }
        left
    }
}

/// The event files of a folder and of those in it, in the order of their names.
fn files(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut folders, mut seen) = (Vec::new(), vec![(folder.to_owned(), 0)], 0);
    while let Some((folder, depth)) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            seen += 1;
            // Somebody may have named a folder with all there is.
            if seen > MOST_ENTRIES {
                return found;
            }
            let (path, is_folder) = (entry.path(), entry.file_type().is_ok_and(|kind| kind.is_dir()));
            if is_folder && depth < DEPTH {
                folders.push((path, depth + 1));
            } else if !is_folder && entry.file_name().to_string_lossy().contains(".tfevents.") {
                found.push(path);
            }
        }
    }
    found.sort();
    found.truncate(MOST_FILES);
    found
}

/// Puts the scalars of each step of a file together. A step may be an epoch's number, as Keras has it.
struct Steps<'p> {
    file: String,
    percents: &'p Percents,
    open: VecDeque<(i64, bool, Logged)>,
    /// Which figure a tag is of, and whether its steps are epochs.
    tags: HashMap<Vec<u8>, (Option<Figure>, bool)>,
}

impl Steps<'_> {
    /// What an event says. Steps that are complete go to `take`.
    fn read(&mut self, event: &[u8], take: &mut dyn FnMut(Logged)) {
        scalars(event, |step, tag, value| {
            let (figure, is_epoch) = self.tags.get(tag).copied().unwrap_or_else(|| self.learn(tag));
            let Some(field) = figure else { return };
            let Some(value) = self.percents.told(field, value) else { return };
            let is_it = |of: &&mut (i64, bool, Logged)| (of.0, of.1) == (step, is_epoch);
            if let Some((.., logged)) = self.open.iter_mut().rev().find(is_it) {
                *(field.slot)(logged) = Some(value);
                return;
            }
            if self.open.len() == OPEN_STEPS
                && let Some((.., logged)) = self.open.pop_front()
            {
                take(logged);
            }
            // Keras counts from 0 here, and from 1 where it prints. Its files lie in these folders.
            let folder = Path::new(&self.file).parent().and_then(Path::file_name);
            let is_keras = folder.is_some_and(|folder| folder == "train" || folder == "validation");
            let number = step as f64;
            let (epoch, step_number) =
                if is_epoch { (Some(number + f64::from(u8::from(is_keras))), None) } else { (None, Some(number)) };
            let mut logged = Logged { epoch, step: step_number, by: TENSORBOARD.into(), ..Logged::default() };
            *(field.slot)(&mut logged) = Some(value);
            self.open.push_back((step, is_epoch, logged));
        });
    }

    fn learn(&mut self, tag: &[u8]) -> (Option<Figure>, bool) {
        let name = String::from_utf8_lossy(tag);
        let known = (figure(&name, &self.file), name.starts_with("epoch_"));
        if self.tags.len() < MOST_TAGS {
            self.tags.insert(tag.to_vec(), known);
        }
        known
    }
}

/// Which figure a tag is of, by its words as in what is printed, and by the folder of its file; `None` for other tags.
fn figure(tag: &str, file: &str) -> Option<Figure> {
    let (name, own) = meaning(&tag.to_lowercase().replace(' ', "_"));
    let mut folders = file.rsplit('/').skip(1).map(|folder| scope_of(&folder.to_lowercase()));
    let is_validation = own == Some(Scope::Validation) || folders.any(|of| of == Some(Scope::Validation));
    let of = |name: &'static str, of_validation| Figure::named(if is_validation { of_validation } else { name });
    match name {
        Name::Rate => of("images_per_sec", "val_images_per_sec"),
        Name::Loss => of("loss", "val_loss"),
        Name::Accuracy | Name::Top => of("accuracy", "val_accuracy"),
        Name::Epoch if tag == "epoch" => Figure::named("epoch"),
        // Lightning's `lr-SGD`
        Name::LearningRate => Figure::named("learning_rate"),
        _ => tag.to_lowercase().starts_with("lr-").then(|| Figure::named("learning_rate"))?,
    }
}

/// Step, tag and value of the scalars of an event.
fn scalars(event: &[u8], mut take: impl FnMut(i64, &[u8], f64)) {
    let (mut step, mut summary) = (0, &[][..]);
    for field in Fields::new(event).map_while(Result::ok) {
        match field {
            (2, Value::Varint(number)) => step = number as i64,
            (5, Value::Bytes(bytes)) => summary = bytes,
            _ => {}
        }
    }
    for field in Fields::new(summary).map_while(Result::ok) {
        if let (1, Value::Bytes(value)) = field
            && let Some((tag, value)) = scalar(value)
        {
            take(step, tag, value);
        }
    }
}

fn scalar(value: &[u8]) -> Option<(&[u8], f64)> {
    let (mut tag, mut found) = (None, None);
    for field in Fields::new(value).map_while(Result::ok) {
        match field {
            (1, Value::Bytes(name)) => tag = Some(name),
            (2, Value::Fixed32(bytes)) => found = Some(f64::from(f32::from_le_bytes(bytes))),
            (8, Value::Bytes(bytes)) => found = tensor(bytes),
            _ => {}
        }
    }
    Some((tag?, found?))
}

/// A tensor of one number, as TensorFlow 2 stores a scalar.
fn tensor(bytes: &[u8]) -> Option<f64> {
    const DOUBLE: u64 = 2;
    let (mut kind, mut found) = (1, None);
    let single = |bytes: &[u8]| Some(f64::from(f32::from_le_bytes(bytes.try_into().ok()?)));
    let double = |bytes: &[u8]| Some(f64::from_le_bytes(bytes.try_into().ok()?));
    for field in Fields::new(bytes).map_while(Result::ok) {
        found = match field {
            (1, Value::Varint(number)) => {
                kind = number;
                found
            }
            (4, Value::Bytes(content)) if kind == DOUBLE => double(content),
            (4 | 5, Value::Bytes(content)) => single(content),
            (5, Value::Fixed32(bytes)) => single(&bytes),
            (6, Value::Bytes(content)) => double(content),
            _ => found,
        };
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::protobuf::Message;
    use crate::dataset::tfrecord::{masked_crc, record};
    use crate::launch::user_program::event_file::PIECE;

    /// An event as PyTorch and tensorboardX write it.
    fn event(step: u64, tag: &str, value: f32) -> Vec<u8> {
        let value = Message::default().bytes(1, tag.as_bytes()).float(2, value);
        let summary = Message::default().bytes(1, &value.0);
        record(&Message::default().double(1, 1000.0).varint(2, step).bytes(5, &summary.0).0)
    }

    /// One as TensorFlow 2 and Keras write it: a tensor with its bytes.
    fn tensor_event(step: u64, tag: &str, value: f32) -> Vec<u8> {
        let tensor = Message::default().varint(1, 1).bytes(4, &value.to_le_bytes());
        let value = Message::default().bytes(1, tag.as_bytes()).bytes(8, &tensor.0);
        let summary = Message::default().bytes(1, &value.0);
        record(&Message::default().varint(2, step).bytes(5, &summary.0).0)
    }

    /// All that is new.
    fn look(board: &mut TensorBoard) -> Vec<Logged> {
        let mut logged = Vec::new();
        assert_eq!(board.look(Some(Duration::from_secs(60)), &mut |of| logged.push(of)), 0, "nothing is left");
        logged
    }

    #[test]
    fn files_are_followed_while_they_grow() {
        let folder = tempfile::tempdir().unwrap();
        let old = folder.path().join("events.out.tfevents.1.old");
        fs::write(&old, event(1, "loss", 9.0)).unwrap();
        let mut board = TensorBoard::new(folder.path());
        assert_eq!(look(&mut board), []);
        let file = folder.path().join("run/validation/events.out.tfevents.2.host");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let whole =
            [tensor_event(0, "epoch_loss", 0.5), tensor_event(0, "epoch_accuracy", 0.75), event(3, "Loss/train", 0.25)].concat();
        for end in [5, whole.len() - 3] {
            fs::write(&file, &whole[..end]).unwrap();
            let mut seen = Vec::new();
            let left = board.look(Some(Duration::from_secs(60)), &mut |of| seen.push(of));
            assert_eq!((seen.len(), left > 0), (usize::from(end > 5), true), "{seen:?}");
        }
        fs::write(&file, [whole, event(3, "accuracy", 50.0), event(3, "loss scale", 7.0)].concat()).unwrap();
        let [step] = &look(&mut board)[..] else { panic!() };
        assert_eq!((step.step, step.val_loss, step.val_accuracy), (Some(3.0), Some(0.25), Some(0.5)));
        assert_eq!(look(&mut board), []);
        assert_eq!(
            look(&mut TensorBoard { folder: folder.path().into(), read: BTreeMap::new(), percents: Percents::default() }).len(),
            3,
            "the old one, and two steps"
        );
    }

    #[test]
    fn what_is_no_event_file_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let mut board = TensorBoard::new(folder.path());
        fs::write(folder.path().join("events.out.tfevents.1.x"), [7; 100]).unwrap();
        let long = (1_u64 << 60).to_le_bytes();
        fs::write(folder.path().join("events.out.tfevents.2.x"), [&long[..], &masked_crc(&long), &[0; 9]].concat()).unwrap();
        assert_eq!((look(&mut board), look(&mut board)), (vec![], vec![]));
        assert!(board.read.values().all(Option::is_none), "{board:?}");
    }

    #[test]
    fn long_records_are_skipped_or_read_whole_and_nothing_behind_them_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let mut board = TensorBoard::new(folder.path());
        let file = folder.path().join("events.out.tfevents.1.x");
        let picture = |bytes: usize| record(&Message::default().varint(2, 1).bytes(3, &vec![7; bytes]).0);
        // As a file of pictures has it, one that is longer than a piece, and one that is not whole yet.
        let long = {
            let filler = Message::default().bytes(1, &vec![b'x'; PIECE]);
            let value = Message::default().bytes(1, b"loss").float(2, 0.5);
            record(&Message::default().varint(2, 2).bytes(5, &filler.bytes(1, &value.0).0).0)
        };
        let bytes = [event(1, "loss", 0.75), picture(5 << 20), long, picture(2 << 20), event(3, "loss", 0.25)].concat();
        let steps = |logged: Vec<Logged>| logged.into_iter().filter_map(|of| of.step).collect::<Vec<_>>();
        fs::write(&file, &bytes[..4 << 20]).unwrap();
        let mut seen = Vec::new();
        assert!(board.look(Some(Duration::from_secs(60)), &mut |of| seen.push(of)) > 0);
        assert_eq!(steps(seen), [1.0]);
        fs::write(&file, bytes).unwrap();
        assert_eq!(steps(look(&mut board)), [2.0, 3.0]);
    }

    #[test]
    fn a_look_at_a_large_file_ends_in_time_and_the_next_one_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let mut board = TensorBoard::new(folder.path());
        let bytes: Vec<u8> = (0..40_000).flat_map(|step| event(step, "loss", 0.5)).collect();
        fs::write(folder.path().join("events.out.tfevents.1.x"), &bytes).unwrap();
        let (mut seen, mut looks) = (Vec::new(), 0);
        while board.look(Some(Duration::ZERO), &mut |of| seen.push(of.step.unwrap())) > 0 {
            looks += 1;
        }
        assert!(looks >= bytes.len() / PIECE - 1 && looks > 3, "a piece at a time: {looks}");
        assert!(seen.is_sorted() && seen.len() == 40_000, "{}", seen.len());
    }

    #[test]
    fn of_a_file_that_takes_too_long_the_end_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let mut board = TensorBoard::new(folder.path());
        let bytes: Vec<u8> = (0..60_000).flat_map(|step| event(step, "loss", 0.5)).collect();
        fs::write(folder.path().join("events.out.tfevents.1.x"), &bytes).unwrap();
        let mut seen = Vec::new();
        let left_out = board.look(None, &mut |of| seen.push(of.step.unwrap()));
        assert_eq!((seen.last(), seen.is_sorted()), (Some(&59_999.0), true));
        assert!(left_out > 1 << 20 && seen.len() > 10_000 && seen.len() < 30_000, "{left_out}, {}", seen.len());
    }

    #[test]
    fn tags_are_known_by_the_words_that_programs_use() {
        let name = |tag: &str, file: &str| {
            let mut logged = Logged::default();
            *(figure(tag, file)?.slot)(&mut logged) = Some(1.0);
            crate::domain::user_metrics::FIGURES.iter().find(|field| (field.get)(&logged).is_some()).map(|field| field.name)
        };
        for (tag, file, expected) in [
            ("Loss/train", "f", Some("loss")),
            ("train/loss", "f", Some("loss")),
            ("train_loss_step", "f", Some("loss")),
            ("val/acc", "f", Some("val_accuracy")),
            ("epoch_accuracy", "validation/f", Some("val_accuracy")),
            ("eval/loss", "f", Some("val_loss")),
            ("train/learning_rate", "f", Some("learning_rate")),
            ("lr-SGD", "f", Some("learning_rate")),
            ("images_per_sec", "f", Some("images_per_sec")),
            ("perf/images/sec", "f", Some("images_per_sec")),
            ("steps_per_sec", "f", None),
            ("train/box_loss", "f", None),
            ("lm loss vs samples", "f", None),
            ("lm loss validation", "f", Some("val_loss")),
            ("best_acc", "f", None),
            ("weights/lossless", "f", None),
            ("grad_norm", "f", None),
        ] {
            assert_eq!(name(tag, file), expected, "{tag} in {file}");
        }
    }
}
