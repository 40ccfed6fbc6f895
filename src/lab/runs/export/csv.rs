//! A report as a table for spreadsheets and data frames: a line a run, plain numbers, empty cells for what is not known.
//!
//! Never rounds, and never leaves a cell to a reader's guess: quotes, commas and line ends are those of RFC 4180, and no cell is a
//! formula.

use std::borrow::Cow;

use super::report::Report;
use crate::domain::device::DeviceKind;
use crate::domain::training::TrainingSpec;
use crate::domain::{printable, units};
use crate::runs::{Published, Row, RunRecord, RunSummary, Source};

/// A column: its heading, and its cell for a measured run.
type Column = (&'static str, fn(&Row, &RunSummary) -> String);

static COLUMNS: [Column; 28] = [
    ("kind", |_, _| "measured".into()),
    ("source", |_, _| String::new()),
    ("run", |_, run| run.id.to_string()),
    ("name", |_, run| of_record(run, |record| record.name.clone())),
    ("note", |_, run| of_record(run, |record| record.note.clone())),
    ("state", |_, run| run.status.state.name().into()),
    ("created", |_, run| of_record(run, |record| Some(units::date(record.created_s)))),
    ("np", |_, run| run.np_in_words().filter(|np| np != "?").unwrap_or_default()),
    ("steps", |_, run| of_training(run, |training| training.steps.to_string())),
    ("model", |_, run| of_record(run, |record| Some(record.spec.workload.title()))),
    ("data", |_, run| of_record(run, |record| Some(record.data_label.clone()))),
    ("epochs", |_, run| of_training(run, |training| training.epochs.to_string())),
    ("epochs_done", |_, run| run.last_epoch.to_string()),
    ("images_per_sec", |_, run| number(run.figures.images_per_sec)),
    ("images_per_sec_high", |_, run| number(run.figures.images_per_sec)),
    ("speedup", |row, _| number(row.comparison.speedup)),
    ("scaling_efficiency", |row, _| number(row.comparison.scaling_efficiency)),
    ("not_comparable", |row, _| row.not_comparable.unwrap_or_default().into()),
    ("seconds_to_target", |_, run| number(run.figures.seconds_to_target)),
    ("speedup_to_target", |row, _| number(row.comparison.speedup_to_target)),
    ("seconds", |_, run| number(run.training_seconds)),
    ("device", |_, run| {
        run.devices.map_or("", |devices| if devices.kind == DeviceKind::Gpu { "gpu" } else { "cpu rank" }).into()
    }),
    ("devices", |_, run| text(run.devices.map(|devices| devices.count))),
    ("device_seconds", |row, _| number(row.device_seconds)),
    ("exposed_communication", |_, run| number(run.exposed_communication)),
    ("validation_accuracy", |_, run| number(run.validation.map(|metrics| metrics.accuracy))),
    ("test_accuracy", |_, run| number(run.test.map(|metrics| metrics.accuracy))),
    ("differences", |row, _| row.differences.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")),
];

pub fn write(report: &Report) -> String {
    let measured = report.runs.iter().map(|(row, run)| COLUMNS.iter().map(|(_, cell)| cell(row, run)).collect());
    let published = report.published.iter().flat_map(|source| source.rows.iter().map(|row| published(source, row)));
    table(COLUMNS.iter().map(|(heading, _)| *heading), measured.chain(published))
}

/// A heading and lines of as many cells.
pub(super) fn table<'a>(heading: impl Iterator<Item = &'a str>, lines: impl Iterator<Item = Vec<String>>) -> String {
    let mut table = ::csv::WriterBuilder::new().terminator(::csv::Terminator::CRLF).from_writer(Vec::new());
    for line in std::iter::once(heading.map(String::from).collect()).chain(lines) {
        // Into memory, and every line has as many cells as the heading: it cannot fail.
        let _ = table.write_record(line.iter().map(|cell| as_text(&printable::line(cell)).into_owned()));
    }
    table.into_inner().ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}

/// A spreadsheet takes what begins like a formula for one, and would run it: an apostrophe makes it a text. Numbers stay
/// numbers.
fn as_text(cell: &str) -> Cow<'_, str> {
    let is_number = || cell.parse::<f64>().is_ok_and(f64::is_finite);
    // Some leave out the blanks before it.
    let is_formula = cell.trim_start().starts_with(['=', '+', '-', '@']) && !is_number();
    if is_formula { format!("'{cell}").into() } else { cell.into() }
}

pub(super) fn number(value: Option<f64>) -> String {
    text(value.filter(|value| value.is_finite()))
}

pub(super) fn text(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

fn of_record(run: &RunSummary, cell: impl Fn(&RunRecord) -> Option<String>) -> String {
    run.record.as_ref().and_then(cell).unwrap_or_default()
}

fn of_training(run: &RunSummary, cell: impl Fn(&TrainingSpec) -> String) -> String {
    of_record(run, |record| record.training().map(&cell))
}

fn published(source: &Source, row: &Published) -> Vec<String> {
    let counts = row.rate().is_some_and(|rate| rate.ends_with("each")).then(|| "images/s are those of one rank".to_owned());
    let cell = |heading: &str| match heading {
        "kind" => "published".into(),
        "source" => format!("{} ({})", source.title, source.setting),
        "name" => row.label.clone(),
        "note" => row.note.iter().cloned().chain(counts.clone()).collect::<Vec<_>>().join("; "),
        "np" => row.np.to_string(),
        "steps" => text(row.steps),
        "epochs" => text(row.epochs),
        "images_per_sec" => number(row.images_per_sec.map(|[low, _]| low)),
        "images_per_sec_high" => number(row.images_per_sec.map(|[_, high]| high)),
        "speedup" => number(row.speedup),
        "scaling_efficiency" => number(row.scaling_efficiency()),
        "speedup_to_target" => number(row.speedup_to_target),
        "seconds" => number(row.seconds.map(|[_, high]| high)),
        "test_accuracy" => number(row.exact_accuracy()),
        _ => String::new(),
    };
    COLUMNS.iter().map(|(heading, _)| cell(heading)).collect()
}
