//! What a run of collectives has measured: rows of the table with their predictions, and the messages of each logged allreduce.
//!
//! Never reads a file: settings and history in, facts out.

use std::collections::{BTreeMap, BTreeSet};

use super::collective::{AllreduceReport, CollectivesSpec, Fit, Machine, MessageReport, Refused, Shape};
use super::event::EventLine;
use super::history::{History, Keep};
use super::units;

mod log;

pub use log::{Comparison, MOST_COMPARED, MessageLog};

/// What a run of collectives has measured so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    pub ranks: usize,
    pub machine: Machine,
    pub rows: Vec<MeasuredRow>,
    /// Rows without a size or a time, which no run has measured: they are left out.
    pub empty_rows: usize,
    /// In the order of the table.
    pub logs: Vec<MessageLog>,
    /// Why some events cannot be from a run, in one sentence; set by the reader of the events.
    pub damaged: Option<String>,
}

/// One method at one size.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredRow {
    pub report: AllreduceReport,
    /// The predicted time in seconds, or why there is no prediction.
    pub predicted_s: Result<f64, Refused>,
}

impl MeasuredRow {
    /// What was measured on `ranks` ranks, with the prediction for this machine.
    pub fn new(report: &AllreduceReport, machine: &Machine, ranks: usize, shape: Shape) -> MeasuredRow {
        let predicted_s = machine.predict(&report.method, ranks, report.elements, shape);
        MeasuredRow { report: report.clone(), predicted_s }
    }

    /// How far the prediction is off, as a part of what was measured: 0.1 where it is 10 % too long. By the median, which one
    /// interruption does not change.
    pub fn error(&self) -> Option<f64> {
        let error = self.predicted_s.ok()? / self.report.median_s - 1.0;
        error.is_finite().then_some(error)
    }
}

/// Why rows have no prediction: each reason once, with the methods that it is for.
pub fn refusals<'a>(rows: impl IntoIterator<Item = &'a MeasuredRow>) -> Vec<(String, Vec<&'a str>)> {
    let refused = rows.into_iter().filter_map(|row| Some((row.predicted_s.err()?.to_string(), row.report.method.as_str())));
    let mut reasons = grouped(refused);
    for (_, methods) in &mut reasons {
        let mut named = BTreeSet::new();
        methods.retain(|method| named.insert(*method));
    }
    reasons
}

