//! TensorBoard event files: the curves of a run for `tensorboard --logdir`.
//!
//! A file is a sequence of records (TFRecord), each a protobuf message `tensorflow.Event`. This is all of it that is used:
//!
//! ```text
//! Event:   1 wall_time double | 2 step int64 | 3 file_version string  or  5 summary Summary
//! Summary: 1 value Value, once per scalar          Value: 1 tag string | 2 simple_value float
//! ```

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::evidence;
use crate::dataset::protobuf::Message;
use crate::dataset::tfrecord::record;
use crate::domain::event::{EpochReport, Observation};
use crate::host::{self, files, owners};

/// What to do about a file that could not be written. The lab chooses the folder of its runs: there another one is no remedy.
pub(super) fn remedy(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "Let your account write there, or, if you start the program yourself, give another --log-dir"
        }
        io::ErrorKind::FileTooLarge => "Let files grow larger: `ulimit -f` shows the limit, in KiB",
        io::ErrorKind::IsADirectory => "There is a folder of that name: move it away or remove it",
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
            "Where its folder should be, there is a file: move that away, or, if you start the program yourself, give another --log-dir"
        }
        io::ErrorKind::NotFound => "Its folder was moved or removed: put it back, or start again",
        _ if files::is_full(cause) => "Free some space there, or, if you start the program yourself, give another --log-dir",
        _ => "Check that disk, or, if you start the program yourself, give another --log-dir",
    }
}

/// An event file that could not be written. What was written before is as it was.
#[derive(Debug, thiserror::Error)]
#[error("TensorBoard event file `{}` could not be written: {cause}. {}", path.display(), remedy(cause))]
pub struct TensorBoardError {
    pub path: PathBuf,
    /// Part of the message, and so not the `source`, which would be printed a second time.
    pub cause: io::Error,
}

/// One event file, open for appending.
pub struct EventWriter {
    path: PathBuf,
    file: File,
    /// Bytes of whole records.
    length: u64,
}

