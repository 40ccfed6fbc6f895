//! The verbs without a screen: everything the screen does, for scripts, pipes and terminals without one.
//!
//! Never draws a screen. Exit codes: 0 done, 1 a run or a check failed, 2 bad input (one line says what and what to do).

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches};

use crate::course::{self, CatalogError, ProgressError};
use crate::dataset::DatasetError;
use crate::dataset::images::ImagesError;
use crate::domain::settings::in_plain_words;
use crate::exercise::ExerciseError;
use crate::host::{access, file_limit};
use crate::launch::{LaunchError, slurm, supervisor};
use crate::runs::StoreError;
use crate::runs::recording::RecordingError;

pub mod ablation;
mod arguments;
pub mod bench;
pub mod check;
pub mod class;
pub mod collectives;
pub mod compare;
pub mod config;
mod confirm;
pub mod data;
pub mod demo;
pub mod devices;
pub mod doctor;
#[cfg(test)]
mod documents_tests;
mod examples;
pub mod exercise;
pub mod fault;
mod follow;
pub mod generate;
pub mod guided;
mod interrupt;
mod last_words;
pub mod lessons;
pub mod nvcnn;
mod output;
pub mod progress;
pub mod queue;
mod rank_files;
pub mod record;
pub mod replay;
pub mod report;
pub mod run;
pub mod runs;
mod series_wait;
mod settings;
pub mod setup;
pub mod simulate;
pub mod stop;
mod table;
mod user_program;

use arguments::arguments;
pub use output::{Usage, say};

const EXAMPLES: &str = "\
Examples:
  hvd-lab                                          the screen: toggle steps, run, watch, compare
  hvd-lab run --np 2 --steps 1-10 --epochs 3       train on two ranks with all ten steps
  hvd-lab runs                                     what was run, and how it went
  hvd-lab compare 1 2                              what run 2 gained over run 1
  hvd-lab lessons                                  the ten steps, to read
  hvd-lab exercise diff --step 4                   what step 4 changes in the program
  hvd-lab guided 4                                 run without and with step 4, and see what it changes
  hvd-lab collectives run --np 2                   measure allreduce algorithms side by side
  hvd-lab bench --np 2 --model wrn-10-1            measure how many images a second are trained on
  hvd-lab nvcnn --np 2 --data_dir photos           train on photos, as NVIDIA's nvcnn does
  hvd-lab simulate --model vgg16 --gpu p100        what 8, 64 or 1,024 GPUs would give
  hvd-lab check 2                                  what run 2 shows of each step
  hvd-lab report --out report.html                 what you did, to hand in
  hvd-lab demo                                     watch a recorded run: nothing else is needed
  hvd-lab doctor                                   check everything that a run needs

Runs live in HVD_LAB_HOME (default: hvd-lab in your data folder). They continue when you close this program or the terminal.";

const MAN_EXAMPLES: &str = "\
Examples:
  hvd-lab man > hvd-lab.1    for `man ./hvd-lab.1`, or a folder in MANPATH";

/// A terminal lab for distributed data-parallel training.
#[derive(Debug, clap::Parser)]
#[command(name = "hvd-lab", version, after_help = EXAMPLES, disable_help_subcommand = true,
    args_conflicts_with_subcommands = true)]
pub struct Cli {
    /// Draw the screen with ASCII characters only.
    #[arg(long)]
    pub ascii: bool,
    /// A folder with your own lessons. They replace those of the program by number [default: HVD_LAB_LESSONS].
    #[arg(long, value_name = "DIR")]
    pub lessons: Option<PathBuf>,
    /// Show the tour of the screen again.
    #[arg(long)]
    pub tour: bool,
    #[command(subcommand)]
    pub verb: Option<Verb>,
}

#[derive(Debug, clap::Subcommand)]
pub enum Verb {
    Run(Box<run::Args>),
    Runs(runs::Args),
    Stop(stop::Args),
    Fault(fault::Args),
    Queue(queue::Args),
    Compare(compare::Args),
    Lessons(lessons::Args),
    Exercise(exercise::Args),
    Guided(Box<guided::Args>),
    Ablation(Box<ablation::Args>),
    Collectives(Box<collectives::Args>),
    Bench(Box<bench::Args>),
    Nvcnn(Box<nvcnn::Args>),
    Simulate(Box<simulate::Args>),
    Check(check::Args),
    Progress(progress::Args),
    Report(report::Args),
    Record(record::Args),
    Replay(replay::Args),
    Demo(demo::Args),
    Class(class::Args),
    Doctor(doctor::Args),
    Setup(setup::Args),
    Data(data::Args),
    Devices(devices::Args),
    Config(config::Args),
    Completions(generate::Args),
    /// Print the manual page
    #[command(after_help = MAN_EXAMPLES)]
    Man,
    /// Started by hvd-lab itself: stays with a run to its end.
    #[command(hide = true)]
    Supervise {
        folder: PathBuf,
    },
    /// Started by hvd-lab itself: stays with a run that is a batch job.
    #[command(hide = true)]
    SlurmJob {
        folder: PathBuf,
    },
}

impl Verb {
    /// Whether it starts ranks.
    fn trains(&self) -> bool {
        use Verb::{Ablation, Bench, Collectives, Exercise, Guided, Nvcnn, Run};
        matches!(self, Run(_) | Guided(_) | Ablation(_) | Bench(_) | Nvcnn(_) | Collectives(_) | Exercise(_))
    }
}

