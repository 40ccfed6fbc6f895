//! What a run of collectives shows: its messages and bytes against the algorithm, and which method was fastest where.

use super::verdict::{Finding, Outcome, concluded, failed, unclear};
use crate::domain::collective::{Algorithm, CollectivesSpec, Method, Schedule};
use crate::domain::measured::{Measured, MeasuredRow, MessageLog};
use crate::domain::units;
use serde::Serialize;
use std::collections::BTreeMap;

/// One thing that the lesson says, and what the run shows of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Claim {
    /// `ring: messages of each rank`.
    pub what: String,
    pub outcome: Outcome,
    /// One sentence with ranks and numbers.
    pub evidence: String,
}

/// All that can be said of a run.
pub fn check_collectives(spec: &CollectivesSpec, measured: &Measured) -> Vec<Claim> {
    let mut findings = vec![("every sum is right".to_owned(), sums(measured))];
    for method in spec.methods.iter().filter(|_| spec.log_bytes.is_some()) {
        let Ok(Method::Own(algorithm)) = method.parse() else { continue };
        let what = format!("{method}: the log is the schedule");
        let Some(log) = measured.logs.iter().find(|log| log.method == *method) else {
            findings.push((what, unclear("no message of it is in the log")));
            continue;
        };
        let Some(reference) = algorithm.schedule_to_compare(measured.ranks, log.elements, spec.shape) else {
            let ranks = units::count(measured.ranks);
            findings.push((what, unclear(format!("{ranks} ranks are too many to compare with the schedule"))));
            continue;
        };
        findings.push((what, as_planned(log, &reference)));
        findings.push((format!("{method}: what each rank sends"), traffic(log, &reference)));
    }
    findings.push(("small and large buffers".into(), crossover(measured)));
    let methods = [Algorithm::Ring, Algorithm::ParameterServer].map(Algorithm::name);
    if methods.iter().all(|name| spec.methods.iter().any(|method| method == name)) {
        findings.push(("ring against parameter server".into(), servers(spec, measured)));
    }
    let claim = |(what, finding): (String, Finding)| {
        let (outcome, evidence) = concluded(finding, None);
        Claim { what, outcome, evidence }
    };
    findings.into_iter().map(claim).collect()
}

fn sums(measured: &Measured) -> Finding {
    let checked: Vec<&MeasuredRow> = measured.rows.iter().filter(|row| row.report.wrong.is_some()).collect();
    let wrong = checked.iter().find_map(|row| Some((row.report.wrong.filter(|wrong| *wrong > 0)?, &row.report)));
    if let Some((wrong, report)) = wrong {
        let bytes = units::bytes(report.bytes);
        let numbers = if wrong == 1 { "1 number" } else { &format!("{wrong} numbers") };
        let were = if wrong == 1 { "was" } else { "were" };
        return failed(format!("{numbers} of {} at {bytes} {were} wrong", report.method));
    }
    match checked.len() {
        0 => unclear("no row of this run was checked"),
        1 => Ok("1 row, and no number in it was wrong".into()),
        rows => Ok(format!("{rows} rows, and no number in them was wrong")),
    }
}

/// What the ranks received is what the algorithm sends, message by message.
fn as_planned(log: &MessageLog, reference: &Schedule) -> Finding {
    log.follows(reference).or_else(failed)?;
    Ok(format!(
        "{messages} in {rounds}, each as planned",
        messages = units::counted(log.messages.len(), "message"),
        rounds = units::counted(reference.rounds.len(), "round")
    ))
}

