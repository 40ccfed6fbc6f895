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

use super::refusal::explained;
use super::state::{Seen, State, parse};
use super::{ASKED, END, NEWS, OUTPUT, REQUEUED, SCRIPT};
use crate::host::{access, files};
use crate::runs::{self, JOB_FOLLOWED, JOB_NUMBER, SlurmJob};

const READ_EVERY: Duration = Duration::from_millis(100);
/// Slurm's controller serves everybody.
const ASK_EVERY: Duration = Duration::from_secs(2);
/// For a job that was just submitted to be known everywhere in Slurm.
const UNKNOWN: Duration = Duration::from_secs(60);
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
                tell(END, &explained(&refusal))?;
                return Ok(ExitCode::FAILURE);
            }
        },
    };
    let (mut asked_at, mut told, mut is_cancelled, mut is_seen) = (None::<Instant>, String::new(), false, false);
    let (mut last, begin) = (None, Instant::now());
    loop {
        job.print_output()?;
        if is_asked.load(Ordering::Relaxed) && !is_cancelled {
            is_cancelled = true;
            // Before anything else: whoever asked for it soon ends this program by force.
            let _ = job.slurm.command("scancel", &[]).output();
            asked_at = None;
        }
        if asked_at.is_none_or(|then| then.elapsed() >= ASK_EVERY) {
            asked_at = Some(Instant::now());
            let news = match job.ask() {
                Answer::Silent(why) => format!("Slurm does not answer about job {}: {why}", job.slurm.number),
                // Another part of Slurm has not heard of it yet.
                Answer::Forgotten if !is_seen && begin.elapsed() < UNKNOWN => told.clone(),
                // It forgets a job some minutes after its end.
                Answer::Forgotten => return job.end(None, last),
                Answer::Seen(seen) if seen.restarts > job.restarts => return job.requeue(&seen),
                Answer::Seen(seen) => {
                    is_seen = true;
                    last = seen.exit_code;
                    match seen.state {
                        State::Waiting(words) => words,
                        State::Going(nodes) => format!("Slurm has started job {} on {nodes}", job.slurm.number),
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
    slurm: SlurmJob,
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
    // What the run asks for stands in the script, and again as words: SBATCH_ variables of a site or a user win over a script.
    let script = std::fs::read_to_string(folder.join(SCRIPT))?;
    let asked = script.lines().filter_map(|line| line.strip_prefix(ASKED));
    // The scratch folder of this host is not there on the others.
    sbatch.arg("--parsable").args(asked).arg(SCRIPT).current_dir(folder).env_remove("TMPDIR");
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    names.filter(|name| is_of_another_job(name)).for_each(|name| {
        sbatch.env_remove(name);
    });
    sbatch.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Slurm starts the ranks with the umask of sbatch.
    let output = match access::as_user(|| sbatch.spawn()).and_then(|sbatch| sbatch.wait_with_output()) {
        Ok(output) => output,
        Err(error) => return Ok(Err(format!("sbatch does not start ({error}): is this a machine of the cluster?"))),
    };
    if !output.status.success() {
        return Ok(Err(words_of(&output)));
    }
    let Some(slurm) = submitted(&String::from_utf8_lossy(&output.stdout)) else {
        return Ok(Err(format!("it gave no number of a job, but said: {}", words_of(&output))));
    };
    let job = Job { folder: folder.to_owned(), slurm, restarts: 0, printed: 0 };
    job.remember(false)?;
    Ok(Ok(job))
}

impl Job {
    /// The one that an earlier launch of this run left for this one.
    fn requeued(folder: &Path) -> Option<Job> {
        let text = std::fs::read_to_string(folder.join(JOB_NUMBER)).ok()?;
        let mut words = text.split_whitespace();
        let slurm = SlurmJob::of(words.next()?)?;
        let mut next = || words.next()?.parse::<u64>().ok();
        let (restarts, printed) = (next()?, next()?);
        let job = Job { folder: folder.to_owned(), slurm, restarts: restarts as usize, printed };
        (words.next() == Some(REQUEUED)).then_some(job)
    }

    /// Its number stands in the folder for as long as it may be there: whoever finds the run without a supervisor cancels it.
    fn remember(&self, is_requeued: bool) -> io::Result<()> {
        let Job { slurm, restarts, printed, .. } = self;
        let word = if is_requeued { REQUEUED } else { JOB_FOLLOWED };
        files::write(&self.folder.join(JOB_NUMBER), format!("{slurm} {restarts} {printed} {word}\n").as_bytes())
    }

    fn ask(&self) -> Answer {
        let output = match self.slurm.command("scontrol", &["show", "job", "--oneliner"]).output() {
            Ok(output) => output,
            Err(error) => return Answer::Silent(error.to_string()),
        };
        let text = String::from_utf8_lossy(&output.stdout);
        match text.lines().find_map(|line| parse(self.slurm.number, line)) {
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

/// The job that sbatch names, perhaps behind a site's greeting.
fn submitted(said: &str) -> Option<SlurmJob> {
    let in_words = |line: &str| {
        let (number, rest) = line.split_once("Submitted batch job ")?.1.split_once(' ').unwrap_or((line.rsplit(' ').next()?, ""));
        let cluster = rest.trim().strip_prefix("on cluster ").map(|name| format!(";{name}")).unwrap_or_default();
        SlurmJob::of(&format!("{number}{cluster}"))
    };
    said.lines().rev().map(str::trim).find_map(|line| SlurmJob::of(line).or_else(|| in_words(line)))
}

/// A variable that Slurm or an MPI has set for the job that the lab was started in: in a new job it would say what is not so. What a
/// user wishes of all jobs (SBATCH_) is not one.
fn is_of_another_job(name: &str) -> bool {
    let stays = ["SLURM_CONF", "SLURM_CLUSTERS", "SLURM_TIME_FORMAT", "SLURM_JWT", "SLURM_CONF_SERVER"];
    let begins = ["SLURM_", "SLURMD_", "SRUN_", "PMI_", "PMI2_", "PMIX_", "OMPI_COMM_WORLD_", "OMPI_UNIVERSE_", "HYDI_"];
    // These would make another kind of job.
    let others = ["SBATCH_ARRAY_INX", "SBATCH_WAIT", "SBATCH_EXPORT_FILE", "SBATCH_TEST_ONLY"];
    !stays.contains(&name) && begins.iter().any(|begin| name.starts_with(begin)) || others.contains(&name)
}

/// What a program said, as one line.
fn words_of(output: &Output) -> String {
    let text = String::from_utf8_lossy(if output.stderr.is_empty() { &output.stdout } else { &output.stderr });
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_found_behind_whatever_a_site_says_before_it() {
        for (said, job) in [
            ("17\n", Some("17")),
            ("Welcome to cluster 7\n--> checks ...OK\n4711;b\n", Some("4711;b")),
            ("Submitted batch job 12\n", Some("12")),
            ("Submitted batch job 12 on cluster c2\n", Some("12;c2")),
            ("Welcome to cluster 7\n", None),
            ("", None),
        ] {
            assert_eq!(submitted(said).map(|job| job.to_string()).as_deref(), job, "{said}");
        }
    }

    #[test]
    fn what_another_job_has_set_does_not_go_into_a_new_one_and_wishes_do() {
        for name in ["SLURM_JOB_ID", "SLURM_MEM_PER_CPU", "SRUN_CPUS_PER_TASK", "PMIX_RANK", "PMI_RANK", "SBATCH_ARRAY_INX"] {
            assert!(is_of_another_job(name), "{name}");
        }
        for name in ["SBATCH_ACCOUNT", "SBATCH_QOS", "SLURM_CONF", "SLURM_CLUSTERS", "OMPI_MCA_btl", "PATH"] {
            assert!(!is_of_another_job(name), "{name}");
        }
    }
}