/// What the command line asks for.
///
/// # Errors
/// It cannot be parsed, or it asks for help: [`refuse`] says it.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let matches = examples::laid_out(<Cli as CommandFactory>::command()).try_get_matches_from(arguments(words))?;
    Cli::from_arg_matches(&matches)
}

/// The screen. It trains as well.
pub fn screen(options: crate::tui::Options) -> anyhow::Result<ExitCode> {
    setup::offer()?;
    output::screen(options)
}

pub fn dispatch(verb: Verb) -> anyhow::Result<ExitCode> {
    if verb.trains() {
        setup::offer()?;
    }
    match verb {
        Verb::Run(args) => run::run(*args),
        Verb::Runs(args) => runs::run(args),
        Verb::Stop(args) => stop::run(args),
        Verb::Fault(args) => fault::run(args),
        Verb::Queue(args) => queue::run(args),
        Verb::Compare(args) => compare::run(args),
        Verb::Lessons(args) => lessons::run(args),
        Verb::Exercise(args) => exercise::run(args),
        Verb::Guided(args) => guided::run(*args),
        Verb::Ablation(args) => ablation::run(*args),
        Verb::Collectives(args) => collectives::run(*args),
        Verb::Bench(args) => bench::run(*args),
        Verb::Nvcnn(args) => nvcnn::run(*args),
        Verb::Simulate(args) => simulate::run(*args),
        Verb::Check(args) => check::run(args),
        Verb::Progress(args) => progress::run(args),
        Verb::Report(args) => report::run(args),
        Verb::Record(args) => record::run(args),
        Verb::Replay(args) => replay::run(args),
        Verb::Demo(args) => demo::run(args),
        Verb::Class(args) => class::run(args),
        Verb::Doctor(args) => doctor::run(args),
        Verb::Setup(args) => setup::run(args),
        Verb::Data(args) => data::run(args),
        Verb::Devices(args) => devices::run(args),
        Verb::Config(args) => config::run(args),
        Verb::Completions(args) => generate::completions(args, &<Cli as CommandFactory>::command()),
        Verb::Man => generate::man(&<Cli as CommandFactory>::command()),
        Verb::SlurmJob { folder } => slurm::follow(&folder),
        Verb::Supervise { folder } => supervisor::supervise(&folder, course::credit),
    }
}

/// Before anything is made: what this process and those that it starts write is for its user alone, or for a group, and a file
/// that may not grow is an error.
///
/// # Errors
/// In one sentence, what is wrong with the environment.
pub fn settle() -> Result<(), String> {
    file_limit::survive();
    access::settle()
}

/// Bad input, in one sentence.
pub fn refuse_start(problem: &str) -> ExitCode {
    say(problem);
    ExitCode::from(2)
}

/// Help and version as asked for; anything else that cannot be parsed as one line.
pub fn refuse(error: &clap::Error) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return match error.print() {
            // A reader that has gone needs no help any more.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                say(&format!("standard output cannot be written: {error}"));
                ExitCode::FAILURE
            }
            _ => ExitCode::SUCCESS,
        };
    }
    let text = error.to_string();
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        say(&verbs_wanted(&text));
        return ExitCode::from(2);
    }
    let said: Vec<&str> = text.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:")).collect();
    let said = said.into_iter().filter(|line| !line.is_empty() && !line.starts_with("For more information")).collect::<Vec<_>>();
    // What clap would have one try instead is no number of ranks.
    let tip = (error.kind() == ErrorKind::UnknownArgument).then(|| arguments::tip(std::env::args_os())).flatten();
    let said: Vec<&str> =
        said.into_iter().filter(|line| tip.is_none() || !line.starts_with("tip:")).chain(tip.as_deref()).collect();
    let said = in_plain_words(said.join(" ").trim_start_matches("error: "));
    refuse_start(&format!("{said} (`--help` shows the flags)"))
}

/// Which verbs would do, from the help of one that was left without.
fn verbs_wanted(help: &str) -> String {
    let usage = help.lines().find_map(|line| line.trim().strip_prefix("Usage: ")).unwrap_or("hvd-lab");
    let command = usage.split(['<', '[']).next().unwrap_or(usage).trim();
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // What is indented further is the rest of a description.
    let names = listed.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names: Vec<&str> = names.filter_map(|line| line.split_whitespace().next()).collect();
    format!("`{command}` needs one of: {} (`{command} --help` says what they do)", names.join(", "))
}

#[cfg(test)]
#[test]
fn the_definition_of_the_verbs_is_sound() {
    <Cli as CommandFactory>::command().debug_assert();
}

/// 2 for bad input, 1 for everything else: a full disk is nobody's input.
pub fn exit_code(error: &anyhow::Error) -> ExitCode {
    let is_bad_input = error.chain().any(|cause| {
        cause.is::<Usage>()
            || cause.is::<DatasetError>()
            || cause.is::<ImagesError>()
            || cause.is::<CatalogError>()
            || cause.downcast_ref::<StoreError>().is_some_and(StoreError::is_bad_input)
            || cause.downcast_ref::<RecordingError>().is_some_and(RecordingError::is_bad_input)
            || cause.downcast_ref::<ProgressError>().is_some_and(ProgressError::is_bad_input)
            || cause.downcast_ref::<ExerciseError>().is_some_and(ExerciseError::is_bad_input)
            || cause.downcast_ref::<LaunchError>().is_some_and(LaunchError::is_bad_input)
    });
    ExitCode::from(if is_bad_input { 2 } else { 1 })
}
