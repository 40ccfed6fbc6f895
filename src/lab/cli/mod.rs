//! The verbs without a screen: everything the screen does, for scripts, pipes and terminals without one.
//!
//! Never draws a screen. Exit codes: 0 done, 1 a run or a check failed, 2 bad input (one line says what and what to do).

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{ArgMatches, Command, CommandFactory, FromArgMatches};

use crate::course::{self, CatalogError, ProgressError};
use crate::dataset::DatasetError;
use crate::dataset::images::ImagesError;
use crate::domain::settings::in_plain_words;
use crate::exercise::ExerciseError;
use crate::host::{access, file_limit};
use crate::launch::{LaunchError, slurm, supervisor};
use crate::process;
use crate::runs::StoreError;
use crate::runs::recording::RecordingError;

mod ablation;
mod arguments;
mod bench;
mod check;
mod class;
mod collectives;
mod compare;
mod config;
mod confirm;
mod data;
mod demo;
mod devices;
mod doctor;
#[cfg(test)]
mod documents_tests;
mod examples;
mod exercise;
mod fault;
mod findings;
mod follow;
mod generate;
mod guided;
mod inspect;
mod interrupt;
mod last_words;
mod lessons;
mod named_run;
mod nvcnn;
mod output;
mod progress;
mod queue;
mod rank_files;
mod record;
mod replay;
mod report;
mod run;
mod runs;
mod series_wait;
mod settings;
mod setup;
mod several;
mod simulate;
mod stop;
mod table;
mod user_program;

use arguments::arguments;
pub use output::{Usage, say};

const EXAMPLES: &str = "\
Examples:
  hvd-lab                                          the screen: toggle steps, run, watch, compare
  hvd-lab run --np 2 --steps 1-10                  train on two ranks with all ten steps
  hvd-lab runs                                     what was run, and how it went
  hvd-lab inspect -- torchrun --nproc_per_node 2 train.py     a program of your own: which step is wrong, at which line
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

/// A terminal lab for distributed data-parallel training.
#[derive(Debug, clap::Parser)]
#[command(name = "hvd-lab", version, after_help = EXAMPLES, disable_help_subcommand = true,
    args_conflicts_with_subcommands = true)]
struct Screen {
    /// Draw the screen with ASCII characters only.
    #[arg(long)]
    ascii: bool,
    /// A folder with your own lessons. They replace those of the program by number [default: HVD_LAB_LESSONS].
    #[arg(long, value_name = "DIR")]
    lessons: Option<PathBuf>,
    /// Show the tour of the screen again.
    #[arg(long)]
    tour: bool,
}

/// A verb: its name, flags and help, and what it does.
struct Verb {
    name: &'static str,
    /// Adds its flags and help, which are made where the command line is read only.
    with_flags: fn(Command) -> Command,
    /// What one that the lab itself starts is for: help does not list it.
    hidden: Option<&'static str>,
    /// Whether it starts ranks.
    trains: bool,
    run: Box<Run>,
}

/// What a verb does with its flags.
type Run = dyn Fn(&ArgMatches) -> anyhow::Result<ExitCode>;

fn verb<A: clap::Args + 'static>(name: &'static str, run: fn(A) -> anyhow::Result<ExitCode>) -> Verb {
    let run = Box::new(move |matches: &ArgMatches| run(A::from_arg_matches(matches)?));
    Verb { name, with_flags: A::augment_args, hidden: None, trains: false, run }
}

impl Verb {
    fn trains(self) -> Verb {
        Verb { trains: true, ..self }
    }

    fn hidden(self, about: &'static str) -> Verb {
        Verb { hidden: Some(about), ..self }
    }

    fn command(&self) -> Command {
        let command = (self.with_flags)(Command::new(self.name));
        self.hidden.into_iter().fold(command, |command, about| command.about(about).hide(true))
    }
}

