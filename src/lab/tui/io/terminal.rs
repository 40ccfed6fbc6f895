//! The terminal: taken over once, given back once on every way out, read and written.
//!
//! On every way out, raw mode, the alternate screen and a hidden cursor are undone. A terminal that is gone does not keep us busy.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossterm::clipboard::CopyToClipboard;
use crossterm::event::{self, DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, Event, MouseEventKind};
use crossterm::style::Print;
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute, queue};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpgrp, getsid};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Frame, TerminalOptions, Viewport};
use tokio::sync::mpsc::Sender;

use crate::domain::printable;
use crate::runs::recording;
use crate::tui::config::Config;
use crate::tui::io::out::{self, Tty};
use crate::tui::io::reply::{ASK_BACKGROUND, Replies};
use crate::tui::io::{editor, size};
use crate::tui::message::Message;

/// Whether we hold the terminal. Code that sets it to false must also restore the terminal.
static TAKEN: AtomicBool = AtomicBool::new(false);
/// Whether the terminal reports the mouse to us while it is ours.
static MOUSE: AtomicBool = AtomicBool::new(false);
/// Whether the terminal's title is set while the terminal is ours.
static TITLE: AtomicBool = AtomicBool::new(false);

/// The terminal's title, put aside and taken back (XTWINOPS 22 and 23).
const PUSH_TITLE: &str = "\x1b[22;2t";
const POP_TITLE: &str = "\x1b[23;2t";

/// The wait for pending input: with no time at all crossterm's reader does not even look.
const AT_ONCE: Duration = Duration::from_micros(100);

/// Characters of a paste that are looked at: more than any line takes.
const LONGEST_PASTE: usize = 20_000;
/// Keys that come sooner behind a paste belong to it: text with an end mark in it, which no finger can follow so fast.
const AFTER_PASTE: Duration = Duration::from_millis(20);
/// Between looks at a terminal that cannot be waited for.
const UNPOLLED: Duration = Duration::from_millis(200);

/// Buttons, wheel and dragging, but no bare movement: nothing here asks for it, and over ssh each report costs.
const CAPTURE_MOUSE: &str = "\x1b[?1000h\x1b[?1002h\x1b[?1006h";

/// The largest part of a terminal that is drawn on, in columns and rows. Some claim sizes that no memory holds.
const MOST: (u16, u16) = (1000, 500);

/// There is a terminal to read keys from and to draw on.
pub fn is_there() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Whether something failed because the terminal has gone (its window was closed, its connection broke), or takes nothing any more.
pub fn is_gone(error: &anyhow::Error) -> bool {
    let is_it = |error: &io::Error| error.raw_os_error() == Some(nix::libc::EIO) || error.kind() == io::ErrorKind::TimedOut;
    error.downcast_ref().is_some_and(is_it)
}

/// Its columns and rows, as far as they are drawn on.
pub fn size() -> Message {
    let Rect { width, height, .. } = drawn();
    Message::Resize(width, height)
}

/// The part that is drawn on.
fn drawn() -> Rect {
    let (columns, rows) = size::size().unwrap_or_default();
    Rect::new(0, 0, columns.min(MOST.0), rows.min(MOST.1))
}

/// The terminal while the lab draws on it; dropped, it is as it was.
pub struct Screen {
    terminal: Terminal,
    area: Rect,
    title: String,
}

type Terminal = ratatui::Terminal<CrosstermBackend<BufWriter<Out>>>;

/// The terminal while it is ours, and nothing when it is not. Dropped, ratatui's terminal shows the cursor once more; where that fails
/// it prints to standard error, and panics where that is the same terminal, which is gone.
struct Out;

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if TAKEN.load(Ordering::SeqCst) { Tty.write(bytes) } else { Ok(bytes.len()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        if TAKEN.load(Ordering::SeqCst) { Tty.flush() } else { Ok(()) }
    }
}

fn terminal(area: Rect) -> io::Result<Terminal> {
    let backend = CrosstermBackend::new(BufWriter::with_capacity(1 << 16, Out));
    ratatui::Terminal::with_options(backend, TerminalOptions { viewport: Viewport::Fixed(area) })
}

impl Screen {
    /// # Errors
    /// The terminal refused; it is as it was.
    pub fn enter(mouse: bool, title: bool) -> io::Result<Screen> {
        restore_on_panic();
        out::heed()?;
        TITLE.store(title && !is_plain(), Ordering::SeqCst);
        MOUSE.store(mouse, Ordering::SeqCst);
        let area = drawn();
        let entered = take().and_then(|()| terminal(area));
        entered.map(|terminal| Screen { terminal, area, title: String::new() }).inspect_err(|_| leave())
    }

