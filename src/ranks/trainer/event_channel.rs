//! The way of this process's events to the supervisor: its socket, or standard output where that is not reached.
//!
//! It never stops the training: events that the supervisor does not take at once wait here, up to a bound. Beyond it they are dropped,
//! and the numbers of later events show the supervisor how many are missing.

use std::collections::VecDeque;
use std::io::{ErrorKind, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, OnceLock, PoisonError};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::event_secret::handed;
use crate::domain::event::{Event, EventLine, wire};

/// Bytes that wait for a supervisor which does not read: some minutes of the fastest training.
const MOST_WAITING: usize = 16 << 20;
/// Milliseconds for which the last event waits for a supervisor that takes nothing at all.
const PATIENCE_MS: u16 = 30_000;

/// The channel of this process, and its pid: a child that was forked must not speak in its place, but to say why it ends its rank.
static CHANNEL: OnceLock<(u32, Mutex<Channel>)> = OnceLock::new();

/// Sends an event to the supervisor.
pub(super) fn send(line: &EventLine) {
    let (owner, channel) = CHANNEL.get_or_init(|| (std::process::id(), Mutex::new(Channel::open(line.process))));
    if *owner == std::process::id() {
        channel.lock().unwrap_or_else(PoisonError::into_inner).send(line, &handed().secret);
    } else if matches!(line.event, Event::Fatal { .. })
        // A thread that the child does not have may hold it for ever.
        && let Ok(mut channel) = channel.try_lock()
    {
        channel.send(line, &handed().secret);
    }
}

struct Channel {
    way: Way,
    /// Events so far, those for which there was no room among them.
    number: u64,
    waiting: VecDeque<u8>,
    most_waiting: usize,
}

enum Way {
    Socket(UnixStream),
    /// Between the lines of the program.
    Output,
    /// Nobody reads any more.
    Closed,
}

impl Channel {
    fn open(process: usize) -> Channel {
        let connect = |path| {
            let mut socket = UnixStream::connect(path).ok()?;
            socket.write_all(wire::greeting(&handed().secret, process).as_bytes()).ok()?;
            socket.set_nonblocking(true).ok()?;
            Some(socket)
        };
        // On another host there is no such path.
        let socket = handed().socket.as_ref().and_then(connect);
        Channel::to(socket.map_or(Way::Output, Way::Socket), MOST_WAITING)
    }

    fn to(way: Way, most_waiting: usize) -> Channel {
        Channel { way, number: 0, waiting: VecDeque::new(), most_waiting }
    }

    fn send(&mut self, line: &EventLine, secret: &str) {
        self.number += 1;
        let json = line.to_line();
        match self.way {
            Way::Socket(_) => {
                let is_last = matches!(line.event, Event::Finished { .. } | Event::Fatal { .. });
                if is_last {
                    self.flush();
                }
                let message = wire::message(self.number, &json);
                if self.waiting.len() + message.len() <= self.most_waiting {
                    self.waiting.extend(message.as_bytes());
                }
                if is_last { self.flush() } else { self.write() }
            }
            Way::Output => {
                // In one write, so that ranks which share a pipe do not mix within a line.
                let mut out = std::io::stdout();
                let text = wire::printed(secret, self.number, &json);
                if out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err() {
                    self.way = Way::Closed;
                }
            }
            Way::Closed => {}
        }
    }

    /// Hands on as much as the supervisor takes now.
    fn write(&mut self) {
        while let Way::Socket(socket) = &mut self.way
            && !self.waiting.is_empty()
        {
            match socket.write(self.waiting.as_slices().0) {
                Ok(written) => drop(self.waiting.drain(..written)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // The supervisor is gone.
                Err(_) => (self.way, self.waiting) = (Way::Closed, VecDeque::new()),
            }
        }
    }

    /// Waits until the supervisor has everything, as long as it takes something.
    fn flush(&mut self) {
        self.write();
        while let Way::Socket(socket) = &self.way
            && !self.waiting.is_empty()
        {
            let mut is_ready = [PollFd::new(socket.as_fd(), PollFlags::POLLOUT)];
            match poll(&mut is_ready, PollTimeout::from(PATIENCE_MS)) {
                Ok(0) => return,
                Ok(_) => self.write(),
                Err(nix::errno::Errno::EINTR) => {}
                Err(_) => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::thread;

    use super::*;

    fn event(event: Event) -> EventLine {
        EventLine { time_s: 1.0, process: 0, event }
    }

    fn early_stop(epoch: usize) -> EventLine {
        event(Event::EarlyStop { epoch })
    }

    fn last() -> EventLine {
        event(Event::Fatal { during: "training".into(), cause: "a test".into() })
    }

    fn channel(most_waiting: usize) -> (Channel, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        (Channel::to(Way::Socket(ours), most_waiting), theirs)
    }

    /// The numbers of all events that come until the channel closes.
    fn numbers(supervisor: UnixStream) -> Vec<u64> {
        let lines = BufReader::new(supervisor).lines().map(Result::unwrap);
        lines.map(|line| wire::read_message(&line).number.unwrap()).collect()
    }

    #[test]
    fn what_a_busy_supervisor_does_not_take_at_once_comes_later() {
        let (mut channel, supervisor) = channel(MOST_WAITING);
        // More than any buffer of the system holds, and nobody reads yet.
        (0..50_000).for_each(|epoch| channel.send(&early_stop(epoch), ""));
        assert!(!channel.waiting.is_empty());
        let reader = thread::spawn(|| numbers(supervisor));
        channel.send(&last(), "");
        drop(channel);
        assert!(reader.join().unwrap().into_iter().eq(1..=50_001), "each, in its order");
    }

    #[test]
    fn what_finds_no_room_is_missing_by_its_number_and_the_last_event_still_comes() {
        let (mut channel, supervisor) = channel(4 << 10);
        (0..50_000).for_each(|epoch| channel.send(&early_stop(epoch), ""));
        let reader = thread::spawn(|| numbers(supervisor));
        channel.send(&last(), "");
        drop(channel);
        let came = reader.join().unwrap();
        assert!(came.len() < 50_000 && came.windows(2).all(|pair| pair[0] < pair[1]), "{}", came.len());
        assert_eq!(came.last(), Some(&50_001));
    }

    #[test]
    fn a_supervisor_that_is_gone_stops_nothing() {
        let (mut channel, supervisor) = channel(MOST_WAITING);
        drop(supervisor);
        (0..1000).for_each(|epoch| channel.send(&early_stop(epoch), ""));
        channel.send(&last(), "");
        assert!(matches!(channel.way, Way::Closed) && channel.waiting.is_empty());
    }
}
