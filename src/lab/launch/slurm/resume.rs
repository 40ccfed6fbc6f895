//! A batch job outlives a follower that is killed: what the next follower needs to take it up without a gap.
//!
//! Its output is all in one file, so the files of the run are cut to what they were before the job, and made again from that.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::host::{files, read};
use crate::runs::RunFolder;
use crate::runs::batch_job::{JOB_FOLLOWED, job_file};

/// Within the folder of the run.
const START: &str = "job.start";
const MOST: u64 = 1 << 20;

/// From when a launch began.
#[derive(Serialize, Deserialize)]
struct Start {
    /// With which the ranks sign their reports.
    secret: String,
    /// Of the files that are made from its output.
    lengths: Vec<(PathBuf, u64)>,
}

/// Whether a job is recorded there whose end was not seen.
pub fn is_left(folder: &RunFolder) -> bool {
    job_file(folder.path()).exists()
}

/// Prepare the files of a run for a launch as a batch job, and say with what its ranks sign.
pub fn resume(folder: &RunFolder, secret: String, np: usize) -> io::Result<String> {
    let path = folder.path().join(START);
    let job = read::small_text(&job_file(folder.path()), MOST).unwrap_or_default();
    let before = read::small_text(&path, MOST).ok().filter(|_| !job.is_empty());
    let before: Option<Start> = before.and_then(|text| serde_json::from_str(&text).ok());
    if let Some(before) = before.as_ref().filter(|_| job.split_whitespace().any(|word| word == JOB_FOLLOWED)) {
        for (name, length) in &before.lengths {
            match OpenOptions::new().write(true).open(folder.path().join(name)) {
                Ok(file) if file.metadata()?.len() > *length => file.set_len(*length)?,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        return Ok(before.secret.clone());
    }
    let logs = (0..np).map(|process| folder.rank_log(process));
    let made = logs.chain([folder.events_file(), folder.launcher_log(), folder.arrivals_file()]);
    let length = |path: PathBuf| {
        let name = path.strip_prefix(folder.path()).unwrap_or(&path).to_owned();
        (name, File::open(&path).and_then(|file| file.metadata()).map_or(0, |file| file.len()))
    };
    let start = Start { secret: before.map_or(secret, |before| before.secret), lengths: made.map(length).collect() };
    files::write_private(&path, serde_json::to_string(&start)?.as_bytes())?;
    Ok(start.secret)
}
