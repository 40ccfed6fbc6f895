//! The findings on a run, read from its folder, and how a finding is told in a line.

use std::path::Path;

use super::finding::{Finding, Outcome};
use super::inspection::Inspection;
use crate::domain::command::CommandSpec;
use crate::domain::event::Place;
use crate::domain::printable;
use crate::domain::run::RunState;
use crate::runs::{RunRecord, RunStore};

/// What a run with the inspector in its ranks has shown so far.
#[derive(Clone, Debug, Default)]
pub struct Inspected {
    /// Worst first.
    pub findings: Vec<Finding>,
    /// No rank has reported anything.
    pub is_empty: bool,
    /// Where the program works.
    pub directory: String,
}

impl Inspected {
    /// `None` for a run that was started without the inspector.
    pub fn read(store: &RunStore, record: &RunRecord, state: RunState) -> Option<Inspected> {
        let command = inspected(record)?;
        let inspection = reports(store, record);
        let mut inspected = Inspected::of(&inspection, command, state.is_over());
        let alone = alone(store, record).map(|alone| reports(store, &alone));
        let found = alone.iter().flat_map(|alone| [inspection.rate_against(alone), inspection.steps_against(alone)]);
        found.flatten().for_each(|finding| inspected.settle(finding));
        Some(inspected)
    }

    pub fn of(inspection: &Inspection, command: &CommandSpec, is_over: bool) -> Inspected {
        let findings = inspection.findings(is_over);
        let mut inspected = Inspected { findings, is_empty: inspection.is_empty(), directory: command.directory.clone() };
        inspected.sort();
        inspected
    }

    /// What another run shows, unless this one has shown what is wrong there.
    fn settle(&mut self, finding: Finding) {
        if self.findings.iter().any(|known| known.topic == finding.topic && known.is_objection()) {
            return;
        }
        self.findings.retain(|known| known.topic != finding.topic);
        self.findings.push(finding);
        self.sort();
    }

    fn sort(&mut self) {
        self.findings.sort_by_key(|finding| (finding.outcome, finding.topic));
    }

    pub fn wrong(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.outcome == Outcome::Wrong)
    }

    /// The line of the program that a finding is about: `train.py:31`.
    pub fn line(&self, finding: &Finding) -> Option<String> {
        finding.place.as_ref().map(|place| line(place, &self.directory))
    }

    /// A finding in one line: `data: both ranks see the same images: train.py:31; remedy: give the DataLoader a DistributedSampler`.
    pub fn in_words(&self, finding: &Finding) -> String {
        let line = self.line(finding).map(|line| format!(": {line}")).unwrap_or_default();
        let remedy = if finding.remedy.is_empty() { String::new() } else { format!("; remedy: {}", finding.remedy) };
        format!("{}: {}{line}{remedy}", finding.topic.name(), finding.seen)
    }

    /// The sentences of a finding, one a line: what was seen, at which line, what it costs, and what to write.
    pub fn sentences(&self, finding: &Finding) -> Vec<String> {
        let labelled = |name: &str, text: &str| if text.is_empty() { String::new() } else { format!("{name}: {text}") };
        let line = self.line(finding).unwrap_or_default();
        let all =
            [finding.seen.clone(), labelled("line", &line), labelled("cost", &finding.cost), labelled("remedy", &finding.remedy)];
        all.into_iter().filter(|text| !text.is_empty()).map(|text| printable::line(&text).into_owned()).collect()
    }
}

fn reports(store: &RunStore, record: &RunRecord) -> Inspection {
    let mut inspection = Inspection::default();
    store.folder(record.id).events().for_each(|line| inspection.take(&line));
    inspection
}

/// The newest inspected run of the same program that has finished on one rank.
fn alone(store: &RunStore, record: &RunRecord) -> Option<RunRecord> {
    let command = inspected(record)?;
    let is_alone = |other: &RunRecord| {
        let same = inspected(other).is_some_and(|own| own.work() == command.work() && own.directory == command.directory);
        same && other.id != record.id
            && other.np() == 1
            && store.status(other.id).is_ok_and(|status| status.state == RunState::Finished)
    };
    if record.np() == 1 {
        return None;
    }
    store.ids().into_iter().rev().filter_map(|id| store.record(id).ok()).find(is_alone)
}

/// The program of a run into whose ranks the inspector looks.
pub fn inspected(record: &RunRecord) -> Option<&CommandSpec> {
    record.request.spec.command().filter(|command| command.inspect)
}

/// A place as the user would call it where the program works.
fn line(place: &Place, directory: &str) -> String {
    let file = Path::new(&place.file);
    let file = file.strip_prefix(directory).unwrap_or(file).display();
    if place.line == 0 { file.to_string() } else { format!("{file}:{}", place.line) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_called_as_in_the_folder_of_the_program() {
        let at = |file: &str, line: usize| super::line(&Place { file: file.into(), line }, "/work/a");
        assert_eq!(at("/work/a/src/t.py", 3), "src/t.py:3");
        assert_eq!(at("/work/ab/t.py", 3), "/work/ab/t.py:3");
        assert_eq!(at("/work/a/t.py", 0), "t.py", "no line is known");
    }
}
