//! The output of a rank: lines for people, in the original script's words, and events for the lab.
//!
//! A closed pipe ends the printing, and never the training.

use std::cell::RefCell;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use super::{event_channel, evidence};
use crate::domain::event::{CheckpointAction, CheckpointReport, EpochReport, Event, EventLine, Observation};
use crate::domain::phase::Phase;
use crate::domain::schedule::LearningRateSchedule;
use crate::domain::units;
use crate::host;

/// Sends an event to the lab.
type Tell = Arc<dyn Fn(&EventLine) + Send + Sync>;

/// Prints the lines of one process, and sends its events.
///
/// Every line is one write with its line end, flushed: ranks that share a terminal or a pipe do not mix within a line, and the lab
/// sees a line when it happens.
pub struct Reporter {
    process: usize,
    /// `None` where no lab listens.
    tell: Option<Tell>,
    verbose: bool,
    /// What the number of a checkpoint counts.
    checkpoints_by: &'static str,
    /// What this program is called in its last words.
    program: String,
    /// `None` once the reader is gone.
    out: RefCell<Option<Box<dyn Write>>>,
    /// Never sent to: threads of [`Reporter::every`] end with it.
    beside: RefCell<Vec<Sender<()>>>,
}

impl Reporter {
    /// `process` is the index that the launcher gave ([`crate::comm::launched_index`]). Starts verbose.
    ///
    /// With `events`, the library also sends its own evidence of the training from now on.
    pub fn new(process: usize, events: bool) -> Reporter {
        if events {
            evidence::listen(process);
        }
        let tell: Tell = Arc::new(event_channel::send);
        Reporter::to(process, events.then_some(tell), Box::new(std::io::stdout()))
    }

    fn to(process: usize, tell: Option<Tell>, out: Box<dyn Write>) -> Reporter {
        Reporter {
            process,
            tell,
            verbose: true,
            program: own_name().unwrap_or_else(|| "hvd-train".to_owned()),
            checkpoints_by: "epoch",
            out: RefCell::new(Some(out)),
            beside: RefCell::default(),
        }
    }

    /// Step 2: whether this rank prints its human lines. Events are evidence and come from every rank in any case.
    ///
    /// # Horovod
    /// `verbose = 1 if hvd.rank() == 0 else 0`.
    pub fn set_verbose(&mut self, verbose: bool) {
        self.verbose = verbose;
    }

    /// What this program is called in its last words: its file, unless this says otherwise.
    pub fn set_program(&mut self, name: Option<String>) {
        self.program = name.unwrap_or_else(|| std::mem::take(&mut self.program));
    }

    /// What the number of a checkpoint counts, in the lines for people: epochs, unless this says otherwise.
    pub fn number_checkpoints_by(&mut self, what: &'static str) {
        self.checkpoints_by = what;
    }

    /// Sends an event, if the lab listens.
    pub fn event(&self, event: Event) {
        if let Some(tell) = &self.tell {
            tell(&EventLine { time_s: host::now_s(), process: self.process, event });
        }
    }

    /// As [`Reporter::event`], for an event that costs something to make: made only if the lab listens.
    pub fn evidence(&self, make: impl FnOnce() -> Event) {
        if self.tell.is_some() {
            self.event(make());
        }
    }

    /// Sends an event now and then every `period` from a separate thread, if the lab listens, until this reporter is
    /// dropped.
    pub fn every(&self, period: Duration, mut make: impl FnMut() -> Event + Send + 'static) {
        let Some(tell) = self.tell.clone() else { return };
        let (beside, end) = channel();
        let process = self.process;
        let work = move || {
            loop {
                tell(&EventLine { time_s: host::now_s(), process, event: make() });
                if end.recv_timeout(period) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            }
        };
        // Without a thread these events are missing; training continues.
        if thread::Builder::new().name("events".into()).spawn(work).is_ok() {
            self.beside.borrow_mut().push(beside);
        }
    }

    /// Prints a line for people, if this rank is verbose.
    pub fn line(&self, text: &str) {
        if self.verbose {
            self.write(&format!("{text}\n"));
        }
    }

    /// `Epoch 1/3`. Epochs count from 1 in all that is printed.
    pub fn epoch_begin(&self, epoch: usize, epochs: usize) {
        if self.tell.is_some() {
            evidence::tell(|| Observation::Heading { epoch, is_printed: self.verbose });
        }
        self.line(&format!("Epoch {epoch}/{epochs}"));
    }

