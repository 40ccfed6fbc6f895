//! The records of one of TensorBoard's event files, piece by piece, however large it is.
//!
//! Never holds more of it than a piece, or one record that may be of use.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::dataset::tfrecord::masked_crc;
use crate::host::read;

/// Bytes that are read of a file at a time.
pub(super) const PIECE: usize = 256 << 10;
/// Bytes of a record that may hold scalars: pictures and histograms are larger, and skipped.
const LONGEST_RECORD: u64 = 1 << 20;
/// Bytes of a record that anybody would write.
const LONGEST_ANY: u64 = 4 << 30;
/// What stands before a record, its length with a checksum, and the checksum behind it.
const HEAD: usize = 12;
const FOOT: usize = 4;

/// One file from some place on, piece by piece.
pub(super) struct Reader {
    file: File,
    length: u64,
    /// Up to where it was read; `None` once its lengths make no sense.
    pub at: Option<u64>,
    bytes: Vec<u8>,
}

impl Reader {
    pub fn open(file: &Path, from: u64) -> io::Result<Reader> {
        let file = read::open(file)?;
        let length = file.metadata()?.len();
        Ok(Reader { file, length, at: Some(from), bytes: Vec::new() })
    }

    /// Bytes that were not read yet.
    pub fn left(&self) -> u64 {
        self.at.map_or(0, |at| self.length.saturating_sub(at))
    }

    /// Read the whole records of the next piece, of those that may hold scalars; whether there may be more.
    pub fn piece(&mut self, mut take: impl FnMut(&[u8])) -> bool {
        let Some(from) = self.at else { return false };
        if self.fill(from, PIECE).is_err() {
            return false;
        }
        let mut used = 0;
        loop {
            let rest = &self.bytes[used..];
            let Some((head, message)) = rest.split_first_chunk::<HEAD>() else { break };
            let [length @ .., _, _, _, _] = head;
            if head[8..] != masked_crc(length) {
                self.at = None;
                return false;
            }
            let length = u64::from_le_bytes(*length);
            if length > LONGEST_ANY {
                self.at = None;
                return false;
            }
            let whole = length + (HEAD + FOOT) as u64;
            if length > LONGEST_RECORD {
                // Its bytes are not wanted.
                let at = from + used as u64 + whole;
                self.at = Some(if at <= self.length { at } else { from + used as u64 });
                return at < self.length;
            }
            if (rest.len() as u64) < whole {
                break;
            }
            let (message, foot) = message.split_at(length as usize);
            if foot[..FOOT] == masked_crc(message) {
                take(message);
            }
            used += whole as usize;
        }
        if used == 0 && self.bytes.len() == PIECE {
            return self.long_record(from, take);
        }
        self.at = Some(from + used as u64);
        used > 0 && from + (used as u64) < self.length
    }

    /// A record that is longer than a piece.
    fn long_record(&mut self, from: u64, mut take: impl FnMut(&[u8])) -> bool {
        let Some(length) = self.bytes.first_chunk::<8>().map(|length| u64::from_le_bytes(*length) as usize) else { return false };
        let whole = HEAD + length + FOOT;
        if self.fill(from, whole).is_err() || self.bytes.len() < whole {
            return false;
        }
        let (message, foot) = self.bytes[HEAD..].split_at(length);
        if foot == masked_crc(message) {
            take(message);
        }
        self.at = Some(from + whole as u64);
        from + (whole as u64) < self.length
    }

    /// As many bytes as there are from this place on, and no more than `most`.
    fn fill(&mut self, from: u64, most: usize) -> io::Result<()> {
        let wanted = self.length.saturating_sub(from).min(most as u64) as usize;
        self.bytes.resize(wanted, 0);
        let mut filled = 0;
        while filled < wanted {
            match self.file.read_at(&mut self.bytes[filled..], from + filled as u64)? {
                0 => break,
                more => filled += more,
            }
        }
        self.bytes.truncate(filled);
        Ok(())
    }
}
