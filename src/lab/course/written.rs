//! Results of a series as Markdown: one text for the screen, a terminal and a file.

use std::fmt::Write as _;

use super::{Outcome, Results, SideBySide, Without};
use crate::domain::units;

impl Results {
    pub fn to_markdown(&self) -> String {
        match self {
            Results::Guided(pair) => pair.to_markdown(),
            Results::Ablation(rows) => ablation(rows),
        }
    }
}

// Writing to a string cannot fail, so what `write!` gives back is left alone.
impl SideBySide {
    /// A table of what differs, what it means, and the logs.
    pub fn to_markdown(&self) -> String {
        let heading = |run: usize| {
            let steps = self.steps[run].in_words();
            format!("{}: {steps} (run {})", ["Before", "After"][run], self.runs[run])
        };
        let mut text = format!("| | {} | {} |\n|---|---|---|\n", heading(0), heading(1));
        for fact in &self.contrast.facts {
            let [what, before, after] = [&fact.what, &fact.before, &fact.after].map(|cell| cell.replace('|', "\\|"));
            let _ = writeln!(text, "| {what} | {} | {} |", or_dash(&before), or_dash(&after));
        }
        if !self.contrast.explained.is_empty() {
            text.push_str("\n## What it means\n\n");
            self.contrast.explained.iter().for_each(|sentence| text.push_str(&format!("- {sentence}\n")));
        }
        let [few, many] = &self.excerpts;
        if few.len() + many.len() > 0 {
            let _ = write!(text, "\n## From the logs\n\n| {} | {} |\n|---|---|\n", heading(0), heading(1));
            for line in 0..few.len().max(many.len()) {
                let cell = |lines: &[String]| lines.get(line).map(|line| literal(line)).unwrap_or_default();
                let _ = writeln!(text, "| {} | {} |", cell(few), cell(many));
            }
        }
        text
    }
}

fn or_dash(cell: &str) -> &str {
    if cell.is_empty() { "–" } else { cell }
}

/// Escapes all punctuation, so that no character of a log line means anything in Markdown.
fn literal(line: &str) -> String {
    line.chars().flat_map(|c| c.is_ascii_punctuation().then_some('\\').into_iter().chain([c])).collect()
}

fn ablation(rows: &[Without]) -> String {
    let mut text = String::from(
        "| steps | run | img/s | time | test acc | what the check of the missing step says |\n|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let says = match (&row.verdict, row.passed, row.state) {
            (Some(verdict), ..) => {
                let sign = match verdict.outcome {
                    Outcome::Passed => "✓",
                    Outcome::Failed => "✗",
                    Outcome::CannotTell => "·",
                };
                format!("{sign} {}: {}", verdict.outcome.name(), verdict.evidence.replace('|', "\\|"))
            }
            (None, Some(passed), _) => format!("{passed} of 10 checks pass"),
            (None, None, Some(state)) => state.name().to_owned(),
            (None, None, None) => "waits".to_owned(),
        };
        let dash = |cell: Option<String>| cell.unwrap_or_else(|| "–".into());
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {says} |",
            row.name,
            dash(row.run.map(|run| run.to_string())),
            dash(row.images_per_sec.map(units::rate)),
            dash(row.seconds.map(units::seconds)),
            dash(row.test_accuracy.map(units::accuracy)),
        );
    }
    text
}
