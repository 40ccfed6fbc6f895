//! `hvd-lab class`: who of a class is at which step, stuck or done.
//!
//! Never writes to the folder of the class, and never sees anyone's code: progress files hold steps and times.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use super::interrupt::print_changes;
use super::output::{Usage, print_json_done};
use super::table::{or_dash, render};
use crate::course::{Class, Level, Standing, State};
use crate::domain::step::Step;
use crate::domain::units;
use crate::host;

const EXAMPLES: &str = "\
Examples:
  hvd-lab class /srv/class
  hvd-lab class /srv/class --watch
  hvd-lab class /srv/class --json | jq -r '.learners[] | select(.state == \"stuck\") | .learner'

Each learner shares once, and every change after it is copied there:
  hvd-lab progress --share /srv/class --name Ada      or HVD_LAB_CLASS=/srv/class in the class's environment

Reads DIR/NAME.json and DIR/NAME/progress.json: progress files, or reports made by `hvd-lab report --format json`.

steps       one mark for each: w written, p proven, ! failed so far, s seen, . open (`hvd-lab progress --help` says what these are)
done        all ten steps proven or written
stuck       no progress for 20 minutes, and a check has failed since. Stuck learners come first
working     all others who have started";

/// Looked at again so often with --watch.
const AGAIN: Duration = Duration::from_secs(2);

/// Show which step each learner of a class has reached, and who is stuck or done.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The folder that learners share their progress in.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// One JSON object.
    #[arg(long)]
    json: bool,
    /// Show it again at every change, until Ctrl-C.
    #[arg(long, conflicts_with = "json")]
    watch: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let read = || {
        Class::read(&args.folder, host::now_s())
            .map_err(|error| Usage(format!("cannot read the class's folder {}: {error}", args.folder.display())))
    };
    if args.json {
        return print_json_done(&as_json(&read()?));
    }
    print_changes(args.watch, AGAIN, || Ok(describe(&read()?, &args.folder)))
}

fn as_json(class: &Class) -> serde_json::Value {
    let totals = Step::ALL.map(|step| {
        let (counts, failing) = class.totals(step);
        let mut row = serde_json::json!({ "step": step.number(), "failing": failing });
        Level::ALL.into_iter().zip(counts).for_each(|(level, count)| row[level.name()] = count.into());
        row
    });
    serde_json::json!({
        "class": 1,
        "learners": class.learners,
        "totals": totals,
        "problems": class.problems,
    })
}

fn describe(class: &Class, folder: &Path) -> String {
    let mut text = String::new();
    if class.learners.is_empty() {
        text += &format!("no learner in {} yet: `hvd-lab progress --share DIR` shares a learner's progress\n", folder.display());
    } else {
        let heading = ["learner", "1234567890", "written", "predicted", "next", "last seen", "state"];
        text += &render(&heading, class.learners.iter().map(cells));
        let totals = Step::ALL.map(|step| {
            let (counts, failing) = class.totals(step);
            let counts = counts.into_iter().chain([failing]).map(|count| count.to_string());
            [step.number().to_string(), step.title().to_owned()].into_iter().chain(counts).collect()
        });
        let heading = [["step", "title"].as_slice(), &Level::ALL.map(Level::name), &["failing"]].concat();
        text += &format!("\n{}\n", render(&heading, totals));
        let counts = State::ALL.map(|state| (class.count(state), state.name()));
        let counts: Vec<String> =
            counts.iter().filter(|(count, _)| *count > 0).map(|(count, name)| format!("{count} {name}")).collect();
        text += &format!("{}: {}\n", units::counted(class.learners.len(), "learner"), counts.join(", "));
        for learner in class.learners.iter().filter(|learner| learner.state == State::Stuck) {
            for failing in &learner.failing {
                let runs = units::counted(failing.runs, "run");
                text += &format!("{} is stuck at step {} ({runs}): {}\n", learner.learner, failing.step, failing.evidence);
            }
        }
    }
    for learner in &class.learners {
        learner.collectives.iter().for_each(|line| text += &format!("{}, {line}\n", learner.learner));
    }
    class.problems.iter().for_each(|problem| text += &format!("left out: {problem}\n"));
    text
}

fn cells(learner: &Standing) -> Vec<String> {
    let next = learner.next.and_then(Step::from_number);
    vec![
        learner.learner.clone(),
        learner.marks(),
        format!("{}/10", learner.count(Level::Written)),
        format!("{}/10", learner.count(Level::Predicted)),
        or_dash(next.map(|step| format!("step {}: {}", step.number(), step.title()))),
        or_dash(learner.idle_s.map(units::ago)),
        learner.state.name().to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::course::STUCK_S;

    #[test]
    fn the_help_says_when_someone_is_stuck() {
        assert!(EXAMPLES.contains(&format!("no progress for {:.0} minutes", STUCK_S / 60.0)));
    }
}
