//! TensorBoard's event files while a program writes them: the scalars that are figures of a training.
//!
//! Never reads what was there before the run, and never a record that is not whole yet.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::dataset::protobuf::{Fields, Value};
use crate::dataset::tfrecord::masked_crc;
use crate::domain::logged::Logged;
use crate::host::read;

/// Folders below the named one: runs, and in them train and validation.
const DEPTH: usize = 4;
/// Files that are followed, and entries of folders that are looked at for them.
const MOST_FILES: usize = 256;
const MOST_ENTRIES: usize = 10_000;
/// Bytes that are read of a file at a time.
const PIECE: usize = 4 << 20;
/// Bytes of a record that may hold scalars: pictures and histograms are larger, and skipped.
const LONGEST_RECORD: usize = 1 << 20;

/// Follows the files of one folder.
#[derive(Debug)]
pub(super) struct TensorBoard {
    folder: PathBuf,
    /// Up to where each file was read; `None` of one that is damaged.
    read: BTreeMap<PathBuf, Option<u64>>,
}

impl TensorBoard {
    /// From what is in the folder now on. It may not be there yet.
    pub fn new(folder: &Path) -> TensorBoard {
        let there = files(folder).into_iter();
        let read = there.map(|file| (file.clone(), fs::metadata(&file).ok().map(|of| of.len()))).collect();
        TensorBoard { folder: folder.to_owned(), read }
    }

