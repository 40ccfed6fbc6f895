//! Finds the images as [`locate`] does, and downloads the real ones into the cache where they are missing and wanted: resumed by Range,
//! checked by SHA-256, unpacked when whole.
//!
//! Never leaves a file under its final name that is not the published one, and never loses bytes that it has.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::Path;
use std::time::Duration;

use crate::dataset::{
    Collection, DatasetError, Located, OfficialFile, cache_dir, collection, drawn, is_demanded, is_offline, keep, locate,
    official_at, official_in, part_path, sha256_of,
};
use crate::domain::training::DataSource;
use crate::host::{file_limit, files, owners};

/// A dead network or a proxy that swallows packets must not hold up a first run for long.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(6);
/// Longest silence in the middle of a download.
const READ_TIMEOUT: Duration = Duration::from_secs(20);
/// Attempts at one address, as long as each brings new bytes.
const ATTEMPTS: usize = 4;

/// What a download is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Another process downloads into the same cache; this one waits for it.
    Waiting,
    /// A file is asked for, from this byte on.
    Asking { file: &'static str, address: String, from_byte: u64 },
    /// Bytes of all files that are there.
    Bytes { done: u64, total: u64 },
    /// An attempt failed; the next one follows.
    Setback { message: String },
}

/// Where to download from, and what.
#[derive(Clone, Debug)]
pub struct Fetcher {
    /// Folders on the web, tried in turn.
    pub addresses: Vec<String>,
    pub files: Vec<OfficialFile>,
}

/// Like [`locate`], but fetches the real files into the cache where they are missing and wanted; without a network the
/// generator stands in, and the note says why. Blocks while it downloads.
///
/// # Errors
/// As [`locate`]; and a failed download, where the real files were asked for by name.
pub fn prepare(
    choice: DataSource,
    data_dir: Option<&Path>,
    offline: bool,
    progress: &mut dyn FnMut(Progress),
) -> Result<Located, DatasetError> {
    let (demanded, collection) = (is_demanded(&choice), collection(&choice));
    let located = locate(choice, data_dir, offline)?;
    if !located.fetchable {
        return Ok(located);
    }
    let cache = cache_dir()?;
    match Fetcher::official(collection).fetch(&collection.folder_in(&cache), progress) {
        Ok(()) => Ok(official_in(collection, &cache)),
        Err(error) if demanded => Err(error),
        Err(error) => Ok(drawn(collection, Some(format!("{} could not be fetched: {error}", collection.name)))),
    }
}

/// Downloads what the cache lacks of a collection from the official addresses.
///
/// # Errors
/// Offline is set, no address delivers, or the cache cannot be written. What has arrived is kept for the next try.
pub fn fetch(collection: &Collection, cache: &Path, progress: &mut dyn FnMut(Progress)) -> Result<(), DatasetError> {
    let (fetcher, folder) = (Fetcher::official(collection), collection.folder_in(cache));
    if is_offline(false) && !fetcher.missing(&folder)?.is_empty() {
        return Err(collection.offline(cache));
    }
    fetcher.fetch(&folder, progress)
}

impl Fetcher {
    /// The official addresses, after the mirror in HVD_LAB_DATA_URL where one is set.
    pub fn official(collection: &Collection) -> Fetcher {
        let mirror = std::env::var("HVD_LAB_DATA_URL").ok().filter(|address| !address.is_empty());
        let place = |address: String| match collection.subfolder {
            "" => address,
            subfolder => format!("{}/{subfolder}", address.trim_end_matches('/')),
        };
        let addresses = mirror.map(place).into_iter().chain(collection.addresses.map(String::from)).collect();
        Fetcher { addresses, files: collection.files() }
    }

    /// # Errors
    /// No address delivers, or the cache cannot be written.
    pub fn fetch(&self, cache: &Path, progress: &mut dyn FnMut(Progress)) -> Result<(), DatasetError> {
        let unwritable = |cause: std::io::Error| DatasetError::unwritable(cache, &cause);
        let mut missing = self.missing(cache)?;
        if missing.is_empty() {
            return Ok(());
        }
        std::fs::create_dir_all(cache).map_err(unwritable)?;
        let lock_path = cache.join(".lock");
        let lock_file = files::open_to_append(&lock_path);
        let _lock = lock(lock_file.map_err(|cause| DatasetError::unwritable(&lock_path, &cause))?, progress);
        missing = self.missing(cache)?;

        let total: u64 = self.files.iter().map(|file| file.bytes).sum();
        let mut done = total - missing.iter().map(|file| file.bytes).sum::<u64>();
        for file in missing {
            self.fetch_file(file, cache, &mut |step| {
                progress(match step {
                    Progress::Bytes { done: of_file, .. } => Progress::Bytes { done: done + of_file, total },
                    other => other,
                });
            })?;
            done += file.bytes;
        }
        Ok(())
    }

    fn missing(&self, cache: &Path) -> Result<Vec<&OfficialFile>, DatasetError> {
        let mut missing = Vec::new();
        for file in &self.files {
            if official_at(cache, file)?.is_none() {
                missing.push(file);
            }
        }
        Ok(missing)
    }

