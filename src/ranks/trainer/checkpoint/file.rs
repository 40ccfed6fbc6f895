//! One checkpoint file: written so that it is complete or not there, read so that no damage goes unnoticed.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use safetensors::tensor::{Dtype, SafeTensorError, SafeTensors, TensorView};
use serde::Deserialize;
use zerocopy::IntoBytes as _;

use super::contents::{Checkpoint, Reason};
use super::temporary::Temporary;
use crate::domain::event::{CheckpointAction, CheckpointReport};
use crate::domain::units;
use crate::host::read;
use crate::trainer::digest::Digester;
use crate::trainer::tensorboard::remedy;

const FORMAT: &str = "hvd-lab-checkpoint";
const VERSION: &str = "1";
/// Before keys of [`Checkpoint::metadata`], so that they cannot hide one of ours.
const EXTRA: &str = "extra.";
/// Of a commit: [`Checkpoint::images`].
const IMAGES: &str = "images";

/// A checkpoint that could not be written. Earlier ones are as they were, and nothing of this one is left.
#[derive(Debug, thiserror::Error)]
#[error(
    "checkpoint `{}` ({}) could not be written: {cause}. Earlier checkpoints are kept. {}",
    path.display(),
    units::bytes(*bytes),
    remedy(cause)
)]
pub struct SaveError {
    pub path: PathBuf,
    pub bytes: u64,
    /// Part of the message, and so not the `source`, which would be printed a second time.
    pub cause: io::Error,
}

/// Writes `checkpoint-{epoch}.safetensors` (or a commit, `commit-{epoch}-{images}.safetensors`) into `folder`, in place of one that
/// may be there.
///
/// Written under a temporary name beside it, synced, renamed, and the folder synced: at any moment, also after a crash
/// or a power cut, the file is the old one or the new one. Every writer has a temporary name of its own.
///
/// # Errors
/// [`SaveError`] for a full disk, a folder that may not be written to, and the like.
pub fn save(folder: &Path, checkpoint: &Checkpoint) -> Result<CheckpointReport, SaveError> {
    let path = folder.join(checkpoint.place().file_name());
    let bytes = checkpoint.tensors.values().map(|(_, values)| values.len() as u64 * 4).sum();
    let fail = |cause| SaveError { path: path.clone(), bytes, cause };
    // Not the folders above it: where they went, the run was removed while it trained, and must not come back.
    std::fs::create_dir(folder).or_else(|error| if folder.is_dir() { Ok(()) } else { Err(error) }).map_err(fail)?;
    let temporary = Temporary::create(folder, checkpoint.epoch).map_err(fail)?;
    let bytes = write(&temporary.path, checkpoint).map_err(fail)?;
    std::fs::rename(&temporary.path, &path).map_err(fail)?;
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(fail)?;
    Ok(checkpoint.report(CheckpointAction::Written, &path, bytes))
}

fn write(path: &Path, checkpoint: &Checkpoint) -> io::Result<u64> {
    let mut metadata = metadata(checkpoint);
    metadata.insert("sha256".into(), seal(&metadata, &checkpoint.tensors));
    let metadata: HashMap<String, String> = metadata.into_iter().collect();
    let tensors = checkpoint.tensors.iter();
    let tensors =
        tensors.map(|(name, (shape, values))| Ok((name, TensorView::new(Dtype::F32, shape.clone(), values.as_bytes())?)));
    let tensors: Result<Vec<_>, SafeTensorError> = tensors.collect();
    let written = tensors.and_then(|tensors| safetensors::serialize_to_file(tensors, Some(metadata), path));
    written.map_err(|error| match error {
        SafeTensorError::IoError(error) => error,
        other => io::Error::other(other),
    })?;
    let file = File::open(path)?;
    file.sync_all()?;
    Ok(file.metadata()?.len())
}

fn metadata(checkpoint: &Checkpoint) -> BTreeMap<String, String> {
    let own = [
        ("format", FORMAT.to_owned()),
        ("version", VERSION.to_owned()),
        ("epoch", checkpoint.epoch.to_string()),
        ("steps", checkpoint.steps.clone()),
        ("seed", checkpoint.seed.to_string()),
        ("model", checkpoint.model.clone()),
        ("optimizer", checkpoint.optimizer.clone()),
    ];
    let images = (checkpoint.images > 0).then(|| (IMAGES, checkpoint.images.to_string()));
    let own = own.into_iter().chain(images).map(|(key, value)| (key.to_owned(), value));
    own.chain(checkpoint.metadata.iter().map(|(key, value)| (format!("{EXTRA}{key}"), value.clone()))).collect()
}

