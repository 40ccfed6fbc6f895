//! Writes to the terminal of the screen, which may take nothing for a while: it is paused, or its reader hangs.
//!
//! Once the program was asked to end, a terminal that takes nothing is given up.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use nix::libc::{O_NOCTTY, O_NONBLOCK};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::termios::{FlushArg, tcflush};
use nix::unistd::{tcgetpgrp, ttyname};
use signal_hook::consts::{SIGHUP, SIGQUIT, SIGTERM};
use signal_hook::flag;

/// How long the terminal may take nothing once the program was asked to end.
const PATIENCE: Duration = Duration::from_millis(500);
/// Between looks whether it was, in milliseconds.
const LOOK_MS: u8 = 20;

/// Set by the signals that end the screen.
static ENDING: OnceLock<Arc<AtomicBool>> = OnceLock::new();
/// It took nothing for too long, so nothing waits for it any more.
static GIVEN_UP: AtomicBool = AtomicBool::new(false);

/// Listen for the signals that end the screen, also while a write waits.
///
/// # Errors
/// The system takes no handler.
pub fn heed() -> io::Result<()> {
    let ending = Arc::clone(ENDING.get_or_init(Arc::default));
    [SIGTERM, SIGHUP, SIGQUIT].into_iter().try_for_each(|signal| flag::register(signal, Arc::clone(&ending)).map(drop))
}

/// The terminal that standard output is.
pub struct Tty;

impl Write for Tty {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Where it cannot be opened once more, a write waits for as long as it takes.
        let Some(terminal) = terminal() else { return io::stdout().write(bytes) };
        let mut unheard: Option<Instant> = None;
        loop {
            match (&mut &*terminal).write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return written,
            }
            if ENDING.get().is_some_and(|ending| ending.load(Ordering::Relaxed)) {
                let since = *unheard.get_or_insert_with(Instant::now);
                if GIVEN_UP.load(Ordering::Relaxed) || since.elapsed() >= PATIENCE {
                    GIVEN_UP.store(true, Ordering::Relaxed);
                    return Err(io::Error::new(io::ErrorKind::TimedOut, "the terminal takes no output"));
                }
            }
            wait_for(terminal);
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        if terminal().is_some() { Ok(()) } else { io::stdout().flush() }
    }
}

/// Drops what a terminal that was given up has not taken: there is room then for the words that restore it, which it reads if it ever
/// goes on.
pub fn make_room() {
    if GIVEN_UP.load(Ordering::Relaxed) {
        // A terminal that is gone has no room, and needs none.
        let _ = tcflush(io::stdout(), FlushArg::TCOFLUSH);
    }
}

/// Opened a second time: non-blocking is a setting of the open file, and the shell shares standard output.
fn terminal() -> Option<&'static File> {
    static TERMINAL: OnceLock<Option<File>> = OnceLock::new();
    let open = || {
        let stdout = io::stdout();
        // Another user may own it, as after `su`: by this name it can be opened all the same, where it is that of the session.
        let path = if tcgetpgrp(&stdout).is_ok() { PathBuf::from("/dev/tty") } else { ttyname(&stdout).ok()? };
        OpenOptions::new().write(true).custom_flags(O_NONBLOCK | O_NOCTTY).open(path).ok()
    };
    TERMINAL.get_or_init(open).as_ref()
}

/// Until there may be room, for a moment at most.
fn wait_for(terminal: &File) {
    let mut waiting = [PollFd::new(terminal.as_fd(), PollFlags::POLLOUT)];
    let is_told = poll(&mut waiting, PollTimeout::from(LOOK_MS)).is_ok();
    // macOS polls no terminal.
    if is_told && waiting[0].revents().is_some_and(|happened| happened.contains(PollFlags::POLLNVAL)) {
        std::thread::sleep(Duration::from_millis(LOOK_MS.into()));
    }
}
