//! A report to paste into a text: a table of the runs, what differs, and what others published.
//!
//! Never lets a name break the table: what means something in Markdown is escaped.

use crate::domain::device::DeviceKind;
use crate::domain::{markup, units};
use crate::runs::{Report, Row, RunSummary, busy_host};

pub(super) const HEADING: [&str; 12] =
    ["run", "name", "state", "np", "steps", "img/s", "speed-up", "efficiency", "to target", "sooner", "device-s", "accuracy"];

pub(super) fn rows(report: &Report) -> impl Iterator<Item = Vec<String>> {
    report.runs.iter().map(|(row, run)| measured(row, run))
}

/// What the stars at the speeds mean.
pub(super) fn stars(report: &Report) -> Option<String> {
    busy_host::notes(report.runs.iter().map(|(_, run)| *run))
}

pub(super) const PUBLISHED: [&str; 10] =
    ["source", "result", "np", "steps", "img/s", "speed-up", "efficiency", "total", "accuracy", "note"];

pub(super) fn published(report: &Report) -> impl Iterator<Item = Vec<String>> {
    report.published.iter().flat_map(|source| {
        source.rows.iter().map(move |row| {
            vec![
                source.name.clone(),
                row.label.clone(),
                row.np.to_string(),
                dash(row.steps.map(|steps| steps.to_string())),
                dash(row.rate()),
                dash(row.speedup.map(times)),
                dash(row.scaling_efficiency().map(units::percent)),
                dash(row.duration()),
                dash(row.test_accuracy()),
                row.note.clone().unwrap_or_default(),
            ]
        })
    })
}

pub fn write(report: &Report) -> String {
    let baseline = report.baseline.id;
    let mut text = format!("# Runs compared with run {baseline}\n\n");
    text += &markup::table(&HEADING, rows(report));
    text.push_str(
        "\nimg/s: images of all processes per second of training. Efficiency: speed-up per added rank. To target: training time \
         to the target accuracy. device-s: training time times GPUs, or ranks on the CPU.\n",
    );
    if let Some(note) = stars(report) {
        text += &format!("\n{}\n", markup::markdown(&note));
    }
    differences(&mut text, report);
    if !report.published.is_empty() {
        text.push_str(
            "\n## Published elsewhere\n\nNot measured here. Speed-up and efficiency are over the source's own baseline.\n\n",
        );
        text += &markup::table(&PUBLISHED, published(report));
        text.push('\n');
        for source in report.published {
            let [name, title, setting] = [&source.name, &source.title, &source.setting].map(|text| markup::markdown(text));
            text += &format!("- {name}: {title}. {setting}.\n");
        }
    }
    text
}

fn dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "–".into())
}

fn times(ratio: f64) -> String {
    format!("{ratio:.2}x")
}

fn measured(row: &Row, run: &RunSummary) -> Vec<String> {
    let record = run.record.as_ref();
    let cost = run.devices.zip(row.device_seconds).map(|(devices, seconds)| match devices.kind {
        DeviceKind::Gpu => format!("{} GPU-s", units::rate(seconds)),
        DeviceKind::Cpu => format!("{} rank-s", units::rate(seconds)),
    });
    vec![
        format!("{}{}", run.id, if row.is_baseline { " (baseline)" } else { "" }),
        record.and_then(|record| record.request.name.clone()).unwrap_or_default(),
        run.status.state.name().into(),
        dash(run.np_in_words()),
        dash(record.and_then(|record| record.training()).map(|training| training.steps.to_string())),
        dash(run.shown_rate()),
        dash(row.comparison.speedup.map(times)),
        dash(row.comparison.scaling_efficiency.map(units::percent)),
        dash(run.figures.seconds_to_target.map(units::seconds)),
        dash(row.comparison.speedup_to_target.map(times)),
        dash(cost),
        dash(run.shown_accuracy()),
    ]
}

fn differences(text: &mut String, report: &Report) {
    let others: Vec<_> = report.runs.iter().filter(|(row, _)| !row.is_baseline).collect();
    if others.is_empty() {
        return;
    }
    text.push_str(&format!("\n## What differs from run {}\n\n", report.baseline.id));
    for (row, run) in others {
        let mut said: Vec<String> = row.not_comparable.into_iter().chain(row.no_efficiency).map(str::to_owned).collect();
        said.extend(row.differences.iter().map(|one| {
            let steps = one.steps();
            let steps = if steps.is_empty() { String::new() } else { format!(" ({})", steps.join(", ")) };
            format!("{} {}, not {}{steps}", one.label(), one.run, one.baseline)
        }));
        if said.is_empty() {
            said.push("nothing that you set".into());
        }
        text.push_str(&format!("- run {}: {}\n", run.id, markup::markdown(&said.join("; "))));
    }
}
