//! Does what `update` asks for, off the thread that draws, and sends back what came of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use tokio::sync::mpsc::Sender;
use tokio::task::JoinSet;

use crate::course::{ProgressFile, Series, SeriesFile, Turn, judge, results};
use crate::dataset;
use crate::domain::job::{TrainingJob, Workload};
use crate::exercise::{Track, Watch};
use crate::launch::{self, LaunchError, MoreWork, SharedMachine};
use crate::runs::{RunId, RunRequest, RunStore, measured};
use crate::telemetry::{self, SAMPLE_PERIOD, Sampler};
use crate::tui::actions::{Effect, ExerciseNews};
use crate::tui::io::followed::Followed;
use crate::tui::message::Message;
use crate::tui::shared::Curves;

/// The time between two looks at the folder of runs, for runs that were started elsewhere.
const LOOK_AROUND: Duration = Duration::from_secs(1);
/// If a run has more bytes of events than this, the screen does not judge its steps: all of its events would be in memory.
const MOST_JUDGED: u64 = 16 << 20;
/// How long a stop that was asked for just before quitting may take to reach the run.
const LAST_ORDERS: Duration = Duration::from_secs(4);

pub struct Runner {
    messages: Sender<Message>,
    store: Arc<RunStore>,
    tasks: JoinSet<()>,
    /// The exercise that was chosen on the screen; else the ten steps.
    chosen: Option<Track>,
    /// Exercises whose saves are reported.
    saves_of: Vec<Track>,
    /// Set when the screen is leaving: a run of the learner's program is not waited for any more.
    leaving: Arc<AtomicBool>,
    followed: Followed,
    sampler: Sampler,
}

impl Runner {
    pub fn start(messages: Sender<Message>, store: RunStore) -> Runner {
        let samples = messages.clone();
        let sampler = Sampler::spawn(SAMPLE_PERIOD, telemetry::probe(), move |sample| {
            // A screen that is busy gets the next one.
            let _ = samples.try_send(Message::Telemetry(sample));
        });
        let store = Arc::new(store);
        let (listener, folder) = (messages.clone(), Arc::clone(&store));
        // Without this thread runs started elsewhere show up later; nothing else is lost.
        let _ = std::thread::Builder::new().name("runs".into()).spawn(move || watch_store(&folder, &listener));
        Runner {
            followed: Followed::new(messages.clone()),
            messages,
            store,
            tasks: JoinSet::new(),
            chosen: None,
            saves_of: Vec::new(),
            leaving: Arc::default(),
            sampler,
        }
    }

    pub fn perform(&mut self, effect: Effect) {
        while self.tasks.try_join_next().is_some() {}
        let (messages, store) = (self.messages.clone(), Arc::clone(&self.store));
        if let Effect::ChooseExercise(track) = effect {
            self.chosen = Some(track);
        }
        let effect = match effect {
            Effect::Watch(run) => return self.followed.watch(run, self.store.folder(run), false),
            Effect::WatchExercise => return self.watch_exercise(),
            Effect::TryExercise => return self.try_exercise(false),
            Effect::CompareExercise => return self.try_exercise(true),
            Effect::WatchRanks(ranks) => return self.sampler.watch(ranks),
            Effect::Log(run, order) => return self.followed.order(run, order),
            effect => effect,
        };
        let chosen = self.chosen;
        self.tasks.spawn_blocking(move || {
            let message = carry_out(&store, effect.clone(), chosen).unwrap_or_else(|error| Some(failed(error, effect)));
            if let Some(message) = message {
                // This only fails when the screen is leaving.
                let _ = messages.blocking_send(message);
            }
        });
    }

    fn watch_exercise(&mut self) {
        let Ok(folder) = super::exercise::folder(self.chosen) else { return };
        if self.saves_of.contains(&folder.track()) {
            return;
        }
        self.saves_of.push(folder.track());
        let messages = self.messages.clone();
        // Without this thread r builds and runs the program; nothing else is lost.
        let _ = std::thread::Builder::new().name("saves".into()).spawn(move || {
            let Ok(watch) = Watch::start(&folder) else {
                let text = "the lab cannot see when you save the exercise: press r in its window after each save".to_owned();
                return drop(messages.blocking_send(Message::Failed(text)));
            };
            while !messages.is_closed() {
                if watch.next(LOOK_AROUND) && messages.blocking_send(Message::Exercise(ExerciseNews::Saved)).is_err() {
                    return;
                }
            }
        });
    }

