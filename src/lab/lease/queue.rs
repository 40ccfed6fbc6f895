//! Whose turn it is, and when the others can expect theirs. Pure: it looks nothing up.
//!
//! First come, first served. Users who are at their limit are skipped, with all their later requests.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// More devices than any machine has: a ticket that wants more is invalid.
const MOST_DEVICES: usize = 100_000;

/// A run's request for devices.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// What others are shown of it: `run 12`.
    pub run: String,
    /// Devices.
    pub count: usize,
    /// Seconds that it takes at most.
    #[serde(default)]
    pub limit_s: Option<f64>,
    /// Its supervisor.
    pub pid: u32,
    /// Unix time in seconds.
    pub asked_s: f64,
}

/// The text of a ticket.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Allocation {
    #[serde(flatten)]
    pub request: Request,
    /// Those that it has; empty while it waits.
    #[serde(default)]
    pub devices: Vec<String>,
    /// Unix times in seconds: since when it has them, and until when as far as anybody knows.
    #[serde(default)]
    pub granted_s: Option<f64>,
    #[serde(default)]
    pub ends_s: Option<f64>,
}

impl Allocation {
    /// Tickets may come from strangers: one that makes no sense is none.
    pub(super) fn parse(text: &str) -> Option<Allocation> {
        let allocation: Allocation = serde_json::from_str(text.trim_end_matches([' ', '\n'])).ok()?;
        let is_time = |time: f64| time.is_finite() && (0.0..1e12).contains(&time);
        let times = [Some(allocation.request.asked_s), allocation.request.limit_s, allocation.granted_s, allocation.ends_s];
        let is_sound = (1..=MOST_DEVICES).contains(&allocation.request.count) && times.into_iter().flatten().all(is_time);
        is_sound.then_some(allocation)
    }
}

/// A run that holds devices, or waits for some.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its ticket.
    pub ticket: String,
    /// Number of the user, as the system knows the owner of the ticket.
    pub user: u32,
    pub allocation: Allocation,
}

/// The runs that have devices and those that wait, in the order in which they came.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Queue {
    pub held: Vec<Entry>,
    pub waiting: Vec<Entry>,
}

/// What a waiting run can expect.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// From 1.
    pub place: usize,
    pub of: usize,
    /// Unix time in seconds; `None` where a run ahead of it has no end that is known.
    pub start_s: Option<f64>,
    /// Its user is at the limit, so that others go first.
    pub is_skipped: bool,
}

/// Devices by user.
type Counts = BTreeMap<u32, usize>;

impl Queue {
    fn counts(&self) -> Counts {
        let mut counts = Counts::new();
        for entry in &self.held {
            *counts.entry(entry.user).or_default() += entry.allocation.devices.len();
        }
        counts
    }

    /// The ticket whose turn it is: no other may take devices.
    pub fn turn(&self, per_user: Option<usize>) -> Option<&str> {
        let waiting: Vec<&Entry> = self.waiting.iter().collect();
        turn(&waiting, &self.counts(), per_user).map(|index| waiting[index].ticket.as_str())
    }

    /// What this ticket can expect on a machine with `devices` devices; `None` if it does not wait.
    pub fn estimate(&self, ticket: &str, per_user: Option<usize>, devices: usize, now_s: f64) -> Option<Estimate> {
        let index = self.waiting.iter().position(|entry| entry.ticket == ticket)?;
        let counts = self.counts();
        let user = self.waiting[index].user;
        let wants =
            self.waiting[..=index].iter().filter(|entry| entry.user == user).map(|entry| entry.allocation.request.count).sum();
        Some(Estimate {
            place: index + 1,
            of: self.waiting.len(),
            start_s: self.start_of(ticket, per_user, devices, now_s),
            is_skipped: !fits(&counts, user, wants, per_user),
        })
    }

    /// Simulates the queue until this ticket gets its devices.
    fn start_of(&self, ticket: &str, per_user: Option<usize>, devices: usize, now_s: f64) -> Option<f64> {
        let mut counts = self.counts();
        let mut waiting: Vec<&Entry> = self.waiting.iter().collect();
        // Ends with their users and devices; an end that is not known never comes.
        let ends = self.held.iter().map(|entry| (entry.allocation.ends_s, entry.user, entry.allocation.devices.len()));
        let mut ends: Vec<(Option<f64>, u32, usize)> = ends.collect();
        let mut free = devices.saturating_sub(counts.values().sum());
        let mut now_s = now_s;
        loop {
            let next = turn(&waiting, &counts, per_user).filter(|index| waiting[*index].allocation.request.count <= free);
            if let Some(index) = next {
                let entry = waiting.remove(index);
                if entry.ticket == ticket {
                    return Some(now_s);
                }
                let request = &entry.allocation.request;
                free -= request.count;
                *counts.entry(entry.user).or_default() += request.count;
                ends.push((request.limit_s.map(|limit_s| now_s + limit_s), entry.user, request.count));
                continue;
            }
            let known = ends.iter().enumerate().filter_map(|(index, (end_s, _, _))| Some((index, (*end_s)?)));
            let (first, end_s) = known.min_by(|(_, one), (_, other)| one.total_cmp(other))?;
            let (_, user, count) = ends.swap_remove(first);
            // One that should have ended already ends soon.
            now_s = now_s.max(end_s);
            free += count;
            if let Some(has) = counts.get_mut(&user) {
                *has = has.saturating_sub(count);
            }
        }
    }
}