/// Messages and bytes of every rank, in figures that can be compared with the formula.
fn traffic(log: &MessageLog, reference: &Schedule) -> Finding {
    let sent_by = |rank: usize| {
        let own = log.messages.iter().filter(|message| message.from == rank);
        own.fold((0, 0), |(messages, elements), of| (messages + 1, elements + of.end - of.start))
    };
    let mut sent: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    for rank in 0..reference.ranks {
        let (found, due) = (sent_by(rank), (reference.messages_from(rank), reference.elements_from(rank)));
        if found != due {
            let in_words = |(messages, elements): (usize, usize)| {
                format!("{} and {}", units::counted(messages, "message"), units::bytes(4 * elements as u64))
            };
            let (found, due) = (in_words(found), in_words(due));
            return failed(format!("rank {rank} sent {found} by the log, and the algorithm sends {due}"));
        }
        sent.entry(found).or_default().push(rank);
    }
    let buffer = (4 * log.elements).max(1) as f64;
    let sentence = |((messages, elements), ranks): (&(usize, usize), &Vec<usize>)| {
        let who = match ranks.as_slice() {
            all if all.len() == reference.ranks => "each rank".to_owned(),
            [one] => format!("rank {one}"),
            many => format!("{} ranks", many.len()),
        };
        let (messages, bytes) = (units::counted(*messages, "message"), units::count(4 * elements));
        format!("{who} sent {messages} and {bytes} bytes ({:.2} of the buffer)", 4.0 * *elements as f64 / buffer)
    };
    Ok(sent.iter().map(sentence).collect::<Vec<_>>().join("; "))
}

/// The fastest of these.
fn fastest<'a>(rows: impl Iterator<Item = &'a MeasuredRow>) -> Option<&'a MeasuredRow> {
    rows.min_by(|a, b| a.report.median_s.total_cmp(&b.report.median_s))
}

fn crossover(measured: &Measured) -> Finding {
    let sizes = || measured.rows.iter().map(|row| row.report.bytes).filter(|bytes| *bytes > 0);
    let (Some(smallest), Some(largest)) = (sizes().min(), sizes().max()) else { return unclear("no row has a size above 0") };
    let methods = measured.at(smallest).count();
    if measured.ranks < 2 {
        return unclear("one rank sends nothing: measure with two or more");
    }
    if smallest == largest || methods < 2 {
        return unclear("compare at least two methods at two sizes");
    }
    let (Some(small), Some(large)) = (fastest(measured.at(smallest)), fastest(measured.at(largest))) else {
        return unclear("no row was measured");
    };
    let sentence = |row: &MeasuredRow| {
        let others = measured.at(row.report.bytes).filter(|other| other.report.method != row.report.method);
        let next = fastest(others).map(|next| &next.report);
        let next = next.map(|next| format!(", {} next with {}", next.method, units::short_time(next.median_s)));
        let (bytes, time) = (units::bytes(row.report.bytes), units::short_time(row.report.median_s));
        format!("at {bytes} {} is fastest ({time}{})", row.report.method, next.unwrap_or_default())
    };
    Ok(format!("{}; {}", sentence(small), sentence(large)))
}

