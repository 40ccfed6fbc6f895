//! Stands in for the launcher of a run that is a batch job: submits it, prints what it prints, and ends with it.
//!
//! Asked to end, it cancels the job. Slurm that does not answer for a while is waited for.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use signal_hook::consts::SIGTERM;

use super::state::{Seen, State, parse};
use super::{END, NEWS, OUTPUT, REQUEUED, SCRIPT};
use crate::host::{access, files};
use crate::runs::{self, JOB_FOLLOWED, JOB_NUMBER};

const READ_EVERY: Duration = Duration::from_millis(100);
/// Slurm's controller serves everybody.
const ASK_EVERY: Duration = Duration::from_secs(2);
/// For the last output of another host to arrive in a shared folder.
const DRAIN: Duration = Duration::from_secs(1);

/// Submit the job of this run folder, or go on following the one that Slurm has requeued, until it is over.
///
/// # Errors
/// The files of the run cannot be read or written.
pub fn follow(folder: &Path) -> anyhow::Result<ExitCode> {
    let is_asked = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGTERM, Arc::clone(&is_asked))?;
    // One that a killed supervisor left behind would train into the same folder.
    runs::cancel_job(folder);
    let mut job = match Job::requeued(folder) {
        Some(job) => job,
        None => match submit(folder)? {
            Ok(job) => job,
            Err(refusal) => {
                // Its own words for that name no cause that a learner knows.
                let is_alone = ["sbatch does not start", "resolve_ctls", "Unable to contact slurm controller"]
                    .iter()
                    .any(|words| refusal.contains(words));
                let refusal = match is_alone {
                    true => {
                        "no cluster of Slurm can be reached from here: start the run on a login machine, or leave --slurm out"
                            .into()
                    }
                    false => format!("sbatch refused the job: {refusal}"),
                };
                tell(END, &refusal)?;
                return Ok(ExitCode::FAILURE);
            }
        },
    };
    let (mut asked_at, mut told, mut is_cancelled) = (None::<Instant>, String::new(), false);
    let mut last = None;
    loop {
        job.print_output()?;
        if is_asked.load(Ordering::Relaxed) && !is_cancelled {
            is_cancelled = true;
            // Before anything else: whoever asked for it soon ends this program by force.
            let _ = slurm("scancel", &[&job.number.to_string()]);
            asked_at = None;
        }
        if asked_at.is_none_or(|then| then.elapsed() >= ASK_EVERY) {
            asked_at = Some(Instant::now());
            let news = match job.ask() {
                Answer::Silent(why) => format!("Slurm does not answer about job {}: {why}", job.number),
                // It forgets a job some minutes after its end.
                Answer::Forgotten => return job.end(None, last),
                Answer::Seen(seen) if seen.restarts > job.restarts => return job.requeue(&seen),
                Answer::Seen(seen) => {
                    last = seen.exit_code;
                    match seen.state {
                        State::Waiting(words) => words,
                        State::Going(nodes) => format!("Slurm has started job {} on {nodes}", job.number),
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

/// A line of its own for the supervisor.
fn tell(mark: &str, words: &str) -> io::Result<()> {
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    writeln!(io::stderr(), "{mark}{line}")
}

struct Job {
    folder: PathBuf,
    number: u32,
    restarts: usize,
    /// Up to where its output was printed.
    printed: u64,
}

enum Answer {
    Seen(Seen),
    Forgotten,
    /// The controller is busy or down.
    Silent(String),
}

/// The inner error is what sbatch says against the job.
fn submit(folder: &Path) -> anyhow::Result<Result<Job, String>> {
    let mut sbatch = Command::new("sbatch");
    // The scratch folder of this host is not there on the others.
    sbatch.args(["--parsable", SCRIPT]).current_dir(folder).env_remove("TMPDIR");
    sbatch.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Slurm starts the ranks with the umask of sbatch.
    let output = match access::as_user(|| sbatch.spawn()).and_then(|sbatch| sbatch.wait_with_output()) {
        Ok(output) => output,
        Err(error) => return Ok(Err(format!("sbatch does not start ({error}): is this a machine of the cluster?"))),
    };
    // `17`, or `17;cluster`.
    let number = String::from_utf8_lossy(&output.stdout).trim().split(';').next().and_then(|text| text.parse().ok());
    let Some(number) = number.filter(|_| output.status.success()) else { return Ok(Err(words_of(&output))) };
    let job = Job { folder: folder.to_owned(), number, restarts: 0, printed: 0 };
    job.remember(false)?;
    Ok(Ok(job))
}

impl Job {
    /// The one that an earlier launch of this run left for this one.
    fn requeued(folder: &Path) -> Option<Job> {
        let text = std::fs::read_to_string(folder.join(JOB_NUMBER)).ok()?;
        let mut words = text.split_whitespace();
        let mut next = || words.next()?.parse::<u64>().ok();
        let (number, restarts, printed) = (next()?, next()?, next()?);
        let job = Job { folder: folder.to_owned(), number: number.try_into().ok()?, restarts: restarts as usize, printed };
        (words.next() == Some(REQUEUED)).then_some(job)
    }

    /// Its number stands in the folder for as long as it may be there: whoever finds the run without a supervisor cancels it.
    fn remember(&self, is_requeued: bool) -> io::Result<()> {
        let Job { number, restarts, printed, .. } = self;
        let word = if is_requeued { REQUEUED } else { JOB_FOLLOWED };
        files::write(&self.folder.join(JOB_NUMBER), format!("{number} {restarts} {printed} {word}\n").as_bytes())
    }

    fn ask(&self) -> Answer {
        let output = match slurm("scontrol", &["show", "job", "--oneliner", &self.number.to_string()]) {
            Ok(output) => output,
            Err(error) => return Answer::Silent(error.to_string()),
        };
        let text = String::from_utf8_lossy(&output.stdout);
        match text.lines().find_map(|line| parse(self.number, line)) {
            Some(seen) => Answer::Seen(seen),
            None if words_of(&output).contains("Invalid job id") => Answer::Forgotten,
            None => Answer::Silent(words_of(&output)),
        }
    }

    /// What it has printed since the last time.
    fn print_output(&mut self) -> io::Result<()> {
        let mut file = match File::open(self.folder.join(OUTPUT)) {
            Ok(file) => file,
            // It has not begun.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        file.seek(SeekFrom::Start(self.printed))?;
        let mut out = io::stdout().lock();
        let mut piece = vec![0; 64 << 10];
        loop {
            match file.read(&mut piece)? {
                0 => return out.flush(),
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
        self.restarts = seen.restarts;
        self.remember(true)?;
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

fn slurm(program: &str, arguments: &[&str]) -> io::Result<Output> {
    Command::new(program).args(arguments).output()
}

/// What a program said, as one line.
fn words_of(output: &Output) -> String {
    let text = String::from_utf8_lossy(if output.stderr.is_empty() { &output.stdout } else { &output.stderr });
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