/// Values with the same key, in the order in which the keys come first.
fn grouped<K: PartialEq, V>(pairs: impl Iterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in pairs {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

impl Measured {
    /// What the events of a run with these settings add up to.
    pub fn from_events(np: usize, spec: &CollectivesSpec, events: impl IntoIterator<Item = EventLine>) -> Measured {
        let mut history = History::new(Keep::Everything);
        events.into_iter().for_each(|line| history.take(&line));
        Measured::new(np, spec, &history)
    }

    /// What predictions are made from, as far as the ranks have reported it.
    pub fn machine(spec: &CollectivesSpec, history: &History) -> Machine {
        let processes = || history.attempt().into_iter().flat_map(|attempt| &attempt.processes);
        // Host to the cores that its ranks may use.
        let mut hosts: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
        for topology in processes().filter_map(|(_, process)| process.topology.as_ref()) {
            hosts.entry(&topology.host).or_default().extend(&topology.cores);
        }
        Machine {
            link: processes().find_map(|(_, process)| process.link.clone()),
            hosts: hosts.len(),
            cores: hosts.values().map(BTreeSet::len).min().unwrap_or_default(),
            has_made_links: spec.link_bits.is_some(),
        }
    }

    /// Of a run with these settings. The messages are there where the history keeps everything.
    pub fn new(np: usize, spec: &CollectivesSpec, history: &History) -> Measured {
        let processes = || history.attempt().into_iter().flat_map(|attempt| &attempt.processes);
        let machine = Measured::machine(spec, history);
        let row = |report: &AllreduceReport| MeasuredRow::new(report, &machine, np, spec.shape);
        let reports = || processes().flat_map(|(_, process)| &process.allreduces);
        let rows: Vec<MeasuredRow> = reports().filter(|report| report.is_measured()).map(row).collect();
        let empty_rows = reports().count() - rows.len();
        let messages = processes().flat_map(|(_, process)| &process.messages);
        let logs = grouped(messages.map(|report| ((&report.method, report.elements), &report.messages)));
        let log = |((method, elements), parts): ((&String, usize), Vec<&Vec<MessageReport>>)| MessageLog {
            method: method.clone(),
            elements,
            messages: parts.into_iter().flatten().cloned().collect(),
        };
        let mut logs: Vec<MessageLog> = logs.into_iter().map(log).collect();
        let place = |log: &MessageLog| spec.methods.iter().position(|method| *method == log.method);
        logs.sort_by_key(|log| (place(log), log.elements));
        for log in &mut logs {
            log.messages.sort_by_key(|message| (message.round, message.from, message.to, message.start));
        }
        Measured { ranks: np, machine, rows, empty_rows, logs, damaged: None }
    }

    /// What is wrong with the events of the run, in one sentence.
    pub fn problem(&self) -> Option<String> {
        let have = if self.empty_rows == 1 { "has no size or no time and is" } else { "have no size or no time and are" };
        let empty = || format!("{} {have} left out: its events are damaged", units::counted(self.empty_rows, "row"));
        let empty = (self.empty_rows > 0).then(empty);
        match (&self.damaged, empty) {
            (Some(damaged), Some(empty)) => Some(format!("{damaged}; {empty}")),
            (damaged, empty) => damaged.clone().or(empty),
        }
    }

    /// The methods in the order of the table, then those that have messages only.
    pub fn methods(&self) -> Vec<&str> {
        let mut known = BTreeSet::new();
        let rows = self.rows.iter().map(|row| row.report.method.as_str());
        let all = rows.chain(self.logs.iter().map(|log| log.method.as_str()));
        all.filter(|method| known.insert(*method)).collect()
    }

    /// The sizes of the table, smallest first.
    pub fn sizes(&self) -> Vec<u64> {
        let mut sizes: Vec<u64> = self.rows.iter().map(|row| row.report.bytes).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// A method at a size.
    pub fn row(&self, method: &str, bytes: u64) -> Option<&MeasuredRow> {
        self.at(bytes).find(|row| row.report.method == method)
    }

    /// All methods at a size.
    pub fn at(&self, bytes: u64) -> impl Iterator<Item = &MeasuredRow> {
        self.rows.iter().filter(move |row| row.report.bytes == bytes)
    }

    /// The mean bus bandwidth of each method over its sizes, in bytes a second, as nccl-tests ends with it.
    pub fn mean_busbw(&self) -> Vec<(&str, f64)> {
        let busbw = grouped(self.rows.iter().map(|row| (row.report.method.as_str(), row.report.busbw(self.ranks))));
        busbw.into_iter().map(|(method, all)| (method, all.iter().sum::<f64>() / all.len() as f64)).collect()
    }

    /// Numbers that were not the expected sum, over all rows.
    pub fn wrong(&self) -> u64 {
        self.rows.iter().filter_map(|row| row.report.wrong).fold(0, u64::saturating_add)
    }

    /// Alpha, beta and gamma of the formulas, or why they would mean nothing.
    ///
    /// # Errors
    /// The reason.
    pub fn fit(&self) -> Result<Fit, Refused> {
        self.machine.fit(self.ranks)
    }

    /// The median of how far the predictions are off, up or down.
    pub fn median_error(&self) -> Option<f64> {
        let mut errors: Vec<f64> = self.rows.iter().filter_map(MeasuredRow::error).map(f64::abs).collect();
        errors.sort_by(f64::total_cmp);
        errors.get(errors.len() / 2).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::collective::{LinkReport, LinkRow, MessagesReport, Operation};
    use crate::domain::event::{Event, TopologyReport};

    fn history(events: Vec<(usize, Event)>) -> History {
        let mut history = History::new(Keep::Everything);
        events.into_iter().for_each(|(process, event)| history.take(&EventLine { time_s: 1.0, process, event }));
        history
    }

    fn message(round: usize, from: usize, to: usize) -> MessageReport {
        let operation = if round == 0 { Operation::Reduce } else { Operation::Copy };
        MessageReport { round, from, to, start: 0, end: 1, operation, began_s: 0.0, ended_s: 1e-6 }
    }

    #[test]
    fn rows_carry_their_predictions_and_logs_of_all_ranks_are_one() {
        let topology = |process| (process, Event::Topology(TopologyReport::sample()));
        let row = LinkRow { bytes: 512, one_way_s: 1e-3, exchange_s: 1e-3, sum_s: 0.0 };
        let log = |process: usize, messages| {
            let report = MessagesReport { method: "ring".into(), elements: 2, part: 0, messages };
            (process, Event::Messages(report))
        };
        let history = history(vec![
            topology(0),
            topology(1),
            (0, Event::Link(LinkReport { rows: vec![row] })),
            (0, Event::Allreduce(AllreduceReport { median_s: 1e-3, ..AllreduceReport::sample() })),
            (0, Event::Allreduce(AllreduceReport { method: "mpi".into(), wrong: Some(2), ..AllreduceReport::sample() })),
            log(0, vec![message(0, 1, 0), message(1, 1, 0)]),
            log(1, vec![message(0, 0, 1), message(1, 0, 1)]),
        ]);
        let measured = Measured::new(2, &CollectivesSpec::sample(), &history);
        assert_eq!((measured.machine.hosts, measured.machine.cores), (1, 2));
        let ring = &measured.rows[0];
        // Two rounds of a millisecond each were predicted; it took one.
        assert!((ring.error().unwrap() - 1.0).abs() < 1e-6, "{ring:?}");
        assert!(measured.rows[1].error().is_none() && measured.rows[1].predicted_s.is_err());
        assert_eq!((measured.methods(), measured.sizes()), (vec!["ring", "mpi"], vec![ring.report.bytes]));
        assert_eq!(measured.row("ring", ring.report.bytes), Some(ring));
        assert_eq!((measured.wrong(), measured.median_error().map(f64::round)), (2, Some(1.0)));
        let rounds: Vec<_> = measured.logs[0].messages.iter().map(|message| (message.round, message.from)).collect();
        assert_eq!((measured.logs.len(), rounds), (1, vec![(0, 0), (0, 1), (1, 0), (1, 1)]));
        assert_eq!(measured.mean_busbw().iter().map(|(method, _)| *method).collect::<Vec<_>>(), ["ring", "mpi"]);
    }

    #[test]
    fn what_has_no_size_or_no_time_was_not_measured() {
        let sample = AllreduceReport::sample;
        let rows = [sample(), AllreduceReport { bytes: 0, ..sample() }, AllreduceReport { median_s: 0.0, ..sample() }];
        let measured =
            Measured::new(2, &CollectivesSpec::sample(), &history(rows.map(|row| (0, Event::Allreduce(row))).to_vec()));
        assert_eq!((measured.rows.len(), measured.empty_rows), (1, 2));
        let damaged = Measured { damaged: Some("a line is torn".into()), ..measured.clone() };
        assert!(damaged.problem().unwrap().starts_with("a line is torn; 2 rows have no size or no time and are left out"));
        assert_eq!(Measured { empty_rows: 0, ..measured }.problem(), None);
    }
}
