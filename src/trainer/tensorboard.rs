//! TensorBoard event files: the curves of a run for `tensorboard --logdir`.
//!
//! Never reads a file, and never writes more than scalars.
//!
//! A file is a sequence of records (TFRecord), each a protobuf message `tensorflow.Event`. Both are small enough to be
//! written by hand, and this is all of them that is used:
//!
//! ```text
//! record:  length u64 | masked CRC-32C of the length u32 | message | masked CRC-32C of the message u32    (little-endian)
//! Event:   1 wall_time double | 2 step int64 | 3 file_version string  or  5 summary Summary
//! Summary: 1 value Value, once per scalar          Value: 1 tag string | 2 simple_value float
//! ```

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::domain::event::EpochReport;
use crate::host;

/// The lab chooses the folder of its runs: there only room helps.
pub(super) const REMEDY: &str = "Free some space there, or, if you start hvd-train yourself, give another --log-dir";

/// An event file that could not be written. What was written before is as it was.
#[derive(Debug, thiserror::Error)]
#[error("TensorBoard event file `{}` could not be written: {cause}. {REMEDY}", path.display())]
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
        let file = OpenOptions::new().create(true).append(true).open(&path).map_err(fail)?;
        let length = file.metadata().map_err(fail)?.len();
        let mut events = EventWriter { path, file, length };
        events.append(&Message::default().double(1, time).bytes(3, b"brain.Event:2").0)?;
        Ok(events)
    }

    pub fn path(&self) -> &Path {
        &self.path
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
        match self.file.write_all(&record) {
            Ok(()) => {
                self.length += record.len() as u64;
                Ok(())
            }
            Err(cause) => {
                // If this fails too, the error that is reported is still the first.
                let _ = self.file.set_len(self.length);
                Err(TensorBoardError { path: self.path.clone(), cause })
            }
        }
    }
}

fn record(message: &[u8]) -> Vec<u8> {
    let length = (message.len() as u64).to_le_bytes();
    [&length[..], &masked_crc(&length), message, &masked_crc(message)].concat()
}

/// TFRecord stores checksums rotated and shifted, so that a checksum over data that holds checksums stays sound.
fn masked_crc(bytes: &[u8]) -> [u8; 4] {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes()
}

/// A protobuf message in the making: each field is a tag (number and wire type) and its value.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn raw_varint(&mut self, mut value: u64) {
        // Seven bits a byte, the lowest first; the top bit says that more follow.
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn tag(&mut self, field: u64, wire_type: u64) {
        self.raw_varint(field << 3 | wire_type);
    }

    fn varint(mut self, field: u64, value: u64) -> Message {
        self.tag(field, 0);
        self.raw_varint(value);
        self
    }

    fn double(mut self, field: u64, value: f64) -> Message {
        self.tag(field, 1);
        self.0.extend(value.to_le_bytes());
        self
    }

    fn bytes(mut self, field: u64, bytes: &[u8]) -> Message {
        self.tag(field, 2);
        self.raw_varint(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    fn float(mut self, field: u64, value: f32) -> Message {
        self.tag(field, 5);
        self.0.extend(value.to_le_bytes());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::event::Metrics;

    /// The checksum from its definition, bit by bit, and not from the library that the writer uses.
    fn slow_masked_crc(bytes: &[u8]) -> u32 {
        let mut crc = !0u32;
        for byte in bytes {
            crc ^= u32::from(*byte);
            for _ in 0..8 {
                crc = if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 };
            }
        }
        let crc = !crc;
        crc.rotate_right(15).wrapping_add(0xa282_ead8)
    }

    fn u32_at(bytes: &[u8], at: usize) -> u32 {
        u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
    }

    fn records(mut file: &[u8]) -> Vec<Vec<u8>> {
        let mut records = Vec::new();
        while !file.is_empty() {
            let length = u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
            assert_eq!(u32_at(file, 8), slow_masked_crc(&file[..8]));
            let message = &file[12..12 + length];
            assert_eq!(u32_at(file, 12 + length), slow_masked_crc(message));
            records.push(message.to_vec());
            file = &file[16 + length..];
        }
        records
    }

    /// Fields of a message: number, and the value's bytes (a varint as 8).
    fn fields(mut message: &[u8]) -> Vec<(u64, Vec<u8>)> {
        fn varint(message: &mut &[u8]) -> u64 {
            let mut value = 0;
            for shift in (0..).step_by(7) {
                let byte = message[0];
                *message = &message[1..];
                value |= u64::from(byte & 0x7f) << shift;
                if byte < 0x80 {
                    break;
                }
            }
            value
        }
        let mut fields = Vec::new();
        while !message.is_empty() {
            let tag = varint(&mut message);
            let length = match tag & 7 {
                0 => {
                    fields.push((tag >> 3, varint(&mut message).to_le_bytes().to_vec()));
                    continue;
                }
                1 => 8,
                2 => varint(&mut message) as usize,
                5 => 4,
                other => panic!("wire type {other}"),
            };
            fields.push((tag >> 3, message[..length].to_vec()));
            message = &message[length..];
        }
        fields
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
        let name = events.path().file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with("events.out.tfevents."), "{name}");

        let records = records(&std::fs::read(events.path()).unwrap());
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
    fn the_checksum_is_that_of_the_published_test_vector() {
        // RFC 3720, appendix B.4: 32 bytes of zeros.
        assert_eq!(slow_masked_crc(&[0; 32]), 0x8a91_36aau32.rotate_right(15).wrapping_add(0xa282_ead8));
        assert_eq!(u32::from_le_bytes(masked_crc(&[0; 32])), slow_masked_crc(&[0; 32]));
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = EventWriter::create(&file.path().join("logs")).err().unwrap().to_string();
        assert!(error.contains("events.out.tfevents.") && error.contains("--log-dir"), "{error}");
    }
}
