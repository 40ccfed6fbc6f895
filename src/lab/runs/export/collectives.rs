//! Runs of collectives as files: a line for each run, method and size, and a drawing of time by size.

mod drawing;

use serde_json::{Value, json};

use super::csv::{number, table, text};
use crate::domain::{markup, units};
use crate::runs::measurement::{Cell, Measurement, Measurements, row_json};
pub use drawing::write as svg;

/// A column: its heading, and its cell for a method at one size in one run.
type Column = (&'static str, fn(&Cell) -> String);

static COLUMNS: [Column; 19] = [
    ("run", |cell| cell.run.id.to_string()),
    ("name", |cell| cell.run.record.request.name.clone().unwrap_or_default()),
    ("np", |cell| cell.run.measured.ranks.to_string()),
    ("link", |cell| cell.run.spec.link().unwrap_or_default()),
    ("algorithm", |cell| cell.row.report.method.clone()),
    ("bytes", |cell| cell.row.report.bytes.to_string()),
    ("elements", |cell| cell.row.report.elements.to_string()),
    ("iterations", |cell| cell.row.report.iterations.to_string()),
    ("mean_s", |cell| number(Some(cell.row.report.mean_s))),
    ("median_s", |cell| number(Some(cell.row.report.median_s))),
    ("min_s", |cell| number(Some(cell.row.report.min_s))),
    ("max_s", |cell| number(Some(cell.row.report.max_s))),
    ("algbw", |cell| number(Some(cell.row.report.algbw()))),
    ("busbw", |cell| number(Some(cell.row.report.busbw(cell.run.measured.ranks)))),
    ("wrong", |cell| text(cell.row.report.wrong)),
    ("predicted_s", |cell| number(cell.row.predicted_s.ok())),
    ("error", |cell| number(cell.row.error())),
    ("no_prediction", |cell| text(cell.row.predicted_s.err())),
    ("times_as_fast", |cell| number(cell.times_as_fast)),
];

pub fn csv(all: &Measurements) -> String {
    let lines = all.cells().map(|cell| COLUMNS.iter().map(|(_, text)| text(&cell)).collect());
    table(COLUMNS.iter().map(|(heading, _)| *heading), lines)
}

pub fn json(all: &Measurements) -> String {
    let row = |cell: Cell| {
        let mut value = row_json(cell.row, cell.run.measured.ranks);
        value["times_as_fast"] = json!(cell.times_as_fast);
        value
    };
    let run = |run: &Measurement| {
        let rows: Vec<Value> = all.cells().filter(|cell| cell.run.id == run.id).map(row).collect();
        json!({ "run": run.record, "link": run.spec.link(), "not_comparable": all.not_comparable(run), "rows": rows })
    };
    let runs: Vec<Value> = all.runs().iter().map(run).collect();
    format!("{:#}\n", json!({ "baseline": all.baseline().id, "runs": runs }))
}

pub fn markdown(all: &Measurements) -> String {
    let mut text = match all.runs() {
        [only] => format!("# Collectives of run {}\n\n", only.id),
        _ => format!("# Collectives compared with run {}\n\n", all.baseline().id),
    };
    for run in all.runs() {
        let words = [
            Some(format!("np {}", run.measured.ranks)),
            run.record.request.name.clone(),
            run.spec.link(),
            all.not_comparable(run),
        ];
        let words: Vec<String> = words.into_iter().flatten().collect();
        text += &format!("- run {}: {}\n", run.id, markup::markdown(&words.join(", ")));
    }
    text.push('\n');
    text += &markup::table(&HEADING, rows(all));
    text += "\nfaster: the baseline's median time over this one. Predictions follow each schedule round by round, from messages \
             between two ranks.\n";
    text
}

pub(super) const HEADING: [&str; 8] = ["run", "algorithm", "size", "median", "busbw GB/s", "predicted", "error", "faster"];

/// As people read them.
pub(super) fn rows(all: &Measurements) -> impl Iterator<Item = Vec<String>> {
    all.cells().map(|cell| {
        let report = &cell.row.report;
        let dash = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
        vec![
            cell.run.id.to_string(),
            report.method.clone(),
            units::bytes(report.bytes),
            units::short_time(report.median_s),
            units::figure(report.busbw(cell.run.measured.ranks) / 1e9),
            dash(cell.row.predicted_s.ok().map(units::short_time)),
            dash(cell.row.error().map(|error| format!("{:+.0} %", error * 100.0))),
            dash(cell.times_as_fast.map(|ratio| format!("{ratio:.2}x"))),
        ]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::collective::{AllreduceReport, CollectivesSpec, Refused};
    use crate::domain::job::{Job, Resources, Workload};
    use crate::domain::measured::{Measured, MeasuredRow};
    use crate::runs::export::FORMATS;
    use crate::runs::{RunId, RunRecord, RunRequest};

    fn run(id: u32, np: usize, seconds: f64) -> Measurement {
        let spec = CollectivesSpec { link_bits: (id == 2).then_some(200_000_000), ..CollectivesSpec::sample() };
        let workload = Workload::Collectives(spec.clone());
        let record = RunRecord {
            id: RunId(id),
            request: RunRequest {
                name: Some("a | <b>&amp;</b>".into()),
                ..RunRequest::new(Job { resources: Resources::ranks(np), workload }, "cpu")
            },
            ..crate::runs::tests::record(np)
        };
        let row = |method: &str, bytes: u64, predicted_s| {
            let time = seconds * bytes as f64;
            let report = AllreduceReport {
                method: method.into(),
                bytes,
                elements: bytes as usize / 4,
                mean_s: time,
                median_s: time,
                ..AllreduceReport::sample()
            };
            MeasuredRow { report, predicted_s }
        };
        let rows = vec![row("ring", 1024, Ok(1e-3)), row("ring", 1 << 20, Ok(1.0)), row("mpi", 1024, Err(Refused::NoLink))];
        let measured = Measured { ranks: np, rows, ..Measured::default() };
        Measurement { id: RunId(id), record, spec, measured }
    }

    fn all() -> Measurements {
        Measurements::new(vec![run(1, 2, 2e-6), run(2, 2, 1e-6), run(3, 4, 1e-6)]).unwrap()
    }

    #[test]
    fn times_of_as_many_ranks_are_compared_and_others_are_not() {
        let all = all();
        let ratios: Vec<Option<f64>> = all.runs().iter().map(|run| all.cell(run, "ring", 1024).unwrap().times_as_fast).collect();
        assert_eq!(ratios, [Some(1.0), Some(2.0), None]);
        assert!(all.not_comparable(&all.runs()[2]).unwrap().contains("np 4, the baseline has 2"));
        assert_eq!(all.keys(), [("ring", 1024), ("ring", 1 << 20), ("mpi", 1024)]);
        assert!(all.cell(all.baseline(), "ring", 7).is_none());
    }

    #[test]
    fn every_format_has_every_row() {
        let all = all();
        let text = csv(&all);
        let mut reader = ::csv::Reader::from_reader(text.as_bytes());
        assert_eq!(reader.headers().unwrap().len(), COLUMNS.len());
        let lines: Vec<::csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        assert_eq!((lines.len(), &lines[3][4], &lines[3][18]), (9, "ring", "2"));
        assert_eq!(&lines[3][3], "on 200 Mbit/s links, made on this machine");
        assert!(lines[2][17].contains("nothing was measured") && lines[2][15].is_empty());
        let value: Value = serde_json::from_str(&json(&all)).unwrap();
        assert_eq!((&value["baseline"], value["runs"].as_array().unwrap().len()), (&json!(1), 3));
        assert_eq!(value["runs"][1]["rows"][0]["times_as_fast"], 2.0);
        let text = markdown(&all);
        assert_eq!(text.matches("| ring |").count(), 6, "{text}");
        assert!(text.contains("200 Mbit/s") && !text.contains("<b>"), "{text}");
        let text = svg(&all);
        assert_eq!(text.matches("<polyline").count(), 6, "{text}");
        assert!(text.contains("200 Mbit/s") && !text.contains("<b>&amp;</b>") && !text.contains("NaN"), "{text}");
        for format in FORMATS {
            assert!(!(format.collectives)(&all).is_empty());
        }
    }
}
