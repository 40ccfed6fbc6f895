//! Reads IDX files, the format of MNIST, plain or gzip: a big-endian header, then one byte a value.
//!
//! Never trusts a header: nothing is allocated by a file's word alone, and no byte beyond the announced size is taken.

use std::fs::File;
use std::io::{BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;

use super::error::DatasetError;
use super::files::find_file;
use super::split::{CLASS_NAMES, FASHION_MNIST, Split, SplitKind};
use crate::domain::images::InputShape;
use crate::host::read;

/// Magic numbers: two zero bytes, 8 for unsigned bytes, and the number of dimensions.
const MAGIC_IMAGES: u32 = 0x0803;
const MAGIC_LABELS: u32 = 0x0801;

/// Most images that are read: every rank holds them in memory.
const MAX_IMAGES: usize = 1 << 20;

/// A file whose header has been read.
struct Opened {
    path: PathBuf,
    reader: Box<dyn Read>,
    /// Values in the file, as it says.
    count: usize,
    /// Of one value: an image, or a label, which is one number.
    shape: InputShape,
    compressed: bool,
    /// Bytes of content that the file claims to hold; gzip states them modulo 2^32.
    stated_bytes: u64,
}

/// The first `limit` images and their labels.
pub(super) fn read_split(folder: &Path, which: SplitKind, limit: Option<usize>) -> Result<Split, DatasetError> {
    let (images, labels) = open_both(folder, which)?;
    let limit = limit.unwrap_or(usize::MAX);
    let (shape, label_file) = (images.shape, labels.path.clone());
    if images.count.min(limit) > MAX_IMAGES {
        let expected = format!("at most {MAX_IMAGES} images, or a limit (--train-images, --validation-images)");
        return Err(DatasetError::damaged(&images.path, expected, format!("{} images", images.count)));
    }
    let labels = labels.read(limit)?;
    check_labels(&label_file, &labels)?;
    Ok(Split { images: images.read(limit)?, labels, shape, classes: CLASS_NAMES.len(), may_mirror: true })
}

/// Whether [`read_split`] would find a fault, without holding the images. Of more images than are ever read at once only
/// headers and sizes are looked at: the rest shows when some of them are read.
pub(super) fn check_split(folder: &Path, which: SplitKind) -> Result<(), DatasetError> {
    let (images, labels) = open_both(folder, which)?;
    if images.count > MAX_IMAGES {
        return Ok(());
    }
    let label_file = labels.path.clone();
    check_labels(&label_file, &labels.read(usize::MAX)?)?;
    // The size of a plain file says all.
    if images.compressed { images.visit(usize::MAX, &mut |_| {}) } else { Ok(()) }
}

/// Name and content of the image and the label file of these images, as [`load`](super::load) reads them.
pub fn files_of(which: SplitKind, split: &Split) -> [(&'static str, Vec<u8>); 2] {
    let header = |magic: u32, sizes: &[usize]| {
        // No set has more images than fit.
        let sizes = sizes.iter().map(|size| u32::try_from(*size).unwrap_or(u32::MAX));
        [magic].into_iter().chain(sizes).flat_map(u32::to_be_bytes).collect::<Vec<u8>>()
    };
    let (images, labels) = which.file_names();
    [
        (images, [header(MAGIC_IMAGES, &[split.len(), split.shape.height, split.shape.width]), split.images.clone()].concat()),
        (labels, [header(MAGIC_LABELS, &[split.len()]), split.labels.clone()].concat()),
    ]
}

/// Sizes and counts of both are compared before anything else is read.
fn open_both(folder: &Path, which: SplitKind) -> Result<(Opened, Opened), DatasetError> {
    let (image_name, label_name) = which.file_names();
    let image_file = find_file(folder, image_name)?;
    let label_file = find_file(folder, label_name)?;
    let labels = Opened::open(&label_file, MAGIC_LABELS)?;
    let images = Opened::open(&image_file, MAGIC_IMAGES)?;
    images.check_size()?;
    labels.check_size()?;
    if images.count != labels.count {
        let expected = format!("{} labels, one for each image of {image_name}", images.count);
        return Err(DatasetError::damaged(&label_file, expected, format!("{} labels", labels.count)));
    }
    Ok((images, labels))
}

fn check_labels(path: &Path, labels: &[u8]) -> Result<(), DatasetError> {
    let classes = CLASS_NAMES.len();
    let Some(index) = labels.iter().position(|&label| usize::from(label) >= classes) else { return Ok(()) };
    let found = format!("label {} at index {index}", labels[index]);
    Err(DatasetError::damaged(path, format!("labels 0 to {}", classes - 1), found))
}

impl Opened {
    fn open(path: &Path, magic: u32) -> Result<Opened, DatasetError> {
        let unreadable = |cause: std::io::Error| DatasetError::unreadable(path, &cause);
        let file = read::open(path).map_err(|cause| match cause.kind() {
            // A pipe or a device would block or never end.
            std::io::ErrorKind::InvalidInput => DatasetError::damaged(path, "a file", "a folder, pipe or device"),
            _ => unreadable(cause),
        })?;
        let (compressed, stated_bytes) = stated_size(&file).map_err(unreadable)?;
        let file = BufReader::with_capacity(1 << 16, file);
        let mut reader: Box<dyn Read> = if compressed { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
        let (count, shape) = read_header(path, &mut reader, magic)?;
        Ok(Opened { path: path.to_owned(), reader, count, shape, compressed, stated_bytes })
    }

    fn header_bytes(&self) -> u64 {
        if self.shape.numbers() == 1 { 8 } else { 16 }
    }

    /// Bytes of all values that the header announces.
    fn body_bytes(&self) -> u64 {
        self.count as u64 * self.shape.numbers() as u64
    }

    /// Bytes of the first `limit` values.
    fn bytes_of(&self, limit: usize) -> u64 {
        self.body_bytes().min((limit as u64).saturating_mul(self.shape.numbers() as u64))
    }

    fn damaged(&self, found: impl Into<String>) -> DatasetError {
        let (count, bytes) = (self.count, self.shape.numbers());
        let expected = format!("{count} values of {bytes} bytes, {} bytes in all", self.body_bytes());
        DatasetError::damaged(&self.path, expected, found)
    }

    /// Whether the file is as long as its header says, as far as that is known without reading it.
    fn size_fits(&self) -> bool {
        let total = self.header_bytes() + self.body_bytes();
        self.stated_bytes == if self.compressed { total & 0xffff_ffff } else { total }
    }

    /// A plain file of another length is damaged, and so is a compressed one that is too large to be read to its end.
    fn check_size(&self) -> Result<(), DatasetError> {
        if self.size_fits() || (self.compressed && self.count <= MAX_IMAGES) {
            return Ok(());
        }
        let found = self.stated_bytes.saturating_sub(self.header_bytes());
        Err(self.damaged(match (self.compressed, found > self.body_bytes()) {
            (true, _) => format!("gzip of {} bytes", self.stated_bytes),
            (false, true) => "more bytes than that".to_owned(),
            (false, false) => format!("only {found} bytes"),
        }))
    }

    fn read(self, limit: usize) -> Result<Vec<u8>, DatasetError> {
        let mut all = Vec::with_capacity(usize::try_from(self.bytes_of(limit).min(1 << 26)).unwrap_or(0));
        self.visit(limit, &mut |bytes| all.extend_from_slice(bytes))?;
        Ok(all)
    }

    /// Hands on the bytes of the first `limit` values, piece by piece, and finds every fault on the way there.
    fn visit(mut self, limit: usize, piece: &mut dyn FnMut(&[u8])) -> Result<(), DatasetError> {
        let (body_bytes, wanted) = (self.body_bytes(), self.bytes_of(limit));
        // Where the stated size fits, a prefix can be taken without reading the rest; a truncated gzip file ends in other bytes,
        // and reading it whole finds the fault. One byte more than the whole shows an oversized file, and lets gzip check its sum.
        let all = wanted == body_bytes || !self.size_fits();
        let take = if all { body_bytes + 1 } else { wanted };
        let (mut done, mut buffer) = (0, vec![0; 1 << 16]);
        while done < take {
            let room = usize::try_from(take - done).unwrap_or(usize::MAX).min(buffer.len());
            match self.reader.read(&mut buffer[..room]) {
                Ok(0) => break,
                Ok(read) => {
                    let useful = usize::try_from(wanted.saturating_sub(done)).unwrap_or(usize::MAX).min(read);
                    piece(&buffer[..useful]);
                    done += read as u64;
                }
                Err(cause) if cause.kind() == std::io::ErrorKind::Interrupted => {}
                Err(cause) if is_content_fault(&cause) => {
                    return Err(self.damaged(format!("{done} bytes, then damaged gzip ({cause})")));
                }
                Err(cause) => return Err(DatasetError::unreadable(&self.path, &cause)),
            }
        }
        if done > body_bytes {
            return Err(self.damaged("more bytes than that"));
        }
        if done < take.min(body_bytes) { Err(self.damaged(format!("only {done} bytes"))) } else { Ok(()) }
    }
}

/// Values in the file, and the shape of each. Images of another shape than Fashion-MNIST's are refused: no model here takes them.
fn read_header(path: &Path, reader: &mut dyn Read, magic: u32) -> Result<(usize, InputShape), DatasetError> {
    let mut word = |what: &str| {
        let damaged = |found: String| DatasetError::damaged(path, format!("an IDX header ({what})"), found);
        let mut bytes = [0; 4];
        reader.read_exact(&mut bytes).map(|()| u32::from_be_bytes(bytes)).map_err(|cause| match cause.kind() {
            std::io::ErrorKind::UnexpectedEof => damaged("the file's end".to_owned()),
            _ if is_content_fault(&cause) => damaged(format!("damaged gzip ({cause})")),
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
        return Ok((count, InputShape { channels: 1, height: 1, width: 1 }));
    }
    let (rows, columns) = (word("rows")?, word("columns")?);
    let shape = InputShape { channels: 1, height: rows as usize, width: columns as usize };
    if shape != FASHION_MNIST {
        let expected = format!("images of {}x{} pixels", FASHION_MNIST.height, FASHION_MNIST.width);
        return Err(DatasetError::damaged(path, expected, format!("{rows}x{columns}")));
    }
    Ok((count, shape))
}

/// Whether the file is gzip, and how many bytes of content it claims to hold. Leaves the file at its start.
fn stated_size(file: &File) -> std::io::Result<(bool, u64)> {
    let length = file.metadata()?.len();
    let (mut start, mut end) = ([0; 2], [0; 4]);
    if length >= 2 {
        file.read_exact_at(&mut start, 0)?;
    }
    let compressed = start == [0x1f, 0x8b];
    if !compressed || length < 18 {
        return Ok((compressed, length));
    }
    file.read_exact_at(&mut end, length - 4)?;
    Ok((true, u64::from(u32::from_le_bytes(end))))
}

/// Whether reading failed for what the file holds rather than for the disk.
fn is_content_fault(cause: &std::io::Error) -> bool {
    use std::io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
    matches!(cause.kind(), InvalidData | InvalidInput | UnexpectedEof)
}
