//! Stands in for the launcher of a run that is a batch job: submits it, prints what it prints, and ends with it.
//!
//! Asked to end, it cancels the job. Slurm that does not answer for a while is waited for.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use signal_hook::consts::SIGTERM;

use super::ask::{Name, tell, words_of};
use super::state::{Seen, State, parse};
use super::submit::submit;
use super::{END, NEWS, OUTPUT, REQUEUED, STARTED};
use crate::host::files;
use crate::runs::{JOB_FOLLOWED, JOB_NUMBER};

const READ_EVERY: Duration = Duration::from_millis(100);
/// Slurm's controller serves everybody; one that does not answer is asked less and less.
const ASK_EVERY: Duration = Duration::from_secs(2);
const ASK_AT_LEAST_EVERY: Duration = Duration::from_secs(60);
/// For the last output of another host to arrive in a shared folder.
const DRAIN: Duration = Duration::from_secs(1);
/// For a job that Slurm does not know: it forgets one some minutes after its end, and may not know yet of a new one.
const FORGOTTEN: Duration = Duration::from_secs(6);
const NOT_KNOWN_YET: Duration = Duration::from_secs(60);

/// Submit the job of this run folder, or go on following the one that is there, until it is over.
///
/// # Errors
/// The files of the run cannot be read or written.
pub fn follow(folder: &Path) -> anyhow::Result<ExitCode> {
    let is_asked = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGTERM, Arc::clone(&is_asked))?;
    let (mut job, mut patience) = match Job::left(folder) {
        Some(job) => (job, FORGOTTEN),
        None => {
            let from = std::fs::metadata(folder.join(OUTPUT)).map_or(0, |output| output.len());
            match submit(folder)? {
                Ok(name) => (Job { folder: folder.to_owned(), name, restarts: 0, from, printed: from }, NOT_KNOWN_YET),
                Err(refusal) => {
                    tell(END, &refusal)?;
                    return Ok(ExitCode::FAILURE);
                }
            }
        }
    };
    job.remember(JOB_FOLLOWED)?;
    let (mut asked_at, mut pause, mut told) = (None::<Instant>, ASK_EVERY, String::new());
    let (mut last, mut unknown_since, mut is_cancelled) = (None, None::<Instant>, false);
    loop {
        if job.print_output()? {
            unknown_since = None;
        }
        if is_asked.load(Ordering::Relaxed) && asked_at.is_none_or(|then| !is_cancelled || then.elapsed() >= ASK_EVERY) {
            asked_at = None;
            // Before anything else: whoever asked for it soon ends this program by force.
            if let Err(why) = job.cancel() {
                let number = job.name.number;
                tell(
                    END,
                    &format!("job {number} could not be cancelled ({why}): `scancel {number}` does it once Slurm answers"),
                )?;
            }
            is_cancelled = true;
        }
        if asked_at.is_none_or(|then| then.elapsed() >= pause) {
            asked_at = Some(Instant::now());
            let answer = job.ask();
            pause = if let Answer::Silent(_) = answer { (pause * 2).min(ASK_AT_LEAST_EVERY) } else { ASK_EVERY };
            let news = match answer {
                Answer::Silent(why) => {
                    // However long it takes: an answer that is not understood says nothing about the job.
                    if !told.starts_with(SILENT) {
                        format!("{SILENT} about job {}: {why}", job.name.number)
                    } else {
                        told.clone()
                    }
                }
                Answer::Forgotten if unknown_since.get_or_insert_with(Instant::now).elapsed() < patience => told.clone(),
                Answer::Forgotten => return job.end(None, last),
                Answer::Seen(seen) if seen.restarts > job.restarts => return job.requeue(&seen),
                Answer::Seen(seen) => {
                    (last, unknown_since, patience) = (seen.exit_code, None, FORGOTTEN);
                    match seen.state {
                        State::Waiting(words) => words,
                        State::Going(nodes) => format!("{STARTED}{} on {nodes}", job.name.number),
                        State::Ending => told.clone(),
                        State::Over => return job.end(None, seen.exit_code),
                        State::Ended(_) if is_cancelled => return job.end(None, Some(1)),
                        State::Ended(words) => return job.end(Some(&words), Some(1)),
                    }
                }
            };
            if news != told {
                tell(NEWS, &news)?;
                told = news;
            }
        }
        std::thread::sleep(READ_EVERY);
    }
}

const SILENT: &str = "Slurm does not answer";

struct Job {
    folder: PathBuf,
    name: Name,
    restarts: usize,
    /// Where the output of this launch begins in its file, and up to where it was printed.
    from: u64,
    printed: u64,
}