    /// Gives the terminal back and stops, together with what was started with it, until the shell continues the job.
    ///
    /// # Errors
    /// No shell could continue it; the screen stays.
    pub fn suspend(&mut self) -> io::Result<()> {
        // A shell with job control puts each job in a group of its own. Stopped in the group of the session's leader,
        // there would be no shell to continue us.
        if getsid(None)? == getpgrp() {
            return Err(io::Error::other("no shell here could continue it"));
        }
        leave();
        Ok(kill(Pid::from_raw(0), Signal::SIGSTOP)?)
    }

    /// Takes the terminal again after the job was continued, with an empty screen to draw on.
    pub fn resume(&mut self) -> io::Result<()> {
        // Stopped from outside, it was never given back, and the shell has set it as it likes.
        disable_raw_mode()?;
        take()?;
        self.area = drawn();
        self.terminal = terminal(self.area)?;
        self.title.clear();
        execute!(self.terminal.backend_mut(), Clear(ClearType::All), cursor::Hide)
    }

    /// Gives the terminal to another program, until [`Screen::resume`]; nothing is drawn meanwhile.
    pub fn release(&mut self) {
        leave();
    }

    pub fn capture_mouse(&mut self, capture: bool) -> io::Result<()> {
        MOUSE.store(capture, Ordering::SeqCst);
        let out = self.terminal.backend_mut();
        if capture { execute!(out, Print(CAPTURE_MOUSE)) } else { execute!(out, DisableMouseCapture) }
    }

    /// Asks for the terminal's background colour, unless it is one that would print the question.
    pub fn ask_background(&mut self) -> io::Result<()> {
        if is_plain() { Ok(()) } else { execute!(self.terminal.backend_mut(), Print(ASK_BACKGROUND)) }
    }

    /// Says that a run has ended, by bell and notification where the user wants them.
    pub fn announce(&mut self, text: &str, config: &Config) -> io::Result<()> {
        // While an editor has the terminal as well.
        let mut out = Tty;
        if config.notify && !is_plain() {
            // Terminals that know both would tell it twice.
            let is_rxvt = std::env::var("TERM").is_ok_and(|term| term.starts_with("rxvt") || term.starts_with("foot"));
            let knows_777 = is_rxvt || std::env::var_os("VTE_VERSION").is_some();
            let text = printable::line(text);
            let words = if knows_777 { format!("777;notify;hvd-lab;{text}") } else { format!("9;hvd-lab: {text}") };
            queue!(out, Print(format!("\x1b]{words}\x07")))?;
        }
        if config.bell {
            queue!(out, Print('\x07'))?;
        }
        out.flush()
    }

    /// Draws in one synchronised update: no terminal shows half a frame. Draws nothing while the shell has the terminal.
    pub fn draw(&mut self, title: String, frame: impl FnOnce(&mut Frame)) -> io::Result<()> {
        if !TAKEN.load(Ordering::SeqCst) {
            return Ok(());
        }
        let title = printable::line(&title).into_owned();
        queue!(self.terminal.backend_mut(), BeginSynchronizedUpdate)?;
        if self.area != drawn() {
            self.area = drawn();
            self.terminal.resize(self.area)?;
        }
        if TITLE.load(Ordering::SeqCst) && title != self.title {
            queue!(self.terminal.backend_mut(), Print(format_args!("\x1b]2;{title}\x07")))?;
            self.title = title;
        }
        self.terminal.draw(frame)?;
        execute!(self.terminal.backend_mut(), EndSynchronizedUpdate)
    }

    /// Copies to the clipboard of the terminal, also through ssh, if the terminal allows it (OSC 52).
    pub fn copy(&mut self, text: &str) -> io::Result<()> {
        execute!(self.terminal.backend_mut(), CopyToClipboard::to_clipboard_from(printable::lines(text).as_ref()))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        leave();
    }
}

/// A terminal that may print what it does not know, or none that anybody named.
fn is_plain() -> bool {
    matches!(std::env::var("TERM").as_deref(), Ok("linux" | "dumb" | "") | Err(_))
}

/// A terminal, or a locale, in which signs outside of ASCII are not what they should be.
pub fn needs_ascii() -> bool {
    is_plain() || !has_utf8(|name| std::env::var(name).ok())
}

/// Looks the character set up as the C library does: the first variable that is set decides. If none is, as in most containers,
/// the terminal is taken for one of today, which all know UTF-8.
fn has_utf8(variable: impl Fn(&str) -> Option<String>) -> bool {
    let said = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(variable).find(|value| !value.is_empty());
    said.is_none_or(|said| ["utf-8", "utf8"].iter().any(|name| said.to_ascii_lowercase().contains(name)))
}

/// Takes the terminal, unless it is ours already. In the background the first call waits until the shell lets us.
fn take() -> io::Result<()> {
    enable_raw_mode()?;
    if !TAKEN.swap(true, Ordering::SeqCst) {
        if TITLE.load(Ordering::SeqCst) {
            execute!(Tty, Print(PUSH_TITLE))?;
        }
        execute!(Tty, EnterAlternateScreen, cursor::Hide)?;
    }
    // What is pasted comes as one message, and not as keys.
    execute!(Tty, EnableBracketedPaste)?;
    if MOUSE.load(Ordering::SeqCst) { execute!(Tty, Print(CAPTURE_MOUSE)) } else { Ok(()) }
}

