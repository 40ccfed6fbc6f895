//! A report as one HTML page that needs nothing beside it: light, dark, and on paper.
//!
//! It has no script and no link to another place, and all text in it is escaped.

use super::chart::{COLUMNS, Chart, notes};
use super::content::{Report, machine_lines};
use crate::domain::{markup, units};

const STYLE: &str = include_str!("report.css");

pub fn render(report: &Report) -> String {
    let whose = report.learner.as_deref().map(|name| format!(" of {}", markup::xml(name))).unwrap_or_default();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>Lab report{whose}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <h1>Lab report{whose}</h1>\n<p>{}: {}.</p>\n{}{}{}{}{}{}</main>\n\
         <footer>Made by hvd-lab {}.</footer>\n</body>\n</html>\n",
        markup::xml(&report.date),
        markup::xml(&report.summary()),
        steps(report),
        predictions(report),
        practice(report),
        speedup(report.speedup.as_ref()),
        runs(report),
        machine(report),
        env!("CARGO_PKG_VERSION"),
    )
}

fn steps(report: &Report) -> String {
    let rows = report.steps.iter().map(|row| {
        let (class, sign) = match (row.is_done, row.levels.is_empty(), row.failed_runs) {
            (true, ..) => ("done", '\u{2713}'),
            (false, true, 1..) => ("failed", '\u{2717}'),
            (false, ..) => ("open", '\u{2013}'),
        };
        let when = row.run.map(|run| format!("run {run}, {}", row.date.as_deref().unwrap_or_default()));
        [
            cell("th scope=\"row\"", &format!("{} {}", row.step, row.title)),
            cell(&format!("td class=\"{class}\""), &format!("{sign} {}", row.state())),
            cell("td", row.evidence.as_deref().unwrap_or_default()),
            cell("td class=\"small\"", &when.unwrap_or_default()),
            number(&row.failed_runs.to_string()),
        ]
        .concat()
    });
    section("Steps", &table(&["step", "", "evidence", "shown by", "failed runs"], rows))
}

fn predictions(report: &Report) -> String {
    if report.predictions.is_empty() {
        return section("Predictions", "<p>None.</p>\n");
    }
    let rows = report.predictions.iter().map(|row| {
        let answers: String = row.answers.iter().map(|answer| cell("li", answer)).collect();
        let title = format!("{} {}", row.lesson, row.title);
        [cell("th scope=\"row\"", &title), cell("td", &row.outcome), format!("<td><ol>{answers}</ol></td>")].concat()
    });
    section("Predictions", &table(&["lesson", "", "predicted"], rows))
}

fn practice(report: &Report) -> String {
    let lines: String = report.practice().iter().map(|line| cell("li", line) + "\n").collect();
    if lines.is_empty() { lines } else { section("Other exercises and checks", &format!("<ul>\n{lines}</ul>\n")) }
}

fn runs(report: &Report) -> String {
    if report.runs.is_empty() {
        return section("Runs", "<p>None.</p>\n");
    }
    let rows = report.runs.iter().map(|row| {
        let cells = COLUMNS.iter().map(|(name, is_figure, text)| match (*name, is_figure) {
            ("run", _) => cell("th scope=\"row\"", &text(row)),
            (_, false) => cell("td", &text(row)),
            (_, true) => number(&text(row)),
        });
        cells.collect()
    });
    let notes: String = notes(&report.runs).iter().map(|note| cell("p", note) + "\n").collect();
    section("Runs", &(table(&COLUMNS.map(|(name, ..)| name), rows) + &notes))
}

fn machine(report: &Report) -> String {
    let lines: String =
        machine_lines(&report.machine).iter().map(|(name, value)| cell("dt", name) + &cell("dd", value) + "\n").collect();
    section("Machine", &format!("<dl>\n{lines}</dl>\n"))
}

/// One bar for each number of ranks, with a mark where the ideal is.
fn speedup(chart: Option<&Chart>) -> String {
    const LEFT: f64 = 60.0;
    const LONGEST: f64 = 360.0;
    const ROW: f64 = 34.0;
    let Some(chart) = chart else {
        return section("Speed-up", "<p>Nothing to compare yet: run the same work with another number of ranks.</p>\n");
    };
    let most = chart.bars.iter().map(|bar| bar.speedup.max(bar.ideal)).fold(1.0, f64::max);
    let mut drawn = String::new();
    for (index, bar) in chart.bars.iter().enumerate() {
        let (top, width) = (index as f64 * ROW, bar.speedup / most * LONGEST);
        let ideal = LEFT + bar.ideal / most * LONGEST;
        let said = format!("{:.2}x of {:.0}x, {} images/s", bar.speedup, bar.ideal, units::rate(bar.images_per_sec));
        drawn += &format!(
            "<text x=\"{:.0}\" y=\"{:.0}\" class=\"np\">np {}</text>\n\
             <rect x=\"{LEFT}\" y=\"{:.0}\" width=\"{width:.1}\" height=\"20\"/>\n\
             <line x1=\"{ideal:.1}\" x2=\"{ideal:.1}\" y1=\"{:.0}\" y2=\"{:.0}\"/>\n\
             <text x=\"{:.0}\" y=\"{:.0}\">{}</text>\n",
            LEFT - 8.0,
            top + 20.0,
            bar.np,
            top + 5.0,
            top + 1.0,
            top + 29.0,
            LEFT + LONGEST + 12.0,
            top + 20.0,
            markup::xml(&said),
        );
    }
    let height = chart.bars.len() as f64 * ROW;
    let text = format!(
        "<p>Against run {}: {}. The bar is measured; the line is as many times the baseline as there are ranks.</p>\n\
         <svg viewBox=\"0 0 640 {height:.0}\" role=\"img\" aria-label=\"Speed-up over the number of ranks\">\n{drawn}</svg>\n",
        chart.baseline,
        markup::xml(&chart.work)
    );
    section("Speed-up", &text)
}

fn section(title: &str, content: &str) -> String {
    format!("<section>\n<h2>{title}</h2>\n{content}</section>\n")
}

fn table(heading: &[&str], rows: impl Iterator<Item = String>) -> String {
    let heading: String = heading.iter().map(|name| cell("th scope=\"col\"", name)).collect();
    let rows: String = rows.map(|cells| format!("<tr>{cells}</tr>\n")).collect();
    format!("<div class=\"wide\">\n<table>\n<thead><tr>{heading}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n")
}

/// An element with its attributes, around text.
fn cell(element: &str, text: &str) -> String {
    let name = element.split(' ').next().unwrap_or(element);
    format!("<{element}>{}</{name}>", markup::xml(text))
}

fn number(text: &str) -> String {
    cell("td class=\"number\"", text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_paper_nothing_is_kept_whole_that_may_be_longer_than_a_page() {
        let kept = STYLE.lines().filter(|line| line.contains("break-inside: avoid"));
        let kept: Vec<&str> =
            kept.flat_map(|line| line.split('{').next().unwrap_or_default().split(',').map(str::trim)).collect();
        assert!(!kept.is_empty() && kept.iter().all(|name| ["tr", "li", "dl", "svg"].contains(name)), "{kept:?}");
    }

    #[test]
    fn text_cannot_become_markup() {
        assert_eq!(cell("td class=\"x\"", "<b>'\"&\u{0}"), "<td class=\"x\">&lt;b&gt;&#39;&quot;&amp;</td>");
    }
}
