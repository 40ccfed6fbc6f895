//! `hvd-lab exercise`: the learner's own programs, to complete, build, run and compare with the solution; and the ring.

mod json;
mod ring;
mod verbs;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use self::verbs::{Try, What, note, open_editor, print_diff, reset, watch};
use super::follow::{self, View};
use super::output::{Usage, print, print_done, print_either, print_json, say};
use crate::exercise::{self, Begun, Built, Diff, Folder, Language, Program, Track};
use crate::runs::{Follower, RunStore};

const EXAMPLES: &str = "\
Examples:
  hvd-lab exercise start                  your copy of the serial trainer, a TODO a step
  hvd-lab exercise start --language rust  the same in Rust rather than in Python
  hvd-lab exercise edit                   open it in VISUAL or EDITOR at the next TODO
  hvd-lab exercise run                    build it, run it on two ranks, and check what it did
  hvd-lab exercise run --json | jq -r '.verdicts[] | select(.outcome == \"failed\") | .evidence'
  hvd-lab exercise watch                  the same at every save
  hvd-lab exercise diff --step 4          exactly what step 4 changes in the trainer
  hvd-lab exercise diff                   yours against the solution
  hvd-lab exercise reset --step 4         step 4 as it was; the old file is kept
  hvd-lab exercise start --track four-changes   Horovod's MNIST program, made distributed by four changes
  hvd-lab exercise compare --track four-changes   yours on one rank and on two, side by side
  hvd-lab exercise start --track nvcnn    nvcnn's training on photos, with five changes to make
  hvd-lab exercise start --track collectives   a ring allreduce, in Python
  hvd-lab exercise start --track ddp      the ten steps in plain PyTorch, started by torchrun

JSON of `run --json`: track, file, run, state (how the run ended), message, passed, verdicts[] (number, title, is_done: it has no
TODO, outcome, evidence, line), errors[] (of a program that is not built: message, line, column, number, help), words (what is
printed without --json), next, notes[].
A step is done when a run of your program shows it (`hvd-lab progress`). A program that hangs is ended and explained.
Exit code: 0 done, 1 it does not build, fails, or a step without TODO does not pass, 2 bad input.";

/// Complete a program yourself, step by step.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Which exercise: ten-steps (the trainer), four-changes (MNIST), nvcnn (photos), collectives (a ring, in Python), or ddp (the
    /// ten steps in plain PyTorch, which needs your own).
    #[arg(long, global = true, value_name = "NAME", default_value = "ten-steps")]
    track: Track,
    /// python or rust; `start` remembers it.
    ///
    /// Without it: the one of the last start, else python where it can be run.
    #[arg(long, global = true, value_name = "NAME")]
    language: Option<Language>,
    #[command(subcommand)]
    what: What,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let home = RunStore::default_home()?;
    let track = in_language(&args, &home)?;
    let folder = Folder::of_track(&home, track);
    match (args.what, track) {
        (What::Path, _) => print_done(&format!("{}\n", folder.program().display())),
        (What::Edit, _) => {
            folder.start()?;
            open_editor(&folder, track.next(&folder.read()?).map_or(1, |(_, line)| line))
        }
        (What::Start, _) => start(track, &folder, &home),
        (What::Try(what), Track::Program(program)) => Own { program, folder, home: &home }.run(what),
        (What::Try(what), Track::Collectives) => ring::run(&home, &folder, what),
    }
}

/// Makes the learner's copy, unless there is one.
fn start(track: Track, folder: &Folder, home: &Path) -> anyhow::Result<ExitCode> {
    if let Track::Program(program) = track
        && Language::ALL.into_iter().all(|language| program.in_language(language).is_some())
    {
        // Remembered where there is a choice.
        program.language.choose(home)?;
    }
    let what = if folder.start()? { "made" } else { "there already" };
    if !matches!(track, Track::Program(program) if program.has_steps()) {
        note(home, |progress| _ = progress.practise(track.name()));
    }
    print(&format!("{}\n", folder.program().display()))?;
    let next = match track {
        Track::Collectives => "complete the two places marked TODO, then: hvd-lab exercise run --track collectives".to_owned(),
        Track::Program(program) => match program.next(&folder.read()?) {
            Some((number, line)) => format!("next: {} {number} ({}), line {line}", program.noun, (program.title)(number)),
            None => "no TODO is left".to_owned(),
        },
    };
    say(&format!("{what}; {next}"));
    Ok(ExitCode::SUCCESS)
}

