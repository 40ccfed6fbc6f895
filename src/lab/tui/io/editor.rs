//! Runs another program on the terminal, such as the learner's editor, until that ends.
//!
//! `Screen` gives the terminal away and takes it back.

use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{io, process};

use anyhow::Context;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getpgrp, getsid};
use tokio::task::JoinHandle;

use crate::domain::printable;
use crate::exercise;
use crate::host::{access, read};
use crate::tui::message::Message;

/// Held by the one that reads the terminal: the keyboard thread while it reads, or a program for as long as it runs.
static INPUT: Mutex<()> = Mutex::new(());

/// No program is longer that people read line by line.
const MOST_BYTES: u64 = 4 << 20;

/// Waits while another program has the terminal.
pub fn reading() -> MutexGuard<'static, ()> {
    INPUT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for the program that has the terminal; forever if there is none.
pub async fn end(editing: &mut Option<JoinHandle<io::Result<()>>>) -> io::Result<()> {
    match editing {
        Some(program) => program.await.unwrap_or_else(|broken| Err(io::Error::other(broken))),
        None => std::future::pending().await,
    }
}

/// A file that a run has named, at a line: the command of the editor, or its lines where there is no editor.
///
/// # Errors
/// There is no such file here, or it cannot be read.
pub fn at_line(file: String, line: usize) -> anyhow::Result<(Option<Vec<String>>, Option<Message>)> {
    let path = Path::new(&file);
    // Another host may have run it, or the file was moved. Its name is what a program said, so it may begin like a flag.
    anyhow::ensure!(path.is_absolute() && path.is_file(), "there is no file {} on this machine", printable::line(&file));
    if exercise::editor::is_there() {
        return Ok((Some(exercise::editor::command(path, line.max(1))), None));
    }
    let text = read::small_file(path, MOST_BYTES).with_context(|| format!("{} cannot be read", printable::line(&file)))?;
    let lines = String::from_utf8_lossy(&text).lines().map(str::to_owned).collect();
    Ok((None, Some(Message::Program { file, line, lines })))
}

/// Run a program on the terminal to its end.
///
/// # Errors
/// It cannot be started, or says that it failed.
pub fn run(words: &[String]) -> io::Result<()> {
    let Some((program, arguments)) = words.split_first() else { return Err(io::ErrorKind::InvalidInput.into()) };
    let _input = reading();
    let failed =
        |what: String| io::Error::other(format!("the editor `{}` {what}: set EDITOR to one that works", words.join(" ")));
    let child = access::as_user(|| Command::new(program).args(arguments).spawn());
    let child = child.map_err(|error| failed(format!("cannot be started ({error})")))?;
    match wait(&child)? {
        0 => Ok(()),
        code => Err(failed(format!("ended with code {code}"))),
    }
}

/// The exit code; 128 and the signal's number where a signal ended it, as shells have it.
fn wait(child: &process::Child) -> io::Result<i32> {
    let pid = Pid::from_raw(child.id() as i32);
    loop {
        match waitpid(pid, Some(WaitPidFlag::WUNTRACED)) {
            Ok(WaitStatus::Exited(_, code)) => return Ok(code),
            Ok(WaitStatus::Signaled(_, signal, _)) => return Ok(128 + signal as i32),
            // Ctrl-Z in the editor. The shell continues the whole job, editor and all; where there is none that could,
            // we continue the editor at once.
            Ok(WaitStatus::Stopped(..)) if getsid(None)? == getpgrp() => kill(pid, Signal::SIGCONT)?,
            Ok(WaitStatus::Stopped(..)) => kill(Pid::from_raw(0), Signal::SIGSTOP)?,
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