/// Gives the terminal back. Errors are of no use: there may be no terminal any more.
fn leave() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        out::make_room();
        let mut out = BufWriter::new(Tty);
        if MOUSE.load(Ordering::SeqCst) {
            let _ = queue!(out, DisableMouseCapture);
        }
        if TITLE.load(Ordering::SeqCst) {
            let _ = queue!(out, Print(POP_TITLE));
        }
        let _ = queue!(out, DisableBracketedPaste, EndSynchronizedUpdate, LeaveAlternateScreen, cursor::Show);
        let _ = out.flush();
        let _ = disable_raw_mode();
    }
}

/// A panic's message belongs on the screen that comes back, not on the one that goes. A panic of a helper thread ends
/// the program as well: the screen would go on without what that thread did.
fn restore_on_panic() {
    let previous = std::panic::take_hook();
    let drawing = std::thread::current().id();
    std::panic::set_hook(Box::new(move |info| {
        leave();
        previous(info);
        if std::thread::current().id() != drawing {
            recording::remove_unpacked();
            std::process::exit(101);
        }
    }));
}

/// Reads keys until the terminal is gone. Runs on its own thread.
///
/// crossterm's reader spins when the terminal hangs up (its issue 793), so it is only called when `poll` says
/// that there is something to read and that nothing hung up.
pub fn read_keys(messages: Sender<Message>) {
    let mut replies = Replies::default();
    loop {
        let stdin = io::stdin();
        let mut waiting = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
        match poll(&mut waiting, PollTimeout::NONE) {
            Ok(_) => {}
            Err(Errno::EINTR) => continue,
            Err(_) => break,
        }
        let mut happened = waiting[0].revents().unwrap_or(PollFlags::empty());
        if cfg!(target_os = "macos") && happened.contains(PollFlags::POLLNVAL) {
            // macOS polls no /dev/tty: crossterm, which selects, waits for the next key.
            happened.remove(PollFlags::POLLNVAL);
            if event::poll(UNPOLLED).is_err() {
                break;
            }
        }
        if happened.intersects(PollFlags::POLLHUP | PollFlags::POLLERR | PollFlags::POLLNVAL) {
            break;
        }
        let Ok(read) = read_pending(&mut replies) else { break };
        for message in read {
            if messages.blocking_send(message).is_err() {
                return;
            }
        }
    }
    // This only fails when the screen is leaving anyway.
    let _ = messages.blocking_send(Message::Leave);
}

/// The first line of a paste, cut to the length that a typed line can take. A line that ends in a backslash goes on in the next one.
fn first_line(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n").replace("\\\n", " ");
    let line = text.split('\n').find(|line| !line.trim().is_empty()).unwrap_or_default();
    let end = line.char_indices().nth(LONGEST_PASTE).map_or(line.len(), |(end, _)| end);
    printable::line(line[..end].trim()).into_owned()
}

/// Reads the pending input; nothing while another program has the terminal and reads itself.
fn read_pending(replies: &mut Replies) -> io::Result<Vec<Message>> {
    let _input = editor::reading();
    let mut read = Vec::new();
    let mut is_pasted = false;
    while event::poll(if is_pasted { AFTER_PASTE } else { AT_ONCE })? {
        match event::read()? {
            Event::Paste(text) => {
                is_pasted = true;
                read.push(Message::Paste(first_line(&text)));
            }
            Event::Key(_) if is_pasted => {}
            Event::Key(key) => read.extend(replies.sort(key)),
            Event::Mouse(mouse) if mouse.kind != MouseEventKind::Moved => read.push(Message::Mouse(mouse)),
            Event::Resize(..) => read.push(size()),
            _ => {}
        }
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::has_utf8;

    #[test]
    fn the_first_variable_that_says_anything_decides_the_character_set() {
        let cases = [
            (vec![("LANG", "C.UTF-8")], true),
            (vec![("LANG", "de_DE.utf8")], true),
            (vec![("LANG", "C")], false),
            (vec![("LANG", "POSIX")], false),
            (vec![("LANG", "de_DE.ISO-8859-1")], false),
            (vec![], true),
            (vec![("LC_ALL", "C"), ("LANG", "en_US.UTF-8")], false),
            (vec![("LC_ALL", ""), ("LC_CTYPE", "en_US.UTF-8"), ("LANG", "C")], true),
            (vec![("LC_CTYPE", "C"), ("LANG", "en_US.UTF-8")], false),
        ];
        for (variables, expected) in cases {
            let variable = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
            assert_eq!(has_utf8(variable), expected, "{variables:?}");
        }
    }
}
