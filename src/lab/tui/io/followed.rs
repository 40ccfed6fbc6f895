//! The threads that read the run on the screen: what it has written, and its logs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::mpsc::Sender;

use crate::runs::{Follower, RunFolder, RunId, RunUpdate};
use crate::tui::io::log_thread::{LogOrder, LogThread};
use crate::tui::message::Message;
use crate::tui::shared::curves::Curves;

/// A followed run is looked at so often: new lines show at once to the eye, and looking costs next to nothing.
const LOOK: Duration = Duration::from_millis(100);
/// Updates in one message: little enough that a key never waits for long behind them.
const AT_ONCE: usize = 200;

/// One run at a time.
#[derive(Default)]
pub struct Followed {
    /// Set to end the thread that follows the run.
    stop: Arc<AtomicBool>,
    logs: Option<LogThread>,
}

impl Followed {
    /// Follows no run any more.
    pub fn stop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.stop = Arc::default();
    }

    /// Reads the logs of this run instead of those of the run before, whose thread ends.
    pub fn read_logs(&mut self, run: RunId, folder: &RunFolder, messages: &Sender<Message>) {
        self.logs = match LogThread::start(run, folder.clone(), messages.clone()) {
            Ok(thread) => Some(thread),
            Err(error) => return tell(messages, format!("the log of run {run} cannot be read: {error}")),
        };
    }

    /// Tells what this run writes.
    pub fn follow(&self, run: RunId, folder: RunFolder, messages: &Sender<Message>) {
        let (told, stop) = (messages.clone(), Arc::clone(&self.stop));
        let thread = std::thread::Builder::new().name("follow".into());
        if let Err(error) = thread.spawn(move || follow(run, folder, &told, &stop)) {
            tell(messages, format!("run {run} cannot be followed: {error}"));
        }
    }

    /// Reads or saves lines, if the logs of this run are being read.
    pub fn order(&self, run: RunId, order: LogOrder) {
        if let Some(thread) = self.logs.as_ref().filter(|thread| thread.run == run) {
            thread.order(order);
        }
    }
}

fn tell(messages: &Sender<Message>, problem: String) {
    let _ = messages.try_send(Message::Failed(problem));
}

/// Tells what a run writes, until it is over and all is told, or until the screen follows another.
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
    Curves::of(folder.events())
}
