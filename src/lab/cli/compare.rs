//! `hvd-lab compare`: put runs side by side.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use super::named_run::run_id;
use super::output::{Usage, print, print_exact, print_json_text, say_damaged};
use super::several::once;
use super::table::{or_dash, render};
use crate::domain::units;
use crate::inspect::{Inspected, Outcome, Topic};
use crate::runs::export::Format;
use crate::runs::{
    self, Measurement, Measurements, Published, Report, Row, RunId, RunRecord, RunStore, RunSummary, busy_host, references,
};

const EXAMPLES: &str = "\
Examples:
  hvd-lab compare                      all runs, against the oldest with the fewest ranks and a quiet machine
  hvd-lab compare 1 2 5                run 1 is the baseline
  hvd-lab compare --baseline 3 --json
  hvd-lab compare --out speedup.svg    a drawing against the ideal line; also .md, .csv, .json, .html and .tex
  hvd-lab compare --published          with published results, in extra rows
  hvd-lab compare 6 7                  two runs of collectives: time by algorithm and size

Throughput counts the images of all processes per second of training; validation and start-up are counted separately.
`waits` is exposed communication: the part of the training time that the processes spent waiting for gradients of others.
`device-s` is the training time multiplied by the number of GPUs, or of ranks on the CPU.";