enum Answer {
    Seen(Seen),
    Forgotten,
    /// The controller is busy or down, or says something that nobody knows.
    Silent(String),
}

impl Job {
    /// The one that an earlier launch of this run, or a follower that was killed, left for this one.
    fn left(folder: &Path) -> Option<Job> {
        let text = std::fs::read_to_string(folder.join(JOB_NUMBER)).ok()?;
        let mut words = text.split_whitespace();
        let mut next = || words.next()?.parse::<u64>().ok();
        let (number, restarts, from) = (next()?.try_into().ok()?, next()? as usize, next()?);
        let name = Name { number, cluster: words.nth(1).map(str::to_owned) };
        Some(Job { folder: folder.to_owned(), name, restarts, from, printed: from })
    }

    /// Its number stands in the folder for as long as it may be there: whoever finds the run without a supervisor goes on with it.
    fn remember(&self, word: &str) -> io::Result<()> {
        let Job { name: Name { number, cluster }, restarts, from, .. } = self;
        let line = format!("{number} {restarts} {from} {word} {}", cluster.as_deref().unwrap_or_default());
        files::write(&self.folder.join(JOB_NUMBER), format!("{}\n", line.trim_end()).as_bytes())
    }

    fn cancel(&self) -> Result<(), String> {
        match self.name.ask("scancel", &[&self.name.number.to_string()]) {
            Ok(output) if output.status.success() || words_of(&output).contains("nvalid job id") => Ok(()),
            Ok(output) => Err(words_of(&output)),
            Err(error) => Err(error.to_string()),
        }
    }

    fn ask(&self) -> Answer {
        let number = self.name.number;
        let output = match self.name.ask("scontrol", &["show", "job", "--oneliner", &number.to_string()]) {
            Ok(output) => output,
            Err(error) => return Answer::Silent(error.to_string()),
        };
        match parse(number, &String::from_utf8_lossy(&output.stdout)) {
            Some(seen) => Answer::Seen(seen),
            None if words_of(&output).contains("nvalid job id") => self.past().map_or(Answer::Forgotten, Answer::Seen),
            None => Answer::Silent(words_of(&output)),
        }
    }

    /// What Slurm's accounting remembers of it, where there is one: `CANCELLED by 1000|0:15`.
    fn past(&self) -> Option<Seen> {
        let Name { number, .. } = self.name;
        let of = number.to_string();
        let asked = ["--allocations", "--noheader", "--parsable2", "--format=State,ExitCode", "--jobs", &of];
        let output = self.name.ask("sacct", &asked).ok().filter(|output| output.status.success())?;
        let text = String::from_utf8_lossy(&output.stdout);
        let (state, code) = text.lines().rev().find_map(|line| line.split_once('|'))?;
        parse(number, &format!("JobId={number} JobState={} ExitCode={code}", state.split_whitespace().next()?))
    }

    /// What it has printed since the last time, and whether that is anything.
    fn print_output(&mut self) -> io::Result<bool> {
        let before = self.printed;
        let mut file = match File::open(self.folder.join(OUTPUT)) {
            Ok(file) => file,
            // It has not begun.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        file.seek(SeekFrom::Start(self.printed))?;
        let mut out = io::stdout().lock();
        let mut piece = vec![0; 64 << 10];
        loop {
            match file.read(&mut piece)? {
                0 => return out.flush().map(|()| self.printed > before),
                length => {
                    out.write_all(&piece[..length])?;
                    self.printed += length as u64;
                }
            }
        }
    }

    /// The rest of its output, and how it ended.
    fn end(mut self, words: Option<&str>, exit_code: Option<i32>) -> anyhow::Result<ExitCode> {
        self.drain()?;
        let _ = std::fs::remove_file(self.folder.join(JOB_NUMBER));
        words.map_or(Ok(()), |words| tell(END, words))?;
        Ok(ExitCode::from(exit_code.and_then(|code| u8::try_from(code).ok()).unwrap_or(0)))
    }

    /// The supervisor follows it again, as a launch of its own.
    fn requeue(mut self, seen: &Seen) -> anyhow::Result<ExitCode> {
        self.drain()?;
        (self.restarts, self.from) = (seen.restarts, self.printed);
        self.remember(REQUEUED)?;
        tell(END, REQUEUED)?;
        Ok(ExitCode::SUCCESS)
    }

    fn drain(&mut self) -> io::Result<()> {
        let begin = Instant::now();
        while begin.elapsed() < DRAIN {
            self.print_output()?;
            std::thread::sleep(READ_EVERY);
        }
        Ok(())
    }
}
