//! Follow a run in lines: a progress bar on a terminal, plain lines in a pipe, or events as JSON.
//!
//! Never draws a screen, and never ends a run but on Ctrl-C.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::findings::{self, Inspector};
use super::interrupt::{self, Following};
use super::last_words::LastWords;
use super::output::{print, print_columns, print_json, print_json_text, say, say_bare};
use crate::domain::event::{Event, EventLine};
use crate::domain::printable;
use crate::domain::run::{RunState, RunStatus};
use crate::domain::step::Step;
use crate::domain::units;
use crate::domain::user_metrics::LoggedSoFar;
use crate::inspect::{Inspected, inspected};
use crate::launch::{self, CommandLine};
use crate::runs::{Follower, RunId, RunStore, RunUpdate};

const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Looks without news after which the supervisor is looked for.
const LOOKS_PER_CHECK: usize = 10;

/// What is printed of a run that does not print for people itself: lines for the next event, each with its end.
pub(super) type Lines<'a> = dyn FnMut(&EventLine) -> Option<String> + 'a;

/// Say that the run goes on without us.
pub(super) fn leave(store: &RunStore, id: RunId, json: bool) -> anyhow::Result<ExitCode> {
    let folder = store.folder(id);
    if json {
        print_json_text(&format!("{}\n", serde_json::json!({ "id": id, "folder": folder.path() })))?
    } else {
        print(&format!("run {id} goes on by itself: `hvd-lab runs` shows it, `hvd-lab stop {id}` stops it\n"))?
    };
    Ok(ExitCode::SUCCESS)
}

/// The exact line that would be run.
pub(super) fn show_line(line: &CommandLine, json: bool) -> anyhow::Result<ExitCode> {
    if json {
        let env: BTreeMap<_, _> = line.env.iter().cloned().collect();
        let whole = serde_json::json!({ "argv": line.argv, "env": env, "notes": line.notes, "shell": line.to_shell() });
        print_json(&whole)?
    } else {
        show_notes(line);
        print(&format!("{}\n", line.to_shell()))?
    };
    Ok(ExitCode::SUCCESS)
}

/// What is done beyond the ordinary.
pub(super) fn show_notes(line: &CommandLine) {
    line.notes.iter().for_each(|note| say(note));
}

/// Show the run until it is over.
///
/// # Errors
/// The run's files cannot be read.
pub(super) fn follow(store: &RunStore, id: RunId, mut follower: Follower, mut view: View) -> anyhow::Result<ExitCode> {
    interrupt::heed(interrupt::CTRL_C)?;
    let record = store.record(id)?;
    view.is_own = record.request.spec.command().is_some();
    view.inspector = inspected(&record).map(|command| Inspector::new(command.clone()));
    let prints_everywhere = || record.training().is_some_and(|training| !training.steps.is_effective(Step::VerboseOnRoot));
    view.all_ranks = (record.np() > 1 || !record.knows_np()) && (view.is_own || prints_everywhere());
    if !view.json && io::stdout().is_terminal() && io::stderr().is_terminal() {
        let bar = view.bar.insert(ProgressBar::new_spinner());
        bar.enable_steady_tick(Duration::from_millis(200));
    }
    let following = Following::run(id, view.bar.clone())?;
    view.note(&format!("run {id} in {}", store.folder(id).path().display()));
    let mut stopping = false;
    let mut quiet_looks = 0;
    let status = loop {
        let updates = follower.poll();
        quiet_looks = if updates.is_empty() { quiet_looks + 1 } else { 0 };
        let mut ended = None;
        for update in updates {
            match update {
                RunUpdate::Status(status) if status.state.is_over() => ended = Some(status),
                update => {
                    if !view.show(update)? {
                        say(&format!(
                            "standard output was closed, so no more lines are printed; run {id} goes on: `hvd-lab stop {id}` stops it"
                        ));
                        return Ok(ExitCode::FAILURE);
                    }
                }
            }
        }
        let wrong = view.inspector.as_mut().map(Inspector::news).unwrap_or_default();
        wrong.iter().for_each(|wrong| view.note(wrong));
        if let Some(status) = ended {
            break status;
        }
        if interrupt::is_asked() && !stopping {
            stopping = true;
            view.note(&format!("stopping run {id}; Ctrl-C again leaves at once"));
            // It may be ending by itself at this moment.
            let _ = launch::stop(store, id);
        }
        if quiet_looks % LOOKS_PER_CHECK == LOOKS_PER_CHECK - 1 {
            // Finds out about a supervisor that was killed, and marks the run.
            store.status(id)?;
        }
        std::thread::sleep(LOOK_EVERY);
    };
    drop(following);
    view.end(store, id, &status)
}

