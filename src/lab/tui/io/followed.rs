//! The threads that read the run on the screen: what it has written, and its logs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, channel};
use std::time::Duration;

use tokio::sync::mpsc::Sender;

use crate::runs::{Follower, RunFolder, RunId, RunUpdate};
use crate::tui::io::log_thread::{self, LogOrder};
use crate::tui::message::Message;
use crate::tui::shared::Curves;

/// The time between two looks at a followed run: new lines seem to appear at once, and looking costs next to nothing.
const LOOK: Duration = Duration::from_millis(100);
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
            log_thread::serve(run, read, &inbox, &messages);
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
        let mut updates = updates.into_iter();
        loop {
            let some: Vec<RunUpdate> = updates.by_ref().take(AT_ONCE).collect();
            if some.is_empty() {
                break;
            }
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

pub fn curves(folder: &RunFolder) -> Curves {
    Curves::from_events(folder.events())
}
