//! One file of a run: a line that lists its parts, then the parts, all of it gzipped.
//!
//! Never takes a name from a file as a path: only the parts of a run are unpacked.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};

use super::anonymous;
use super::error::{FORMAT, MOST_BYTES, RecordingError};
use super::recorded::Recording;
use crate::domain::job::MAX_RANKS;
use crate::domain::units;
use crate::host::{files, read};
use crate::process::{Scratch, scratch};
use crate::runs::{RunFolder, StoreError};

/// The first line of a recording, unpacked.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    /// Always [`WHAT`].
    what: String,
    format: u32,
    parts: Vec<Part>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Part {
    name: String,
    bytes: u64,
}

const WHAT: &str = "hvd-lab recording";
/// The first line of anything else may be endless.
const LONGEST_HEADER: u64 = 1 << 20;

/// Bytes that are packed as small as they get, which takes half a second a MiB; more are packed fast.
const SMALL: u64 = 8 << 20;
/// Bytes between two calls for what is shown of the progress.
const PIECE: usize = 1 << 20;

/// One file with all that the screen shows of a run: not its checkpoints. With `hide` the names of hosts, users and folders
/// are left out. `progress` is called with the bytes that are packed and all there are.
///
/// # Errors
/// [`RecordingError::Going`], [`RecordingError::Io`].
pub fn pack(folder: &RunFolder, hide: bool, progress: &mut dyn FnMut(u64, u64)) -> Result<Vec<u8>, RecordingError> {
    Recording::of_folder(folder.clone())?;
    let at = |path: &Path| {
        let path = path.to_owned();
        move |cause| RecordingError::Io { path, cause }
    };
    let names = names(folder);
    let size = |name: &String| fs::metadata(folder.path().join(name)).map_or(0, |found| found.len());
    let total: u64 = names.iter().map(size).sum();
    if total > MOST_BYTES {
        return Err(RecordingError::too_large(folder.path(), &format!("would have {}", units::bytes(total))));
    }
    let mut parts = Vec::new();
    progress(0, total);
    for name in names {
        let path = folder.path().join(&name);
        let bytes = read::small_file(&path, MOST_BYTES).map_err(at(&path))?;
        parts.push((name, bytes));
    }
    if hide {
        anonymous::hide(&mut parts);
    }
    let total = parts.iter().map(|(_, bytes)| bytes.len() as u64).sum();
    let list = parts.iter().map(|(name, bytes)| Part { name: name.clone(), bytes: bytes.len() as u64 }).collect();
    let header = Header { what: WHAT.to_owned(), format: FORMAT, parts: list };
    let mut packed = || -> io::Result<Vec<u8>> {
        let level = if total > SMALL { Compression::fast() } else { Compression::best() };
        let (mut packed, mut done) = (GzEncoder::new(Vec::new(), level), 0);
        writeln!(packed, "{}", serde_json::to_string(&header)?)?;
        for piece in parts.iter().flat_map(|(_, bytes)| bytes.chunks(PIECE)) {
            packed.write_all(piece)?;
            done += piece.len() as u64;
            progress(done, total);
        }
        packed.finish()
    };
    packed().map_err(at(folder.path()))
}

/// The parts of a run that its folder has.
fn names(folder: &RunFolder) -> Vec<String> {
    let mut names: Vec<String> = files::names_in(folder.path()).filter(|name| is_part(name)).collect();
    names.sort();
    names
}

/// A log only under the name that the lab itself gives it: `rank-07.log` would be a second one of rank 7.
fn is_part(name: &str) -> bool {
    let rank = name.strip_prefix("rank-").and_then(|rest| rest.strip_suffix(".log"));
    let rank = rank.and_then(|rank| rank.parse().ok()).filter(|rank: &usize| *rank < MAX_RANKS);
    rank.is_some_and(|rank| name == format!("rank-{rank}.log"))
        || ["run.json", "status.json", "events.jsonl", "telemetry.jsonl", "launcher.log", "arrivals.txt"].contains(&name)
}

