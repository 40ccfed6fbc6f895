//! `hvd-lab progress`: what a learner has done so far.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::lessons;
use super::output::{Usage, say};
use super::table::{or_dash, render};
use crate::course::{self, Level, Progress, ProgressFile, Share};
use crate::domain::printable;
use crate::domain::step::Step;
use crate::runs::RunStore;

const EXAMPLES: &str = "\
Examples:
  hvd-lab progress
  hvd-lab progress --json | jq '.done | keys'
  hvd-lab progress --export progress.md      for people; --export progress.json for programs
  hvd-lab progress --reset 4                 forget step 4; `--reset all`: everything
  hvd-lab progress --share /srv/class        `hvd-lab class` shows how far you are
  hvd-lab progress --share none              stop sharing

seen        a run passed the check of the step
predicted   the lesson's question was answered before that run, or before the two new runs that prove the step
proven      the same work was run without the step and with it
written     your own program passed the check (`hvd-lab exercise`)

The lab shares steps, times and what the checks said, in FOLDER/NAME.json. It never shares code. HVD_LAB_CLASS=FOLDER does \
the same.";

/// How far you are with each step: seen, predicted, proven, written.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Forget one step, or all.
    #[arg(long, value_name = "STEP|all", conflicts_with = "export")]
    reset: Option<String>,
    /// Write it as Markdown, or as JSON where the name ends in .json.
    #[arg(long, value_name = "FILE")]
    export: Option<PathBuf>,
    /// Replace the file of --export if it is there.
    #[arg(long, requires = "export")]
    force: bool,
    /// One JSON object.
    #[arg(long, conflicts_with_all = ["export", "reset", "share"])]
    json: bool,
    /// Copy your progress to this folder at every change, for the instructor. `none` stops it.
    #[arg(long, value_name = "DIR|none", conflicts_with_all = ["export", "reset"])]
    share: Option<PathBuf>,
    /// Your name in the class [default: your login name].
    #[arg(long, value_name = "NAME", requires = "share")]
    name: Option<String>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let home = RunStore::default_home()?;
    let file = ProgressFile::of(&home);
    if let Some(folder) = &args.share {
        return share(&home, &file, folder, args.name.as_deref());
    }
    let reading = match &args.reset {
        None => file.read()?,
        Some(what) => reset(&file, what)?,
    };
    reading.note.iter().for_each(|note| say(note));
    match &args.export {
        Some(path) => export(&reading.progress, path, args.force)?,
        None if args.json => _ = super::output::print_json_text(&reading.progress.to_json())?,
        None => {
            let names = Level::ALL.map(Level::name);
            let heading = [["step", "title"].as_slice(), &names, &["evidence"]].concat();
            super::output::print(&render(&heading, Step::ALL.map(|step| cells(step, &reading.progress))))?;
            super::output::print(&format!("{}\n", reading.progress.in_words()))?;
            let practice: String = reading.progress.practice().iter().map(|line| format!("{line}\n")).collect();
            super::output::print(&practice)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn reset(file: &ProgressFile, what: &str) -> anyhow::Result<course::Reading> {
    let step = match what {
        "all" => None,
        number => Some(
            lessons::step(number)
                .map_err(|_| Usage(format!("`{number}` is not a step: use --reset with a number from 1 to 10, or all")))?,
        ),
    };
    let change = |progress: &mut Progress| match step {
        Some(step) => progress.reset(step),
        None => *progress = Progress::default(),
    };
    Ok(file.update(change)?.1)
}

fn share(home: &Path, file: &ProgressFile, folder: &Path, name: Option<&str>) -> anyhow::Result<ExitCode> {
    if folder.as_os_str() == "none" {
        Share::keep(home, None)?;
        return super::output::print_done(
            "your progress is no longer shared. You can remove the copy in the folder of the class\n",
        );
    }
    let absolute = folder.canonicalize().ok().filter(|folder| folder.is_dir());
    let folder = absolute
        .ok_or_else(|| Usage(format!("{} is not a folder: ask your instructor for the folder of the class", folder.display())))?;
    if folder.to_str().is_none() {
        let what = format!("the name of the folder {folder:?} is not UTF-8 text, so the lab cannot store it: use another one");
        return Err(Usage(what).into());
    }
    let learner = match name {
        Some(name) => course::file_name(name)
            .ok_or_else(|| Usage(format!("`{}` is not a name: use letters and digits", printable::excerpt(name))))?,
        None => course::login_name().ok_or_else(|| Usage("say who you are: add --name NAME".into()))?,
    };
    let share = Share { folder, learner };
    share.copy(home, &file.read()?.progress).map_err(Usage)?;
    Share::keep(home, Some(&share))?;
    super::output::print_done(&format!("shared as {}: it is copied there at every change\n", share.path().display()))
}

fn cells(step: Step, progress: &Progress) -> Vec<String> {
    let levels = progress.cells(step).map(|cell| or_dash(Some(cell).filter(|cell| !cell.is_empty())));
    let [number, title] = [step.number().to_string(), step.title().to_owned()];
    [number, title].into_iter().chain(levels).chain([progress.evidence(step).unwrap_or_default().to_owned()]).collect()
}

fn export(progress: &Progress, path: &Path, force: bool) -> anyhow::Result<()> {
    let is_json = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
    let text = if is_json { progress.to_json() } else { progress.to_markdown() };
    super::output::save(path, text.as_bytes(), force)
}