/// What is shown of a run that is followed.
#[derive(Default)]
pub(super) struct View<'a> {
    /// Instead of what the ranks print.
    lines: Option<&'a mut Lines<'a>>,
    /// Events as JSON, and no bar.
    json: bool,
    /// A verdict follows and says what ended the run.
    is_judged: bool,
    /// Step 2 is off: every rank prints, and the lines say whose they are.
    all_ranks: bool,
    bar: Option<ProgressBar>,
    steps_per_epoch: usize,
    epochs: usize,
    images_per_sec: Option<f64>,
    /// Of an own program.
    is_own: bool,
    logged: LoggedSoFar,
    /// The last message of its status: what a run waits for is told once.
    told: String,
    /// Of an own program into whose ranks the inspector looks.
    inspector: Option<Inspector>,
    /// Of each rank.
    last_words: BTreeMap<usize, LastWords>,
}

impl<'a> View<'a> {
    /// What the ranks print, or events as JSON.
    pub(super) fn new(json: bool) -> View<'a> {
        View { json, ..View::default() }
    }

    /// These lines instead of those that the ranks print.
    pub(super) fn of_lines(json: bool, lines: &'a mut Lines<'a>) -> View<'a> {
        View { lines: Some(lines), ..View::new(json) }
    }

    /// For a run that is judged afterwards: the verdict says what ended it.
    pub(super) fn judged() -> View<'a> {
        View { is_judged: true, ..View::default() }
    }

    /// Words of the lab's own, apart from what the trainer prints.
    fn note(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| say(text)),
            None => say(text),
        }
    }

    /// False when nobody reads any more.
    fn show(&mut self, update: RunUpdate) -> io::Result<bool> {
        match update {
            RunUpdate::Event(line) => {
                self.inspector.iter_mut().for_each(|inspector| inspector.take(&line));
                let text = self.lines.as_mut().and_then(|lines| lines(&line));
                if self.json {
                    return print_json_text(&format!("{}\n", line.to_line()));
                }
                self.advance(&line);
                // Nothing else shows what the lab has noticed of a program of the user's own.
                if let Event::Warning { message } = &line.event
                    && self.is_own
                {
                    self.note(message);
                }
                text.map_or(Ok(true), |text| self.print(text.trim_end_matches('\n')))
            }
            RunUpdate::Log { text, process } if !self.json && self.lines.is_none() && (self.all_ranks || process == 0) => {
                let shown = self.last_words.entry(process).or_default().take(process, &text, self.is_judged);
                let whose = if self.all_ranks { format!("[{process}] ") } else { String::new() };
                shown.iter().try_fold(true, |is_read, line| Ok(self.print(&format!("{whose}{line}"))? && is_read))
            }
            RunUpdate::Status(status) => {
                self.announce(&status);
                Ok(true)
            }
            _ => Ok(true),
        }
    }

    fn print(&self, line: &str) -> io::Result<bool> {
        let text = format!("{line}\n");
        match &self.bar {
            Some(bar) => bar.suspend(|| print_columns(&text)),
            None => print_columns(&text),
        }
    }

    fn announce(&mut self, status: &RunStatus) {
        if std::mem::replace(&mut self.told, status.message.clone()) == status.message {
            return;
        }
        match &self.bar {
            Some(bar) if self.steps_per_epoch == 0 => bar.set_message(printable::line(&status.message).into_owned()),
            Some(_) => {}
            // How far a download is would be a line each second. What a run waits for is news.
            None if status.state == RunState::Preparing && !status.message.starts_with("waiting") => {}
            None => say(&status.message),
        }
    }

    /// Process 0 stands for all in the bar: ranks keep step, and where they do not, that is what the lines are for.
    fn advance(&mut self, line: &EventLine) {
        let Some(bar) = self.bar.as_ref().filter(|_| line.process == 0) else { return };
        match &line.event {
            Event::Config(config) => {
                self.steps_per_epoch = config.steps_per_epoch;
                self.epochs = config.epochs;
                bar.set_length((config.steps_per_epoch * config.epochs) as u64);
                // The template is a constant; a test reads it.
                if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
                    bar.set_style(style);
                }
                self.place(config.resume_epoch, config.resume_step);
            }
            Event::Step { epoch, batch, .. } => self.place(*epoch, batch + 1),
            Event::Epoch(report) => {
                self.images_per_sec = Some(report.images_per_sec);
                self.place(report.epoch, 0);
            }
            Event::Logged(logged) => {
                self.logged.take(logged);
                bar.set_message(self.logged.in_short());
            }
            Event::Progress { what, done, of } => bar.set_message(format!("{what}: image {done} of {of}")),
            _ => {}
        }
    }

    fn place(&self, epoch: usize, batch: usize) {
        let Some(bar) = &self.bar else { return };
        bar.set_position((epoch * self.steps_per_epoch + batch) as u64);
        let rate = self.images_per_sec.map(|rate| format!("  {} img/s", units::rate(rate))).unwrap_or_default();
        let what = if epoch < self.epochs { format!("epoch {}/{}", epoch + 1, self.epochs) } else { "testing".to_owned() };
        bar.set_message(format!("{what}{rate}"));
    }

    fn end(self, store: &RunStore, id: RunId, status: &RunStatus) -> anyhow::Result<ExitCode> {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        let summary = store.summary(id)?;
        if self.json {
            print_json_text(&format!("{}\n", serde_json::json!({ "summary": summary })))?;
        }
        if self.inspector.is_some()
            && let Some(inspected) = Inspected::read(store, &store.record(id)?, status.state)
        {
            match self.json {
                true => print_json_text(&format!("{}\n", serde_json::json!({ "inspection": findings::json(&inspected) })))?,
                false => print(&findings::table(&inspected))?,
            };
        }
        if status.state == RunState::Finished {
            let rate = summary.figures.images_per_sec.map(|rate| format!(", {} images/s of all ranks", units::rate(rate)));
            let time = summary.training_seconds.map(|time| format!(" in {}", units::seconds(time)));
            say(&format!("run {id} finished: {}{}{}", status.message, time.unwrap_or_default(), rate.unwrap_or_default()));
            if let Some(logged) = &summary.logged {
                say(&logged.in_words());
            }
            return Ok(ExitCode::SUCCESS);
        }
        if self.is_judged {
            return Ok(ExitCode::FAILURE);
        }
        say(&format!("run {id} {}", status.end_in_words()));
        if !status.last_lines.is_empty() {
            let whose = match status.failed_process {
                Some(process) => {
                    // Of a rank that said nothing itself, the launcher may have.
                    let folder = store.folder(id);
                    let own = Some(folder.rank_log(process)).filter(|log| log.metadata().is_ok_and(|log| log.len() > 0));
                    let log = own.unwrap_or_else(|| folder.launcher_log());
                    format!("last lines of rank {process} ({}):", log.display())
                }
                // It was never started.
                None if store.record(id)?.attempts.is_empty() => "to fix:".to_owned(),
                None => format!("{}'s last lines:", store.record(id)?.request.spec.launcher_name()),
            };
            say(&whose);
            status.last_lines.iter().for_each(|line| say_bare(&format!("    {}", printable::line(line))));
        }
        // What the trainer calls bad input, such as damaged images, it leaves with 2, and so does this. A full disk is the
        // system's fault: 1.
        Ok(if status.exit_code == Some(2) { ExitCode::from(2) } else { ExitCode::FAILURE })
    }
}

const TEMPLATE: &str = "{msg}  [{bar:30}] {percent} %  {elapsed}, {eta} to go";