/// All verbs, in the order of the help.
fn verbs() -> Vec<Verb> {
    vec![
        verb("run", run::run).trains(),
        verb("inspect", inspect::run),
        verb("runs", runs::run),
        verb("stop", stop::run),
        verb("fault", fault::run),
        verb("queue", queue::run),
        verb("compare", compare::run),
        verb("lessons", lessons::run),
        verb("exercise", exercise::run).trains(),
        verb("guided", guided::run).trains(),
        verb("ablation", ablation::run).trains(),
        verb("collectives", collectives::run).trains(),
        verb("bench", bench::run).trains(),
        verb("nvcnn", nvcnn::run).trains(),
        verb("simulate", simulate::run),
        verb("check", check::run),
        verb("progress", progress::run),
        verb("report", report::run),
        verb("record", record::run),
        verb("replay", replay::run),
        verb("demo", demo::run),
        verb("class", class::run),
        verb("doctor", doctor::run),
        verb("setup", setup::run),
        verb("data", data::run),
        verb("devices", devices::run),
        verb("config", config::run),
        verb("completions", |args: generate::Args| generate::completions(args, &command())),
        verb("man", |_: generate::Man| generate::man(&command())),
        verb(process::this_program::SUPERVISE, |run: Supervised| supervisor::supervise(&run.folder, course::credit))
            .hidden("Started by hvd-lab itself: stays with a run to its end"),
        verb("slurm-job", |run: Supervised| slurm::follow(&run.folder))
            .hidden("Started by hvd-lab itself: stays with a run that is a batch job"),
    ]
}

#[derive(clap::Args)]
struct Supervised {
    folder: PathBuf,
}

/// The screen's flags, with all verbs.
fn command() -> Command {
    Screen::command().subcommands(verbs().iter().map(Verb::command))
}

/// What the command line asks for.
///
/// # Errors
/// It cannot be parsed, or it asks for help: [`refuse`] says it.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<ArgMatches, clap::Error> {
    examples::laid_out(command()).try_get_matches_from(arguments(words))
}

/// Do what the command line asks for: a verb, or else the screen, which trains as well.
///
/// # Errors
/// What the verb or the screen could not do.
pub fn obey(asked: &ArgMatches) -> anyhow::Result<ExitCode> {
    let found = |(name, matches)| Some((verbs().into_iter().find(|verb| verb.name == name)?, matches));
    let verb = asked.subcommand().and_then(found);
    if verb.as_ref().is_none_or(|(verb, _)| verb.trains) {
        setup::offer()?;
    }
    if let Some((verb, matches)) = verb {
        return (verb.run)(matches);
    }
    let Screen { ascii, lessons, tour } = Screen::from_arg_matches(asked)?;
    output::screen(crate::tui::Options { ascii, lessons, tour, replay: None })
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
    // What clap would have one try instead is no number of ranks.
    let tip = (error.kind() == ErrorKind::UnknownArgument).then(|| arguments::tip(std::env::args_os())).flatten();
    refuse_start(&format!("{} (`--help` shows the flags)", in_one_line(&text, tip)))
}

/// What clap says of a command line that it cannot parse, with its tips or with this one.
fn in_one_line(text: &str, tip: Option<String>) -> String {
    let lines = text.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:"));
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with("For more information"));
    let (tips, said): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.starts_with("tip: "));
    // No verb has a value that begins with a dash.
    let tips = tips.into_iter().filter_map(|line| line.strip_prefix("tip: ")).filter(|line| !line.starts_with("to pass "));
    let tips = tip.map_or_else(|| tips.map(|line| format!("; {line}")).collect(), |tip| format!(": {tip}"));
    in_plain_words(&format!("{}{tips}", said.join(" ").trim_start_matches("error: ")))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_of_the_verbs_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn what_cannot_be_parsed_is_said_in_one_sentence_with_tips_that_help() {
        for (line, expected) in [
            ("inspect --foo -- python x.py", "unexpected argument '--foo' found"),
            ("run --epoch 3", "unexpected argument '--epoch' found; a similar argument exists: '--epochs'"),
            ("insepct", "unrecognized subcommand 'insepct'; a similar subcommand exists: 'inspect'"),
            (
                "completions bahs",
                "invalid value 'bahs' for '<SHELL>' [possible values: bash, zsh, fish]; \
              a similar value exists: 'bash'",
            ),
        ] {
            let error = parse(format!("hvd-lab {line}").split(' ').map(OsString::from)).unwrap_err();
            assert_eq!(in_one_line(&error.to_string(), None), expected);
        }
        assert_eq!(in_one_line("error: no\n\n  tip: yes\n", Some("use `--np 2`".into())), "no: use `--np 2`");
    }
}