fn fits(counts: &Counts, user: u32, count: usize, per_user: Option<usize>) -> bool {
    per_user.is_none_or(|most| counts.get(&user).copied().unwrap_or(0) + count <= most)
}

fn turn(waiting: &[&Entry], counts: &Counts, per_user: Option<usize>) -> Option<usize> {
    let mut skipped = BTreeSet::new();
    waiting.iter().position(|entry| {
        let is_next = !skipped.contains(&entry.user) && fits(counts, entry.user, entry.allocation.request.count, per_user);
        if !is_next {
            skipped.insert(entry.user);
        }
        is_next
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(ticket: &str, user: u32, count: usize, limit_s: Option<f64>) -> Entry {
        let request = Request { count, limit_s, ..Request::default() };
        Entry { ticket: ticket.into(), user, allocation: Allocation { request, ..Allocation::default() } }
    }

    fn holder(user: u32, count: usize, ends_s: Option<f64>) -> Entry {
        let mut entry = entry("held", user, count, None);
        entry.allocation =
            Allocation { devices: (0..count).map(|at| format!("{user}-{at}")).collect(), ends_s, ..entry.allocation };
        entry
    }

    #[test]
    fn the_first_is_served_first_and_a_large_request_is_not_overtaken() {
        let queue =
            Queue { held: vec![holder(1, 1, None)], waiting: vec![entry("large", 2, 4, None), entry("small", 3, 1, None)] };
        assert_eq!(queue.turn(None), Some("large"));
        assert_eq!(Queue::default().turn(None), None);
    }

    #[test]
    fn who_has_enough_is_passed_over_with_all_that_comes_later() {
        let queue = Queue {
            held: vec![holder(1, 1, None)],
            waiting: vec![entry("two", 1, 2, None), entry("one", 1, 1, None), entry("other", 2, 1, None)],
        };
        assert_eq!(queue.turn(Some(2)), Some("other"), "a smaller request of the same user does not overtake a larger one");
        assert_eq!(queue.turn(Some(3)), Some("two"));
        let estimate = queue.estimate("two", Some(2), 4, 0.0).unwrap();
        assert!(estimate.is_skipped && estimate.place == 1 && estimate.of == 3, "{estimate:?}");
        assert!(!queue.estimate("other", Some(2), 4, 0.0).unwrap().is_skipped);
    }

    #[test]
    fn the_expected_start_plays_the_queue_forward() {
        let queue = Queue {
            held: vec![holder(1, 1, Some(130.0)), holder(2, 1, Some(110.0))],
            waiting: vec![
                entry("both", 3, 2, Some(50.0)),
                entry("next", 1, 1, None),
                entry("beside", 2, 1, Some(5.0)),
                entry("last", 3, 1, None),
            ],
        };
        let start = |ticket| queue.estimate(ticket, None, 2, 100.0).unwrap().start_s;
        assert_eq!(start("both"), Some(130.0), "both GPUs are free when the later of the two ends");
        assert_eq!(start("next"), Some(180.0));
        assert_eq!(start("beside"), Some(180.0));
        assert_eq!(start("last"), Some(185.0));
        assert_eq!(queue.estimate("nobody", None, 2, 100.0), None);
    }

    #[test]
    fn without_a_known_end_nothing_is_promised() {
        let queue = Queue { held: vec![holder(1, 1, None)], waiting: vec![entry("one", 2, 1, None)] };
        assert_eq!(queue.estimate("one", None, 1, 0.0).unwrap().start_s, None);
        // One that is late ends now, as far as anybody knows.
        let late = Queue { held: vec![holder(1, 1, Some(5.0))], ..queue };
        assert_eq!(late.estimate("one", None, 1, 9.0).unwrap().start_s, Some(9.0));
    }

    #[test]
    fn a_ticket_that_makes_no_sense_is_none() {
        let good = r#"{"run": "run 1", "count": 2, "pid": 7, "asked_s": 5.0}"#;
        assert_eq!(Allocation::parse(&format!("{good}   ")).unwrap().request.count, 2);
        for bad in [
            "",
            "[]",
            r#"{"run": "run 1", "count": 0, "pid": 7, "asked_s": 5.0}"#,
            r#"{"run": "run 1", "count": 99999999, "pid": 7, "asked_s": 5.0}"#,
            r#"{"run": "run 1", "count": 2, "pid": 7, "asked_s": -1.0}"#,
            r#"{"run": "run 1", "count": 2, "pid": 7, "asked_s": 5.0, "ends_s": 1e300}"#,
        ] {
            assert_eq!(Allocation::parse(bad), None, "{bad}");
        }
    }
}
