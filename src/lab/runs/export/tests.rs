//! Reports in every format, read back by a reader of that format.

use crate::runs::{RunSummary, Source};
use std::path::Path;

use super::super::tests::{record, status};
use super::super::{Attempt, Devices, RunId, RunRecord, Tally, references};
use super::*;
use crate::domain::device::DeviceKind;
use crate::domain::event::Metrics;
use crate::domain::run::RunState;
use crate::domain::speedup::Figures;
use crate::domain::step::{Step, StepSet};

const NASTY: &str = "a, \"quoted\" | <b>&amp;</b> name";

fn run(id: u32, np: usize, rate: f64) -> RunSummary {
    let figures = Figures { np, images_per_sec: Some(rate), seconds_to_target: Some(60_000.0 / rate) };
    RunSummary {
        id: RunId(id),
        record: Some(RunRecord { id: RunId(id), ..record(np) }),
        status: status(RunState::Finished),
        elsewhere: None,
        tally: Tally {
            last_epoch: 3,
            test: Some(Metrics { loss: 0.5, accuracy: 0.8125 }),
            figures,
            training_seconds: Some(36_000.0 / rate),
            devices: Some(Devices { kind: DeviceKind::Cpu, count: np }),
            ..Tally::default()
        },
    }
}

/// A baseline, a run with a nasty name and a step less, one of another model, and one that measured nothing.
fn runs() -> Vec<RunSummary> {
    let mut nasty = run(2, 2, 1800.0);
    let record = nasty.record.as_mut().unwrap();
    record.request.name = Some(NASTY.into());
    record.request.spec.workload.training_mut().unwrap().steps = StepSet::ALL.without(Step::Warmup);
    let mut other = run(3, 4, 500.0);
    let record = other.record.as_mut().unwrap();
    record.request.spec.workload.training_mut().unwrap().model = "wrn-16-4".parse().unwrap();
    let mut failed = run(4, 2, 1.0);
    failed.status = status(RunState::Failed);
    failed.tally = Tally { figures: Figures { np: 2, ..Figures::default() }, ..Tally::default() };
    vec![run(1, 1, 1000.0), nasty, other, failed]
}

fn with(format: &str, published: &[Source], check: impl Fn(&str)) {
    let runs = runs();
    let report = Report::new(&runs, &runs[0], published);
    check(&(format.parse::<Format>().unwrap().write)(&report));
}

#[test]
fn a_latex_table_has_a_row_a_run_with_as_many_cells_and_no_bare_sign() {
    with("tex", &[], |text| {
        let rows: Vec<&str> = text.lines().filter(|line| line.ends_with(r" \\")).collect();
        assert_eq!(rows.len(), 5, "a heading and four runs: {text}");
        assert!(rows.iter().all(|row| row.matches(" & ").count() == 11), "{text}");
        assert!(
            text.contains(r"a, ''quoted'' \textbar{} \textless{}b\textgreater{}\&amp;\textless{}/b\textgreater{} name"),
            "{text}"
        );
        assert!(text.contains(r"100 \%") || text.contains(r"90 \%"), "{text}");
        assert!(text.contains("\\resizebox{\\textwidth}{!}{%\n") && text.contains("\\end{tabular}}\n"), "{text}");
    });
}

#[test]
fn what_others_published_and_what_a_star_means_stand_in_every_text() {
    let mut runs = runs();
    runs[0].record.as_mut().unwrap().attempts = vec![Attempt { others_cpu: Some(0.5), ..Attempt::default() }];
    let report = Report::new(&runs, &runs[0], references());
    for (format, published) in [("tex", "% Published elsewhere"), ("md", "## Published elsewhere")] {
        let text = (format.parse::<Format>().unwrap().write)(&report);
        assert!(text.contains("1000*") || text.contains(r"1000\*"), "{text}");
        assert!(text.contains(published) && text.contains("other programs used 50"), "{text}");
    }
}

