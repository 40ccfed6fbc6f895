//! The line of the header that says what the shown run gained, at every width.

use ratatui::layout::Rect;

use crate::domain::event::{ConfigReport, Event, EventLine};
use crate::domain::run::RunState;
use crate::runs::{RunId, RunSummary, RunUpdate};
use crate::tui::message::Message;
use crate::tui::state::State;
use crate::tui::testing::samples;
use crate::tui::tests::{cut_out, text};

const BEGAN: f64 = 1_700_000_000.0;

/// The first two lines of a screen so wide.
fn header(state: &State, width: u16) -> [String; 2] {
    let shown = cut_out(state, Rect::new(0, 0, width, 2), width, 40);
    let mut lines = shown.lines().map(|line| line.trim_matches('"').to_owned());
    [lines.next().unwrap(), lines.next().unwrap()]
}

/// These runs, and this one on the screen.
fn watching(runs: Vec<RunSummary>, run: u32) -> State {
    let mut state = samples::never_used();
    let status = runs.iter().find(|summary| summary.id == RunId(run)).unwrap().status.clone();
    samples::say(&mut state, Message::Runs(runs));
    samples::say(&mut state, Message::Started(RunId(run)));
    samples::say(&mut state, Message::Updates(RunId(run), vec![RunUpdate::Status(status)]));
    state
}

fn one_and(mut run: RunSummary, rate: f64) -> State {
    run.tally.figures.images_per_sec = Some(rate);
    let id = run.id.0;
    watching(vec![samples::finished(1, 1, 1000.0), run], id)
}

/// Run 2 in the middle of its first epoch, with so many images per second.
fn training(rate: f64, steps: usize) -> State {
    let going = samples::summary(2, 2, samples::status(RunState::Running, "training"), None);
    let mut state = watching(vec![samples::finished(1, 1, 1000.0), going], 2);
    let at = |time_s, event| RunUpdate::Event(EventLine { time_s, process: 0, event });
    let config = samples::config(3);
    let ConfigReport { global_batch_size, .. } = config;
    let mut updates = vec![at(BEGAN, samples::topology(0, 2)), at(BEGAN, Event::Config(config))];
    // Nobody counts the time until the first step.
    let of_step = |batch: usize| BEGAN + 30.0 + (batch * global_batch_size) as f64 / rate;
    updates.extend((0..steps).map(|batch| at(of_step(batch), Event::Step { epoch: 0, batch, lr: 0.01, loss: 1.0 })));
    samples::say(&mut state, Message::Updates(RunId(2), updates));
    state
}

#[test]
fn a_run_that_trains_says_what_it_gained_so_far() {
    let state = training(1820.0, 60);
    let [first, second] = header(&state, 140);
    let said = " run 2 so far: 1.82x run 1 on 2 ranks, 91 % efficiency █████████▏ of 2x";
    assert!(second.starts_with(said), "{second}");
    assert!(second.ends_with("next run: np 2 · wrn-10-1 · Fashion-MNIST "), "{second}");
    assert!(first.contains("Step 1/10: Init and pin a device") && first.contains("run 2 ▶ running  epoch 1/3"), "{first}");
    let [first, second] = header(&state, 80);
    assert!(second.starts_with(" run 2 so far: 1.82x run 1, 91 % efficiency █████████▏ of 2x"), "{second}");
    assert!(second.ends_with("next run: np 2 ") && first.contains("run 2 ▶ running  epoch 1/3"), "{first}\n{second}");
    assert!(text(&state, 200, 60).contains(" 1.82x "), "the table says it too");
}

#[test]
fn the_first_moments_of_a_run_say_nothing_of_its_speed() {
    let [_, second] = header(&training(1820.0, 5), 120);
    assert!(second.starts_with(" run 2: speed-up – (images/s appear after the first seconds)"), "{second}");
}

#[test]
fn a_finished_run_says_what_it_gained() {
    let state = one_and(samples::finished(2, 4, 1.0), 3000.0);
    for (width, said) in [
        (120, " run 2: 3.00x run 1 on 4 ranks, 75 % efficiency ███████▌·· of 4x"),
        (80, " run 2: 3.00x run 1 on 4 ranks, 75 % efficiency ███████▌·· of 4x     next: np 2 "),
    ] {
        let [first, second] = header(&state, width);
        assert!(second.starts_with(said), "{second}");
        assert!(first.contains("run 2 ✓ finished  test accuracy 69.4 %"), "{first}");
    }
    let mut ascii = state;
    ascii.shared.theme.ascii = true;
    let [_, second] = header(&ascii, 80);
    assert!(second.contains("3.00x run 1 on 4 ranks, 75 % efficiency #######") && second.is_ascii(), "{second}");
}

