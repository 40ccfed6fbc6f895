//! A report as a table for spreadsheets and data frames: a line a run, plain numbers, empty cells for what is not known.
//!
//! Never rounds, and never leaves a cell to a reader's guess: quotes, commas and line ends are those of RFC 4180, and no cell is a
//! formula.

use std::borrow::Cow;

use crate::domain::device::DeviceKind;
use crate::domain::training::TrainingSpec;
use crate::domain::{printable, units};
use crate::runs::references::Counts;
use crate::runs::{Published, Report, Row, RunRecord, RunSummary, Source};

/// A column: its heading, its cell for a measured run, and its cell for a published result.
type Column = (&'static str, fn(&Row, &RunSummary) -> String, fn(&Source, &Published) -> String);

static COLUMNS: [Column; 28] = [
    ("kind", |_, _| "measured".into(), |_, _| "published".into()),
    ("source", |_, _| String::new(), |source, _| format!("{} ({})", source.title, source.setting)),
    ("run", |_, run| run.id.to_string(), unknown),
    ("name", |_, run| of_record(run, |record| record.request.name.clone()), |_, row| row.label.clone()),
    ("note", |_, run| of_record(run, |record| record.request.note.clone()), |_, row| published_note(row)),
    ("state", |_, run| run.status.state.name().into(), unknown),
    ("created", |_, run| of_record(run, |record| Some(units::date(record.created_s))), unknown),
    ("np", |_, run| run.np_in_words().filter(|np| np != "?").unwrap_or_default(), |_, row| row.np.to_string()),
    ("steps", |_, run| of_training(run, |training| training.steps.to_string()), |_, row| text(row.steps)),
    ("model", |_, run| of_record(run, |record| Some(record.request.spec.workload.title())), unknown),
    ("data", |_, run| of_record(run, |record| Some(record.data_label.clone())), unknown),
    ("epochs", |_, run| of_training(run, |training| training.epochs.to_string()), |_, row| text(row.epochs)),
    ("epochs_done", |_, run| run.last_epoch.to_string(), unknown),
    ("images_per_sec", |_, run| number(run.figures.images_per_sec), |_, row| number(row.images_per_sec.map(|[low, _]| low))),
    (
        "images_per_sec_high",
        |_, run| number(run.figures.images_per_sec),
        |_, row| number(row.images_per_sec.map(|[_, high]| high)),
    ),
    ("speedup", |row, _| number(row.comparison.speedup), |_, row| number(row.speedup)),
    ("scaling_efficiency", |row, _| number(row.comparison.scaling_efficiency), |_, row| number(row.scaling_efficiency())),
    ("not_comparable", |row, _| row.not_comparable.unwrap_or_default().into(), unknown),
    ("seconds_to_target", |_, run| number(run.figures.seconds_to_target), unknown),
    ("speedup_to_target", |row, _| number(row.comparison.speedup_to_target), |_, row| number(row.speedup_to_target)),
    ("seconds", |_, run| number(run.training_seconds), |_, row| number(row.seconds.map(|[_, high]| high))),
    (
        "device",
        |_, run| text(run.devices.map(|devices| if devices.kind == DeviceKind::Gpu { "gpu" } else { "cpu rank" })),
        unknown,
    ),
    ("devices", |_, run| text(run.devices.map(|devices| devices.count)), unknown),
    ("device_seconds", |row, _| number(row.device_seconds), unknown),
    ("exposed_communication", |_, run| number(run.exposed_communication), unknown),
    ("validation_accuracy", |_, run| number(run.validation.map(|metrics| metrics.accuracy)), unknown),
    ("test_accuracy", |_, run| number(run.test.map(|metrics| metrics.accuracy)), |_, row| number(row.exact_accuracy())),
    ("differences", |row, _| row.differences.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "), unknown),
];

pub fn write(report: &Report) -> String {
    let measured = report.runs.iter().map(|(row, run)| COLUMNS.iter().map(|(_, cell, _)| cell(row, run)).collect());
    let results = report.published.iter().flat_map(|source| source.rows.iter().map(move |row| (source, row)));
    let published = results.map(|(source, row)| COLUMNS.iter().map(|(.., cell)| cell(source, row)).collect());
    table(COLUMNS.iter().map(|(heading, ..)| *heading), measured.chain(published))
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

/// A column that published results leave empty.
fn unknown(_: &Source, _: &Published) -> String {
    String::new()
}

fn published_note(row: &Published) -> String {
    let counts = (row.counts == Counts::OneRank && row.images_per_sec.is_some()).then_some("images/s are those of one rank");
    row.note.as_deref().into_iter().chain(counts).collect::<Vec<_>>().join("; ")
}