/// How much longer the parameter server takes at the largest size, as a part of the ring's time.
fn servers(spec: &CollectivesSpec, measured: &Measured) -> Finding {
    let at_largest = |algorithm: Algorithm| {
        let rows = measured.rows.iter().filter(move |row| row.report.method == algorithm.name());
        rows.max_by_key(|row| row.report.bytes)
    };
    let (Some(ring), Some(server)) = (at_largest(Algorithm::Ring), at_largest(Algorithm::ParameterServer)) else {
        return unclear("one of the two has no row yet");
    };
    if ring.report.bytes != server.report.bytes || ring.report.bytes == 0 {
        return unclear("the two were not measured at the same size yet");
    }
    if measured.ranks < 3 || spec.shape.servers >= measured.ranks {
        return unclear("a server is in the way from three ranks on, if it serves more than its own");
    }
    let ratio = server.report.median_s / ring.report.median_s;
    let said = format!(
        "at {bytes} on {ranks} ranks {servers} took {ratio:.2} times the time of the ring{link}",
        bytes = units::bytes(ring.report.bytes),
        ranks = measured.ranks,
        servers = units::counted(spec.shape.servers, "server"),
        link = spec.link().map(|link| format!(", {link}")).unwrap_or_default()
    );
    if ratio > 1.0 {
        return Ok(said);
    }
    unclear(format!("{said}: try larger buffers, or a slow link, where the bytes are what costs"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::collective::{AllreduceReport, MessageReport, Shape};
    use crate::domain::history::{History, Keep};

    fn spec() -> CollectivesSpec {
        let text = r#"{"methods":["ring","parameter-server"],"servers":1,"ranks_per_host":2,"min_bytes":64,"max_bytes":65536,
            "factor":2,"iterations":5,"warmup":1,"log_bytes":64}"#;
        serde_json::from_str(text).unwrap()
    }

    /// Four ranks; the ring is faster at the larger size, and its log is the schedule.
    fn measured() -> Measured {
        let spec = spec();
        let mut measured = Measured::new(4, &spec, &History::new(Keep::Everything));
        let row = |method: &str, bytes: u64, time_s: f64| MeasuredRow {
            predicted_s: measured.machine.predict(method, 4, 16, spec.shape),
            report: AllreduceReport {
                method: method.into(),
                bytes,
                elements: bytes as usize / 4,
                iterations: 5,
                mean_s: time_s,
                median_s: time_s,
                min_s: time_s,
                max_s: time_s,
                wrong: Some(0),
            },
        };
        let rows = [("ring", 64, 9e-6), ("parameter-server", 64, 3e-6), ("ring", 65536, 1e-4), ("parameter-server", 65536, 4e-4)];
        let rows = rows.map(|(method, bytes, time_s)| row(method, bytes, time_s)).to_vec();
        measured.rows = rows;
        let schedule = Algorithm::Ring.schedule(4, 16, Shape { servers: 1, ranks_per_host: 2 });
        measured.logs.push(MessageLog {
            method: "ring".into(),
            elements: 16,
            messages: schedule.messages().map(MessageReport::of).collect(),
        });
        measured
    }

    fn claims(change: impl FnOnce(&mut Measured)) -> Vec<(Outcome, String)> {
        let mut measured = measured();
        change(&mut measured);
        let all = check_collectives(&spec(), &measured).into_iter();
        all.filter(|claim| !claim.what.starts_with("parameter-server:")).map(|claim| (claim.outcome, claim.evidence)).collect()
    }

    #[test]
    fn a_good_run_shows_what_the_lesson_says() {
        let said = claims(|_| {});
        assert!(said.iter().all(|(outcome, _)| *outcome == Outcome::Passed), "{said:?}");
        let text: Vec<&str> = said.iter().map(|(_, evidence)| evidence.as_str()).collect();
        assert_eq!(text[1], "24 messages in 6 rounds, each as planned");
        assert_eq!(text[2], "each rank sent 6 messages and 96 bytes (1.50 of the buffer)");
        assert!(text[3].contains("parameter-server is fastest (3") && text[3].contains("ring is fastest"), "{text:?}");
        assert!(text[4].contains("1 server took 4.00 times the time of the ring"), "{text:?}");
    }

    #[test]
    fn every_claim_can_fail() {
        let wrong = claims(|measured| measured.rows[1].report.wrong = Some(3));
        assert!(wrong[0].0 == Outcome::Failed && wrong[0].1.contains("3 numbers of parameter-server"), "{wrong:?}");
        let unchecked = claims(|measured| measured.rows.iter_mut().for_each(|row| row.report.wrong = None));
        assert_eq!(unchecked[0].0, Outcome::CannotTell);
        let astray = claims(|measured| measured.logs[0].messages[5].to = 3);
        assert!(astray[1].0 == Outcome::Failed && astray[1].1.contains("round 2"), "{astray:?}");
        let lost = claims(|measured| measured.logs[0].messages.truncate(23));
        assert!(lost[1].0 == Outcome::Failed && lost[2].0 == Outcome::Failed, "{lost:?}");
        assert!(lost[2].1.contains("rank 3 sent 5 messages and 80 B by the log, and the algorithm sends 6"), "{lost:?}");
        let unlogged = claims(|measured| measured.logs.clear());
        assert!(unlogged[1].0 == Outcome::CannotTell && unlogged[1].1.contains("no message of it"), "{unlogged:?}");
        let late = claims(|measured| measured.logs[0].messages[5].round = 99);
        assert!(late[1].0 == Outcome::Failed && late[1].1.contains("round 100"), "{late:?}");
        let one_size = claims(|measured| measured.rows.truncate(2));
        assert_eq!((one_size[3].0, one_size[4].0), (Outcome::CannotTell, Outcome::CannotTell), "3 us are less than 9");
        let alone = claims(|measured| measured.rows.retain(|row| row.report.method == "ring"));
        assert_eq!((alone[3].0, alone[4].0), (Outcome::CannotTell, Outcome::CannotTell));
    }
}