#[test]
fn csv_is_read_back_cell_by_cell() {
    with("csv", references(), |text| {
        let mut reader = ::csv::Reader::from_reader(text.as_bytes());
        let heading = reader.headers().unwrap().clone();
        let rows: Vec<::csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        let cell = |row: &::csv::StringRecord, name: &str| {
            row[heading.iter().position(|one| one == name).unwrap_or_else(|| panic!("no column {name}"))].to_owned()
        };
        let published: usize = references().iter().map(|source| source.rows.len()).sum();
        assert_eq!(rows.len(), 4 + published);
        assert_eq!(cell(&rows[1], "name"), NASTY);
        assert_eq!(cell(&rows[1], "speedup"), "1.8");
        assert_eq!(cell(&rows[1], "scaling_efficiency"), "0.9");
        assert!((cell(&rows[1], "speedup_to_target").parse::<f64>().unwrap() - 1.8).abs() < 1e-9);
        assert_eq!((cell(&rows[1], "device"), cell(&rows[1], "device_seconds")), ("cpu rank".into(), "40".into()));
        assert_eq!(
            (cell(&rows[2], "speedup"), cell(&rows[2], "not_comparable")),
            ("".into(), "other model than the baseline".into())
        );
        assert_eq!((cell(&rows[3], "images_per_sec"), cell(&rows[3], "state")), ("".into(), "failed".into()));
        let kinds: Vec<String> = rows.iter().map(|row| cell(row, "kind")).collect();
        assert!(kinds[..4].iter().all(|kind| kind == "measured") && kinds[4..].iter().all(|kind| kind == "published"));
        assert!(rows[4..].iter().all(|row| !cell(row, "source").is_empty() && cell(row, "run").is_empty()));
        assert!(text.lines().count() == rows.len() + 1 && text.ends_with("\r\n"));
    });
}

#[test]
fn an_efficiency_over_100_percent_is_left_out_with_its_reason() {
    let runs = [run(1, 1, 1000.0), run(2, 2, 2300.0)];
    let report = Report::new(&runs, &runs[0], &[]);
    assert_eq!((report.runs[1].0.comparison.speedup, report.runs[1].0.comparison.scaling_efficiency), (Some(2.3), None));
    let text = ("md".parse::<Format>().unwrap().write)(&report);
    assert!(text.contains("over 100 %: the baseline was too slow") && !text.contains("115 %"), "{text}");
}

#[test]
fn no_cell_is_taken_for_a_formula_and_numbers_stay_numbers() {
    let mut runs = runs();
    let nasty = ["=HYPERLINK(\"http://x\")", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "  =1", "-0.5", "plain"];
    runs.resize_with(nasty.len(), || run(9, 2, 1.0));
    for (run, name) in runs.iter_mut().zip(nasty) {
        let record = run.record.as_mut().unwrap();
        (record.request.name, record.request.note) = (Some(name.into()), Some(name.into()));
    }
    let text = ("csv".parse::<Format>().unwrap().write)(&Report::new(&runs, &runs[0], &[]));
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<::csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    for (row, name) in rows.iter().zip(nasty) {
        let shown = name.replace('\t', "    ");
        let expected = if ["-0.5", "plain"].contains(&name) { shown } else { format!("'{shown}") };
        assert_eq!((&row[3], &row[4]), (expected.as_str(), expected.as_str()));
        let is_formula = |cell: &str| cell.trim_start().starts_with(['=', '+', '-', '@']) && cell.parse::<f64>().is_err();
        assert!(!row.iter().any(is_formula), "{row:?}");
    }
}

#[test]
fn json_keeps_measured_and_published_apart() {
    with("json", &references()[..1], |text| {
        let whole: serde_json::Value = serde_json::from_str(text).unwrap();
        assert_eq!(whole["baseline"], 1);
        assert_eq!(whole["runs"].as_array().unwrap().len(), 4);
        assert_eq!(whole["runs"][1]["comparison"]["speedup"], 1.8);
        assert_eq!(whole["runs"][1]["run"]["record"]["name"], NASTY);
        assert_eq!(whole["published"][0]["row"][12]["speedup"], 4.02);
    });
    with("json", &[], |text| assert!(!text.contains("published")));
}

#[test]
fn markdown_tables_have_as_many_cells_in_each_row() {
    with("md", references(), |text| {
        let cells = |line: &str| line.replace("\\|", "").matches('|').count();
        let tables: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
        let measured = cells(tables[0]);
        assert!(tables[..6].iter().all(|line| cells(line) == measured), "{text}");
        assert!(tables[6..].iter().all(|line| cells(line) == cells(tables[6])), "{text}");
        assert!(text.contains("- run 2: np 2, not 1; steps 1-8,10, not 1-10 (without 9 Warm the rate up)"), "{text}");
        assert!(text.contains("- run 3: other model than the baseline;"), "{text}");
        assert!(text.contains("## Published elsewhere"));
        assert!(!text.contains("<b>"), "a name is text: {text}");
        assert!(text.contains("81.2 %") && !text.contains("0.8125"), "people read per cent: {text}");
    });
    with("csv", &[], |text| assert!(text.contains("0.8125"), "programs read fractions: {text}"));
}

