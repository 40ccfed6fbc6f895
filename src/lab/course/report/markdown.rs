//! A report as Markdown that reads well as plain text too.

use super::chart::{COLUMNS, Chart, notes};
use super::content::{Report, machine_lines};
use crate::domain::{markup, units};

/// Characters of the bar for the best speed-up.
const BAR: f64 = 40.0;
const NOTHING_TO_COMPARE: &str = "Nothing to compare yet: run the same work with another number of ranks.\n";

pub fn render(report: &Report) -> String {
    let whose = report.learner.as_deref().map(|name| format!(" of {}", markup::markdown(name))).unwrap_or_default();
    let mut text = format!("# Lab report{whose}\n\n{}: {}.\n\n", report.date, report.summary());
    text += &format!("## Steps\n\n{}", steps(report));
    text += &format!("\n## Predictions\n\n{}", predictions(report));
    let practice: String = report.practice().iter().map(|line| format!("- {}\n", markup::markdown(line))).collect();
    if !practice.is_empty() {
        text += &format!("\n## Other exercises and checks\n\n{practice}");
    }
    text += &format!("\n## Runs\n\n{}", runs(report));
    text += &format!("\n## Speed-up\n\n{}", report.speedup.as_ref().map_or_else(|| NOTHING_TO_COMPARE.into(), speedup));
    text += "\n## Machine\n\n";
    for (name, value) in machine_lines(&report.machine) {
        text += &format!("- {name}: {}\n", markup::markdown(&value));
    }
    text + &format!("\nMade by hvd-lab {}.\n", env!("CARGO_PKG_VERSION"))
}

fn steps(report: &Report) -> String {
    let rows = report.steps.iter().map(|row| {
        vec![
            format!("{} {}", row.step, row.title),
            row.state(),
            row.run.map(|run| run.to_string()).unwrap_or_default(),
            row.date.clone().unwrap_or_default(),
            row.evidence.clone().unwrap_or_default(),
            row.failed_runs.to_string(),
        ]
    });
    markup::table(&["step", "", "run", "date", "evidence", "failed runs"], rows)
}

fn predictions(report: &Report) -> String {
    if report.predictions.is_empty() {
        return "None.\n".to_owned();
    }
    let rows = report
        .predictions
        .iter()
        .map(|row| vec![format!("{} {}", row.lesson, row.title), row.outcome.clone(), row.answers.join("; then ")]);
    markup::table(&["lesson", "", "predicted"], rows)
}

fn runs(report: &Report) -> String {
    if report.runs.is_empty() {
        return "None.\n".to_owned();
    }
    let rows = report.runs.iter().map(|row| COLUMNS.iter().map(|(.., cell)| cell(row)).collect());
    let notes: String = notes(&report.runs).iter().map(|note| format!("\n{}\n", markup::markdown(note))).collect();
    markup::table(&COLUMNS.map(|(name, ..)| name), rows) + &notes
}

/// Bars of text, one for each number of ranks.
fn speedup(chart: &Chart) -> String {
    let mut text = format!("Against run {}: {}.\n\n```text\n", chart.baseline, markup::markdown(&chart.work));
    let most = chart.bars.iter().map(|bar| bar.speedup.max(bar.ideal)).fold(1.0, f64::max);
    for bar in &chart.bars {
        let [done, ideal] = [bar.speedup, bar.ideal].map(|times| (times / most * BAR).round() as usize);
        text += &format!(
            "np {:>3} {:<width$} {:.2}x of {:.0}x, {} images/s\n",
            bar.np,
            format!("{}{}", "#".repeat(done), "-".repeat(ideal.saturating_sub(done))),
            bar.speedup,
            bar.ideal,
            units::rate(bar.images_per_sec),
            width = BAR as usize,
        );
    }
    text + "```\n\n`#` measured, `-` what is missing to the ideal.\n"
}
