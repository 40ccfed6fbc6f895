//! Stands in for the launcher of a run that is a batch job: submits it, prints what it prints, and ends with it.
//!
//! Asked to end, it cancels the job. Slurm that does not answer for a while is waited for.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use signal_hook::consts::SIGTERM;

use super::state::{Answer, State, of_job};
use super::submit::submit;
use super::{END, NEWS, OUTPUT, REQUEUED, STARTED, tell};
use crate::host::files;
use crate::runs::batch_job::{BatchJob, JOB_FOLLOWED, job_file};

const READ_EVERY: Duration = Duration::from_millis(100);
/// Slurm's controller serves everybody; one that does not answer is asked less and less.
const ASK_EVERY: Duration = Duration::from_secs(2);
const ASK_AT_LEAST_EVERY: Duration = Duration::from_secs(60);
/// For the last output of another host to arrive in a shared folder.
const DRAIN: Duration = Duration::from_secs(1);
/// For a job that Slurm does not know, or ended for another one: it may not know yet of a new one, and may start again one that it ended.
const PATIENCE: Duration = Duration::from_secs(6);
const NOT_KNOWN_YET: Duration = Duration::from_secs(60);
/// Slurm's programs try again by themselves for a while when the controller is busy.
const ANSWER_PATIENCE: Duration = Duration::from_secs(30);

/// Tells this program that all ranks have come to their end, whatever Slurm says or does not say.
pub(in crate::launch) const RANKS_DONE: Signal = Signal::SIGUSR1;