/// Every element closed, every attribute quoted, every `&` an entity: what a reader of XML asks for.
fn well_formed(text: &str) -> Vec<(String, String)> {
    let (mut open, mut texts) = (Vec::new(), Vec::new());
    for part in text.split('<').skip(1) {
        let (tag, content) = part.split_once('>').expect("a tag ends");
        assert!(!content.contains('>') && tag.matches('"').count() % 2 == 0, "{part}");
        for entity in content.split('&').skip(1) {
            assert!(["amp;", "lt;", "gt;", "quot;"].iter().any(|known| entity.starts_with(known)), "{part}");
        }
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap().to_owned();
        match tag {
            tag if tag.starts_with('/') => assert_eq!(open.pop(), Some(name)),
            tag if tag.ends_with('/') => texts.push((tag.to_owned(), String::new())),
            tag => {
                open.push(name);
                texts.push((tag.to_owned(), content.trim().to_owned()));
            }
        }
    }
    assert!(open.is_empty(), "{open:?}");
    texts
}

#[test]
fn the_drawing_is_well_formed_and_shows_what_can_be_compared() {
    with("svg", references(), |text| {
        let elements = well_formed(text);
        let filled = |fill: &str| elements.iter().filter(|(tag, _)| tag.starts_with("circle") && tag.contains(fill)).count();
        assert_eq!(filled("fill=\"#0072b2\""), 2, "runs 1 and 2");
        assert_eq!(
            filled("fill=\"white\""),
            2,
            "the published results on 2 nodes and on 4 GPUs; nobody sees 2 and 27,600 in one drawing"
        );
        let said: String = elements.iter().map(|(_, text)| format!("{text}\n")).collect();
        assert!(said.contains("run 2 1.80x") && said.contains("DLI lab, 4 x V100: solution 4.02x"), "{said}");
        assert!(said.contains("2 runs left out"), "{said}");
    });
    with("svg", &[], |text| assert!(!text.contains("published")));
}

#[test]
fn a_page_holds_the_drawing_and_the_tables_and_takes_no_name_for_markup() {
    with("html", references(), |text| {
        let (head, body) = text.split_once("<body>").unwrap();
        assert!(head.starts_with("<!DOCTYPE html>") && head.contains("<title>Runs compared</title>"), "{head}");
        assert!(body.contains("<circle") && body.contains("<h1>Runs compared with run 1</h1>"), "{body}");
        assert_eq!(body.matches("<table>").count(), 2, "measured and published");
        assert!(body.contains("&lt;b&gt;") && !body.contains("<b>") && !body.contains("<script"), "{body}");
    });
}

#[test]
fn a_point_lies_where_its_figures_say() {
    let runs = [run(1, 1, 1000.0), run(2, 2, 2000.0)];
    let text = ("svg".parse::<Format>().unwrap().write)(&Report::new(&runs, &runs[0], &[]));
    let attribute = |tag: &str, name: &str| -> f64 {
        tag.split(&format!(" {name}=\"")).nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
    };
    let elements = well_formed(&text);
    let circle = elements.iter().map(|(tag, _)| tag).filter(|tag| tag.starts_with("circle")).nth(1).unwrap();
    let ideal = elements.iter().map(|(tag, _)| tag).find(|tag| tag.contains("dasharray")).unwrap();
    // On the ideal line: the same slope from its beginning.
    let slope = |x: f64, y: f64| (y - attribute(ideal, "y1")) / (x - attribute(ideal, "x1"));
    let (of_point, of_line) =
        (slope(attribute(circle, "cx"), attribute(circle, "cy")), slope(attribute(ideal, "x2"), attribute(ideal, "y2")));
    assert!((of_point - of_line).abs() < 0.01, "{of_point} {of_line}");
}

#[test]
fn the_end_of_a_name_chooses_the_format_and_no_file_is_overwritten() {
    assert_eq!(Format::of(Path::new("a/b.CSV")).unwrap().name, "csv");
    let error = Format::of(Path::new("runs.xlsx")).unwrap_err();
    assert!(error.contains("runs.xlsx") && error.contains(".md, .csv, .json, .svg"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.md");
    write_new(&file, "one").unwrap();
    assert!(matches!(write_new(&file, "two"), Err(StoreError::Exists { .. })));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one");
}