    /// Tells how the attempt goes, or the comparison, until it is over.
    fn try_exercise(&mut self, compares: bool) {
        let (messages, store, leaving) = (self.messages.clone(), Arc::clone(&self.store), Arc::clone(&self.leaving));
        let chosen = self.chosen;
        self.tasks.spawn_blocking(move || {
            // This only fails when the screen is leaving.
            let tell = |news: ExerciseNews| drop(messages.blocking_send(Message::Exercise(news)));
            let news = super::exercise::attempt(&store, chosen, compares, &leaving, &tell);
            tell(news.unwrap_or_else(|error| ExerciseNews::Failed(format!("{error:#}"))));
        });
    }

    /// The command of the editor on the learner's program, which is made if it is not there, and what it holds.
    pub fn editor(&self) -> anyhow::Result<(Option<Vec<String>>, Option<Message>)> {
        let (words, news) = super::exercise::read(self.chosen)?;
        Ok((Some(words), Some(Message::Exercise(news))))
    }

    /// Waits a little for what was asked last: a stop before quitting must reach the run.
    pub async fn finish(mut self) {
        self.leaving.store(true, Ordering::Relaxed);
        self.followed.stop();
        let all_done = async { while self.tasks.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(LAST_ORDERS, all_done).await;
    }
}

/// What the user is told, or asked: a run that the machine has too little room for can start all the same.
fn failed(error: anyhow::Error, effect: Effect) -> Message {
    let crowded = error.downcast_ref::<LaunchError>().and_then(LaunchError::crowded);
    let again = match effect {
        // The rest of a series that this screen may not have begun.
        Effect::StartNext => {
            series_file().and_then(|file| Ok(file.read()?)).ok().flatten().map(|series| Effect::BeginSeries(series.into()))
        }
        effect => Some(effect),
    };
    match crowded.zip(again) {
        Some((why, again)) => Message::Crowded(why.to_owned(), Box::new(again)),
        None => Message::Failed(format!("{error:#}")),
    }
}

/// Performs an effect. Returns the message that tells the screen its result.
fn carry_out(store: &RunStore, effect: Effect, chosen: Option<Track>) -> anyhow::Result<Option<Message>> {
    let (effect, force) = if let Effect::Forced(effect) = effect { (*effect, true) } else { (effect, false) };
    Ok(Some(match effect {
        Effect::ListRuns => Message::Runs(store.list()),
        Effect::ReadQueue => Message::Queue(SharedMachine::look()?.map(Box::new)),
        Effect::Start { spec, preset } => start(store, RunRequest::new(*spec, preset), force)?,
        Effect::StartOther(spec) => {
            let kind = match spec.workload {
                Workload::Collectives(_) => "collectives",
                Workload::Nvcnn(_) => "nvcnn",
                Workload::Command(_) => launch::OWN_PROGRAM,
                _ => "bench",
            };
            start(store, RunRequest::new(launch::located(*spec)?, kind), force)?
        }
        Effect::Continue { run, epochs } => {
            launch::continue_run(store, run, MoreWork { force, ..MoreWork::epochs(epochs) })?;
            Message::Continued(run)
        }
        Effect::Change(change) => Message::Changed(super::change::apply(store, change)?),
        Effect::Stop(run) => {
            launch::stop(store, run)?;
            return Ok(None);
        }
        Effect::MakeFault(run, request) => {
            launch::make_fault(store, run, request)?;
            Message::Done(format!("run {run}: {} in rank {} has begun", request.kind, request.process))
        }
        Effect::ReadCurves(run) => Message::Curves(run, Box::new(Curves::from_events(store.folder(run).events()))),
        Effect::ReadCollectives(run) => {
            // A run that is gone has measured nothing.
            let measured = store.record(run).ok().and_then(|record| measured(&store.folder(run), &record));
            Message::Collectives(run, Box::new(measured.unwrap_or_default()))
        }
        // Ended before it was in the list: it has no steps.
        Effect::Judge(run) if !store.record(run)?.has_steps() => return Ok(None),
        Effect::Judge(run) if store.folder(run).events_file().metadata().is_ok_and(|events| events.len() > MOST_JUDGED) => {
            Message::Done(format!("run {run} is a large one: `hvd-lab check {run}` looks at its steps"))
        }
        // Steps that pass are recorded as done, as `hvd-lab check` does.
        Effect::Judge(run) => Message::Judged(Box::new(judge(store, &RunStore::default_home()?, run, None)?)),
        Effect::BeginSeries(series) => {
            series_file()?.write(&Series { force: series.force || force, is_cancelled: false, ..*series })?;
            start_next(store)?
        }
        Effect::StartNext => start_next(store)?,
        Effect::ReadSeries => Message::Series(series_file()?.read()?, None),
        Effect::CancelSeries => Message::Series(series_file()?.cancel()?, None),
        Effect::ReadResults(series) => Message::Results(results(store, &series)?),
        Effect::ReadProgress => Message::Progress(progress_file()?.read()?),
        Effect::Predict { asked, prediction, is_right } => {
            Message::Progress(progress_file()?.update(|progress| progress.predict(asked, prediction, is_right))?.1)
        }
        Effect::ReadExercise => Message::Exercise(super::exercise::read(chosen)?.1),
        Effect::ResetExercise(number) => Message::Exercise(super::exercise::reset(chosen, number)?),
        Effect::ReadLanguage => Message::Exercise(super::exercise::language()?),
        Effect::ChooseExercise(track) => Message::Exercise(super::exercise::choose(track)?),
        Effect::LocateData(spec) => locate(&spec)?,
        // Performed in `perform`.
        Effect::WatchRanks(_) | Effect::Watch(_) | Effect::Log(..) => return Ok(None),
        Effect::WatchExercise | Effect::TryExercise | Effect::CompareExercise => return Ok(None),
        // Performed by the owner of the terminal, unwrapped above, and for a recording, which is not played here.
        Effect::Terminal(_) | Effect::Forced(_) | Effect::Player(_) => return Ok(None),
    }))
}

fn start(store: &RunStore, request: RunRequest, force: bool) -> anyhow::Result<Message> {
    Ok(Message::Started(launch::start(store, RunRequest { force, ..request })?))
}

fn series_file() -> anyhow::Result<SeriesFile> {
    Ok(SeriesFile::of(&RunStore::default_home()?))
}

/// The next run of the series, unless one is going.
fn start_next(store: &RunStore) -> anyhow::Result<Message> {
    let state_of = |run| store.status(run).ok().map(|status| status.state);
    let start = |series: &Series, turn: &Turn| -> anyhow::Result<RunId> {
        let request = RunRequest::new(turn.spec.clone(), series.preset.clone());
        Ok(launch::start(store, RunRequest { name: Some(series.name_of(turn)), force: series.force, ..request })?)
    };
    let (series, begun) = series_file()?.start_next(state_of, start)?;
    Ok(Message::Series(series, begun))
}

fn progress_file() -> anyhow::Result<ProgressFile> {
    Ok(ProgressFile::of(&RunStore::default_home()?))
}

/// Lists the runs again when one came or went. Costs one look at a folder's date a second.
fn watch_store(store: &RunStore, messages: &Sender<Message>) {
    let date = || store.folder(RunId(1)).path().parent()?.metadata().ok()?.modified().ok();
    let (mut seen, mut again) = (None, false);
    while !messages.is_closed() {
        std::thread::sleep(LOOK_AROUND);
        let now = date();
        // Once more after a change: a run's folder is there a moment before what belongs in it.
        if now != seen || again {
            again = now != seen;
            seen = now;
            let _ = messages.blocking_send(Message::Runs(store.list()));
        }
    }
}

fn locate(spec: &TrainingJob) -> anyhow::Result<Message> {
    let located = dataset::locate(spec.workload.data, None, false).context("no images to train on")?;
    let name = dataset::collection(&spec.workload.data).name;
    Ok(Message::Data(if located.fetchable { format!("{name} (fetched first)") } else { located.label }))
}
