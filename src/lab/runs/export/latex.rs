//! A report as a table for a LaTeX document, which wants the package `booktabs`, and `graphicx` for a table wider than a page.
//!
//! Never lets a name break the table: what means something in LaTeX is escaped.

use super::{collectives, markdown};
use crate::domain::markup;
use crate::runs::{Measurements, Report};

/// More columns than this are shrunk to the width of the text.
const MOST_COLUMNS: usize = 8;

pub fn write(report: &Report) -> String {
    let title = format!("Runs compared with run {}", report.baseline.id);
    let mut text = table(&title, &markdown::HEADING, markdown::rows(report), markdown::stars(report));
    if !report.published.is_empty() {
        text += "\n";
        text += &table("Published elsewhere, not measured here", &markdown::PUBLISHED, markdown::published(report), None);
    }
    text
}

pub fn collectives(all: &Measurements) -> String {
    table(&format!("Collectives compared with run {}", all.baseline().id), &collectives::HEADING, collectives::rows(all), None)
}

/// A table of LaTeX, and the note below it if there is one.
fn table(title: &str, heading: &[&str], rows: impl Iterator<Item = Vec<String>>, note: Option<String>) -> String {
    let line =
        |cells: Vec<String>| format!("{} \\\\\n", cells.iter().map(|cell| markup::latex(cell)).collect::<Vec<_>>().join(" & "));
    let columns = "l".repeat(heading.len());
    let note = note.map_or(String::new(), |note| {
        format!("\\multicolumn{{{}}}{{l}}{{\\footnotesize {}}} \\\\\n", heading.len(), markup::latex(&note))
    });
    let (packages, before, after) = match heading.len() > MOST_COLUMNS {
        true => ("booktabs,graphicx", "\\resizebox{\\textwidth}{!}{%\n", "}"),
        false => ("booktabs", "", ""),
    };
    let heading = line(heading.iter().map(|name| (*name).to_owned()).collect());
    let rows: String = rows.map(line).collect();
    format!(
        "% {title}. The document needs \\usepackage{{{packages}}}.\n{before}\\begin{{tabular}}{{{columns}}}\n\\toprule\n{heading}\\midrule\n{rows}\
         \\bottomrule\n{note}\\end{{tabular}}{after}\n"
    )
}