    /// What was written since the last look, in the order of steps within each file.
    pub fn look(&mut self) -> Vec<Logged> {
        let mut logged = Vec::new();
        for file in files(&self.folder) {
            let Some(from) = *self.read.entry(file.clone()).or_insert(Some(0)) else { continue };
            // One that cannot be read now may be at the next look.
            let Ok(bytes) = piece(&file, from) else { continue };
            let (records, used) = records(&bytes);
            let within = file.strip_prefix(&self.folder).unwrap_or(&file).display().to_string();
            logged.extend(by_step(&records, &within));
            self.read.insert(file, used.map(|used| from + used as u64));
        }
        logged
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

fn piece(file: &Path, from: u64) -> std::io::Result<Vec<u8>> {
    let file = read::open(file)?;
    let length = file.metadata()?.len().saturating_sub(from).min(PIECE as u64);
    let mut bytes = vec![0; length as usize];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], from + filled as u64)? {
            0 => break,
            more => filled += more,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// The whole records at the start, and the bytes that they take; `None` where their lengths make no sense.
fn records(bytes: &[u8]) -> (Vec<&[u8]>, Option<usize>) {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some((length, rest)) = bytes[at..].split_first_chunk::<8>() {
        let Some((checksum, rest)) = rest.split_first_chunk::<4>() else { break };
        if *checksum != masked_crc(length) {
            return (found, None);
        }
        let Ok(length) = usize::try_from(u64::from_le_bytes(*length)) else { return (found, None) };
        let Some(message) = rest.get(..length) else {
            // It would never be whole.
            return (found, (length < PIECE).then_some(at));
        };
        let Some(foot) = rest[length..].first_chunk::<4>() else { break };
        if length <= LONGEST_RECORD && *foot == masked_crc(message) {
            found.push(message);
        }
        at += 12 + length + 4;
    }
    (found, Some(at))
}

/// The scalars of each step together. A step may be an epoch's number, as Keras has it.
fn by_step(records: &[&[u8]], file: &str) -> Vec<Logged> {
    let mut steps: Vec<(i64, bool, Logged)> = Vec::new();
    for (step, tag, value) in records.iter().flat_map(|record| scalars(record)) {
        let Some(put) = figure(&tag, file) else { continue };
        let is_epoch = tag.starts_with("epoch_");
        let is_it = |of: &&mut (i64, bool, Logged)| (of.0, of.1) == (step, is_epoch);
        let at = match steps.iter_mut().rev().take(8).find(is_it) {
            Some((.., logged)) => logged,
            None => {
                let number = Some(step as f64);
                let (epoch, step_number) = if is_epoch { (number, None) } else { (None, number) };
                let logged = Logged { epoch, step: step_number, by: "TensorBoard".into(), ..Logged::default() };
                steps.push((step, is_epoch, logged));
                let Some((.., logged)) = steps.last_mut() else { continue };
                logged
            }
        };
        *put(at) = Some(value);
    }
    steps.into_iter().map(|(.., logged)| logged).collect()
}

type Slot = fn(&mut Logged) -> &mut Option<f64>;

/// Which figure a tag is of, by the words that programs use; `None` where it is none.
fn figure(tag: &str, file: &str) -> Option<Slot> {
    let name = tag.to_lowercase();
    let words: Vec<&str> = name.split(|c: char| !c.is_alphanumeric() && c != '@').filter(|word| !word.is_empty()).collect();
    let file = file.to_lowercase();
    let folders = || file.split('/').rev().skip(1);
    let says = |all: &[&str], word: &&str| all.contains(word);
    let of_test = ["val", "valid", "validation", "test", "eval", "evaluation"];
    let is_validation = words.iter().any(|word| says(&of_test, word)) || folders().any(|folder| says(&of_test, &folder));
    let is = |all: &[&str]| words.iter().any(|word| says(all, word));
    let rate = name.contains("per_sec") || name.contains("/sec") || is(&["throughput", "ips"]);
    match () {
        () if rate && (is(&["images", "image", "img", "samples", "examples", "throughput", "ips"])) => {
            Some(if is_validation { |of| &mut of.val_images_per_sec } else { |of| &mut of.images_per_sec })
        }
        () if is(&["lr"]) || name.contains("learning_rate") => Some(|of| &mut of.learning_rate),
        () if is(&["loss"]) && !is(&["scale"]) => Some(if is_validation { |of| &mut of.val_loss } else { |of| &mut of.loss }),
        () if is(&["accuracy", "acc"]) => Some(if is_validation { |of| &mut of.val_accuracy } else { |of| &mut of.accuracy }),
        () if name == "epoch" => Some(|of| &mut of.epoch),
        () => None,
    }
}

/// Step, tag and value of the scalars of an event.
fn scalars(event: &[u8]) -> Vec<(i64, String, f64)> {
    let (mut step, mut summary) = (0, &[][..]);
    for field in Fields::of(event).map_while(Result::ok) {
        match field {
            (2, Value::Varint(number)) => step = number as i64,
            (5, Value::Bytes(bytes)) => summary = bytes,
            _ => {}
        }
    }
    let values = Fields::of(summary).map_while(Result::ok).filter_map(|field| match field {
        (1, Value::Bytes(value)) => scalar(value),
        _ => None,
    });
    values.map(|(tag, value)| (step, tag, value)).collect()
}

fn scalar(value: &[u8]) -> Option<(String, f64)> {
    let (mut tag, mut found) = (None, None);
    for field in Fields::of(value).map_while(Result::ok) {
        match field {
            (1, Value::Bytes(name)) => tag = Some(String::from_utf8_lossy(name).into_owned()),
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
    for field in Fields::of(bytes).map_while(Result::ok) {
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
    use crate::dataset::tfrecord::record;

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

    #[test]
    fn files_are_followed_while_they_grow() {
        let folder = tempfile::tempdir().unwrap();
        let old = folder.path().join("events.out.tfevents.1.old");
        fs::write(&old, event(1, "loss", 9.0)).unwrap();
        let mut board = TensorBoard::new(folder.path());
        assert_eq!(board.look(), []);
        let file = folder.path().join("run/validation/events.out.tfevents.2.host");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let whole =
            [tensor_event(0, "epoch_loss", 0.5), tensor_event(0, "epoch_accuracy", 0.75), event(3, "Loss/train", 0.25)].concat();
        for end in [5, whole.len() - 3] {
            fs::write(&file, &whole[..end]).unwrap();
            let seen = board.look();
            assert_eq!(seen.len(), usize::from(end > 5), "{seen:?}");
        }
        fs::write(&file, [whole, event(3, "accuracy", 0.5), event(3, "loss scale", 7.0)].concat()).unwrap();
        let [step] = &board.look()[..] else { panic!() };
        assert_eq!((step.step, step.val_loss, step.val_accuracy), (Some(3.0), Some(0.25), Some(0.5)));
        assert_eq!(board.look(), []);
        assert_eq!(
            TensorBoard { folder: folder.path().into(), read: BTreeMap::new() }.look().len(),
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
        assert_eq!((board.look(), board.look()), (vec![], vec![]));
        assert!(board.read.values().all(Option::is_none), "{board:?}");
    }

    #[test]
    fn tags_are_known_by_the_words_that_programs_use() {
        let name = |tag: &str, file: &str| {
            let mut logged = Logged::default();
            *figure(tag, file)?(&mut logged) = Some(1.0);
            crate::domain::logged::FIGURES.iter().find(|field| (field.get)(&logged).is_some()).map(|field| field.name)
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
            ("weights/lossless", "f", None),
            ("grad_norm", "f", None),
        ] {
            assert_eq!(name(tag, file), expected, "{tag} in {file}");
        }
    }
}
