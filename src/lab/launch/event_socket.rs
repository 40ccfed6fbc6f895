//! The socket on which the ranks of this host send their events, apart from what they print.
//!
//! Each event goes into the channel of its job, with the number of events that are missing before it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use super::piece::Line;
use super::pipe::skip_line;
use crate::domain::event::wire;
use crate::host::read::LONGEST_LINE;
use crate::process::{Scratch, scratch};

/// Bytes of the longest path that a socket may have, on Linux and on macOS.
const LONGEST_PATH: usize = 103;
/// A greeting is a secret and a number.
const LONGEST_GREETING: u64 = 256;
/// What stands before the JSON of an event: its number and a blank.
const LONGEST_NUMBER: usize = 21;
/// Before the next try where no connection can be accepted, for want of file descriptors.
const RETRY: Duration = Duration::from_millis(100);

pub(super) struct EventSocket {
    pub path: PathBuf,
    /// A folder with a shorter path than the job's, where that is too long.
    _short: Option<Scratch>,
    /// Dropped when no further connection is to be accepted.
    open: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

impl EventSocket {
    /// Listens in the folder of the job, for ranks that know the secret.
    ///
    /// # Errors
    /// The system gives no socket.
    pub fn listen(folder: &Scratch, secret: &str, lines: mpsc::Sender<Line>) -> io::Result<EventSocket> {
        let name = Path::new("events");
        let (mut path, mut short) = (folder.path().join(name), None);
        if path.as_os_str().len() > LONGEST_PATH {
            let other = Scratch::under(Path::new(scratch::SHORT), &scratch::LAUNCH)?;
            (path, short) = (other.path().join(name), Some(other));
        }
        let listener = UnixListener::bind(&path)?;
        let (open, closed) = oneshot::channel();
        let task = tokio::spawn(accept(listener, secret.to_owned(), lines, closed));
        Ok(EventSocket { path, _short: short, open: Some(open), task })
    }

    /// Takes the events that are still on their way, and no new connection. The job's channel closes behind the last event.
    pub fn close(&mut self) {
        self.open = None;
    }
}

impl Drop for EventSocket {
    /// Whoever still holds a connection is heard no longer.
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: UnixListener, secret: String, lines: mpsc::Sender<Line>, mut closed: oneshot::Receiver<()>) {
    let mut connections = JoinSet::new();
    let mut count = 0;
    let mut serve = |stream| {
        count += 1;
        read(stream, secret.clone(), count, lines.clone())
    };
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(connections.spawn(serve(stream))),
                Err(_) => sleep(RETRY).await,
            },
            Some(_) = connections.join_next() => {}
            _ = &mut closed => break,
        }
    }
    // A rank may have come and gone in the meantime.
    while let Ok(Ok((stream, _))) = timeout(Duration::ZERO, listener.accept()).await {
        connections.spawn(serve(stream));
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// All events of one connection, from its greeting on.
async fn read(stream: UnixStream, secret: String, connection: u64, lines: mpsc::Sender<Line>) {
    let mut reader = BufReader::with_capacity(1 << 16, stream);
    let mut bytes = Vec::new();
    let greeted = (&mut reader).take(LONGEST_GREETING).read_until(b'\n', &mut bytes).await;
    let greeting = greeted.ok().and_then(|_| str::from_utf8(&bytes).ok());
    let Some(process) = greeting.and_then(|line| wire::read_greeting(&secret, line)) else { return };
    let mut last = 0;
    loop {
        bytes.clear();
        let most = (LONGEST_LINE + LONGEST_NUMBER) as u64;
        if !matches!((&mut reader).take(most).read_until(b'\n', &mut bytes).await, Ok(1..)) {
            return;
        }
        let is_whole = bytes.pop_if(|byte| *byte == b'\n').is_some();
        if !is_whole && bytes.len() as u64 == most {
            skip_line(&mut reader).await;
        }
        // A process that is killed while it writes leaves half an event.
        let line = match str::from_utf8(&bytes).ok().filter(|_| is_whole).map(wire::read_message) {
            Some(message) => {
                let number = message.number.unwrap_or(last + 1).max(last + 1);
                let lost = number - last - 1;
                last = number;
                Line::Event { process, connection, lost, json: message.json.to_owned() }
            }
            None => {
                last += 1;
                Line::Lost { process, events: 1 }
            }
        };
        if lines.send(line).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream as Blocking;

    use super::*;

    async fn lines_of(speak: impl FnOnce(&Path) + Send + 'static) -> Vec<Line> {
        let folder = Scratch::new().unwrap();
        let (sender, mut lines) = mpsc::channel(8);
        let mut socket = EventSocket::listen(&folder, "5ec2e7", sender).unwrap();
        let path = socket.path.clone();
        tokio::task::spawn_blocking(move || speak(&path)).await.unwrap();
        socket.close();
        let mut all = Vec::new();
        while let Some(line) = timeout(Duration::from_secs(20), lines.recv()).await.unwrap() {
            all.push(line);
        }
        all
    }

    fn say(path: &Path, words: &[u8]) {
        // The supervisor may have hung up.
        let _ = Blocking::connect(path).unwrap().write_all(words);
    }

    #[tokio::test]
    async fn an_event_comes_with_its_process_and_with_what_is_missing_before_it() {
        let event = |lost, json: &str| Line::Event { process: 1, connection: 1, lost, json: json.into() };
        let lines = lines_of(|path| say(path, b"5ec2e7 1\n1 {\"a\":1}\n2 {}\n5 {}\n6 {\"cut")).await;
        assert_eq!(lines, [event(0, "{\"a\":1}"), event(0, "{}"), event(2, "{}"), Line::Lost { process: 1, events: 1 }]);
    }

    #[tokio::test]
    async fn who_does_not_know_the_secret_is_not_heard() {
        let lines = lines_of(|path| {
            say(path, b"5ec2e8 1\n1 {}\n");
            say(path, b"{}\n");
            say(path, &[b'x'; 4096]);
            say(path, b"");
        });
        assert_eq!(lines.await, []);
    }

    #[tokio::test]
    async fn an_event_that_is_longer_than_any_is_counted_and_the_next_one_is_read() {
        let long = [b"5ec2e7 0\n1 ".to_vec(), vec![b'x'; 2 * LONGEST_LINE], b"\n2 {}\n".to_vec()].concat();
        let lines = lines_of(move |path| say(path, &long)).await;
        assert_eq!(
            lines,
            [Line::Lost { process: 0, events: 1 }, Line::Event { process: 0, connection: 1, lost: 0, json: "{}".into() }]
        );
    }

    #[tokio::test]
    async fn a_folder_with_a_long_path_gets_a_socket_elsewhere() {
        let long = tempfile::tempdir().unwrap();
        let deep = long.path().join("x".repeat(120));
        std::fs::create_dir(&deep).unwrap();
        let folder = Scratch::under(&deep, &scratch::LAUNCH).unwrap();
        let (sender, mut lines) = mpsc::channel(8);
        let mut socket = EventSocket::listen(&folder, "5ec2e7", sender).unwrap();
        say(&socket.path, b"5ec2e7 0\n1 {}\n");
        assert!(matches!(lines.recv().await, Some(Line::Event { process: 0, .. })));
        socket.close();
        let elsewhere = socket.path.parent().unwrap().to_owned();
        drop(socket);
        assert!(!elsewhere.exists(), "it goes with the job");
    }
}
