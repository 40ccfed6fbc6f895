//! A comparison as a file for others: Markdown, CSV, JSON, SVG, HTML and LaTeX, one file each.
//!
//! Never mixes up what was measured and what was published: a word in each row says which it is.

use std::io::{ErrorKind, Write};
use std::path::Path;
use std::str::FromStr;

use serde_json::json;

use super::{Measurements, Report, StoreError};
use crate::host::files;

mod collectives;
mod csv;
mod drawing;
mod html;
mod latex;
mod markdown;
mod svg;
#[cfg(test)]
mod tests;

/// A format that a report can be written in.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// As the flag takes it, and the end of a file's name.
    pub name: &'static str,
    pub write: fn(&Report) -> String,
    /// The same for runs of collectives, which have another report.
    pub collectives: fn(&Measurements) -> String,
}

/// All there are.
pub static FORMATS: [Format; 6] = [
    Format { name: "md", write: markdown::write, collectives: collectives::markdown },
    Format { name: "csv", write: csv::write, collectives: collectives::csv },
    Format { name: "json", write: json_object, collectives: collectives::json },
    Format { name: "svg", write: svg::write, collectives: collectives::svg },
    Format {
        name: "html",
        write: |report| html::page("Runs compared", &markdown::write(report), &svg::write(report)),
        collectives: |all| html::page("Collectives compared", &collectives::markdown(all), &collectives::svg(all)),
    },
    Format { name: "tex", write: latex::write, collectives: latex::collectives },
];

impl Format {
    /// By the end of a file's name.
    ///
    /// # Errors
    /// What the ends are.
    pub fn of(path: &Path) -> Result<Format, String> {
        let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
        end.parse().map_err(|_: String| format!("`{}` names no format: let it end in {}", path.display(), names(", .")))
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Format, String> {
        let found = FORMATS.iter().find(|format| format.name.eq_ignore_ascii_case(text)).copied();
        found.ok_or_else(|| format!("`{text}` is not a format: use {}", names(", ").trim_start_matches('.')))
    }
}

/// Everything that is known of each run, as one JSON object.
fn json_object(report: &Report) -> String {
    let runs: Vec<_> = report.runs.iter().map(|(row, run)| json!({ "comparison": row, "run": run })).collect();
    let mut whole = json!({ "baseline": report.baseline.id, "runs": runs });
    if !report.published.is_empty() {
        whole["published"] = json!(report.published);
    }
    format!("{whole:#}\n")
}

/// What the names of files end in, joined by this, such as `, .`.
pub fn names(between: &str) -> String {
    let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    format!(".{}", names.join(between))
}

/// Write a text to a new file.
///
/// # Errors
/// [`StoreError::Exists`]: nothing is overwritten; [`StoreError::Io`].
pub fn write_new(path: &Path, text: &str) -> Result<(), StoreError> {
    files::export(path, false, |file| file.write_all(text.as_bytes())).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => StoreError::Exists { path: path.to_owned() },
        ErrorKind::NotFound => StoreError::io("cannot write", path)(std::io::Error::new(error.kind(), "there is no such folder")),
        _ => StoreError::io("cannot write", path)(error),
    })
}
