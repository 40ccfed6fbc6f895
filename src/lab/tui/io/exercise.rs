//! Reads, resets, builds, runs and judges the learner's own program for the screen.
//!
//! `hvd-lab exercise run` goes the same way.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{anyhow, bail};

use crate::course::ProgressFile;
use crate::exercise::ring::{self, Ring};
use crate::exercise::{self, Begun, Built, Condition, Folder, Language, TEN_STEPS, Track};
use crate::runs::{RunId, RunStore};
use crate::tui::actions::ExerciseNews;

/// The time between two looks at a run that is going.
const LOOK: Duration = Duration::from_millis(100);

/// The folder of the chosen exercise, else of the ten steps in the learner's language.
pub fn folder(chosen: Option<Track>) -> anyhow::Result<Folder> {
    let home = RunStore::default_home()?;
    Ok(chosen.map_or_else(|| Folder::of(&home), |track| Folder::of_track(&home, track)))
}

pub fn language() -> anyhow::Result<ExerciseNews> {
    let home = RunStore::default_home()?;
    Ok(ExerciseNews::Language { language: Language::of(&home), is_chosen: Language::known(&home, &TEN_STEPS).is_some() })
}

/// Remembers the language where a track is there in several, as `hvd-lab exercise start --language` does.
pub fn choose(track: Track) -> anyhow::Result<ExerciseNews> {
    if let Track::Program(program) = track
        && program.has_steps()
    {
        program.language.choose(&RunStore::default_home()?)?;
    }
    language()
}

/// The learner's program, which is made if it is not there, behind the command of the editor on its next place.
pub fn read(chosen: Option<Track>) -> anyhow::Result<(Vec<String>, ExerciseNews)> {
    let folder = folder(chosen)?;
    let has_steps = matches!(folder.track(), Track::Program(program) if program.has_steps());
    // Progress says when other exercises than the ten steps were begun.
    if folder.start()? && !has_steps {
        ProgressFile::of(&RunStore::default_home()?).note(|progress| _ = progress.practise(folder.track().name()));
    }
    let (path, program) = (folder.program(), folder.read()?);
    let line = folder.track().next(&program).map_or(1, |(_, line)| line);
    Ok((exercise::editor::command(&path, line), ExerciseNews::Read { path: path.display().to_string(), program }))
}

pub fn reset(chosen: Option<Track>, number: Option<usize>) -> anyhow::Result<ExerciseNews> {
    let folder = folder(chosen)?;
    let backup = folder.reset(number)?.display().to_string();
    Ok(ExerciseNews::Reset { number, program: folder.read()?, backup })
}

/// Builds the program, runs it and judges it, or `compares` it on one rank and on two; `tell` hears of each run that begins. Comes
/// back early when the screen `is_left`: runs go on, and nothing counts as written that was not tried further.
pub fn attempt(
    store: &RunStore,
    chosen: Option<Track>,
    compares: bool,
    is_left: &AtomicBool,
    tell: &dyn Fn(ExerciseNews),
) -> anyhow::Result<ExerciseNews> {
    let (home, folder) = (RunStore::default_home()?, folder(chosen)?);
    let program = match folder.track() {
        Track::Program(program) => program,
        Track::Collectives if compares => bail!("this exercise has no runs to compare"),
        Track::Collectives => return of_ring(&home, &folder),
    };
    let text = folder.read()?;
    let built = match exercise::build(&folder, program)? {
        Built::Program(built) => built,
        Built::Errors { errors, said } => return Ok(ExerciseNews::Broken(program.errors_in_words(&errors, &said))),
    };
    let follow = |Begun { run, once_more }| {
        tell(ExerciseNews::Started(run, once_more.map(Condition::in_words)));
        wait(store, run, is_left)
    };
    if compares {
        let words = program.compare(store, built, follow)?.words;
        return Ok(ExerciseNews::Judged { run: None, words, notes: Vec::new() });
    }
    let attempted = program.attempt((store, &home), built, &text, follow)?;
    Ok(ExerciseNews::Judged { run: Some(attempted.run), words: attempted.words, notes: attempted.notes })
}

/// Until the run is over. Finds out about a supervisor that was killed, too.
fn wait(store: &RunStore, run: RunId, is_left: &AtomicBool) -> anyhow::Result<()> {
    while !store.status(run)?.state.is_over() {
        if is_left.load(Ordering::Relaxed) {
            bail!("the screen was left while run {run} was going");
        }
        thread::sleep(LOOK);
    }
    Ok(())
}

/// A plan: it is judged message by message, and then run over MPI.
fn of_ring(home: &Path, folder: &Folder) -> anyhow::Result<ExerciseNews> {
    folder.read()?;
    let ring = ring::attempt(&folder.program()).map_err(|why| anyhow!(why))?;
    let notes = ProgressFile::of(home)
        .note(|progress| progress.practise(Track::Collectives.name()).attempt(ring.outcome()))
        .into_iter()
        .collect();
    let mut words = ring.in_words();
    if let Ring::Right(schedule) = &ring {
        words += &match ring::execute(schedule) {
            Ok(said) => format!("Run over MPI on 4 ranks: {said}\n{}", Track::Collectives.after(home)),
            Err(why) => format!("not run over MPI: {why}\n"),
        };
    }
    Ok(ExerciseNews::Judged { run: None, words, notes })
}
