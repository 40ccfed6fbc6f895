//! The threads that read the run on the screen: what it has written, and its logs.
//!
//! The screen does not wait: a search over a million lines is done in pieces, and a newer request comes first.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, TryRecvError, channel};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::Sender;

use crate::runs::{Follower, LogReader, RunFolder, RunId, RunUpdate};
use crate::tui::actions::LogOrder;
use crate::tui::message::Message;

/// The time between two looks at a followed run and at its logs: new lines seem to appear at once, and looking costs next to nothing.
const LOOK: Duration = Duration::from_millis(100);
/// While there is work, the time between two reports of how far it is.
const TELL: Duration = Duration::from_millis(60);
/// Updates in one message: few enough that a key does not wait long behind them.
const AT_ONCE: usize = 200;

/// The run on the screen, as far as threads read it.
pub struct Followed {
    messages: Sender<Message>,
    /// Set to end the thread that reports what the run writes.
    stop: Arc<AtomicBool>,
    /// Whose logs are read. The thread ends with its orders.
    logs: Option<(RunId, mpsc::Sender<LogOrder>)>,
}

impl Followed {
    pub fn new(messages: Sender<Message>) -> Followed {
        Followed { messages, stop: Arc::default(), logs: None }
    }

    /// Reports nothing more of the run.
    pub fn stop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.stop = Arc::default();
    }

    /// Reads the logs of this run only, and reports what it writes, unless a player does.
    pub fn watch(&mut self, run: RunId, folder: RunFolder, is_played: bool) {
        self.stop();
        let (orders, inbox) = channel();
        self.logs = Some((run, orders));
        let (read, messages, stop) = (folder.clone(), self.messages.clone(), Arc::clone(&self.stop));
        self.spawn("logs", format!("the log of run {run} cannot be read"), move || {
            read_logs(run, read, &inbox, &messages);
        });
        let messages = self.messages.clone();
        if !is_played {
            self.spawn("follow", format!("run {run} cannot be followed"), move || follow(run, folder, &messages, &stop));
        }
    }

    fn spawn(&self, name: &str, problem: String, work: impl FnOnce() + Send + 'static) {
        if let Err(error) = std::thread::Builder::new().name(name.into()).spawn(work) {
            let _ = self.messages.try_send(Message::Failed(format!("{problem}: {error}")));
        }
    }

    /// Reads or saves lines, if the logs of this run are being read.
    pub fn order(&self, run: RunId, order: LogOrder) {
        if let Some((_, orders)) = self.logs.as_ref().filter(|(read, _)| *read == run) {
            // If the thread is gone, it has reported why.
            let _ = orders.send(order);
        }
    }
}

/// Reports what a run writes, until it is over and all is reported, or until the screen follows another run.
fn follow(run: RunId, folder: RunFolder, messages: &Sender<Message>, stop: &AtomicBool) {
    let mut follower = Follower::without_lines(folder);
    loop {
        let updates = follower.poll();
        if stop.load(Ordering::Relaxed) {
            return;
        }
        // Its status comes last of all when it is over.
        let over = matches!(updates.last(), Some(RunUpdate::Status(status)) if status.state.is_over());
        let idle = updates.is_empty();
        let mut updates = updates.into_iter().peekable();
        while updates.peek().is_some() {
            let some = updates.by_ref().take(AT_ONCE).collect();
            if messages.blocking_send(Message::Updates(run, some)).is_err() {
                return;
            }
        }
        if over {
            return;
        }
        if idle {
            std::thread::sleep(LOOK);
        }
    }
}

/// Follows orders and reports new lines until the sender of orders is dropped.
fn read_logs(run: RunId, folder: RunFolder, inbox: &Receiver<LogOrder>, messages: &Sender<Message>) {
    let places: Vec<PathBuf> = std::env::current_dir().into_iter().chain([folder.path().to_owned()]).collect();
    let mut reader = LogReader::new(folder);
    let mut told = Instant::now();
    let mut busy = false;
    loop {
        let order = match (busy, reader.is_over()) {
            (true, _) => inbox.try_recv().map_err(|error| error == TryRecvError::Disconnected),
            (false, true) => inbox.recv().map_err(|_| true),
            (false, false) => inbox.recv_timeout(LOOK).map_err(|error| error == RecvTimeoutError::Disconnected),
        };
        match order {
            Ok(LogOrder::Read(request)) => {
                reader.ask(request);
                // The newest counts: look for another before anything is read.
                busy = true;
                continue;
            }
            Ok(LogOrder::Save(query, name)) => {
                let message = match reader.save(&query, &name, &places) {
                    Ok((path, 1)) => Message::Done(format!("1 line saved in {}", path.display())),
                    Ok((path, lines)) => Message::Done(format!("{lines} lines saved in {}", path.display())),
                    Err(error) => {
                        Message::Failed(format!("the log was not saved, neither here nor in the run's folder: {error}"))
                    }
                };
                if messages.blocking_send(message).is_err() {
                    return;
                }
            }
            Err(true) => return,
            Err(false) => {}
        }
        busy = reader.work();
        if !busy || told.elapsed() >= TELL {
            told = Instant::now();
            if let Some(page) = reader.answer()
                && messages.blocking_send(Message::Log(run, Box::new(page))).is_err()
            {
                return;
            }
        }
    }
}
