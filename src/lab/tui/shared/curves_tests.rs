//! Curves from made-up events: extremes, gaps, bounded memory, continued runs, rates.

use crate::domain::event::{ConfigReport, EpochReport};
use crate::domain::history::Keep;
use crate::tui::shared::curves::*;
use crate::tui::testing::samples;

fn point(step: usize, value: f64) -> Point {
    Point { epoch: step as f64 / 100.0, step: step as f64, seconds: step as f64 / 10.0, value }
}

fn curve(values: impl IntoIterator<Item = f64>) -> Curve {
    let mut curve = Curve::default();
    values.into_iter().enumerate().for_each(|(step, value)| curve.push(point(step, value)));
    curve
}

#[test]
fn a_million_points_fit_and_the_single_extremes_are_still_there() {
    let spikes = |step: usize| match step {
        123_457 => 99.0,
        700_001 => -7.0,
        _ => (step as f64 / 1000.0).sin(),
    };
    let curve = curve((0..1_000_000).map(spikes));
    assert!(curve.buckets().len() <= BUCKETS, "{}", curve.buckets().len());
    let points: Vec<Point> = curve.buckets().iter().flat_map(Bucket::points).collect();
    let find = |value: f64| points.iter().find(|point| point.value == value).map(|point| point.step);
    assert_eq!((find(99.0), find(-7.0)), (Some(123_457.0), Some(700_001.0)));
    // Old and new parts are equally dense, and stay in order.
    assert!(points.windows(2).all(|pair| pair[0].step <= pair[1].step));
    let early = points.iter().filter(|point| point.step < 500_000.0).count();
    assert!((points.len() * 9 / 20..=points.len() * 11 / 20).contains(&early), "{early} of {}", points.len());
    assert_eq!(curve.last(), Some(point(999_999, spikes(999_999))));
}

#[test]
fn a_gap_outlives_thinning() {
    let mut curve = curve((0..100_000).map(|step| if step == 31_415 { f64::NAN } else { 1.0 }));
    let gaps: Vec<f64> = curve.buckets().iter().filter_map(|bucket| bucket.gap).map(|point| point.step).collect();
    assert_eq!(gaps, [31_415.0]);
    curve.push(point(100_000, f64::INFINITY));
    assert!(curve.buckets().iter().flat_map(Bucket::points).all(|point| point.value.is_finite()));
    assert!(curve.buckets().last().unwrap().gap.is_some());
}

#[test]
fn the_nearest_measured_value_is_read_and_none_outside_the_curve() {
    let curve = curve([5.0, 4.0, f64::NAN, 2.0]);
    let at = |x| curve.at(Along::Step, x, 0.4).map(|point| point.value);
    assert_eq!(at(0.9), Some(4.0));
    assert_eq!(at(3.3), Some(2.0));
    assert!(at(2.1).unwrap().is_nan(), "no number is told as it is");
    assert_eq!((at(3.5), at(-0.5)), (None, None));
    assert_eq!(curve.at(Along::Time, 0.11, 0.0).map(|point| point.value), Some(4.0));
}

/// Curves with the history that they are drawn from.
struct Run {
    history: History,
    curves: Curves,
}

fn run() -> Run {
    Run { history: History::new(Keep::Epochs(256)), curves: Curves::default() }
}

fn absorb(run: &mut Run, time_s: f64, event: Event) {
    let line = EventLine { time_s, process: 0, event };
    run.history.take(&line);
    run.curves.absorb(&run.history, &line);
}

fn config(resume_epoch: usize) -> Event {
    let config = samples::config(3);
    Event::Config(ConfigReport { resume_epoch, steps_per_epoch: 10, global_batch_size: 128, ..config })
}

fn step(epoch: usize, batch: usize) -> Event {
    Event::Step { epoch, batch, lr: 0.01, loss: 1.0 }
}

