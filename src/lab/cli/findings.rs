//! What the inspector found in a program of the user's own, as a table and as JSON.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::columns;
use crate::domain::command::CommandSpec;
use crate::domain::event::{Event, EventLine, Place};
use crate::inspect::{Finding, Inspected, Inspection, Topic};

/// The table fits into a terminal of this many columns.
const WIDTH: usize = 80;
const NO_FINDING: &str = "the ranks have reported nothing that can be judged\n";
const NOTHING: &str = "no rank has reported anything to the inspector, so nothing can be judged\n";

/// Says what is wrong with a run while it is followed.
pub(super) struct Inspector {
    command: CommandSpec,
    inspection: Inspection,
    /// A report came since the findings were looked at.
    has_news: bool,
    /// Findings that have been printed already.
    told: BTreeSet<(Topic, Option<Place>)>,
}

impl Inspector {
    pub fn new(command: CommandSpec) -> Inspector {
        Inspector { command, inspection: Inspection::default(), has_news: false, told: BTreeSet::new() }
    }

    pub fn take(&mut self, line: &EventLine) {
        self.has_news |= matches!(line.event, Event::Inspected(_));
        self.inspection.take(line);
    }

    /// A line for each new finding that is wrong, and for each topic of which nothing is wrong any more, as in a program that averages its
    /// weights now and then.
    pub fn news(&mut self) -> Vec<String> {
        if !std::mem::take(&mut self.has_news) {
            return Vec::new();
        }
        self.new_wrong(&Inspected::of(&self.inspection, &self.command, false))
    }

    fn new_wrong(&mut self, inspected: &Inspected) -> Vec<String> {
        let objects = |topic: Topic| inspected.findings.iter().any(|finding| finding.topic == topic && finding.is_objection());
        let gone: BTreeSet<Topic> = self.told.iter().map(|(topic, _)| *topic).filter(|topic| !objects(*topic)).collect();
        self.told.retain(|(topic, _)| !gone.contains(topic));
        let now = |topic: &Topic| inspected.findings.iter().find(|finding| finding.topic == *topic);
        let words = |topic: &Topic| now(topic).map_or(topic.name().to_owned(), |finding| inspected.in_words(finding));
        let back = gone.iter().map(|topic| format!("taken back: {}", words(topic)));
        let new = inspected.wrong().filter(|wrong| self.told.insert((wrong.topic, wrong.place.clone())));
        back.chain(new.map(|wrong| format!("wrong: {}", inspected.in_words(wrong)))).collect()
    }
}

/// A row for each finding, the wrong ones first: what was seen, at which line, what it costs, and what to write.
pub(super) fn table(inspected: &Inspected) -> String {
    if inspected.is_empty {
        return NOTHING.to_owned();
    }
    if inspected.findings.is_empty() {
        return NO_FINDING.to_owned();
    }
    let rows: Vec<[&str; 2]> = inspected.findings.iter().map(|finding| [finding.topic.name(), finding.outcome.name()]).collect();
    let widths =
        [0, 1].map(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0).max(["topic", "verdict"][column].len()));
    let room = WIDTH.saturating_sub(widths[0] + widths[1] + 4);
    let line = |topic: &str, verdict: &str, text: &str| {
        let cells = [columns::left(topic, widths[0]), columns::left(verdict, widths[1]), text.to_owned()];
        format!("{}\n", cells.join("  ").trim_end())
    };
    let mut table = line("topic", "verdict", "what was seen, where, and what to write");
    for (finding, [topic, verdict]) in inspected.findings.iter().zip(rows) {
        for (number, text) in inspected.sentences(finding).iter().flat_map(|text| columns::wrap(text, room)).enumerate() {
            let (topic, verdict) = if number == 0 { (topic, verdict) } else { ("", "") };
            table += &line(topic, verdict, &text);
        }
    }
    table
}

pub(super) fn json(inspected: &Inspected) -> Value {
    let row = |finding: &Finding| {
        let mut row = serde_json::to_value(finding).unwrap_or_default();
        row["step"] = json!(finding.topic.step().map(|step| step.number()));
        row
    };
    json!({ "has_reports": !inspected.is_empty, "findings": inspected.findings.iter().map(row).collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::Outcome;

    fn finding(topic: Topic, outcome: Outcome, seen: &str) -> Finding {
        Finding::new(topic, outcome, seen.into())
    }

    #[test]
    fn the_table_has_eighty_columns_and_nothing_in_it_moves_the_cursor() {
        let wrong = Finding {
            place: Some(Place { file: "/work/src/tr\x1b[2Jain.py".into(), line: 31 }),
            cost: "An epoch takes as long as on one rank.".into(),
            remedy: "Give the DataLoader `sampler=DistributedSampler(dataset)`, and leave shuffle out.".into(),
            ..finding(
                Topic::Data,
                Outcome::Wrong,
                "Both ranks saw the same 1,792 images in the first pass over the training data.",
            )
        };
        let judged = Inspected {
            findings: vec![wrong, finding(Topic::Ranks, Outcome::Ok, "2 ranks, each with 1 thread of 2 cores.")],
            is_empty: false,
            directory: "/work".into(),
        };
        let table = table(&judged);
        assert!(table.lines().all(|line| columns::width(line) <= WIDTH) && !table.contains('\x1b'), "{table}");
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines[0], "topic  verdict  what was seen, where, and what to write");
        assert!(lines[1].starts_with("data   wrong    Both ranks saw"), "{table}");
        assert!(
            table.contains("                line: src/train.py:31\n") && table.contains("\nranks  ok       2 ranks"),
            "{table}"
        );
        assert_eq!(json(&judged)["findings"][0]["step"], 5);
    }

    #[test]
    fn what_is_wrong_is_told_once_at_each_line() {
        let at = |line, seen: &str| Finding {
            place: Some(Place { file: "/work/t.py".into(), line }),
            remedy: "Average it.".into(),
            ..finding(Topic::Metrics, Outcome::Wrong, seen)
        };
        let judged = |findings| Inspected { findings, is_empty: false, directory: "/work".into() };
        let mut inspector = Inspector::new(CommandSpec::sample("python t.py"));
        let ok = finding(Topic::Data, Outcome::Ok, "Fine.");
        let said = inspector.new_wrong(&judged(vec![at(7, "A share is told as the whole"), ok]));
        assert_eq!(said, ["wrong: metrics: A share is told as the whole: t.py:7; remedy: Average it."]);
        let said = inspector.new_wrong(&judged(vec![at(7, "A share is told as the whole, twice."), at(9, "Another")]));
        assert_eq!(said, ["wrong: metrics: Another: t.py:9; remedy: Average it."], "the same line is not told again");
        let said = inspector.new_wrong(&judged(vec![finding(Topic::Metrics, Outcome::NotJudged, "Meant so")]));
        assert_eq!(said, ["taken back: metrics: Meant so"]);
        assert!(inspector.new_wrong(&judged(Vec::new())).is_empty(), "once");
        assert_eq!(inspector.new_wrong(&judged(vec![at(7, "A share")])).len(), 1, "and told again if it comes again");
    }

    #[test]
    fn where_no_rank_reported_that_is_said() {
        assert_eq!(table(&Inspected { is_empty: true, ..Inspected::default() }), NOTHING);
    }
}
