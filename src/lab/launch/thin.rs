//! What a program logs without end is thinned: a bounded part is written down, and of each kind the newest always.
//!
//! A program that logs as much as people can read loses nothing.

use std::collections::{BTreeSet, HashMap};
use std::mem::{Discriminant, discriminant};
use std::time::{Duration, Instant};

use crate::domain::event::{Event, EventLine, InspectorReport};
use crate::domain::user_metrics::FIGURES;

/// Events of a kind that are kept before every second one is skipped; after as many more, three of four, and so on. Of runs with
/// many ranks fewer of each.
const MOST: usize = 1024;
const FEWEST: usize = 64;
const MOST_OF_ALL_RANKS: usize = 16 << 10;
/// Reports of the inspector are compared between ranks, so a part of them would mislead: of each kind the first are kept, this many times
/// as many as of other kinds, and then none but the last.
const TIMES_AS_MANY_REPORTS: usize = 4;
/// One of a kind is kept at least this often, so that its curve keeps growing; with more than 16 ranks, less often.
const EVERY: Duration = Duration::from_secs(10);
/// A line of this many bytes counts as one event, a longer one as several.
const BYTES: usize = 512;
/// Kinds that are distinguished.
const MOST_KINDS: usize = 4096;

/// The process, the event, which figures it has, and what it reports of an inspected program.
type Name = (usize, Option<Discriminant<Event>>, u16, Option<Discriminant<InspectorReport>>);

/// Decides which events of one launch are written down.
#[derive(Debug)]
pub(super) struct Thin {
    most: usize,
    every: Duration,
    kinds: HashMap<Name, Kind>,
    news: Option<usize>,
    is_told: bool,
    /// Processes of whose reports a kind is not kept any more, and the one of them that was not asked for yet.
    cut: BTreeSet<usize>,
    newly_cut: Option<usize>,
}

#[derive(Debug)]
struct Kind {
    /// One event in `stride` is kept.
    stride: u64,
    skipped: u64,
    /// Room for further ones before the stride is doubled.
    room: usize,
    kept_at: Instant,
    /// What was skipped last, if it came after the last one that was kept.
    newest: Option<EventLine>,
}

impl Thin {
    /// For a launch of `np` ranks.
    pub fn new(np: usize) -> Thin {
        let np = np.max(1);
        Thin {
            most: (MOST_OF_ALL_RANKS / np).clamp(FEWEST, MOST),
            every: EVERY.saturating_mul(u32::try_from(np.div_ceil(16)).unwrap_or(u32::MAX)),
            kinds: HashMap::new(),
            news: None,
            is_told: false,
            cut: BTreeSet::new(),
            newly_cut: None,
        }
    }

    /// Whether an event of `bytes` bytes is written down. `event` is `None` if this version does not know it.
    pub fn keeps(&mut self, process: usize, event: Option<&Event>, bytes: usize) -> bool {
        let is_report = matches!(event, Some(Event::Inspected(_)));
        let most = self.most * if is_report { TIMES_AS_MANY_REPORTS } else { 1 };
        let new = || Kind { stride: 1, skipped: 0, room: most, kept_at: Instant::now(), newest: None };
        let name = self.name(process, event);
        let kind = self.kinds.entry(name).or_insert_with(new);
        kind.skipped += 1;
        if kind.skipped < kind.stride && (is_report || kind.kept_at.elapsed() < self.every) {
            return false;
        }
        (kind.skipped, kind.newest, kind.kept_at) = (0, None, Instant::now());
        kind.room = kind.room.saturating_sub(1 + bytes / BYTES);
        if kind.room == 0 {
            (kind.stride, kind.room) = (if is_report { u64::MAX } else { kind.stride.saturating_mul(2) }, most);
            if is_report && self.cut.insert(process) {
                self.newly_cut = Some(process);
            }
            self.news = self.news.or(Some(process).filter(|_| !self.is_told));
        }
        true
    }

    /// An event that was not kept.
    pub fn skipped(&mut self, line: EventLine) {
        let name = self.name(line.process, Some(&line.event));
        if let Some(kind) = self.kinds.get_mut(&name) {
            kind.newest = Some(line);
        }
    }

    fn name(&self, process: usize, event: Option<&Event>) -> Name {
        let report =
            event.and_then(|event| if let Event::Inspected(report) = event { Some(discriminant(&**report)) } else { None });
        let name = (process, event.map(discriminant), event.map_or(0, figures), report);
        let is_one_too_many = self.kinds.len() >= MOST_KINDS && !self.kinds.contains_key(&name);
        if is_one_too_many { (usize::MAX, None, 0, None) } else { name }
    }