impl Header {
    /// Whether the parts are those of a run, each once, and no more than anybody wants to unpack.
    fn check(&self, path: &Path) -> Result<(), RecordingError> {
        let mut names = BTreeSet::new();
        for part in &self.parts {
            if !is_part(&part.name) {
                // As it would be typed, and no longer than a name is.
                let name: String = part.name.chars().take(80).collect();
                return Err(RecordingError::damaged(path, format!("`{}` is not a part of a run", name.escape_debug())));
            }
            if !names.insert(&part.name) {
                return Err(RecordingError::damaged(path, format!("it has two parts `{}`", part.name)));
            }
        }
        let total = self.parts.iter().fold(0, |total: u64, part| total.saturating_add(part.bytes));
        if total > MOST_BYTES {
            return Err(RecordingError::too_large(path, &format!("announces {}", units::bytes(total))));
        }
        Ok(())
    }
}

impl Recording {
    /// `path` is for messages only.
    pub(super) fn unpack(packed: impl Read, path: &Path) -> Result<Recording, RecordingError> {
        let foreign = || RecordingError::bad(path, "is not a recording of a run: `hvd-lab record RUN --out FILE` makes one");
        let truncated = || RecordingError::bad(path, "ends in the middle: it was cut off, copy it again");
        let broken = |error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof => truncated(),
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => RecordingError::damaged(path, error),
            _ => RecordingError::Io { path: path.to_owned(), cause: error },
        };
        let mut unpacked = BufReader::new(GzDecoder::new(packed));
        let mut line = Vec::new();
        let read = (&mut unpacked).take(LONGEST_HEADER).read_until(b'\n', &mut line);
        // What was packed is read ahead: an error far behind the first line may come with it.
        let is_packed = unpacked.get_ref().header().is_some();
        match read {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && line.is_empty() => return Err(foreign()),
            Err(error) if is_packed => return Err(broken(error)),
            Err(_) => return Err(foreign()),
            Ok(_) => {}
        }
        // Only these two, whatever else a newer format changes.
        let kind: serde_json::Value = serde_json::from_slice(&line).map_err(|_| foreign())?;
        let format = kind["format"].as_u64().filter(|_| kind["what"] == WHAT).ok_or_else(foreign)?;
        if format > u64::from(FORMAT) {
            let newer = format!("(format {format}, this one reads up to {FORMAT}): update this one");
            return Err(RecordingError::bad(path, format!("was recorded by a newer hvd-lab {newer}")));
        }
        let damaged = |cause: &dyn Display| RecordingError::damaged(path, cause);
        let header: Header = serde_json::from_slice(&line).map_err(|error| damaged(&error))?;
        header.check(path)?;
        scratch::sweep();
        let place = std::env::temp_dir();
        let temporary = Scratch::under(&place, &scratch::REPLAY).map_err(|cause| RecordingError::Io { path: place, cause })?;
        for part in &header.parts {
            let target = temporary.path().join(&part.name);
            let mut file = File::create_new(&target).map_err(|cause| RecordingError::Io { path: target, cause })?;
            let copied = io::copy(&mut (&mut unpacked).take(part.bytes), &mut file).map_err(broken)?;
            if copied < part.bytes {
                return Err(truncated());
            }
        }
        // The end, where the checksum is; behind a small recording there may be the zeros of days.
        if unpacked.read(&mut [0]).map_err(broken)? > 0 {
            return Err(damaged(&"it goes on behind its last part"));
        }
        let folder = RunFolder::new(temporary.path());
        let mut recording = Recording::of_folder(folder).map_err(|error| match error {
            // Where it was unpacked says nothing to anybody.
            RecordingError::Store(StoreError::Damaged { path: of, cause }) => {
                damaged(&format!("{}: {cause}", of.file_name().unwrap_or_default().display()))
            }
            error => damaged(&error),
        })?;
        recording.unpacked = Some(temporary);
        Ok(recording)
    }
}