/// The exercise in the language that is asked for, else in that of the last start.
fn in_language(args: &Args, home: &Path) -> Result<Track, Usage> {
    let only = |track: &str, language: Language| {
        Usage(format!("the track {track} is in {} only: leave out --language", language.name()))
    };
    match (args.track, args.language) {
        (Track::Collectives, Some(Language::Rust)) => Err(only(args.track.name(), Language::Python)),
        (Track::Collectives, _) => Ok(args.track),
        (Track::Program(program), Some(language)) => {
            program.in_language(language).map(Track::Program).ok_or_else(|| only(program.track, program.language))
        }
        (Track::Program(program), None) => {
            let language = Language::of_program(home, program);
            Ok(Track::Program(program.in_language(language).unwrap_or(program)))
        }
    }
}

/// The learner's program of a track.
struct Own<'a> {
    program: &'static Program,
    folder: Folder,
    home: &'a Path,
}

impl Own<'_> {
    fn run(&self, what: Try) -> anyhow::Result<ExitCode> {
        let Own { program, folder, .. } = self;
        match what {
            Try::Build => Ok(if self.build(false)?.is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE }),
            Try::Run { json } => self.attempt(json),
            Try::Compare => self.compare(),
            Try::Watch => watch(folder, || self.attempt(false)),
            Try::Reset { step, yes } => reset(folder, self.number(step)?, &program.part_named(step), yes),
            Try::Diff { step, mine, side_by_side } => {
                let diff = match (self.number(step)?, mine) {
                    (Some(number), false) => Diff::of_place(program, number),
                    (Some(number), true) => Diff::to_solution(program, &folder.read()?, number),
                    (None, _) => {
                        let text = folder.read()?;
                        Diff::to_solution(program, &text, program.reached(&text))
                    }
                };
                print_diff(&diff, side_by_side)
            }
        }
    }

    /// A number that a place of the program has.
    fn number(&self, number: Option<usize>) -> Result<Option<usize>, Usage> {
        let Program { noun, count, .. } = self.program;
        match number.filter(|number| !self.program.numbers().any(|one| one == *number)) {
            None => Ok(number),
            Some(number) => {
                Err(Usage(format!("{noun} {number} is not in this exercise: use --{noun} with a number from 1 to {count}")))
            }
        }
    }

    /// The program, if it builds; else prints the errors.
    fn build(&self, as_json: bool) -> anyhow::Result<Option<PathBuf>> {
        let Own { program, folder, .. } = self;
        // Before anything is said of a build.
        folder.read()?;
        let file = folder.program();
        match program.language {
            _ if as_json => {}
            Language::Rust => say(&format!("building {} (the first time takes longer) ...", file.display())),
            Language::Python => say(&format!("checking {} ...", file.display())),
        }
        match exercise::build(folder, program)? {
            Built::Program(built) => Ok(Some(built)),
            Built::Errors { errors, said } => {
                let words = program.errors_in_words(&errors, &said);
                print_either(as_json, || json::broken(program, folder, &errors, &words), || words.clone())?;
                Ok(None)
            }
        }
    }

    /// What came of it stands on standard output as one JSON object, where that is asked for, and nothing else there.
    fn attempt(&self, as_json: bool) -> anyhow::Result<ExitCode> {
        let Own { program, folder, home } = self;
        let source = folder.read()?;
        let Some(built) = self.build(as_json)? else { return Ok(ExitCode::FAILURE) };
        let store = RunStore::open(home)?;
        let attempted = program.attempt((&store, home), built, &source, |Begun { run, once_more }| {
            // Skip what it printed before.
            let is_new = once_more.is_none() && !as_json;
            let follower = if is_new { Follower::new } else { Follower::from_here }(store.folder(run));
            if as_json {
                // The output of the ranks stays in their logs.
                return follow::follow(&store, run, follower, View::of_lines(false, &mut |_| None)).map(drop);
            }
            once_more.iter().for_each(|condition| say(&format!("once more, {} ...", condition.in_words())));
            follow::follow(&store, run, follower, View::judged()).map(drop)
        })?;
        if as_json {
            print_json(&json::attempted(program, folder, &source, &attempted, &store.status(attempted.run)?))?;
        } else {
            print(&format!("\n{}", attempted.words))?;
            attempted.notes.iter().for_each(|note| say(note));
        }
        Ok(if attempted.has_passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// On one rank and on two.
    fn compare(&self) -> anyhow::Result<ExitCode> {
        if let Some(why) = self.program.why_not_compared() {
            return Err(Usage(why.into()).into());
        }
        let Some(built) = self.build(false)? else { return Ok(ExitCode::FAILURE) };
        let store = RunStore::open(self.home)?;
        let compared = self.program.compare(&store, built, |Begun { run, .. }| {
            follow::follow(&store, run, Follower::new(store.folder(run)), View::new(false)).map(drop)
        })?;
        print(&format!("\n{}", compared.words))?;
        Ok(if compared.has_finished { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
