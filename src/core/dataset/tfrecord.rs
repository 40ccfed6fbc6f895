//! TFRecord: the framing of TensorFlow's record files and of TensorBoard's event files.
//!
//! Never reads what a record means, and never more of it than the file has.
//!
//! ```text
//! record:  length u64 | masked CRC-32C of the length u32 | message | masked CRC-32C of the message u32    (little-endian)
//! ```

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::domain::units;
use crate::host::read;

/// Length and its checksum.
pub const HEAD_BYTES: u64 = 12;
/// The checksum of the message.
pub const FOOT_BYTES: u64 = 4;
/// A photo takes a hundredth of it: a larger length is meant to fill the memory.
pub const LARGEST_RECORD_BYTES: u64 = 256 << 20;

/// A record with both its checksums.
pub fn record(message: &[u8]) -> Vec<u8> {
    let length = (message.len() as u64).to_le_bytes();
    [&length[..], &masked_crc(&length), message, &masked_crc(message)].concat()
}

/// TFRecord stores checksums rotated and shifted, so that a checksum over data that holds checksums stays sound.
pub fn masked_crc(bytes: &[u8]) -> [u8; 4] {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes()
}

/// The length of the message behind this head; `None` if its checksum does not match.
pub fn message_bytes(head: [u8; HEAD_BYTES as usize]) -> Option<u64> {
    let [length @ .., _, _, _, _] = head;
    (masked_crc(&length) == head[8..]).then(|| u64::from_le_bytes(length))
}

/// Where a message is in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub offset: u64,
    pub length: u32,
}

/// The records of one file. What cannot be found any more behind a damaged length is said in `broken`.
#[derive(Debug)]
pub struct Index {
    pub file: File,
    pub spans: Vec<Span>,
    pub broken: Option<String>,
}

/// Finds the records of a file by their lengths, each against its checksum. The messages are not read.
///
/// # Errors
/// The file cannot be read.
pub fn index(path: &Path) -> io::Result<Index> {
    let file = read::open(path)?;
    let size = file.metadata()?.len();
    let (mut spans, mut at) = (Vec::new(), 0);
    let broken = loop {
        if at == size {
            break None;
        }
        let number = spans.len() + 1;
        let lost = |why: &str| Some(format!("record {number} (at byte {at}): {why}"));
        if size - at < HEAD_BYTES {
            break lost("the file ends in the middle of it");
        }
        let mut head = [0; HEAD_BYTES as usize];
        file.read_exact_at(&mut head, at)?;
        let Some(length) = message_bytes(head) else {
            let rest = units::bytes(size - at);
            break lost(&format!("the checksum of its length does not match, so the last {rest} of the file are lost"));
        };
        if length > LARGEST_RECORD_BYTES {
            let (found, most) = (units::bytes(length), units::bytes(LARGEST_RECORD_BYTES));
            break lost(&format!("it claims to have {found}, more than {most}"));
        }
        if size - at < HEAD_BYTES + length + FOOT_BYTES {
            break lost("the file ends in the middle of it");
        }
        spans.push(Span { offset: at + HEAD_BYTES, length: length as u32 });
        at += HEAD_BYTES + length + FOOT_BYTES;
    };
    Ok(Index { file, spans, broken })
}

/// Reads a message into `buffer`, which holds nothing else then.
///
/// # Errors
/// In words, what is wrong with this record. The others can be read all the same.
pub fn message(file: &File, span: Span, buffer: &mut Vec<u8>) -> Result<(), String> {
    let length = span.length as usize;
    buffer.resize(length + FOOT_BYTES as usize, 0);
    file.read_exact_at(buffer, span.offset).map_err(|cause| format!("it cannot be read: {cause}"))?;
    let sound = masked_crc(&buffer[..length]) == buffer[length..];
    buffer.truncate(length);
    sound.then_some(()).ok_or_else(|| "the checksum of its content does not match".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The checksum from its definition, bit by bit, and not from the library that the writer uses.
    fn slow_masked_crc(bytes: &[u8]) -> u32 {
        let mut crc = !0u32;
        for byte in bytes {
            crc ^= u32::from(*byte);
            for _ in 0..8 {
                crc = if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 };
            }
        }
        (!crc).rotate_right(15).wrapping_add(0xa282_ead8)
    }

    #[test]
    fn the_checksum_is_that_of_the_published_test_vector() {
        // RFC 3720, appendix B.4: 32 bytes of zeros.
        assert_eq!(slow_masked_crc(&[0; 32]), 0x8a91_36aau32.rotate_right(15).wrapping_add(0xa282_ead8));
        assert_eq!(u32::from_le_bytes(masked_crc(&[0; 32])), slow_masked_crc(&[0; 32]));
    }

    fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        file
    }

    fn read_all(bytes: &[u8]) -> (Vec<Result<Vec<u8>, String>>, Option<String>) {
        let index = index(file(bytes).path()).unwrap();
        let read = |span: &Span| {
            let mut buffer = Vec::new();
            message(&index.file, *span, &mut buffer).map(|()| buffer)
        };
        (index.spans.iter().map(read).collect(), index.broken)
    }

    #[test]
    fn what_is_written_is_read() {
        let bytes = [record(b"one"), record(b""), record(&[7; 70_000])].concat();
        assert_eq!(read_all(&bytes), (vec![Ok(b"one".to_vec()), Ok(Vec::new()), Ok(vec![7; 70_000])], None));
        assert_eq!(read_all(b""), (Vec::new(), None));
    }

    #[test]
    fn a_damaged_message_costs_itself_and_a_damaged_length_the_rest() {
        let whole = [record(b"one"), record(b"two"), record(b"three")].concat();
        let with = |at: usize| {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            read_all(&bytes)
        };
        for at in [19 + 12, 19 + 15] {
            let (records, broken) = with(at);
            assert_eq!((records[0].as_deref(), records[2].as_deref(), broken), (Ok(&b"one"[..]), Ok(&b"three"[..]), None));
            assert!(records[1].as_ref().unwrap_err().contains("content does not match"), "{records:?}");
        }
        for at in [19, 19 + 7, 19 + 9] {
            let (records, broken) = with(at);
            assert_eq!(records, [Ok(b"one".to_vec())]);
            let broken = broken.unwrap();
            assert!(broken.contains("record 2 (at byte 19)") && broken.contains("last 40 B"), "{broken}");
        }
        for end in [20, 19 + 12, 19 + 18] {
            let (records, broken) = read_all(&whole[..end]);
            assert_eq!(records.len(), 1);
            assert!(broken.unwrap().contains("ends in the middle"));
        }
    }

    #[test]
    fn a_record_of_a_terabyte_is_not_waited_for() {
        let length = (1u64 << 40).to_le_bytes();
        let (records, broken) = read_all(&[&length[..], &masked_crc(&length), b"x"].concat());
        assert!(records.is_empty() && broken.unwrap().contains("more than 256 MiB"));
    }
}
