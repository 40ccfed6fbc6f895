//! The list of runs that take turns: kept, gone on with, begun by one lab only.
//!
//! Never starts a run: the tests say what became of each.

use std::cell::Cell;

use hvd_lab_terminal::course::{Catalog, Next, Series, SeriesFile};
use hvd_lab_terminal::domain::run::RunState;
use hvd_lab_terminal::domain::step::Step;
use hvd_lab_terminal::runs::{RunId, StoreError};

use super::good;

fn guided(number: usize) -> Series {
    let catalog = Catalog::embedded().unwrap();
    Series::guided(catalog.lesson(number).unwrap(), &good::spec(4), "cpu").unwrap()
}

#[test]
fn every_step_has_two_runs_that_differ_in_this_step_only() {
    for step in Step::ALL {
        let series = guided(step.number());
        let [before, after] = &series.turns[..] else { panic!("{series:?}") };
        assert_eq!(after.spec.workload.steps, before.spec.workload.steps.with(step), "{step}");
        assert!(!before.spec.workload.steps.contains(step), "{step}");
        // A warm-up is for many ranks.
        let np = if step == Step::Warmup { 8 } else { 2 };
        assert_eq!((before.spec.resources.np, after.spec.resources.np), (np, np), "{step}");
    }
    let catalog = Catalog::embedded().unwrap();
    assert_eq!(Series::guided(catalog.lesson(0).unwrap(), &good::spec(2), "cpu"), None, "the introduction has no step");
}

#[test]
fn turns_are_taken_in_order_one_at_a_time() {
    let home = tempfile::tempdir().unwrap();
    let file = SeriesFile::of(home.path());
    assert_eq!(file.read().unwrap(), None);
    file.write(&guided(4)).unwrap();
    let going = Cell::new(RunState::Running);
    let begin = |id: u32| {
        let state_of = |_| Some(going.get());
        let (series, run) = file.start_next(state_of, |_, _| Ok::<_, StoreError>(RunId(id))).unwrap();
        (run, series.unwrap().begun())
    };
    assert_eq!(begin(7), (Some(RunId(7)), 1));
    assert_eq!(begin(8), (None, 1), "the first is still running");
    going.set(RunState::Failed);
    assert_eq!(begin(9), (Some(RunId(9)), 2), "a run that failed is over");
    assert_eq!(begin(10), (None, 2));
    let kept = SeriesFile::of(home.path()).read().unwrap().unwrap();
    assert_eq!(kept.turns.iter().map(|turn| turn.run).collect::<Vec<_>>(), [Some(RunId(7)), Some(RunId(9))]);
}

#[test]
fn stopped_or_cancelled_nothing_more_begins() {
    let mut series = guided(4);
    series.turns[0].run = Some(RunId(1));
    assert_eq!(series.next(|_| Some(RunState::Finished)), Next::Start(1));
    assert_eq!(series.next(|_| Some(RunState::Stopping)), Next::Wait(RunId(1)));
    assert_eq!(series.next(|_| Some(RunState::Stopped)), Next::Over);
    assert_eq!(series.next(|_| None), Next::Start(1), "a run that was deleted is over");
    let home = tempfile::tempdir().unwrap();
    let file = SeriesFile::of(home.path());
    file.write(&series).unwrap();
    let cancelled = file.cancel().unwrap().unwrap();
    assert_eq!(cancelled.next(|_| Some(RunState::Finished)), Next::Over);
    assert_eq!(cancelled.next(|_| Some(RunState::Running)), Next::Wait(RunId(1)), "it is running, and will be waited for");
}

#[test]
fn a_start_that_fails_ends_the_series() {
    let home = tempfile::tempdir().unwrap();
    let file = SeriesFile::of(home.path());
    file.write(&guided(4)).unwrap();
    let failed = file.start_next(|_| None, |_, _| Err(StoreError::NoHome));
    assert!(failed.is_err());
    assert!(file.read().unwrap().unwrap().is_cancelled);
    std::fs::write(home.path().join("series.json"), "{").unwrap();
    assert!(file.read().unwrap_err().to_string().contains("series.json"));
}