/// SHA-256 over everything that a checkpoint says: metadata, names, shapes and numbers, each in order.
fn seal(metadata: &BTreeMap<String, String>, tensors: &BTreeMap<String, (Vec<usize>, Vec<f32>)>) -> String {
    let mut digester = Digester::default();
    for (key, value) in metadata.iter().filter(|(key, _)| *key != "sha256") {
        digester.add_text(key);
        digester.add_text(value);
    }
    for (name, (shape, values)) in tensors {
        digester.add_text(name);
        digester.add_text(&format!("{shape:?}"));
        digester.add(values);
    }
    digester.hex()
}

/// Bytes of the longest header that safetensors reads.
const LONGEST_HEADER: u64 = 100_000_000;

/// What of a header is needed before the tensors are read.
#[derive(Deserialize)]
struct Header {
    #[serde(default, rename = "__metadata__")]
    metadata: BTreeMap<String, String>,
    #[serde(flatten)]
    tensors: BTreeMap<String, Place>,
}

#[derive(Deserialize)]
struct Place {
    data_offsets: [u64; 2],
}

/// Reads a checkpoint and proves it whole.
///
/// # Errors
/// The [`Reason`] for which the file is no checkpoint, or no longer one.
pub fn load(path: &Path) -> Result<(Checkpoint, CheckpointReport), Reason> {
    if path.is_dir() {
        return Err(Reason::Folder);
    }
    let unreadable = |error: io::Error| Reason::Unreadable(error.to_string());
    let mut file = read::open(path).map_err(unreadable)?;
    let length = file.metadata().map_err(unreadable)?.len();
    let damaged = |error| match error {
        SafeTensorError::HeaderTooSmall | SafeTensorError::InvalidHeaderLength | SafeTensorError::MetadataIncompleteBuffer => {
            Reason::Truncated(length)
        }
        // The first 8 bytes of any other kind of file, read as a length, are beyond all measure.
        SafeTensorError::HeaderTooLarge => Reason::Foreign("no safetensors file".into()),
        other => Reason::Corrupt(other.to_string()),
    };
    // The header first: whatever it announces, a file that is none of ours is not read whole.
    let mut bytes = Vec::new();
    file.by_ref().take(8).read_to_end(&mut bytes).map_err(unreadable)?;
    let announced = <[u8; 8]>::try_from(&bytes[..]).map_or(0, u64::from_le_bytes);
    file.by_ref().take(announced.min(LONGEST_HEADER)).read_to_end(&mut bytes).map_err(unreadable)?;
    match SafeTensors::read_metadata(&bytes) {
        // The tensors are still to come.
        Ok(_) | Err(SafeTensorError::MetadataIncompleteBuffer) => {}
        Err(error) => return Err(damaged(error)),
    }
    let header: Header = serde_json::from_slice(&bytes[8..]).map_err(|error| Reason::Corrupt(error.to_string()))?;
    let metadata = header.metadata;
    let field = |key: &str| metadata.get(key).map(String::as_str).unwrap_or_default();
    if field("format") != FORMAT {
        return Err(Reason::Foreign("a safetensors file of another program".into()));
    }
    if field("version") != VERSION {
        return Err(Reason::Foreign(format!("version {} of the format, this program reads {VERSION}", field("version"))));
    }
    let end = header.tensors.values().map(|tensor| tensor.data_offsets[1]).max().unwrap_or(0);
    if (bytes.len() as u64).checked_add(end) != Some(length) {
        return Err(Reason::Truncated(length));
    }
    file.take(end).read_to_end(&mut bytes).map_err(unreadable)?;
    let mut tensors = BTreeMap::new();
    for (name, view) in SafeTensors::deserialize(&bytes).map_err(damaged)?.iter() {
        if view.dtype() != Dtype::F32 {
            return Err(Reason::Foreign(format!("`{name}` is {:?}, not F32", view.dtype())));
        }
        let values = view.data().chunks_exact(4).map(|word| f32::from_le_bytes([word[0], word[1], word[2], word[3]]));
        tensors.insert(name.to_owned(), (view.shape().to_vec(), values.collect()));
    }
    if seal(&metadata, &tensors) != field("sha256") {
        return Err(Reason::Corrupt("its SHA-256 does not match its contents".into()));
    }
    // The seal holds, so a field that cannot be read was written so.
    let foreign = |key: &str| Reason::Foreign(format!("its {key} `{}` is none", field(key)));
    let extra = metadata.iter().filter_map(|(key, value)| Some((key.strip_prefix(EXTRA)?.to_owned(), value.clone())));
    let checkpoint = Checkpoint {
        epoch: field("epoch").parse().map_err(|_| foreign("epoch"))?,
        images: metadata.get(IMAGES).map_or(Ok(0), |text| text.parse()).map_err(|_| foreign(IMAGES))?,
        steps: field("steps").to_owned(),
        seed: field("seed").parse().map_err(|_| foreign("seed"))?,
        model: field("model").to_owned(),
        optimizer: field("optimizer").to_owned(),
        metadata: extra.collect(),
        tensors,
    };
    let report = checkpoint.report(CheckpointAction::Loaded, path, length);
    Ok((checkpoint, report))
}
