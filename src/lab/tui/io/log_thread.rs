//! The thread that reads the logs of the watched run: what the screen asks for, and new lines as they come.
//!
//! The screen does not wait: a search over a million lines is done in pieces, and a newer request comes first.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use crate::runs::{LogQuery, LogReader, LogRequest, RunFolder, RunId};
use crate::tui::message::Message;

/// The time between two looks for new lines.
const LOOK: Duration = Duration::from_millis(100);
/// While there is work, the time between two reports of how far it is.
const TELL: Duration = Duration::from_millis(60);

#[derive(Debug)]
pub enum LogOrder {
    Read(LogRequest),
    /// Write what a query shows into a new file of this name.
    Save(LogQuery, String),
}

/// Follows orders and reports new lines until the sender of orders is dropped.
pub fn serve(run: RunId, folder: RunFolder, inbox: &Receiver<LogOrder>, messages: &mpsc::Sender<Message>) {
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
