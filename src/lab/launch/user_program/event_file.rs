//! The records of one of TensorBoard's event files, piece by piece, however large it is.
//!
//! Never holds more of it than a piece, or one record that may be of use.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use crate::dataset::tfrecord::{FOOT_BYTES, HEAD_BYTES, masked_crc, message_bytes};
use crate::host::read;

/// Bytes that are read of a file at a time.
pub(super) const PIECE: usize = 256 << 10;
/// Bytes of a record that may hold scalars: pictures and histograms are larger, and skipped.
const LONGEST_RECORD: u64 = 1 << 20;
/// Bytes of a record that a program would write.
const LONGEST_ANY: u64 = 4 << 30;

/// Reads one file from a position on.
pub(super) struct Reader {
    file: BufReader<File>,
    length: u64,
    /// Up to where it was read; `None` once its lengths make no sense.
    pub at: Option<u64>,
    bytes: Vec<u8>,
}

impl Reader {
    pub fn open(file: &Path, from: u64) -> io::Result<Reader> {
        let mut file = BufReader::with_capacity(PIECE, read::open(file)?);
        let length = file.get_ref().metadata()?.len();
        file.seek(SeekFrom::Start(from))?;
        Ok(Reader { file, length, at: Some(from), bytes: Vec::new() })
    }

    /// Bytes that were not read yet.
    pub fn left(&self) -> u64 {
        self.at.map_or(0, |at| self.length.saturating_sub(at))
    }

    /// Read the whole records of the next piece, of those that may hold scalars; whether there may be more.
    pub fn piece(&mut self, mut take: impl FnMut(&[u8])) -> bool {
        let Some(from) = self.at else { return false };
        while let Some(at) = self.at.filter(|at| at - from < PIECE as u64) {
            if !self.record(at, &mut take).unwrap_or(false) {
                // Half a record may have been read.
                let _ = self.file.seek(SeekFrom::Start(at));
                return false;
            }
        }
        self.left() > 0
    }

    /// Read the record that begins `at`; whether it is whole.
    fn record(&mut self, at: u64, take: &mut impl FnMut(&[u8])) -> io::Result<bool> {
        let mut head = [0; HEAD_BYTES as usize];
        self.file.read_exact(&mut head)?;
        let Some(length) = message_bytes(head).filter(|length| *length <= LONGEST_ANY) else {
            self.at = None;
            return Ok(false);
        };
        let end = at + HEAD_BYTES + length + FOOT_BYTES;
        if end > self.length {
            return Ok(false);
        }
        if length > LONGEST_RECORD {
            self.file.seek(SeekFrom::Start(end))?;
        } else {
            self.bytes.resize((length + FOOT_BYTES) as usize, 0);
            self.file.read_exact(&mut self.bytes)?;
            let (message, foot) = self.bytes.split_at(length as usize);
            if foot == masked_crc(message) {
                take(message);
            }
        }
        self.at = Some(end);
        Ok(true)
    }
}
