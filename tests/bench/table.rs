//! What was measured, as the Markdown that is printed and pasted, and as JSON.
//!
//! Never hides a spread: every median stands with its least and greatest value.

use std::fmt::Write;

use serde_json::{Value as Json, json};

use super::allreduce::bus_bandwidth;
use super::figures::{Rounds, Spread};
use super::rows::{Row, Target, Unit, Value};

/// Everything that a run of the benchmark tells.
pub struct Report {
    pub machine: Json,
    pub command: String,
    /// Command lines that were started, one of each kind.
    pub lines: Vec<String>,
    pub warnings: Vec<String>,
    pub rounds: Rounds,
    pub took_seconds: f64,
    pub rows: Vec<Row>,
    /// Rows that are not there, and why.
    pub left_out: Vec<String>,
    pub failures: Vec<String>,
}

impl Report {
    pub fn to_json(&self) -> Json {
        let row = |row: &Row| {
            let mut json = json!(row);
            json["meets"] = json!(row.meets());
            json
        };
        json!({
            "machine": self.machine,
            "command": self.command,
            "lines": self.lines,
            "warnings": self.warnings,
            "rows": self.rows.iter().map(row).collect::<Vec<_>>(),
            "rounds": self.rounds.0,
            "took_seconds": self.took_seconds,
            "left_out": self.left_out,
            "failures": self.failures,
        })
    }

    pub fn to_markdown(&self) -> String {
        let mut text = String::new();
        // Writing into a string cannot fail.
        let mut line = |words: String| _ = writeln!(text, "{words}");
        for warning in &self.warnings {
            line(format!("**{warning}**\n"));
        }
        line(format!("Machine: {}.\n", self.machine_in_words()));
        let (rounds, minutes) = (self.rounds.0.len(), self.took_seconds / 60.0);
        line(format!("Command: `{}`, {minutes:.1} min. Medians (least to greatest) over {rounds} rounds.\n", self.command));
        self.lines.iter().for_each(|started| line(format!("    {started}")));
        line("\n| what | ours | beside it | ratio | target | |\n|---|---|---|---|---|---|".into());
        for row in &self.rows {
            let verdict = row.meets().map_or("", |meets| if meets { "meets" } else { "**misses**" });
            let beside = row.beside.map_or_else(String::new, |value| shown(&value));
            let ratio = row.ratio.map_or_else(String::new, |ratio| spread(&ratio, |ratio| format!("{ratio:.2}")));
            let target = row.target.map_or_else(String::new, |target| shown_target(target, row.ours.unit));
            line(format!("| {} | {} | {beside} | {ratio} | {target} | {verdict} |", row.what, shown(&row.ours)));
        }
        for (title, entries) in [("Left out", &self.left_out), ("Failed", &self.failures)] {
            if !entries.is_empty() {
                line(format!("\n{title}:\n"));
                entries.iter().for_each(|entry| line(format!("- {}", entry.replace('\n', "\n    "))));
            }
        }
        text
    }

    fn machine_in_words(&self) -> String {
        let said = |name: &str| self.machine[name].as_str().unwrap_or("none").to_owned();
        let number = |name: &str| self.machine[name].as_u64().unwrap_or(0);
        let peers = self.machine["peers"].as_str().filter(|peers| !peers.is_empty());
        let peers = peers.map_or_else(String::new, |peers| format!(", beside {peers}"));
        format!(
            "{}, {} cores ({} physical), Linux {}, libtorch {}, {}, {}{peers}, images: {}",
            said("cpu"),
            number("cores"),
            number("physical_cores"),
            said("kernel"),
            said("libtorch"),
            said("mpi").split(',').next().unwrap_or_default(),
            said("launcher"),
            said("images"),
        )
    }
}

fn shown(value: &Value) -> String {
    match value.unit {
        Unit::Allreduce(bytes) => {
            let gigabytes = bus_bandwidth(bytes, value.spread.median) / 1e9;
            format!("{}, {gigabytes:.2} GB/s", spread(&value.spread, |number| one(Unit::Seconds, number)))
        }
        unit => spread(&value.spread, |number| one(unit, number)),
    }
}

/// `2110 (2080 to 2140)`
fn spread(spread: &Spread, show: impl Fn(f64) -> String) -> String {
    let (median, min, max) = (show(spread.median), show(spread.min), show(spread.max));
    if min == max { median } else { format!("{median} ({min} to {max})") }
}

fn one(unit: Unit, number: f64) -> String {
    match unit {
        Unit::ImagesPerSec => format!("{number:.0}"),
        Unit::Seconds | Unit::Allreduce(_) if number < 1e-3 => format!("{:.1} us", number * 1e6),
        Unit::Seconds | Unit::Allreduce(_) if number < 1.0 => format!("{:.1} ms", number * 1e3),
        Unit::Seconds | Unit::Allreduce(_) => format!("{number:.2} s"),
        Unit::Bytes => format!("{:.0} MB", number / 1e6),
        Unit::Share => format!("{:.2} %", number * 100.0),
    }
}

fn shown_target(target: Target, unit: Unit) -> String {
    match target {
        Target::RatioAtLeast(least) => format!("at least {least:.2}"),
        Target::AtMost(most) => format!("at most {}", one(unit, most)),
    }
}