/// Submit the job of this run folder, or go on following the one that is there, until it is over.
///
/// # Errors
/// The files of the run cannot be read or written.
pub fn follow(folder: &Path) -> anyhow::Result<ExitCode> {
    let is_asked = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGTERM, Arc::clone(&is_asked))?;
    let is_done = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(RANKS_DONE as i32, Arc::clone(&is_done))?;
    let (mut job, mut patience) = match Job::left(folder) {
        Some(job) => (job, PATIENCE),
        None => {
            let from = std::fs::metadata(folder.join(OUTPUT)).map_or(0, |output| output.len());
            match submit(folder, &is_asked)? {
                Ok(name) => (Job { folder: folder.to_owned(), name, restarts: 0, from, printed: from }, NOT_KNOWN_YET),
                Err(refusal) => {
                    tell(END, &refusal)?;
                    return Ok(ExitCode::FAILURE);
                }
            }
        }
    };
    job.remember(JOB_FOLLOWED)?;
    let number = job.name.number;
    let (mut ask, mut cancel) = (Pause::new(), Pause::new());
    let (mut asked, mut told, mut gone_since) = (None::<Receiver<Answer>>, String::new(), None::<Instant>);
    let (mut last, mut is_wanted, mut is_cancelled) = (None, false, false);
    loop {
        if job.print_output()? {
            gone_since = None;
        }
        if is_asked.swap(false, Ordering::Relaxed) {
            (is_wanted, cancel) = (true, Pause::new());
        }
        if is_wanted && cancel.is_over() {
            match job.name.cancel() {
                // A question from before says nothing about this.
                Ok(()) if !is_cancelled => (is_cancelled, ask, asked, gone_since) = (true, Pause::new(), None, None),
                Ok(()) => {}
                Err(why) => tell(NEWS, &format!("{why}. It is tried again until Slurm does it"))?,
            }
            cancel.begin(true);
        }
        if asked.is_none() && ask.is_over() {
            // Apart from this, for an answer may take a while, and output and the wish to end it do not wait.
            let (sender, receiver) = channel();
            let (name, patience) = (job.name.clone(), if is_cancelled { PATIENCE / 2 } else { ANSWER_PATIENCE });
            std::thread::spawn(move || sender.send(of_job(&name, patience)));
            asked = Some(receiver);
        }
        if let Some(answer) = asked.as_ref().and_then(|asked| asked.try_recv().ok()) {
            asked = None;
            ask.begin(matches!(answer, Answer::Silent(_)));
            if let Answer::Seen(seen) = &answer {
                (last, patience) = (seen.exit_code, PATIENCE);
            }
            let mut is_gone = || gone_since.get_or_insert_with(Instant::now).elapsed() >= patience;
            let news = match answer {
                Answer::Silent(_) if is_cancelled && is_gone() => return job.end(None, Some(1)),
                Answer::Silent(_) if is_done.load(Ordering::Relaxed) && is_gone() => return job.end(None, last),
                // However long it takes: an answer that is not understood says nothing about the job.
                Answer::Silent(_) if told.starts_with(SILENT) => told.clone(),
                Answer::Silent(why) => format!("{SILENT} about job {number}: {why}"),
                Answer::Forgotten if is_cancelled => return job.end(None, Some(1)),
                Answer::Forgotten if !is_gone() => told.clone(),
                Answer::Forgotten => {
                    let words = format!(
                        "job {number} has vanished: Slurm does not know it any more, nor how it ended. Its output is in {}",
                        job.folder.join(OUTPUT).display()
                    );
                    return job.end(Some(&words), last);
                }
                Answer::Seen(seen) if seen.restarts > job.restarts => return job.requeue(seen.restarts),
                Answer::Seen(seen) => match seen.state {
                    State::Ended { may_return: true, .. } if !is_cancelled && !is_gone() => told.clone(),
                    State::Ended { .. } if is_cancelled => return job.end(None, Some(1)),
                    State::Ended { words, .. } => return job.end(Some(&words), Some(1)),
                    State::Over => return job.end(None, seen.exit_code),
                    lasting => {
                        gone_since = None;
                        match lasting {
                            State::Waiting(words) => words,
                            State::Going(nodes) => format!("{STARTED}{number} on {nodes}"),
                            _ => told.clone(),
                        }
                    }
                },
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

/// Between two questions: longer and longer while they are in vain.
struct Pause {
    since: Option<Instant>,
    length: Duration,
}

impl Pause {
    fn new() -> Pause {
        Pause { since: None, length: ASK_EVERY }
    }

    fn is_over(&self) -> bool {
        self.since.is_none_or(|since| since.elapsed() >= self.length)
    }

    fn begin(&mut self, is_in_vain: bool) {
        let is_first = self.since.replace(Instant::now()).is_none();
        self.length = if is_in_vain && !is_first { (self.length * 2).min(ASK_AT_LEAST_EVERY) } else { ASK_EVERY };
    }
}

struct Job {
    folder: PathBuf,
    name: BatchJob,
    restarts: usize,
    /// Where the output of this launch begins in its file, and up to where it was printed.
    from: u64,
    printed: u64,
}

impl Job {
    /// The one that an earlier launch of this run, or a follower that was killed, left for this one.
    fn left(folder: &Path) -> Option<Job> {
        let text = std::fs::read_to_string(job_file(folder)).ok()?;
        let mut words = text.split_whitespace();
        let name = words.next()?.parse().ok()?;
        let mut next = || words.next()?.parse::<u64>().ok();
        let (restarts, from) = (next()? as usize, next()?);
        Some(Job { folder: folder.to_owned(), name, restarts, from, printed: from })
    }

    /// Its name is in the folder for as long as the job may exist, so that another supervisor can follow it.
    fn remember(&self, word: &str) -> io::Result<()> {
        let Job { name, restarts, from, .. } = self;
        files::write(&job_file(&self.folder), format!("{name} {restarts} {from} {word}\n").as_bytes())
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
        let _ = std::fs::remove_file(job_file(&self.folder));
        words.map_or(Ok(()), |words| tell(END, words))?;
        Ok(ExitCode::from(exit_code.and_then(|code| u8::try_from(code).ok()).unwrap_or(0)))
    }

    /// The supervisor follows it again, as another launch.
    fn requeue(mut self, restarts: usize) -> anyhow::Result<ExitCode> {
        self.drain()?;
        (self.restarts, self.from) = (restarts, self.printed);
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
