//! `hvd-lab progress`: what a learner has done so far.
//!
//! Never judges a run: `hvd-lab check` does.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;

use super::table::render;
use super::{Usage, lessons};
use crate::course::{Progress, ProgressFile};
use crate::domain::step::Step;
use crate::domain::units;
use crate::runs::RunStore;

const EXAMPLES: &str = "\
Examples:
  hvd-lab progress
  hvd-lab progress --export progress.md      for people; --export progress.json for programs
  hvd-lab progress --reset 4                 forget step 4 and its predictions; `--reset all` for everything";

/// What is done so far, with the run that showed it.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Forget one step, or all.
    #[arg(long, value_name = "STEP|all", conflicts_with = "export")]
    reset: Option<String>,
    /// Write it as Markdown, or as JSON where the name ends in .json.
    #[arg(long, value_name = "FILE")]
    export: Option<PathBuf>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let file = ProgressFile::of(&RunStore::default_home()?);
    let reading = match &args.reset {
        None => file.read()?,
        Some(what) => reset(&file, what)?,
    };
    reading.note.iter().for_each(|note| eprintln!("hvd-lab: {note}"));
    match &args.export {
        Some(path) => export(&reading.progress, path)?,
        None => {
            super::print(&render(&["step", "", "title", "done", "run", "evidence"], &rows(&reading.progress)))?;
            super::print(&format!("{} of {} steps are done\n", reading.progress.done.len(), Step::ALL.len()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn reset(file: &ProgressFile, what: &str) -> anyhow::Result<crate::course::Reading> {
    let step = match what {
        "all" => None,
        number => Some(
            lessons::step(number)
                .map_err(|_| Usage(format!("`{number}` is no step: use --reset with a number from 1 to 10, or all")))?,
        ),
    };
    let change = |progress: &mut Progress| match step {
        Some(step) => progress.reset(step),
        None => *progress = Progress::default(),
    };
    Ok(file.update(change)?.1)
}

fn rows(progress: &Progress) -> Vec<Vec<String>> {
    let row = |step: Step| {
        let done = progress.done.get(&step.number());
        vec![
            step.number().to_string(),
            if done.is_some() { "[x]" } else { "[ ]" }.to_owned(),
            step.title().to_owned(),
            done.map(|done| units::date(done.time_s)).unwrap_or_default(),
            done.map(|done| done.run.to_string()).unwrap_or_default(),
            done.map(|done| done.evidence.clone()).unwrap_or_default(),
        ]
    };
    Step::ALL.map(row).to_vec()
}

fn export(progress: &Progress, path: &Path) -> anyhow::Result<()> {
    let is_json = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
    let text = if is_json { progress.to_json() } else { progress.to_markdown() };
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