    /// The epoch's result as Keras prints it, then throughput and time; and the event.
    pub fn epoch_end(&self, report: EpochReport) {
        let (train, validation, seconds) = (report.train, report.judged(), report.phases[Phase::Training]);
        self.line(&format!(
            "{batches}/{batches} - {seconds:.0}s {:.0}ms/step - loss: {:.4} - accuracy: {:.4} - val_loss: {:.4} - val_accuracy: {:.4}",
            seconds * 1e3 / report.batches.max(1) as f64,
            train.loss,
            train.accuracy,
            validation.loss,
            validation.accuracy,
            batches = report.batches,
        ));
        self.line(&format!("Images/sec: {}", hundredths(report.images_per_sec)));
        let total = hundredths(report.cumulative_seconds);
        self.line(&format!("Cumulative training time after epoch {}: {total}", report.epoch));
        self.event(Event::Epoch(report));
    }

    /// If the warmup was over with this epoch, counted from 1.
    pub fn warmup(&self, epoch: usize, schedule: &LearningRateSchedule) {
        if schedule.last_warmup_epoch() == Some(epoch) {
            self.warmup_finished(epoch, schedule.initial_lr);
        }
    }

    /// `lr` is the rate that the warmup led to.
    pub fn warmup_finished(&self, epoch: usize, lr: f64) {
        self.line(&format!("Epoch {epoch}: finished gradual learning rate warmup to {}.", six_digits(lr)));
    }

    /// Training stops after this epoch, counted from 1.
    pub fn early_stop(&self, epoch: usize) {
        self.line(&format!("Early stopping after epoch {epoch}"));
        self.event(Event::EarlyStop { epoch });
    }

    /// After the last epoch. `seconds` include validation, as in the original.
    pub fn training_end(&self, seconds: f64) {
        self.line(&format!("Cumulative training time: {}", hundredths(seconds)));
    }

    /// The result on the test set. `loss` is the mean per image, `accuracy` a fraction.
    pub fn test(&self, loss: f64, accuracy: f64, images: usize, seconds: f64) {
        self.line(&format!("Test loss: {loss:.4}"));
        self.line(&format!("Test accuracy: {accuracy:.4}"));
        self.event(Event::Test { loss, accuracy, images, seconds });
    }

    /// What became of a checkpoint file.
    pub fn checkpoint(&self, report: CheckpointReport) {
        let CheckpointReport { path, epoch, note, .. } = &report;
        let note = note.as_deref().unwrap_or_default();
        match report.action {
            CheckpointAction::Written => {
                let size = report.bytes.map(|bytes| format!(" ({})", units::bytes(bytes))).unwrap_or_default();
                self.line(&format!("Checkpoint: {path}{size}"));
            }
            // There are many.
            CheckpointAction::Committed => {}
            CheckpointAction::Loaded => {
                let within = match report.images {
                    0 => String::new(),
                    images => format!(" and {images} images of the next"),
                };
                self.line(&format!("Resuming after {} {epoch}{within}: {path}", self.checkpoints_by));
            }
            CheckpointAction::Refused => self.line(&format!("Checkpoint refused: {note}")),
            CheckpointAction::Inspected => self.line(&format!("Checkpoint read back: {path}: {note}")),
        }
        self.event(Event::Checkpoint(report));
    }

    /// Something worth knowing that stops nothing.
    pub fn warning(&self, message: &str) {
        self.line(&format!("Warning: {message}"));
        self.event(Event::Warning { message: message.to_owned() });
    }

    /// The last line of a rank that cannot continue, on standard error, verbose or not. The caller then aborts the job.
    pub fn fatal(&self, during: &str, cause: &str) {
        self.event(Event::Fatal { during: during.to_owned(), cause: cause.to_owned() });
        let line = format!("{}: process {} failed during {during}: {cause}\n", self.program, self.process);
        // Nobody is left to tell if standard error is gone too.
        let _ = std::io::stderr().write_all(line.as_bytes());
    }

    /// A write that fails (a closed pipe, a full disk behind it) ends the printing, not the training.
    fn write(&self, line: &str) {
        let mut out = self.out.borrow_mut();
        if let Some(writer) = out.as_mut()
            && writer.write_all(line.as_bytes()).and_then(|()| writer.flush()).is_err()
        {
            *out = None;
        }
    }
}

/// The name of the program's file.
fn own_name() -> Option<String> {
    Some(Path::new(&std::env::args_os().next()?).file_name()?.to_string_lossy().into_owned())
}

/// As Python prints `round(value, 2)`: `20.1`, `203.28`, `60.0`.
fn hundredths(value: f64) -> String {
    format!("{:?}", (value * 100.0).round() / 100.0)
}

