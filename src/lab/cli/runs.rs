//! `hvd-lab runs`: list, name and delete runs; their ranks and what these printed.
//!
//! Never draws a screen, and never removes a run for good unless told so twice.

mod ranks;

use std::process::ExitCode;

use super::confirm::confirm;
use super::output::{Usage, print_done, print_json_done};
use super::several::{each, once};
use super::table::{or_dash, render};
use crate::domain::{printable, units};
use crate::host;
use crate::runs::{Deleted, Filter, RunId, RunStore, RunSummary, SortKey, busy_host, select};

const EXAMPLES: &str = "\
Examples:
  hvd-lab runs
  hvd-lab runs --filter 'np:2 !failed' --sort img/s
  hvd-lab runs name 7 'two ranks, no warm-up'
  hvd-lab runs delete 3 4                   to the trash; `hvd-lab runs restore 3` brings it back
  hvd-lab runs ranks 7                      its ranks by host, those that failed first
  hvd-lab runs log 7 317                    what rank 317 printed
  hvd-lab runs --json | jq '.[-1].figures.images_per_sec'

A filter is a list of words that must all match. Put `!` before a word that must not match. `np:2` looks in one field: run, \
state, np, steps, \
model, precision, data, preset, host, name, note.";

/// List the runs.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    verb: Option<RunsVerb>,
    /// Only runs that match all these words.
    #[arg(long, value_name = "WORDS", default_value = "", hide_default_value = true)]
    filter: String,
    /// run, np, img/s, time, to-target, accuracy, device-s, state or name: best first [default: oldest run first].
    #[arg(long, value_name = "KEY")]
    sort: Option<SortKey>,
    /// The other way round.
    #[arg(long)]
    reverse: bool,
    /// One JSON array with everything that is known about each run.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum RunsVerb {
    /// Name a run. Without a name, remove its name.
    Name { id: RunId, name: Vec<String> },
    /// Write a note for a run. Without a text, remove the note.
    Note { id: RunId, text: Vec<String> },
    /// List the ranks of a run by host: those that failed first, then hosts that are silent.
    Ranks {
        id: RunId,
        /// One JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Print what a rank of a run printed.
    Log { id: RunId, rank: usize },
    /// Move runs to the trash, from where they can be restored.
    Delete {
        #[arg(required = true)]
        ids: Vec<RunId>,
    },
    /// Bring runs back from the trash; without a number the one deleted last.
    Restore { ids: Vec<RunId> },
    /// List what is in the trash.
    Trash,
    /// Remove for good what is in the trash (asks first).
    EmptyTrash {
        /// Only runs that were deleted so many days ago or earlier.
        #[arg(long, value_name = "DAYS", default_value_t = 0.0, value_parser = days, allow_negative_numbers = true)]
        older_than: f64,
        /// Do not ask.
        #[arg(long)]
        yes: bool,
    },
}

/// A number from 0.
fn days(text: &str) -> Result<f64, String> {
    let days = text.parse().ok().filter(|days: &f64| days.is_finite() && *days >= 0.0);
    days.ok_or_else(|| "expected a number of days, such as 7 or 0.5".into())
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let store = RunStore::open_default()?;
    match args.verb {
        None => list(&store, &args),
        Some(RunsVerb::Name { id, name }) => {
            store.set_name(id, &name.join(" "))?;
            let name = store.record(id)?.request.name;
            print_done(&name.map_or(format!("run {id} has no name now\n"), |name| format!("run {id} is now `{name}`\n")))
        }
        Some(RunsVerb::Note { id, text }) => {
            store.set_note(id, &text.join(" "))?;
            let note = store.record(id)?.request.note;
            print_done(&note.map_or(format!("run {id} has no note now\n"), |note| format!("note of run {id}: {note}\n")))
        }
        Some(RunsVerb::Ranks { id, json }) => ranks::list(&store, id, json),
        Some(RunsVerb::Log { id, rank }) => ranks::log(&store, id, rank),
        Some(RunsVerb::Delete { ids }) => each(once(ids), |id| {
            store.delete(id)?;
            Ok(format!("run {id} is in the trash: `hvd-lab runs restore {id}` brings it back\n"))
        }),
        Some(RunsVerb::Restore { ids }) => {
            let wanted: Vec<Option<RunId>> = if ids.is_empty() { vec![None] } else { once(ids).into_iter().map(Some).collect() };
            each(wanted, |id| Ok(format!("run {} is back\n", store.restore(id)?)))
        }
        Some(RunsVerb::Trash) => trash(&store.deleted()),
        Some(RunsVerb::EmptyTrash { older_than, yes }) => empty(&store, older_than, yes),
    }
}

