//! Short commands that ask other programs something, such as `mpirun --version`, each with a time limit and a size limit.
//!
//! No process of the command stays behind, even if it does not end in time or one of them holds on to the output.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;

use super::of_run::{self as process, QUESTION_VARIABLE};
use crate::host::access;

/// A launcher says its version in milliseconds; longer than this, also on a busy machine, is a hang.
pub const LAUNCHER_PATIENCE: Duration = Duration::from_secs(10);
/// A trainer loads its libraries first, and CUDA from a cold disk takes a while.
pub const TRAINER_PATIENCE: Duration = Duration::from_secs(30);
const MOST_BYTES: usize = 64 << 10;
/// For a program that is being written to be closed.
const BUSY: Duration = Duration::from_secs(1);
/// Between two looks at whether the program has ended, while its output is open and when it no longer is.
const TICK: Duration = Duration::from_millis(20);
const SHORT_TICK: Duration = Duration::from_millis(1);
/// Rounds of SIGKILL: what is killed cannot start more, but may have just done so.
const ROUNDS: usize = 40;

/// What a program said before it ended.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum NoAnswer {
    #[error("it cannot be started ({0})")]
    NotStarted(std::io::Error),
    #[error("`{command}` did not answer within {} s", patience.as_secs_f64())]
    Late { command: String, patience: Duration },
    #[error("`{command}` printed more than {} KiB and was ended", MOST_BYTES >> 10)]
    TooLong { command: String },
    #[error("the answer of `{command}` was lost ({cause})")]
    Lost { command: String, cause: std::io::Error },
}

/// Run a program to its end, for `patience` at most, and take what it says.
///
/// # Errors
/// It does not start, does not end in time, or says more than 64 KiB.
pub fn ask(command: &mut Command, patience: Duration) -> Result<Answer, NoAnswer> {
    static ASKED: AtomicU32 = AtomicU32::new(0);
    let mark = format!("{}-{}", std::process::id(), ASKED.fetch_add(1, Ordering::Relaxed));
    // A process group would not do: Ctrl-C would miss it, and a process can leave it.
    command.env(QUESTION_VARIABLE, &mark).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = start(command).map_err(NoAnswer::NotStarted)?;
    let mut out = Pipe::new(child.stdout.take().map(OwnedFd::from));
    let mut err = Pipe::new(child.stderr.take().map(OwnedFd::from));
    let heard = listen(&in_words(command), &mut child, &mut out, &mut err, patience);
    if heard.is_err() {
        end(&mut child);
    }
    // A program that ended may have started others that never end.
    end_marked(&mark);
    Ok(Answer { status: heard?, stdout: out.text(), stderr: err.text() })
}

/// A script that is just being written is busy for a moment.
fn start(command: &mut Command) -> std::io::Result<Child> {
    let begin = Instant::now();
    loop {
        match access::as_user(|| command.spawn()) {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy && begin.elapsed() < BUSY => std::thread::sleep(TICK),
            started => return started,
        }
    }
}

/// The program without its folder, and its arguments.
fn in_words(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(command.get_program());
    let words = std::iter::once(name).chain(command.get_args()).map(|word| word.to_string_lossy());
    words.collect::<Vec<_>>().join(" ")
}

/// Until the program has ended and what it said is read.
fn listen(command: &str, child: &mut Child, out: &mut Pipe, err: &mut Pipe, patience: Duration) -> Result<ExitStatus, NoAnswer> {
    let deadline = Instant::now() + patience;
    let lost = |cause| NoAnswer::Lost { command: command.to_owned(), cause };
    loop {
        let ended = child.try_wait().map_err(lost)?;
        let left = deadline.saturating_duration_since(Instant::now());
        let tick = if out.is_open() || err.is_open() { TICK } else { SHORT_TICK };
        // Of a program that has ended, everything that it said is there already.
        let wait = if ended.is_some() { Duration::ZERO } else { tick.min(left) };
        let has_read = read_what_is_there(out, err, wait).map_err(lost)?;
        match ended {
            _ if out.bytes.len() + err.bytes.len() > MOST_BYTES => return Err(NoAnswer::TooLong { command: command.to_owned() }),
            Some(status) if !has_read => return Ok(status),
            None if left.is_zero() => return Err(NoAnswer::Late { command: command.to_owned(), patience }),
            _ => {}
        }
    }
}

/// One piece of each pipe that has something to read; whether any had.
fn read_what_is_there(out: &mut Pipe, err: &mut Pipe, wait: Duration) -> std::io::Result<bool> {
    let mut pipes: Vec<&mut Pipe> = [out, err].into_iter().filter(|pipe| pipe.is_open()).collect();
    let mut ready: Vec<PollFd> =
        pipes.iter().filter_map(|pipe| Some(PollFd::new(pipe.file.as_ref()?.as_fd(), PollFlags::POLLIN))).collect();
    match poll(&mut ready, PollTimeout::try_from(wait).unwrap_or(PollTimeout::ZERO)) {
        Ok(_) => {}
        Err(nix::errno::Errno::EINTR) => return Ok(true),
        Err(errno) => return Err(errno.into()),
    }
    let ready: Vec<bool> = ready.iter().map(|pipe| pipe.any().unwrap_or(false)).collect();
    let mut has_read = false;
    for pipe in pipes.iter_mut().zip(ready).filter_map(|(pipe, ready)| ready.then_some(pipe)) {
        has_read |= pipe.read()?;
    }
    Ok(has_read)
}

