//! Findings that one report, or one error, makes by itself: a row each in `assets/findings.toml`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::finding::{Cause, Finding, Outcome, Topic};
use super::inspection::{Inspection, known, ranks as names};
use crate::domain::event::{EndedReport, WrappedReport};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    /// The name of the report, or the kind of the error.
    name: String,
    topic: Topic,
    #[serde(default)]
    may_be_meant: bool,
    seen: String,
    #[serde(default)]
    cost: String,
    remedy: String,
    /// What to write in a program of these libraries, where it is something else.
    keras: Option<String>,
    horovod: Option<String>,
    accelerate: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    report: Vec<Row>,
    error: Vec<Row>,
}

// The file is part of the program, and a test reads it.
static TABLE: LazyLock<Table> =
    LazyLock::new(|| toml::from_str(include_str!("../../../assets/findings.toml")).unwrap_or_default());

impl Inspection {
    /// What the reports of this name show by themselves; `None` where no rank has sent one.
    pub(super) fn finding(&self, name: &str) -> Option<Finding> {
        self.finding_of(&self.tellers(name))
    }

    /// What these reports of one name show, at the line of the first. `None` too where it lacks a value that the text names.
    pub(super) fn finding_of(&self, reports: &BTreeMap<usize, &WrappedReport>) -> Option<Finding> {
        let (rank, report) = reports.first_key_value()?;
        let row = TABLE.report.iter().find(|row| row.name == report.by)?;
        let value = |name: &str| match name {
            "who" => Some(names(reports.keys())),
            "rank" => Some(rank.to_string()),
            "ranks" => Some(self.size().to_string()),
            "root" => Some(self.root().0.to_owned()),
            number => report.settings.get(number.parse::<usize>().ok()?).cloned(),
        };
        let own = [(self.is_keras(), &row.keras), (self.is_horovod(), &row.horovod), (self.is_accelerate(), &row.accelerate)];
        let own = own.into_iter().find_map(|(is_used, remedy)| remedy.as_ref().filter(|_| is_used));
        let remedy = filled(own.unwrap_or(&row.remedy), value)?;
        let outcome = if row.may_be_meant { Outcome::Look } else { Outcome::Wrong };
        Some(row.topic.objection(outcome, filled(&row.seen, value)?, known(&report.place), &row.cost, remedy))
    }

    /// The same as the cause of a finding that is made of other reports.
    pub(super) fn cause(&self, name: &str) -> Option<Cause> {
        self.finding(name).map(|finding| (finding.seen, finding.place, finding.remedy))
    }

    /// One finding for each kind of error that has ended a rank, and says what is wrong with the program.
    pub(super) fn errors(&self) -> Vec<Finding> {
        let error = |row: &Row| {
            let failed = self.of_all::<EndedReport>().filter_map(|(rank, end)| Some((rank, end.failure.as_ref()?)));
            let of_kind: Vec<_> = failed.filter(|(_, failure)| failure.kind == row.name).collect();
            let (_, first) = of_kind.first()?;
            let said = format!("an error has ended {}: {}", names(of_kind.iter().map(|(rank, _)| rank)), row.seen);
            Some(row.topic.wrong(said, known(&first.place), "the training ends here", row.remedy.as_str()))
        };
        TABLE.error.iter().filter_map(error).collect()
    }
}

/// A text with a value in place of each name in braces; `None` where one is missing.
fn filled(text: &str, value: impl Fn(&str) -> Option<String>) -> Option<String> {
    let mut parts = text.split('{');
    let mut filled = parts.next()?.to_owned();
    for part in parts {
        let (name, rest) = part.split_once('}')?;
        filled += &value(name)?;
        filled += rest;
    }
    Some(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_file_is_read_and_named_once() {
        let table: Table = toml::from_str(include_str!("../../../assets/findings.toml")).unwrap();
        for rows in [table.report, table.error] {
            let names: std::collections::BTreeSet<&str> = rows.iter().map(|row| row.name.as_str()).collect();
            assert_eq!(names.len(), rows.len());
        }
    }

    #[test]
    fn a_text_is_filled_or_left_out() {
        let value = |name: &str| (name == "0").then(|| "{1}".to_owned());
        assert_eq!(filled("a {0}, b {0}", value).as_deref(), Some("a {1}, b {1}"));
        assert_eq!((filled("a", value).as_deref(), filled("a {1}", value)), (Some("a"), None));
    }
}