    fn fetch_file(&self, file: &OfficialFile, cache: &Path, report: &mut dyn FnMut(Progress)) -> Result<(), DatasetError> {
        let part = part_path(cache, file);
        let mut setbacks: Vec<String> = Vec::new();
        for address in &self.addresses {
            let rest = address.split_once("://").map_or(address.as_str(), |(_, rest)| rest);
            let host = rest.split('/').next().unwrap_or(rest);
            let agent = agent(host);
            for _ in 0..ATTEMPTS {
                let before = length(&part);
                let outcome = download(&agent, address, file, &part, report).and_then(|()| finish(file, &part, cache));
                let message = match outcome {
                    Ok(()) => return Ok(()),
                    Err(Failure::Disk(error)) => return Err(error),
                    Err(Failure::Network(message)) => message,
                };
                report(Progress::Setback { message: format!("{host}: {message}") });
                setbacks.push(format!("{host}: {message}"));
                // A part that was begun earlier and turned out wrong is gone now: worth one more try from the start.
                if length(&part) == before {
                    break;
                }
            }
        }
        Err(DatasetError::Download { file: file.name.into(), attempts: setbacks.join("; ") })
    }
}

enum Failure {
    Network(String),
    Disk(DatasetError),
}

fn agent(host: &str) -> ureq::Agent {
    // A proxy does not know this machine's own servers.
    let is_own = ["127.0.0.1", "localhost", "[::1]"].iter().any(|own| host == *own || host.starts_with(&format!("{own}:")));
    ureq::Agent::config_builder()
        .proxy(if is_own { None } else { ureq::Proxy::try_from_env() })
        .timeout_resolve(Some(CONNECT_TIMEOUT))
        .timeout_connect(Some(CONNECT_TIMEOUT))
        .timeout_recv_response(Some(READ_TIMEOUT))
        .timeout_per_read(Some(READ_TIMEOUT))
        .http_status_as_error(false)
        // The files are gzip themselves; a transfer encoding on top would break Range.
        .accept_encoding("identity")
        .user_agent(concat!("hvd-lab/", env!("CARGO_PKG_VERSION")))
        .build()
        .into()
}

/// Brings the part up to the file's size, from where it is.
fn download(
    agent: &ureq::Agent,
    address: &str,
    file: &OfficialFile,
    part: &Path,
    report: &mut dyn FnMut(Progress),
) -> Result<(), Failure> {
    let disk = |cause: std::io::Error| Failure::Disk(DatasetError::unwritable(part, &cause));
    let network = |cause: &dyn std::fmt::Display| Failure::Network(cause.to_string());
    if length(part) > file.bytes {
        std::fs::remove_file(part).map_err(disk)?;
    }
    let have = length(part);
    if have == file.bytes {
        return Ok(());
    }
    report(Progress::Asking { file: file.name, address: address.into(), from_byte: have });
    let mut request = agent.get(format!("{}/{}", address.trim_end_matches('/'), file.name));
    if have > 0 {
        request = request.header("Range", format!("bytes={have}-"));
    }
    let mut response = request.call().map_err(|cause| network(&cause))?;
    let range = response.headers().get("content-range").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let append = match response.status().as_u16() {
        206 if range.starts_with(&format!("bytes {have}-")) => true,
        206 => return Err(network(&format!("it answered with another range ({range})"))),
        200 => false,
        416 => {
            std::fs::remove_file(part).map_err(disk)?;
            return Err(network(&"it has no bytes after those already here; starting over"));
        }
        status => return Err(network(&format!("HTTP status {status}"))),
    };
    let options = OpenOptions::new().create(true).write(true).append(append).truncate(!append).clone();
    let mut output = owners::open(part, &options, 0).map_err(disk)?;
    let mut there = if append { have } else { 0 };
    // A login page of a captive network, or a wrong file, must not fill the disk: one byte too many is proof enough.
    let mut body = response.body_mut().as_reader().take(file.bytes - there + 1);
    let mut buffer = vec![0; 1 << 16];
    loop {
        report(Progress::Bytes { done: there, total: file.bytes });
        let count = body.read(&mut buffer).map_err(|cause| network(&cause))?;
        if count == 0 {
            break;
        }
        file_limit::explained(output.write_all(&buffer[..count])).map_err(disk)?;
        there += count as u64;
    }
    if there < file.bytes {
        return Err(network(&format!("the connection ended after {there} of {} bytes", file.bytes)));
    }
    Ok(())
}

/// Checks the whole part and keeps what it holds.
fn finish(file: &OfficialFile, part: &Path, cache: &Path) -> Result<(), Failure> {
    let disk = |cause: std::io::Error| Failure::Disk(DatasetError::unwritable(part, &cause));
    let found = sha256_of(part).map_err(disk)?;
    if found != file.sha256 {
        std::fs::remove_file(part).map_err(disk)?;
        return Err(Failure::Network(format!("what came has SHA-256 {found} instead of {}", file.sha256)));
    }
    keep(file, part, cache).and_then(|()| std::fs::remove_file(part)).map_err(disk)
}

/// Two processes must not write one part. A file system without locks is no reason to fail: then the digest decides.
fn lock(file: File, progress: &mut dyn FnMut(Progress)) -> Option<File> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            progress(Progress::Waiting);
            file.lock().ok()?;
        }
        tried => tried.ok()?,
    }
    Some(file)
}

fn length(path: &Path) -> u64 {
    std::fs::metadata(path).map(|meta| meta.len()).unwrap_or(0)
}
