//! Runs one program to its end, or until enough was seen, within a time limit, and leaves nothing of it behind.
//!
//! Never runs two at a time: what is measured has the machine to itself.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use hvd_lab_terminal::process::{RUN_DIR_VARIABLE, of_run, signal};
use nix::sys::signal::Signal;

/// What to do after a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    GoOn,
    /// All that is wanted was seen: end the program.
    Enough,
}

/// Lines of a failed program that are told.
const LAST_LINES: usize = 12;
const GRACE: Duration = Duration::from_secs(10);

/// Starts the command and hands every line of its output, with the time since the start, to `on_line`.
///
/// # Errors
/// It cannot be started, fails, does not end within `limit`, or leaves processes behind; with its last lines.
pub fn watch(mut command: Command, limit: Duration, mut on_line: impl FnMut(Duration, &str) -> Flow) -> Result<(), String> {
    // Of its own, as Open MPI keeps its session there; and its path, in their environment, marks all that is started.
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    command.env(RUN_DIR_VARIABLE, scratch.path()).env("TMPDIR", scratch.path());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let program = command.get_program().to_string_lossy().into_owned();
    let began = Instant::now();
    let mut child = command.spawn().map_err(|error| format!("`{program}` does not start: {error}"))?;
    let (sender, lines) = mpsc::channel();
    forward(child.stdout.take(), &sender);
    forward(child.stderr.take(), &sender);
    drop(sender);

    let mut last = VecDeque::new();
    let mut seen_enough = false;
    let problem = loop {
        match lines.recv_timeout(limit.saturating_sub(began.elapsed())) {
            Ok((at, line)) => {
                seen_enough = on_line(at - began, &line) == Flow::Enough;
                last.truncate(LAST_LINES - 1);
                last.push_front(line);
                if seen_enough {
                    break None;
                }
            }
            Err(RecvTimeoutError::Disconnected) => break None,
            Err(RecvTimeoutError::Timeout) => break Some(format!("no end within {} s", limit.as_secs())),
        }
    };
    let status = if seen_enough || problem.is_some() { end(&mut child) } else { child.wait() };
    if seen_enough {
        of_run(scratch.path()).into_iter().for_each(|pid| signal(pid, Signal::SIGTERM));
    }
    let left = end_marked(scratch.path());
    let failed = status.map_or(true, |status| !status.success());
    let problem = problem
        .or_else(|| (failed && !seen_enough).then(|| "it failed".to_owned()))
        .or_else(|| (left > 0 && !seen_enough).then(|| format!("it left {left} processes behind")));
    match problem {
        None => Ok(()),
        Some(problem) => {
            let lines: Vec<String> = last.into_iter().rev().collect();
            Err(format!("`{program}`: {problem}\n{}", lines.join("\n")))
        }
    }
}

/// Sends each line with the time at which it came. Ends with the stream.
fn forward(stream: Option<impl Read + Send + 'static>, to: &Sender<(Instant, String)>) {
    let Some(stream) = stream else { return };
    let to = to.clone();
    std::thread::spawn(move || {
        let mut reader = BufReader::new(stream);
        let mut bytes = Vec::new();
        // Bytes, as a program that is ended may leave half a letter.
        while reader.read_until(b'\n', &mut bytes).is_ok_and(|read| read > 0) {
            let line = String::from_utf8_lossy(&bytes).trim_end().to_owned();
            if to.send((Instant::now(), line)).is_err() {
                return;
            }
            bytes.clear();
        }
    });
}

/// Launchers pass SIGTERM on to their ranks.
fn end(child: &mut Child) -> std::io::Result<std::process::ExitStatus> {
    signal(child.id(), Signal::SIGTERM);
    let deadline = Instant::now() + GRACE;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if Instant::now() > deadline {
            child.kill()?;
            return child.wait();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Gives what was started a moment to vanish, then ends it. Returns how many had to be ended.
fn end_marked(mark: &std::path::Path) -> usize {
    let deadline = Instant::now() + Duration::from_secs(3);
    loop {
        let left = of_run(mark);
        if left.is_empty() {
            return 0;
        }
        if Instant::now() > deadline {
            left.iter().for_each(|pid| signal(*pid, Signal::SIGKILL));
            return left.len();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