impl EventWriter {
    /// Creates `events.out.tfevents.{time}.{host}.{pid}` in `folder`, which is made if needed.
    ///
    /// TensorBoard joins all event files of a folder into one run, so a continued run has one file per start.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn create(folder: &Path) -> Result<EventWriter, TensorBoardError> {
        let time = host::now_s();
        let path = folder.join(format!("events.out.tfevents.{:010}.{}.{}", time as u64, host::name(), std::process::id()));
        let fail = |cause| TensorBoardError { path: path.clone(), cause };
        std::fs::create_dir_all(folder).map_err(fail)?;
        let file = owners::open(&path, OpenOptions::new().create(true).append(true), 0).map_err(fail)?;
        let length = file.metadata().map_err(fail)?.len();
        evidence::tell(|| Observation::Board);
        let mut events = EventWriter { path, file, length };
        events.append(&Message::default().double(1, time).bytes(3, b"brain.Event:2").0)?;
        Ok(events)
    }

    /// Appends values of one step, each under its tag.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn scalars(&mut self, step: usize, scalars: &[(&str, f64)]) -> Result<(), TensorBoardError> {
        let value = |(tag, value): &(&str, f64)| Message::default().bytes(1, tag.as_bytes()).float(2, *value as f32);
        let summary = scalars.iter().map(value).fold(Message::default(), |summary, value| summary.bytes(1, &value.0));
        self.append(&Message::default().double(1, host::now_s()).varint(2, step as u64).bytes(5, &summary.0).0)
    }

    /// Appends an epoch's curves, under Keras's tags where Keras has one. Steps are epochs, counted from 1 as printed.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn epoch(&mut self, report: &EpochReport) -> Result<(), TensorBoardError> {
        let judged = report.judged();
        self.scalars(
            report.epoch,
            &[
                ("epoch_loss", report.train.loss),
                ("epoch_accuracy", report.train.accuracy),
                ("epoch_val_loss", judged.loss),
                ("epoch_val_accuracy", judged.accuracy),
                ("epoch_lr", report.lr),
                ("images_per_sec", report.images_per_sec),
            ],
        )
    }

    /// One record in one write. What a full disk took of it is cut off again: a reader stops at the first bad record.
    fn append(&mut self, message: &[u8]) -> Result<(), TensorBoardError> {
        let record = record(message);
        self.file.write_all(&record).map_err(|cause| {
            // If this fails too, the error that is reported is still the first.
            let _ = self.file.set_len(self.length);
            TensorBoardError { path: self.path.clone(), cause }
        })?;
        self.length += record.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::protobuf::{Fields, Value};
    use crate::domain::event::Metrics;

    /// The messages of a file whose lengths are right; the checksums are the framing's own matter.
    fn records(mut file: &[u8]) -> Vec<Vec<u8>> {
        let mut records = Vec::new();
        while !file.is_empty() {
            let length = u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
            let message = &file[12..12 + length];
            assert_eq!(file[..16 + length], record(message));
            records.push(message.to_vec());
            file = &file[16 + length..];
        }
        records
    }

    /// Fields of a message: number, and the value's bytes (a varint as 8).
    fn fields(message: &[u8]) -> Vec<(u64, Vec<u8>)> {
        let bytes = |value: Value| match value {
            Value::Varint(value) => value.to_le_bytes().to_vec(),
            Value::Fixed64(bytes) => bytes.to_vec(),
            Value::Bytes(bytes) => bytes.to_vec(),
            Value::Fixed32(bytes) => bytes.to_vec(),
        };
        Fields::new(message).map(Result::unwrap).map(|(number, value)| (number, bytes(value))).collect()
    }

    #[test]
    fn what_is_written_is_what_a_reader_reads() {
        let folder = tempfile::tempdir().unwrap();
        let before = host::now_s();
        let mut events = EventWriter::create(&folder.path().join("logs")).unwrap();
        let report = EpochReport {
            epoch: 300,
            train: Metrics { loss: 0.5, accuracy: 0.75 },
            validation: Metrics { loss: 9.0, accuracy: 0.0 },
            averaged: Some(Metrics { loss: 0.25, accuracy: 0.875 }),
            ..EpochReport::sample()
        };
        events.epoch(&report).unwrap();
        let name = events.path.file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with("events.out.tfevents."), "{name}");

        let records = records(&std::fs::read(&events.path).unwrap());
        assert_eq!(records.len(), 2);
        let first = fields(&records[0]);
        assert_eq!((first[1].0, first[1].1.as_slice()), (3, b"brain.Event:2".as_slice()));
        let time = f64::from_le_bytes(first[0].1.as_slice().try_into().unwrap());
        assert!(first[0].0 == 1 && (before..=host::now_s()).contains(&time));

        let epoch = fields(&records[1]);
        assert_eq!((epoch[1].0, epoch[1].1.as_slice()), (2, 300u64.to_le_bytes().as_slice()));
        assert_eq!(epoch[2].0, 5);
        let scalars: Vec<(String, f32)> = fields(&epoch[2].1)
            .into_iter()
            .map(|(number, value)| {
                let value = fields(&value);
                assert_eq!((number, value[0].0, value[1].0), (1, 1, 2));
                (String::from_utf8(value[0].1.clone()).unwrap(), f32::from_le_bytes(value[1].1.as_slice().try_into().unwrap()))
            })
            .collect();
        let expected = [
            ("epoch_loss", 0.5),
            ("epoch_accuracy", 0.75),
            ("epoch_val_loss", 0.25),
            ("epoch_val_accuracy", 0.875),
            ("epoch_lr", 0.01),
            ("images_per_sec", 1573.2),
        ];
        assert_eq!(scalars, expected.map(|(tag, value)| (tag.to_owned(), value)));
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = EventWriter::create(&file.path().join("logs")).err().unwrap().to_string();
        assert!(error.contains("events.out.tfevents.") && error.contains("--log-dir"), "{error}");
    }
}