#[test]
fn what_cannot_be_compared_says_why_to_the_end_of_the_reason() {
    let mut other = samples::finished(2, 2, 1.0);
    other.record.as_mut().unwrap().spec.workload.training_mut().unwrap().train_images = Some(77);
    let state = one_and(other, 2000.0);
    for width in [80, 120, 200] {
        let [_, second] = header(&state, width);
        assert!(second.starts_with(" run 2: speed-up – (other number of images than the baseline) "), "{second}");
        assert!(width == 80 || second.contains("next run: np 2"), "{second}");
    }
    let [_, second] = header(&watching(vec![samples::finished(1, 1, 1000.0)], 1), 80);
    assert!(second.starts_with(" run 1: 1000 images/s on 1 rank, the baseline"), "{second}");
    let failed = samples::summary(1, 2, samples::status(RunState::Failed, "process 1 was ended by signal 9"), None);
    let [first, second] = header(&watching(vec![failed], 1), 80);
    assert!(first.contains("run 1 ✗ failed") && second.contains("run 1: process 1 was ended by signal 9"), "{first}\n{second}");
}

#[test]
fn an_efficiency_over_100_percent_is_a_dash_with_its_reason() {
    let state = one_and(samples::finished(2, 2, 1.0), 2100.0);
    let [_, second] = header(&state, 120);
    assert!(
        second.starts_with(" run 2: 2.10x run 1 on 2 ranks, efficiency – over 100 %: the baseline was too slow (other"),
        "{second}"
    );
    let [_, second] = header(&state, 80);
    assert!(second.starts_with(" run 2: 2.10x run 1, efficiency – over 100 %: the baseline was too slow "), "{second}");
    assert!(!text(&state, 200, 60).contains("105 %"));
}

#[test]
fn a_busy_machine_is_named_where_there_is_room() {
    let mut run = samples::finished(2, 2, 1.0);
    run.record.as_mut().unwrap().attempts[0].others_cpu = Some(0.6);
    let state = one_and(run, 1200.0);
    let busy = "1.20x run 1 on 2 ranks, 60 % efficiency ██████···· of 2x (other programs used 60 % of the cores)";
    assert!(header(&state, 140)[1].contains(busy), "{}", header(&state, 140)[1]);
    assert!(header(&state, 80)[1].contains("60 % efficiency ██████···· of 2x"), "{}", header(&state, 80)[1]);
}

#[test]
fn no_width_breaks_the_header() {
    for state in [training(1820.0, 60), one_and(samples::finished(2, 2, 1.0), 2100.0), samples::failed(), samples::never_used()] {
        for width in 80..200 {
            let lines = header(&state, width);
            assert!(lines.iter().all(|line| line.chars().count() == usize::from(width)), "{lines:?}");
        }
    }
}

#[test]
fn a_run_that_has_trained_and_is_being_tested_says_so() {
    let say = |state: &mut State, event| {
        let line = EventLine { time_s: BEGAN + 300.0, process: 0, event };
        samples::say(state, Message::Updates(RunId(2), vec![RunUpdate::Event(line)]));
    };
    let mut state = training(1820.0, 60);
    say(&mut state, Event::Epoch(samples::epoch_report(2, 0.8)));
    let mut early = state.clone();
    say(&mut early, Event::EarlyStop { epoch: 2 });
    assert!(!header(&state, 140)[0].contains("testing"), "an epoch is left");
    say(&mut state, Event::Epoch(samples::epoch_report(3, 0.8)));
    for mut state in [state, early] {
        let [first, _] = header(&state, 140);
        assert!(first.contains("run 2 ▶ running  testing") && !first.contains("epoch"), "{first}");
        assert_eq!(crate::tui::app::header::title(&state), "hvd-lab: run 2 testing");
        say(&mut state, Event::Test { loss: 0.5, accuracy: 0.8, images: 100, seconds: 1.0 });
        assert!(!header(&state, 140)[0].contains("testing"), "it is over");
    }
}

#[test]
fn a_run_of_collectives_has_no_speed_up_and_a_key_that_shows_it() {
    let run = crate::tui::collectives::tests::samples::summary(3, 2);
    let [first, second] = header(&watching(vec![samples::finished(1, 1, 1000.0), run], 3), 120);
    assert!(second.starts_with(" run 3: collectives; C shows their times and messages"), "{second}");
    assert!(first.contains("finished  measured 15 rows") && !first.contains("epoch"), "{first}");
}

#[test]
fn a_run_of_collectives_says_in_its_own_words_that_it_is_not_continued() {
    let mut state = watching(vec![samples::finished(1, 1, 1000.0), crate::tui::collectives::tests::samples::summary(3, 2)], 3);
    crate::tui::tests::type_text(&mut state, "c");
    let notice = state.shared.notice.clone().unwrap();
    assert!(!notice.is_error, "it is no problem: {}", notice.text);
    assert_eq!(notice.text, "run 3 measured allreduces, so there is nothing to continue: to measure again press C, then Enter");
}