fn list(store: &RunStore, args: &Args) -> anyhow::Result<ExitCode> {
    let filter = Filter::of_known_fields(&args.filter).map_err(Usage)?;
    let all = store.list();
    // The last line of a terminal is the one that is seen: the newest run, unless an order is asked for.
    let runs = select(&all, &filter, args.sort.unwrap_or_default(), args.reverse != args.sort.is_none());
    if args.json {
        return print_json_done(&runs);
    }
    if all.is_empty() {
        return print_done("no runs yet: `hvd-lab run` starts one\n");
    }
    if runs.is_empty() {
        return print_done(&format!("none of {} runs matches `{}`\n", all.len(), filter.text()));
    }
    let heading = ["run", "state", "np", "steps", "epochs", "model", "images", "img/s", "accuracy", "training", "name"];
    let mut text = render(&heading, runs.iter().map(|run| cells(run)));
    for (run, place) in runs.iter().filter_map(|run| Some((run.id, run.elsewhere.as_ref()?))) {
        text += &format!("run {run} cannot be reached: it may still be running {place}\n");
    }
    for run in runs.iter().filter(|run| run.record.is_none()) {
        text += &format!("run {}: {}\n", run.id, printable::line(&run.status.message));
    }
    text.extend(busy_host::notes(runs.iter().copied()).map(|note| note + "\n"));
    for (run, damaged) in runs.iter().filter_map(|run| Some((run.id, run.damaged.as_ref()?))) {
        text += &format!("run {run}: {damaged}\n");
    }
    print_done(&text)
}

fn cells(run: &RunSummary) -> Vec<String> {
    let record = run.record.as_ref();
    let training = record.and_then(|record| record.training());
    vec![
        run.id.to_string(),
        run.status.state.name().to_owned(),
        or_dash(run.np_in_words()),
        or_dash(training.map(|training| training.steps.to_string())),
        or_dash(run.epochs_in_words()),
        or_dash(record.map(|record| record.request.spec.workload.title())),
        or_dash(training.and(record).map(|record| record.data_label.clone())),
        or_dash(run.shown_rate()),
        or_dash(run.shown_accuracy()),
        or_dash(run.training_seconds.map(units::seconds)),
        record.and_then(|record| record.request.name.clone()).unwrap_or_default(),
    ]
}

fn trash(deleted: &[Deleted]) -> anyhow::Result<ExitCode> {
    if deleted.is_empty() {
        return print_done("the trash is empty\n");
    }
    let cells = deleted.iter().map(|run| {
        let name = run.name.clone().unwrap_or_default();
        vec![run.id.to_string(), units::date(run.deleted_s), units::bytes(run.bytes()), name]
    });
    print_done(&render(&["run", "deleted", "size", "name"], cells))
}

fn empty(store: &RunStore, older_than: f64, yes: bool) -> anyhow::Result<ExitCode> {
    let until = host::now_s() - older_than * 86_400.0;
    let old: Vec<Deleted> = store.deleted().into_iter().filter(|run| run.deleted_s <= until).collect();
    if old.is_empty() {
        return print_done("nothing in the trash to remove\n");
    }
    let numbers: Vec<String> = old.iter().map(|run| run.id.to_string()).collect();
    let what = format!("run {} ({})", numbers.join(", "), units::bytes(old.iter().map(Deleted::bytes).sum()));
    if !yes && !confirm(&format!("Remove {what} for good?"))? {
        return Ok(ExitCode::FAILURE);
    }
    store.empty_trash(&old)?;
    print_done(&format!("removed {what}\n"))
}
