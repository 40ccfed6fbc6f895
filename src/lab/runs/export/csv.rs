//! A report as a table for spreadsheets and data frames: a line a run, plain numbers, empty cells for what is not known.
//!
//! Never rounds, and never leaves a cell to a reader's guess: quotes, commas and line ends are those of RFC 4180, and no cell is a
//! formula.

use std::borrow::Cow;

use super::report::Report;
use crate::domain::device::DeviceKind;
use crate::domain::training::TrainingSpec;
use crate::domain::{safe, units};
use crate::runs::{Published, Row, RunRecord, RunSummary, Source};

const HEADING: [&str; 28] = [
    "kind",
    "source",
    "run",
    "name",
    "note",
    "state",
    "created",
    "np",
    "steps",
    "model",
    "data",
    "epochs",
    "epochs_done",
    "images_per_sec",
    "images_per_sec_high",
    "speedup",
    "scaling_efficiency",
    "not_comparable",
    "seconds_to_target",
    "speedup_to_target",
    "seconds",
    "device",
    "devices",
    "device_seconds",
    "exposed_communication",
    "validation_accuracy",
    "test_accuracy",
    "differences",
];

pub fn write(report: &Report) -> String {
    let mut table = ::csv::WriterBuilder::new().terminator(::csv::Terminator::CRLF).from_writer(Vec::new());
    let measured = report.runs.iter().map(|(row, run)| measured(row, run));
    let published = report.published.iter().flat_map(|source| source.rows.iter().map(|row| published(source, row)));
    let lines = std::iter::once(HEADING.map(String::from)).chain(measured).chain(published);
    for line in lines {
        // Into memory, and every line has as many cells as the heading: it cannot fail.
        let _ = table.write_record(line.iter().map(|cell| as_text(&safe::line(cell)).into_owned()));
    }
    table.into_inner().ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}

/// A spreadsheet takes what begins like a formula for one, and would run it: an apostrophe makes it a text. Numbers stay
/// numbers.
pub(super) fn as_text(cell: &str) -> Cow<'_, str> {
    let is_number = || cell.parse::<f64>().is_ok_and(f64::is_finite);
    // Some leave out the blanks before it.
    match cell.trim_start().starts_with(['=', '+', '-', '@']) && !is_number() {
        true => format!("'{cell}").into(),
        false => cell.into(),
    }
}

pub(super) fn number(value: Option<f64>) -> String {
    value.filter(|value| value.is_finite()).map(|value| value.to_string()).unwrap_or_default()
}

fn measured(row: &Row, run: &RunSummary) -> [String; 28] {
    let record = run.record.as_ref();
    let of = |text: &dyn Fn(&RunRecord) -> String| record.map(text).unwrap_or_default();
    let of_training = |text: &dyn Fn(&TrainingSpec) -> String| record.and_then(RunRecord::training).map(text).unwrap_or_default();
    let differences: Vec<String> =
        row.differences.iter().map(|one| format!("{} {} (not {})", one.label(), one.run, one.baseline)).collect();
    let device = run.devices.map(|devices| match devices.kind {
        DeviceKind::Gpu => "gpu",
        DeviceKind::Cpu => "cpu rank",
    });
    [
        "measured".into(),
        String::new(),
        run.id.to_string(),
        of(&|record| record.name.clone().unwrap_or_default()),
        of(&|record| record.note.clone().unwrap_or_default()),
        run.status.state.name().into(),
        of(&|record| units::date(record.created_s)),
        run.np_in_words().filter(|np| np != "?").unwrap_or_default(),
        of_training(&|training| training.steps.to_string()),
        of(&|record| record.spec.workload.title()),
        of(&|record| record.data_label.clone()),
        of_training(&|training| training.epochs.to_string()),
        run.last_epoch.to_string(),
        number(run.figures.images_per_sec),
        number(run.figures.images_per_sec),
        number(row.comparison.speedup),
        number(row.comparison.scaling_efficiency),
        row.not_comparable.unwrap_or_default().into(),
        number(run.figures.seconds_to_target),
        number(row.comparison.speedup_to_target),
        number(run.training_seconds),
        device.unwrap_or_default().into(),
        run.devices.map(|devices| devices.count.to_string()).unwrap_or_default(),
        number(row.device_seconds),
        number(run.exposed_communication),
        number(run.validation.map(|metrics| metrics.accuracy)),
        number(run.test.map(|metrics| metrics.accuracy)),
        differences.join("; "),
    ]
}

fn published(source: &Source, row: &Published) -> [String; 28] {
    let mut line: [String; 28] = std::array::from_fn(|_| String::new());
    let mut set = |name: &str, text: String| {
        if let Some(cell) = HEADING.iter().position(|heading| *heading == name) {
            line[cell] = text;
        }
    };
    set("kind", "published".into());
    set("source", format!("{} ({})", source.title, source.setting));
    set("name", row.label.clone());
    let counts = (row.rate().is_some_and(|rate| rate.ends_with("each"))).then(|| "images/s are those of one rank".to_owned());
    set("note", row.note.iter().cloned().chain(counts).collect::<Vec<_>>().join("; "));
    set("np", row.np.to_string());
    set("steps", row.steps.map(|steps| steps.to_string()).unwrap_or_default());
    set("epochs", row.epochs.map(|epochs| epochs.to_string()).unwrap_or_default());
    set("images_per_sec", number(row.images_per_sec.map(|[low, _]| low)));
    set("images_per_sec_high", number(row.images_per_sec.map(|[_, high]| high)));
    set("speedup", number(row.speedup));
    set("scaling_efficiency", number(row.scaling_efficiency()));
    set("speedup_to_target", number(row.speedup_to_target));
    set("seconds", number(row.seconds.map(|[_, high]| high)));
    set("test_accuracy", number(row.accuracy.filter(|[low, high]| low == high).map(|[_, high]| high)));
    line
}