    /// The first process whose events are thinned; reported once.
    pub fn news(&mut self) -> Option<usize> {
        let news = self.news.take()?;
        self.is_told = true;
        Some(news)
    }

    /// Once for each process: that the inspector's reports of it are not all kept.
    pub fn newly_cut(&mut self) -> Option<usize> {
        self.newly_cut.take()
    }

    /// The newest of each kind that was skipped.
    pub fn rest(&mut self) -> Vec<EventLine> {
        self.kinds.values_mut().filter_map(|kind| kind.newest.take()).collect()
    }
}

/// Which figures a program logged, one bit each: the losses of training must not crowd out those of validation.
fn figures(event: &Event) -> u16 {
    let Event::Logged(logged) = event else { return 0 };
    let bits = FIGURES.iter().enumerate().filter(|(_, field)| (field.get)(logged).is_some());
    bits.fold(0, |bits, (place, _)| bits | 1 << place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::event::EndedReport;
    use crate::domain::user_metrics::Logged;

    fn step(step: usize) -> Event {
        Event::Logged(Logged { step: Some(step as f64), loss: Some(0.5), ..Logged::default() })
    }

    #[test]
    fn of_a_million_events_some_thousand_are_kept_and_the_last_one() {
        let mut thin = Thin::new(2);
        let mut kept = 0;
        for number in 0..1_000_000 {
            let event = step(number);
            if thin.keeps(0, Some(&event), 100) {
                kept += 1;
            } else {
                thin.skipped(EventLine { time_s: 1.0, process: 0, event });
            }
        }
        assert!((1_000..20_000).contains(&kept), "{kept}");
        assert_eq!((thin.news(), thin.news()), (Some(0), None), "told once");
        let rest = thin.rest();
        assert_eq!((rest.len(), &rest[0].event), (1, &step(999_999)));
        assert!(thin.rest().is_empty());
    }

    #[test]
    fn of_the_inspectors_reports_the_first_of_each_kind_are_kept_without_a_gap_and_the_last() {
        let mut thin = Thin { every: Duration::ZERO, ..Thin::new(2) };
        let report =
            |updates| Event::Inspected(Box::new(InspectorReport::Ended(EndedReport { updates, ..EndedReport::default() })));
        let blind = Event::Inspected(Box::new(InspectorReport::Blind { why: "x".into() }));
        let mut kept = Vec::new();
        for number in 0..20_000 {
            let event = report(number);
            if thin.keeps(0, Some(&event), 100) {
                kept.push(number);
            } else {
                thin.skipped(EventLine { time_s: 1.0, process: 0, event });
            }
        }
        assert_eq!(kept, (0..kept.len()).collect::<Vec<_>>());
        assert!((4_000..5_000).contains(&kept.len()), "{}", kept.len());
        assert_eq!((thin.newly_cut(), thin.newly_cut()), (Some(0), None));
        assert!(thin.keeps(0, Some(&blind), 100), "another kind");
        assert_eq!((thin.news(), thin.rest()[0].event.clone()), (Some(0), report(19_999)));
    }

    #[test]
    fn rare_events_are_kept_beside_many() {
        let mut thin = Thin::new(2);
        let validation = Event::Logged(Logged { val_accuracy: Some(0.9), ..Logged::default() });
        let mut kept = 0;
        for number in 0..50_000 {
            thin.keeps(1, Some(&step(number)), 100);
            if number % 500 == 0 {
                kept += usize::from(thin.keeps(1, Some(&validation), 100));
            }
        }
        assert_eq!(kept, 100, "all of them");
        assert!((0..500).all(|number| thin.keeps(0, Some(&step(number)), 100)), "and those of another process");
    }

    #[test]
    fn long_lines_and_many_kinds_are_bounded_too() {
        let mut thin = Thin::new(1);
        let kept = (0..2_000).filter(|number| thin.keeps(0, Some(&step(*number)), 1 << 20)).count();
        assert!(kept < 20, "{kept}");
        let kept = (0..200_000).filter(|process| thin.keeps(*process, None, 100)).count();
        assert!(kept < 20_000, "{kept}");
    }

    #[test]
    fn what_is_seldom_thinned_is_seen_to_go_on() {
        let mut thin = Thin { every: Duration::ZERO, ..Thin::new(1) };
        assert!((0..5_000).all(|number| thin.keeps(0, Some(&step(number)), 100)));
    }
}