/// As C prints `%g`, near 1: `0.04` also for 0.04000000000000001.
fn six_digits(value: f64) -> String {
    format!("{value:.5e}").parse::<f64>().unwrap_or(value).to_string()
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind, Result};
    use std::rc::Rc;
    use std::sync::Mutex;

    use super::*;

    /// Keeps each write apart, and breaks after so many.
    #[derive(Clone, Default)]
    struct Pipe {
        writes: Rc<RefCell<Vec<String>>>,
        breaks_after: Option<usize>,
    }

    impl Write for Pipe {
        fn write(&mut self, bytes: &[u8]) -> Result<usize> {
            let mut writes = self.writes.borrow_mut();
            if self.breaks_after.is_some_and(|limit| writes.len() >= limit) {
                writes.push("broken".into());
                return Err(Error::from(ErrorKind::BrokenPipe));
            }
            writes.push(String::from_utf8(bytes.to_vec()).unwrap());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> Result<()> {
            Ok(())
        }
    }

    type Told = Arc<Mutex<Vec<EventLine>>>;

    fn reporter(events: bool) -> (Reporter, Pipe, Told) {
        let (pipe, told) = (Pipe::default(), Told::default());
        let tell: Tell = Arc::new({
            let told = Arc::clone(&told);
            move |line| told.lock().unwrap().push(line.clone())
        });
        (Reporter::to(1, events.then_some(tell), Box::new(pipe.clone())), pipe, told)
    }

    #[test]
    fn lines_read_as_in_the_original() {
        let (reporter, pipe, _) = reporter(false);
        reporter.epoch_begin(1, 3);
        reporter.epoch_end(EpochReport::sample());
        reporter.warmup_finished(5, 0.1 * 0.4);
        reporter.early_stop(7);
        reporter.training_end(203.284);
        reporter.test(0.53, 0.87761, 10_000, 1.0);
        let lines = [
            "Epoch 1/3\n",
            "93/93 - 6s 66ms/step - loss: 0.7712 - accuracy: 0.7211 - val_loss: 0.5200 - val_accuracy: 0.8100\n",
            "Images/sec: 1573.2\n",
            "Cumulative training time after epoch 1: 20.1\n",
            "Epoch 5: finished gradual learning rate warmup to 0.04.\n",
            "Early stopping after epoch 7\n",
            "Cumulative training time: 203.28\n",
            "Test loss: 0.5300\n",
            "Test accuracy: 0.8776\n",
        ];
        assert_eq!(*pipe.writes.borrow(), lines, "each in one write");
    }

    #[test]
    fn a_quiet_rank_still_gives_evidence() {
        let (mut reporter, pipe, told) = reporter(true);
        reporter.set_verbose(false);
        reporter.epoch_begin(1, 3);
        reporter.epoch_end(EpochReport::sample());
        reporter.warning("three\nlines\n");
        assert!(pipe.writes.borrow().is_empty(), "its output stays the program's own");
        let told = told.lock().unwrap();
        assert_eq!(told.len(), 2);
        for line in told.iter() {
            assert_eq!(line.process, 1);
            assert!(!line.to_line().contains('\n'));
        }
    }

    #[test]
    fn evidence_is_made_only_for_a_lab_that_listens() {
        let made = |events| {
            let mut made = 0;
            reporter(events).0.evidence(|| {
                made += 1;
                Event::EarlyStop { epoch: 1 }
            });
            made
        };
        assert_eq!((made(false), made(true)), (0, 1));
    }

    #[test]
    fn events_beside_training_come_again_until_the_reporter_is_dropped() {
        let patience = Duration::from_secs(20);
        let start = |events: bool, period| {
            let (sender, lines) = channel();
            let tell: Tell = Arc::new(move |line| drop(sender.send(line.clone())));
            let reporter = Reporter::to(1, events.then_some(tell), Box::new(Pipe::default()));
            reporter.every(period, || Event::EarlyStop { epoch: 1 });
            (reporter, lines)
        };
        let (_reporter, lines) = start(true, Duration::from_millis(1));
        for _ in 0..3 {
            assert_eq!(lines.recv_timeout(patience).unwrap().process, 1);
        }
        // With an hour to the next event, only the drop can end it.
        let (reporter, lines) = start(true, Duration::from_secs(3600));
        lines.recv_timeout(patience).unwrap();
        drop(reporter);
        assert_eq!(lines.recv_timeout(patience), Err(RecvTimeoutError::Disconnected));

        let (_reporter, lines) = start(false, Duration::from_millis(1));
        assert_eq!(lines.recv_timeout(patience), Err(RecvTimeoutError::Disconnected), "nobody listens");
    }

    #[test]
    fn a_reader_that_leaves_does_not_end_the_training() {
        let pipe = Pipe { breaks_after: Some(1), ..Pipe::default() };
        let reporter = Reporter::to(0, None, Box::new(pipe.clone()));
        (1..5).for_each(|epoch| reporter.epoch_begin(epoch, 5));
        assert_eq!(*pipe.writes.borrow(), ["Epoch 1/5\n", "broken"], "tried once, then left alone");
    }
}