#[test]
fn a_continued_run_goes_on_where_its_checkpoint_was_and_the_pause_is_left_out() {
    let mut run = run();
    absorb(&mut run, 100.0, samples::topology(0, 2));
    absorb(&mut run, 101.0, config(0));
    for batch in 0..10 {
        absorb(&mut run, 102.0 + batch as f64, step(0, batch));
    }
    absorb(&mut run, 112.0, Event::Epoch(EpochReport::sample()));
    absorb(&mut run, 114.0, step(1, 0));
    // Stopped in its second epoch, and continued an hour later.
    absorb(&mut run, 3714.0, samples::topology(0, 2));
    absorb(&mut run, 3715.0, config(1));
    assert_eq!(run.curves.loss.last().map(|point| point.step), Some(10.0), "the step that the checkpoint did not hold is gone");
    absorb(&mut run, 3716.0, step(1, 0));
    let last = run.curves.loss.last().unwrap();
    assert_eq!((last.epoch, last.step, last.seconds), (1.1, 11.0, 14.0));
    assert_eq!(run.curves.planned_end(Along::Step), 30.0);
}

#[test]
fn the_rate_is_that_of_whole_seconds_and_of_each_epochs_report() {
    let mut run = run();
    absorb(&mut run, 0.0, config(0));
    for batch in 0..10 {
        absorb(&mut run, 0.25 * batch as f64, step(0, batch));
    }
    absorb(&mut run, 3.0, Event::Epoch(EpochReport { images_per_sec: 500.0, ..EpochReport::sample() }));
    // The pause for validation is no slow step.
    absorb(&mut run, 9.0, step(1, 0));
    absorb(&mut run, 10.0, step(1, 1));
    let rates: Vec<f64> = run.curves.images_per_sec.buckets().iter().map(|bucket| bucket.first.value).collect();
    assert_eq!(rates, [512.0, 512.0, 500.0, 128.0]);
}

#[test]
fn a_smoothed_curve_keeps_its_course_and_its_gaps() {
    let mut curve = Curve::default();
    for step in 0..400 {
        let at = f64::from(step);
        let noise = if step % 2 == 0 { 0.5 } else { -0.5 };
        let value = if (200..220).contains(&step) { f64::NAN } else { at / 100.0 + noise };
        curve.push(Point { epoch: at, step: at, seconds: at, value });
    }
    let smooth = curve.smoothed().unwrap();
    assert_eq!(smooth.last().map(|point| point.step), Some(399.0));
    assert!(smooth.buckets().len() > 100);
    for bucket in smooth.buckets() {
        let (at, value) = (bucket.first.step, bucket.first.value);
        assert_eq!(bucket.gap.is_some(), (200.0..220.0).contains(&at), "{bucket:?}");
        assert!(bucket.gap.is_some() || (value - at / 100.0).abs() < 0.15, "{bucket:?}");
    }
    let mut short = Curve::default();
    (0..20).for_each(|step| short.push(Point { epoch: 0.0, step: f64::from(step), seconds: 0.0, value: 1.0 }));
    assert_eq!(short.smoothed(), None);
}

#[test]
fn where_another_number_of_ranks_went_on_is_kept() {
    let mut run = run();
    for (np, resume_epoch) in [(3, 0), (3, 1), (2, 2), (1, 3), (2, 1)] {
        absorb(&mut run, 0.0, samples::topology(0, np));
        absorb(&mut run, 1.0, config(resume_epoch));
        let seen: Vec<(f64, f64)> = run.curves.handovers.iter().map(|point| (point.epoch, point.value)).collect();
        let wanted: &[(f64, f64)] = match np {
            3 => &[],
            1 => &[(2.0, 2.0), (3.0, 1.0)],
            _ if resume_epoch == 2 => &[(2.0, 2.0)],
            // What went on from there is lost.
            _ => &[(1.0, 2.0)],
        };
        assert_eq!(seen, wanted, "{np} ranks from epoch {resume_epoch}");
    }
}