/// The program, and what it has started.
fn end(child: &mut Child) {
    // By who started them, for macOS hides the mark of its own programs.
    let started = process::descendants(child.id());
    // It may have ended by itself; then there is nothing to end.
    let _ = child.kill();
    let _ = child.wait();
    process::signal_each(&started, Signal::SIGKILL);
}

/// Ends the remaining processes of a probe command.
fn end_marked(mark: &str) {
    for _ in 0..ROUNDS {
        let left = process::with_variable(QUESTION_VARIABLE, mark.as_ref());
        if left.is_empty() {
            return;
        }
        left.into_iter().for_each(|pid| process::signal(pid, Signal::SIGKILL));
        std::thread::sleep(SHORT_TICK);
    }
}

/// One stream of the program.
struct Pipe {
    /// `None` once all its writers have closed it.
    file: Option<File>,
    bytes: Vec<u8>,
}

impl Pipe {
    fn new(pipe: Option<OwnedFd>) -> Pipe {
        Pipe { file: pipe.map(File::from), bytes: Vec::new() }
    }

    fn is_open(&self) -> bool {
        self.file.is_some()
    }

    /// One piece, from a pipe that has something to read; whether there was any.
    fn read(&mut self) -> std::io::Result<bool> {
        let Some(file) = &mut self.file else { return Ok(false) };
        let mut piece = [0; 8 << 10];
        let read = file.read(&mut piece)?;
        self.bytes.extend_from_slice(&piece[..read]);
        if read == 0 {
            self.file = None;
        }
        Ok(read > 0)
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(text: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", text]);
        command
    }

    /// Pids that a script left in a file, none of which may be alive any more.
    fn assert_ended(file: &Path) {
        let pids = std::fs::read_to_string(file).unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        for pid in pids.split_whitespace().map(|pid| pid.parse().unwrap()) {
            while crate::host::process::look_up(pid).is_some_and(|found| !found.zombie) {
                assert!(Instant::now() < deadline, "process {pid} is left");
                std::thread::sleep(TICK);
            }
        }
    }

    #[test]
    fn an_answer_has_both_streams_and_the_exit_status() {
        let answer = ask(&mut script("echo one; echo two >&2; exit 3"), LAUNCHER_PATIENCE).unwrap();
        assert_eq!((answer.stdout.as_str(), answer.stderr.as_str(), answer.status.code()), ("one\n", "two\n", Some(3)));
        let answer = ask(&mut script("head -c 60000 /dev/zero | tr '\\0' x"), LAUNCHER_PATIENCE).unwrap();
        assert_eq!(answer.stdout.len(), 60_000);
        let folder = tempfile::tempdir().unwrap();
        let error = ask(&mut Command::new(folder.path().join("mpirun")), LAUNCHER_PATIENCE).unwrap_err().to_string();
        assert!(error.starts_with("it cannot be started"), "{error}");
    }

    #[test]
    fn a_script_that_is_being_written_is_waited_for() {
        use std::io::Write;
        use std::os::unix::fs::OpenOptionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("busy.sh");
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o755).open(&path).unwrap();
        file.write_all(b"#!/bin/sh\necho written\n").unwrap();
        let closer = std::thread::spawn(move || {
            std::thread::sleep(TICK * 3);
            drop(file);
        });
        assert_eq!(ask(&mut Command::new(&path), LAUNCHER_PATIENCE).unwrap().stdout, "written\n");
        closer.join().unwrap();
    }

    #[test]
    fn a_program_that_never_answers_is_ended_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let pids = folder.path().join("pids");
        // One child in the same group, one that leads a session of its own.
        let text = format!("echo $$ > {0}; sleep 300 & echo $! >> {0}; setsid sh -c 'echo $$ >> {0}; sleep 300'", pids.display());
        let error = ask(&mut script(&text), Duration::from_secs(1)).unwrap_err().to_string();
        assert!(error.starts_with("`sh -c ") && error.ends_with("did not answer within 1 s"), "{error}");
        assert_eq!(std::fs::read_to_string(&pids).unwrap().lines().count(), 3);
        assert_ended(&pids);
    }

    #[test]
    fn a_daemon_that_holds_nothing_open_is_ended_with_the_first_answer() {
        let folder = tempfile::tempdir().unwrap();
        let pids = folder.path().join("pids");
        let text = format!(
            "setsid sh -c 'echo $$ > {0}; exec sleep 300' > /dev/null 2>&1 & until [ -s {0} ]; do :; done; echo a:2",
            pids.display()
        );
        assert_eq!(ask(&mut script(&text), LAUNCHER_PATIENCE).unwrap().stdout, "a:2\n");
        assert_ended(&pids);
    }

    #[test]
    fn a_program_that_prints_for_ever_is_ended_at_once() {
        for text in ["yes", "yes >&2", "yes & wait"] {
            let begin = Instant::now();
            let error = ask(&mut script(text), Duration::from_secs(60)).unwrap_err().to_string();
            assert!(error.ends_with("printed more than 64 KiB and was ended"), "{text}: {error}");
            assert!(begin.elapsed() < Duration::from_secs(30), "{text}");
        }
    }

    #[test]
    fn a_child_that_holds_the_output_open_does_not_hold_the_answer_up() {
        let folder = tempfile::tempdir().unwrap();
        let pids = folder.path().join("pids");
        let begin = Instant::now();
        let text = format!("echo 5.0.11; sleep 300 & echo $! > {}", pids.display());
        let answer = ask(&mut script(&text), Duration::from_secs(60)).unwrap();
        assert_eq!(answer.stdout, "5.0.11\n");
        assert!(begin.elapsed() < Duration::from_secs(30));
        assert_ended(&pids);
    }
}