/// Put runs side by side: speed-up, scaling efficiency, time to the target accuracy, and what differs.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Numbers or names of the runs; none for all that have trained an epoch.
    #[arg(value_parser = run_id)]
    ids: Vec<RunId>,
    /// The run that the others are measured against [default: the first one named].
    #[arg(long, value_name = "ID", value_parser = run_id)]
    baseline: Option<RunId>,
    /// Add rows with results that others published.
    #[arg(long)]
    published: bool,
    /// One JSON object: short for `--format json`.
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// md, csv, json, svg, html or tex [default: a table for people, or what the name of FILE ends in].
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
    /// Write it there.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace the file if it is there.
    #[arg(long, requires = "out")]
    force: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let store = RunStore::open_default()?;
    let out = args.out.filter(|file| !super::output::is_standard_output(file));
    let format = match (&args.format, &out) {
        (Some(format), _) => Some(*format),
        (None, _) if args.json => Some("json".parse().map_err(Usage)?),
        (None, Some(file)) => Some(Format::of(file).map_err(Usage)?),
        (None, None) => None,
    };
    // One that is named twice is compared once.
    let ids = once(args.ids.clone());
    if let (1, Some(id)) = (ids.len(), ids.first().filter(|_| args.ids.len() > 1)) {
        return Err(Usage(format!("run {id} cannot be compared with itself: name another run")).into());
    }
    let mut chosen = match ids.is_empty() {
        false => ids.iter().map(|id| store.summary(*id)).collect::<Result<Vec<_>, _>>()?,
        true => store.list().into_iter().filter(|run| run.figures.images_per_sec.is_some()).collect(),
    };
    let baseline = match (args.baseline, args.ids.first()) {
        (Some(id), _) | (None, Some(&id)) => store.summary(id)?,
        (None, None) => runs::baseline(chosen.iter()).cloned().ok_or_else(|| {
            Usage("no run has measured images/s yet: `hvd-lab run` starts one, or name the runs to compare".into())
        })?,
    };
    if !chosen.iter().any(|run| run.id == baseline.id) {
        chosen.insert(0, baseline.clone());
    }
    say_damaged(&chosen);
    let report = Report::new(&chosen, &baseline, if args.published { references() } else { &[] });
    let text = match measurements(&store, &chosen, &baseline)? {
        Some(all) => format.map_or_else(|| collectives(&all), |format| (format.collectives)(&all)),
        None => format.map_or_else(|| for_people(&report) + &objections(&store, &chosen), |format| (format.write)(&report)),
    };
    match out {
        None => {
            match format.map(|format| format.name) {
                None => print(&text)?,
                Some("json") => print_json_text(&text)?,
                // Made of cells that are safe; a table for a spreadsheet has line ends of its own.
                Some(_) => print_exact(&text)?,
            };
        }
        Some(file) => {
            super::output::save(&file, text.as_bytes(), args.force)?;
            print(&format!("wrote {}\n", file.display()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The runs as what they have measured, the baseline first, where all of them measure collectives.
fn measurements(store: &RunStore, chosen: &[RunSummary], baseline: &RunSummary) -> anyhow::Result<Option<Measurements>> {
    let others = chosen.iter().filter(|run| run.id != baseline.id);
    let records = std::iter::once(baseline).chain(others).map(|run| run.record.as_ref());
    let of_collectives: Option<Vec<&RunRecord>> =
        records.map(|record| record.filter(|record| record.request.spec.collectives().is_some())).collect();
    let Some(records) = of_collectives else { return Ok(None) };
    let read = |record: &RunRecord| Measurement::of(&store.folder(record.id), record.clone());
    Ok(Measurements::new(records.into_iter().map(read).collect::<Result<_, _>>()?))
}

/// Median times side by side, and how many times as fast as the baseline's.
fn collectives(all: &Measurements) -> String {
    let (_, others) = all.runs().split_at(1);
    let mut heading = vec!["algorithm".to_owned(), "size".to_owned(), format!("run {}", all.baseline().id)];
    heading.extend(others.iter().flat_map(|run| [format!("run {}", run.id), "faster".to_owned()]));
    let row = |(method, bytes): (&str, u64)| {
        let mut cells = vec![method.to_owned(), units::bytes(bytes)];
        for (place, run) in all.runs().iter().enumerate() {
            let cell = all.cell(run, method, bytes);
            cells.push(or_dash(cell.as_ref().map(|cell| units::short_time(cell.row.report.median_s))));
            if place > 0 {
                cells.push(or_dash(cell.and_then(|cell| cell.times_as_fast).map(times)));
            }
        }
        cells
    };
    let mut text = render(&heading.iter().map(String::as_str).collect::<Vec<_>>(), all.keys().into_iter().map(row));
    for run in all.runs() {
        let words = [Some(format!("np {}", run.measured.ranks)), run.spec.link()];
        let mut words = words.into_iter().flatten().collect::<Vec<_>>().join(", ");
        words += &all.not_comparable(run).map(|reason| format!(" (not compared: {reason})")).unwrap_or_default();
        text += &format!("run {}: {words}\n", run.id);
    }
    text
}

fn for_people(report: &Report) -> String {
    let heading =
        ["run", "np", "img/s", "speed-up", "efficiency", "waits", "to target", "sooner", "device-s", "accuracy", "differs in"];
    let mut text = render(&heading, report.runs.iter().map(|(row, run)| cells(row, run)));
    text.extend(busy_host::notes(report.runs.iter().map(|(_, run)| *run)).map(|note| format!("{note}\n")));
    for source in report.published {
        text.push_str(&format!("\npublished: {}\n{}\n", source.title, source.setting));
        let heading = ["result", "np", "img/s", "speed-up", "efficiency", "sooner", "total", "accuracy", ""];
        text.push_str(&render(&heading, source.rows.iter().map(published)));
    }
    text
}

/// A line for each run to which the inspector objects: its speed may be that of ranks that share nothing.
fn objections(store: &RunStore, chosen: &[RunSummary]) -> String {
    let of_run = |run: &RunSummary| objections_in(run.id, &Inspected::read(store, run.record.as_ref()?, run.status.state)?);
    chosen.iter().filter_map(of_run).collect()
}

fn objections_in(id: RunId, judged: &Inspected) -> Option<String> {
    let objections = judged.findings.iter().filter(|finding| finding.is_objection());
    let topics: BTreeSet<(Outcome, Topic)> = objections.map(|finding| (finding.outcome, finding.topic)).collect();
    let topics: Vec<String> = topics.iter().map(|(outcome, topic)| format!("`{}: {}`", topic.name(), outcome.name())).collect();
    (!topics.is_empty()).then(|| format!("run {id} shows {}: `hvd-lab check {id}`\n", topics.join(", ")))
}

fn times(ratio: f64) -> String {
    format!("{ratio:.2}x")
}

fn cells(row: &Row, run: &RunSummary) -> Vec<String> {
    let differs = row.differences.iter().map(ToString::to_string);
    let reasons = row.not_comparable.into_iter().chain(row.no_efficiency).map(|reason| format!("({reason})"));
    let differs: Vec<String> = reasons.chain(differs).collect();
    vec![
        run.id.to_string(),
        or_dash((run.figures.np > 0).then(|| run.figures.np.to_string())),
        or_dash(run.shown_rate()),
        or_dash(row.comparison.speedup.map(times)),
        or_dash(row.comparison.scaling_efficiency.map(units::percent)),
        or_dash(run.exposed_communication.map(|part| format!("{:.1} %", part * 100.0))),
        or_dash(run.figures.seconds_to_target.map(units::seconds)),
        or_dash(row.comparison.speedup_to_target.map(times)),
        or_dash(row.device_seconds.map(units::rate)),
        or_dash(run.shown_accuracy()),
        if row.is_baseline { "(baseline)".into() } else { differs.join(", ") },
    ]
}

fn published(row: &Published) -> Vec<String> {
    vec![
        row.label.clone(),
        row.np.to_string(),
        or_dash(row.rate()),
        or_dash(row.speedup.map(times)),
        or_dash(row.scaling_efficiency().map(units::percent)),
        or_dash(row.speedup_to_target.map(times)),
        or_dash(row.duration()),
        or_dash(row.test_accuracy()),
        if row.baseline { "(its baseline)".into() } else { row.note.clone().unwrap_or_default() },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::Finding;

    #[test]
    fn each_objection_of_the_inspector_is_named() {
        let judged = |all: &[(Topic, Outcome)]| {
            let finding = |(topic, outcome): &(Topic, Outcome)| Finding::new(*topic, *outcome, String::new());
            Inspected { findings: all.iter().map(finding).collect(), ..Inspected::default() }
        };
        let fine = [(Topic::Ranks, Outcome::Ok), (Topic::Hang, Outcome::NotJudged)];
        assert_eq!(objections_in(RunId(3), &judged(&fine)), None);
        let both = judged(&[(Topic::Rate, Outcome::Look), (Topic::Data, Outcome::Wrong), fine[0]]);
        let said = "run 3 shows `data: wrong`, `rate: look at this`: `hvd-lab check 3`\n".replace("rate", Topic::Rate.name());
        assert_eq!(objections_in(RunId(3), &both), Some(said));
    }
}
