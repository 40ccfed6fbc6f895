//! Reads IDX files, the format of MNIST, plain or gzip: a big-endian header, then one byte a value.
//!
//! Never trusts a header: nothing is allocated by a file's word alone, and no byte beyond the announced size is taken.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use super::error::{DatasetError, find_file};
use super::split::{CLASS_NAMES, FASHION_MNIST, Split, SplitKind};
use crate::domain::images::InputShape;

/// Magic numbers: two zero bytes, 8 for unsigned bytes, and the number of dimensions.
const MAGIC_IMAGES: u32 = 0x0803;
const MAGIC_LABELS: u32 = 0x0801;

/// The first values of a file, and what its header announces.
struct Values {
    bytes: Vec<u8>,
    header: Header,
}

struct Header {
    /// Values in the file, all of which are there.
    count: usize,
    /// Of one value: an image, or a label, which is one number.
    shape: InputShape,
}

pub(super) fn read_split(folder: &Path, which: SplitKind, limit: Option<usize>) -> Result<Split, DatasetError> {
    let (image_name, label_name) = which.file_names();
    let image_file = find_file(folder, image_name)?;
    let label_file = find_file(folder, label_name)?;
    let limit = limit.unwrap_or(usize::MAX);
    let labels = read_file(&label_file, MAGIC_LABELS, limit)?;
    let images = read_file(&image_file, MAGIC_IMAGES, limit)?;
    if images.header.count != labels.header.count {
        let expected = format!("{} labels, one for each image of {image_name}", images.header.count);
        return Err(DatasetError::damaged(&label_file, expected, format!("{} labels", labels.header.count)));
    }
    let classes = CLASS_NAMES.len();
    if let Some(index) = labels.bytes.iter().position(|&label| usize::from(label) >= classes) {
        let found = format!("label {} at index {index}", labels.bytes[index]);
        return Err(DatasetError::damaged(&label_file, format!("labels 0 to {}", classes - 1), found));
    }
    Ok(Split { images: images.bytes, labels: labels.bytes, shape: images.header.shape, classes })
}

fn read_file(path: &Path, magic: u32, limit: usize) -> Result<Values, DatasetError> {
    let unreadable = |cause: std::io::Error| DatasetError::unreadable(path, &cause);
    // A pipe or a device would block or never end.
    if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(DatasetError::damaged(path, "a file", "a folder, pipe or device"));
    }
    let mut file = File::open(path).map_err(unreadable)?;
    let (compressed, stated_bytes) = stated_size(&mut file).map_err(unreadable)?;
    let file = BufReader::with_capacity(1 << 16, file);
    let mut reader: Box<dyn Read> = if compressed { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };

    let header = read_header(path, &mut reader, magic)?;
    let (announced, value_bytes) = (header.count, header.shape.numbers());
    let header_bytes = if magic == MAGIC_IMAGES { 16 } else { 8 };
    let body_bytes = announced as u64 * value_bytes as u64;
    let total = header_bytes + body_bytes;
    // gzip states the size modulo 2^32. Where the statement fits, a prefix can be taken without reading the rest;
    // a truncated file ends in other bytes, and reading it whole finds the fault.
    let whole = stated_bytes != if compressed { total & 0xffff_ffff } else { total };
    let wanted = if whole { body_bytes } else { body_bytes.min((limit as u64).saturating_mul(value_bytes as u64)) };
    // One byte more than wanted: it shows an oversized file, and lets gzip check its sum at the end.
    let take = if wanted == body_bytes { wanted + 1 } else { wanted };
    let mut bytes = Vec::with_capacity(usize::try_from(take.min(1 << 26)).unwrap_or(0));
    let outcome = reader.take(take).read_to_end(&mut bytes);
    let expected = || format!("{announced} values of {value_bytes} bytes, {body_bytes} bytes in all");
    match outcome {
        Err(cause) if is_content_fault(&cause) => {
            return Err(DatasetError::damaged(path, expected(), format!("{} bytes, then damaged gzip ({cause})", bytes.len())));
        }
        Err(cause) => return Err(unreadable(cause)),
        Ok(_) if (bytes.len() as u64) < wanted => {
            return Err(DatasetError::damaged(path, expected(), format!("only {} bytes", bytes.len())));
        }
        Ok(_) if bytes.len() as u64 > body_bytes => {
            return Err(DatasetError::damaged(path, expected(), "more bytes than that"));
        }
        Ok(_) => {}
    }
    bytes.truncate(limit.saturating_mul(value_bytes).min(bytes.len()));
    Ok(Values { bytes, header })
}

/// Images of another shape than Fashion-MNIST's are refused: no model here takes them.
fn read_header(path: &Path, reader: &mut dyn Read, magic: u32) -> Result<Header, DatasetError> {
    let mut word = |what: &str| {
        let mut bytes = [0; 4];
        reader.read_exact(&mut bytes).map(|()| u32::from_be_bytes(bytes)).map_err(|cause| match cause.kind() {
            std::io::ErrorKind::UnexpectedEof => DatasetError::damaged(path, format!("an IDX header ({what})"), "the file's end"),
            _ if is_content_fault(&cause) => {
                DatasetError::damaged(path, format!("an IDX header ({what})"), format!("damaged gzip ({cause})"))
            }
            _ => DatasetError::unreadable(path, &cause),
        })
    };
    let name = |magic| match magic {
        MAGIC_IMAGES => "an IDX image file (magic number 0x00000803)".to_owned(),
        MAGIC_LABELS => "an IDX label file (magic number 0x00000801)".to_owned(),
        other => format!("another kind of file (first bytes 0x{other:08x})"),
    };
    let found = word("magic number")?;
    if found != magic {
        return Err(DatasetError::damaged(path, name(magic), name(found)));
    }
    let count = word("number of values")? as usize;
    if count == 0 {
        return Err(DatasetError::damaged(path, "at least 1 value", "0"));
    }
    if magic == MAGIC_LABELS {
        return Ok(Header { count, shape: InputShape { channels: 1, height: 1, width: 1 } });
    }
    let (rows, columns) = (word("rows")?, word("columns")?);
    let shape = InputShape { channels: 1, height: rows as usize, width: columns as usize };
    if shape != FASHION_MNIST {
        let expected = format!("images of {}x{} pixels", FASHION_MNIST.height, FASHION_MNIST.width);
        return Err(DatasetError::damaged(path, expected, format!("{rows}x{columns}")));
    }
    Ok(Header { count, shape })
}

/// Whether the file is gzip, and how many bytes of content it claims to hold. Leaves the file at its start.
fn stated_size(file: &mut File) -> std::io::Result<(bool, u64)> {
    let length = file.metadata()?.len();
    let mut start = Vec::with_capacity(2);
    Read::take(&mut *file, 2).read_to_end(&mut start)?;
    let compressed = start == [0x1f, 0x8b];
    let mut stated = length;
    if compressed && length >= 18 {
        let mut tail = [0; 4];
        file.seek(SeekFrom::End(-4))?;
        file.read_exact(&mut tail)?;
        stated = u64::from(u32::from_le_bytes(tail));
    }
    file.rewind()?;
    Ok((compressed, stated))
}

/// Whether reading failed for what the file holds rather than for the disk.
fn is_content_fault(cause: &std::io::Error) -> bool {
    use std::io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    matches!(cause.kind(), InvalidData | InvalidInput | UnexpectedEof)
}
