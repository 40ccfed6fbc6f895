//! `hvd-lab check`: what a run shows of each step.
//!
//! It judges by the events and logs of the run, not by source text.

use std::collections::BTreeMap;
use std::process::ExitCode;

use serde_json::json;

use super::named_run::run_id;
use super::output::{Usage, print_either, say, say_damaged};
use super::table::render;
use super::{findings, lessons};
use crate::course::{Judged, Verdict, judge};
use crate::domain::run::{RunState, RunStatus};
use crate::domain::step::Step;
use crate::exercise;
use crate::inspect::{Finding, Inspected, Outcome};
use crate::runs::{RunId, RunStore, busy_host};

const EXAMPLES: &str = "\
Examples:
  hvd-lab check                        the newest run
  hvd-lab check 7 --step 4             did its ranks start from the same weights?
  hvd-lab check 7 --json | jq -r '.verdicts[] | select(.outcome == \"failed\") | .evidence'

What passes with its step switched on is noted as seen, and together with a run of the same work without it as proven
(`hvd-lab progress`).
Of a run of another exercise: what it shows of each of its changes.
Of a run with --inspect: what its ranks did, by topic, the wrong ones first with the line of your program to change.
Of a run of collectives: whether its messages are those of the algorithm, and what was fastest where.
Exit code: 0 if every step that is on passed (with --step: that one), or the run has not failed and the inspector found nothing
wrong; 1 otherwise, also where no rank was inspected or the step could not be judged; 2 bad input.";

/// Judge each step by what a run did.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Number or name of the run [default: the newest].
    #[arg(value_parser = run_id)]
    run: Option<RunId>,
    /// One step only, on or off.
    #[arg(long, value_name = "N", value_parser = lessons::step)]
    step: Option<Step>,
    /// One JSON object.
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let home = RunStore::default_home()?;
    let store = RunStore::open(&home)?;
    let newest = || store.ids().last().copied().ok_or_else(|| Usage("no runs yet: `hvd-lab run` starts one".into()));
    let id = args.run.map_or_else(newest, Ok)?;
    let record = store.record(id)?;
    let status = store.status(id)?;
    if let Some(judged) = Inspected::read(&store, &record, status.state) {
        return inspected(&status, id, judged, args.step, args.json);
    }
    let why_not = if record.request.spec.command().is_some() {
        let verb = "`hvd-lab inspect -- PROGRAM` judges the ten steps in one";
        format!("is a program of your own that was started without the inspector: {verb}")
    } else if record.request.spec.collectives().is_some() {
        if args.step.is_none() {
            return super::collectives::check(&home, &store, id, args.json);
        }
        "measured collectives, which have no steps: leave out --step".into()
    } else if let Some(exercise) = &record.request.exercise {
        if args.step.is_none() {
            return places(&store, id, exercise, args.json);
        }
        format!("belongs to the exercise {exercise} and not to the ten steps: leave out --step")
    } else if let Some(benchmark) = record.request.spec.benchmark() {
        let model = benchmark.model;
        format!("is a benchmark of {model}, which has no steps to check: `hvd-lab compare` sets benchmarks side by side")
    } else if record.request.spec.nvcnn().is_some() {
        "is of `hvd-lab nvcnn`, which has no steps to switch: `hvd-lab compare` shows what it gained".into()
    } else {
        String::new()
    };
    if !why_not.is_empty() {
        return Err(Usage(format!("run {id} {why_not}")).into());
    }
    let Judged { record, verdicts, first, reading } = judge(&store, &home, id, args.step)?;
    let steps = record.training().map(|training| training.steps).unwrap_or_default();
    let row = |verdict: &Verdict| {
        let (number, outcome, evidence) = (verdict.number, verdict.outcome, &verdict.evidence);
        json!({ "step": number, "on": verdict.is_of(steps), "outcome": outcome, "evidence": evidence })
    };
    let whole = || {
        let rows: Vec<_> = verdicts.iter().map(row).collect();
        let levels: BTreeMap<_, _> = first.iter().map(|(level, steps)| (level.name(), *steps)).collect();
        json!({ "run": id, "np": record.np(), "steps": steps, "verdicts": rows, "first": levels })
    };
    let cells = |verdict: &Verdict| {
        let on = if verdict.is_of(steps) { "on" } else { "off" };
        vec![verdict.number.to_string(), on.to_owned(), verdict.outcome.name().to_owned(), verdict.evidence.clone()]
    };
    let disturbed = record.disturbed().map(|part| format!("run {id}: {}\n", busy_host::note(part))).unwrap_or_default();
    print_either(args.json, whole, || render(&["step", "", "verdict", "evidence"], verdicts.iter().map(cells)) + &disturbed)?;
    say_damaged([&store.summary(id)?]);
    reading.note.iter().for_each(|note| say(note));
    first.iter().for_each(|(level, steps)| say(&level.first_in_words(id, *steps, &reading.progress)));
    let counts = |verdict: &&Verdict| args.step.is_some() || verdict.is_of(steps);
    let all_passed = verdicts.iter().filter(counts).all(Verdict::has_passed);
    Ok(if all_passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints the findings in a program of the user's own.
fn inspected(
    status: &RunStatus,
    id: RunId,
    mut judged: Inspected,
    step: Option<Step>,
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    judged.findings.retain(|finding| step.is_none() || finding.topic.step() == step);
    let whole = || {
        let mut whole = findings::json(&judged);
        whole["run"] = json!(id);
        whole["state"] = json!(status.state);
        whole
    };
    print_either(as_json, whole, || match step {
        Some(step) if judged.findings.is_empty() && !judged.is_empty => {
            format!("run {id}: step {} was not judged: its ranks have reported nothing about it\n", step.number())
        }
        _ => findings::table(&judged),
    })?;
    let has_failed = status.state == RunState::Failed;
    if has_failed && !as_json {
        say(&format!("run {id} {}", status.end_in_words()));
    }
    let unjudged = |finding: &Finding| finding.outcome == Outcome::NotJudged;
    let has_verdict = if step.is_some() { !judged.findings.iter().all(unjudged) } else { !judged.is_empty };
    let is_fine = has_verdict && !has_failed && judged.wrong().next().is_none();
    Ok(if is_fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints the verdicts on the places of another exercise.
fn places(store: &RunStore, id: RunId, exercise: &str, as_json: bool) -> anyhow::Result<ExitCode> {
    let program = exercise::of_track(exercise).ok_or_else(|| {
        Usage(format!("run {id} belongs to the exercise {exercise}, which this version does not know: update hvd-lab"))
    })?;
    let all = program.shown(store, id)?;
    let row = |shown: &Verdict| json!({ "number": shown.number, "outcome": shown.outcome, "evidence": shown.evidence });
    let whole = || json!({ "run": id, "exercise": exercise, "verdicts": all.iter().map(row).collect::<Vec<_>>() });
    let cells = |shown: &Verdict| vec![shown.number.to_string(), shown.outcome.name().to_owned(), shown.evidence.clone()];
    print_either(as_json, whole, || render(&[program.noun, "verdict", "evidence"], all.iter().map(cells)))?;
    Ok(if all.iter().all(Verdict::has_passed) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
