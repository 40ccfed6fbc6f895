//! What a glance has to find: nothing that touches its neighbour, is said twice, or is not what it says.

use crossterm::event::KeyCode;

use crate::domain::event::{Event, EventLine};
use crate::runs::{RunId, RunUpdate};
use crate::tui::actions::Pane;
use crate::tui::app::update::update;
use crate::tui::chart::graph::Tab;
use crate::tui::devices::tests::gpus;
use crate::tui::help::state::{OFFER, TOUR};
use crate::tui::message::Message;
use crate::tui::state::State;
use crate::tui::testing::samples;
use crate::tui::tests::{pane, press, text, type_text};

const SMALLEST: (u16, u16) = (60, 16);

fn sized(mut state: State, (columns, rows): (u16, u16)) -> State {
    update(&mut state, Message::Resize(columns, rows));
    state
}

fn focused(mut state: State, pane: Pane) -> State {
    while state.focus != pane {
        press(&mut state, KeyCode::Tab);
    }
    state
}

fn with_gpus(count: usize, state: State) -> State {
    let mut state = state;
    samples::say(&mut state, Message::Telemetry(gpus(count)));
    state
}

#[test]
fn the_longest_title_of_a_step_keeps_off_the_border() {
    let steps = pane(&samples::never_used(), Pane::Steps, 80, 24);
    let row = steps.lines().find(|line| line.contains(" 8 Scale")).unwrap();
    assert!(row.ends_with(" │\""), "{steps}");
}

#[test]
fn why_there_is_no_speed_up_is_said_once() {
    let state = samples::compared();
    let run = state.shared.summary(RunId(5)).unwrap();
    let reason = state.shared.gain(run).unwrap_err();
    for (width, height) in [(120, 40), (200, 60)] {
        let shown = text(&state, width, height);
        assert_eq!(shown.matches(reason).count(), 1, "{shown}");
    }
}

#[test]
fn a_temperature_is_spelled_one_way() {
    for (width, height) in [SMALLEST, (80, 24), (120, 40), (200, 60)] {
        for count in [1, 8, 16, 72] {
            let mut state = sized(with_gpus(count, samples::running()), (width, height));
            let shown = text(&state, width, height);
            state = focused(state, Pane::Devices);
            press(&mut state, KeyCode::Enter);
            let details = text(&state, width, height);
            assert!(!shown.contains('°') && !details.contains('°') && details.contains("37 C"), "{shown}{details}");
        }
    }
}

/// The number alone takes reading; a bar does not.
#[test]
fn sixteen_devices_have_a_bar_each_on_a_small_screen() {
    for size in [SMALLEST, (80, 24)] {
        for at in [Pane::Devices, Pane::Runs] {
            let state = focused(sized(with_gpus(16, samples::running()), size), at);
            let shown = pane(&state, Pane::Devices, size.0, size.1);
            // One that tells nothing has N/A in the place of its bar.
            let bars = shown.split(|c| !"▁▂▃▄▅▆▇█▏▎▍▌▋▊▉".contains(c)).filter(|bar| !bar.is_empty()).count();
            assert_eq!((bars, shown.matches("N/A").count()), (14, 2), "{shown}");
        }
    }
}

#[test]
fn a_value_half_typed_stays_in_sight_when_the_screen_shrinks() {
    let mut state = focused(sized(samples::never_used(), (120, 40)), Pane::Settings);
    press(&mut state, KeyCode::Down);
    press(&mut state, KeyCode::Enter);
    type_text(&mut state, "17");
    let state = sized(state, SMALLEST);
    let shown = text(&state, 60, 16);
    assert!(shown.lines().any(|line| line.contains("np (ranks)") && line.contains("17")), "{shown}");
}

#[test]
fn a_graph_that_takes_the_place_of_another_says_so() {
    let mut state = focused(sized(with_gpus(1, samples::running()), SMALLEST), Pane::Devices);
    type_text(&mut state, "zM");
    let shown = text(&state, 60, 16);
    assert!(shown.contains("memory 41 GiB") && shown.contains("no room for GPU-Util)"), "{shown}");
    let state = sized(state, (120, 40));
    assert!(!text(&state, 120, 40).contains("no room"), "both are shown");
    let mut cores = focused(samples::running(), Pane::Devices);
    type_text(&mut cores, "M");
    assert!(cores.shared.notice.unwrap().text.contains("beside CPU-Util"), "a host without GPUs has none of theirs");
}

#[test]
fn the_footer_names_what_enter_does_on_each_setting() {
    let mut state = focused(sized(samples::never_used(), (120, 40)), Pane::Settings);
    let footer = |state: &State| text(state, 120, 40).lines().last().unwrap().to_owned();
    assert!(!footer(&state).contains("Enter type"), "a preset is chosen, not typed: {}", footer(&state));
    press(&mut state, KeyCode::Down);
    assert!(footer(&state).contains("Enter type"), "{}", footer(&state));
    press(&mut state, KeyCode::Enter);
    assert!(footer(&state).contains("Enter save"), "{}", footer(&state));
}

#[test]
fn charts_side_by_side_do_not_touch() {
    let chart = pane(&samples::running(), Pane::Chart, 120, 40);
    let ticks =
        chart.lines().filter_map(|line| line.split_once(" %┤")).map(|(before, _)| before.trim_end_matches(char::is_numeric));
    let before: Vec<char> = ticks.filter_map(|before| before.chars().last()).collect();
    assert!(!before.is_empty() && before.iter().all(|c| *c == ' '), "{before:?}\n{chart}");
}

#[test]
fn the_loss_has_a_lower_bound_on_its_axis_on_the_smallest_screen() {
    let shown = text(&sized(samples::running(), SMALLEST), 60, 16);
    let axis = shown.lines().find(|line| line.contains('└')).unwrap();
    assert!(axis.split('└').next().unwrap().contains(char::is_numeric), "{shown}");
}

/// A tick above it may take its row.
#[test]
fn the_lower_bound_is_there_where_ticks_lie_close() {
    let mut state = sized(samples::running(), SMALLEST);
    let step = |batch: usize| Event::Step { epoch: 1, batch, lr: 0.01, loss: 4.4 - 4.3 * batch as f64 / 90.0 };
    let line = |batch| EventLine { time_s: samples::START + 13.0 + batch as f64 / 10.0, process: 0, event: step(batch) };
    let updates: Vec<RunUpdate> = (0..90).map(|batch| RunUpdate::Event(line(batch))).collect();
    samples::say(&mut state, Message::Updates(RunId(2), updates));
    let shown = text(&state, 60, 16);
    let axis = shown.lines().find(|line| line.contains('└')).unwrap();
    assert!(axis.split('└').next().unwrap().contains('0'), "{shown}");
}

#[test]
fn the_tour_speaks_of_what_is_there() {
    let mut state = sized(crate::tui::replay::tests::replayed(), (120, 40));
    for page in 0..TOUR.len() {
        state.help.tour = Some(page);
        let shown = text(&state, 120, 40);
        for words in ["r trains", "starts the first run", "run again", "+ and - change"] {
            assert!(!shown.contains(words), "{words}:\n{shown}");
        }
    }
    state.help.tour = Some(OFFER);
    type_text(&mut state, "r");
    assert_eq!(state.help.tour, None, "r is no key of the tour where nothing starts");
}

#[test]
fn the_palette_leaves_header_and_footer_in_sight() {
    let mut state = sized(crate::tui::replay::tests::replayed(), SMALLEST);
    type_text(&mut state, ":");
    let shown = text(&state, 60, 16);
    assert!(shown.lines().next().unwrap().contains("REPLAY"), "{shown}");
    assert!(shown.lines().last().unwrap().contains("Esc close"), "{shown}");
}

#[test]
fn a_list_of_processes_says_that_it_has_more() {
    for (width, height) in [SMALLEST, (80, 24), (120, 40), (200, 60)] {
        let mut sample = gpus(16);
        for (rank, gpu) in sample.devices.iter_mut().enumerate() {
            gpu.processes = gpus(1).devices[0].processes.clone();
            gpu.processes[0].rank = Some(rank);
        }
        let mut state = sized(samples::running(), (width, height));
        samples::say(&mut state, Message::Telemetry(sample));
        let shown = pane(&state, Pane::Devices, width, height);
        let listed = shown.lines().filter(|line| line.contains(" 412 ")).count();
        let more = format!("{} more", 16 - listed);
        assert!(listed == 0 || listed == 16 || shown.contains(&more), "{listed}:\n{shown}");
    }
}

#[test]
fn the_title_of_a_lesson_has_its_parts_apart() {
    let mut state = sized(samples::never_used(), (120, 40));
    state.shared.course.lessons = samples::lessons();
    state.shared.step = crate::domain::step::Step::Broadcast;
    type_text(&mut state, "w");
    let shown = text(&state, 120, 40);
    assert!(shown.contains("Step 4/10, not done yet: A sample"), "{shown}");
    // One that has no room says that it goes on.
    let mut small = sized(samples::never_used(), SMALLEST);
    small.shared.course.lessons = crate::course::Catalog::embedded().unwrap();
    type_text(&mut small, "w");
    assert!(text(&small, 60, 16).contains("… ╮"), "{}", text(&small, 60, 16));
}

#[test]
fn the_step_timeline_says_what_it_lacks_and_names_no_key_for_it() {
    let mut state = focused(sized(samples::running(), (120, 40)), Pane::Chart);
    state.chart.tab = Tab::Timeline;
    let footer = text(&state, 120, 40).lines().last().unwrap().to_owned();
    assert!(!footer.contains("x axis") && !footer.contains(" L log"), "{footer}");
    for (key, what) in [("t", "the step timeline has no x axis"), ("L", "the step timeline has no scale")] {
        type_text(&mut state, key);
        let notice = state.shared.notice.take().unwrap().text;
        assert!(notice.contains(what), "{notice}");
    }
}

#[test]
fn a_notice_leaves_the_settings_in_sight() {
    for size in [SMALLEST, (80, 24), (120, 40)] {
        let state = focused(sized(samples::never_used(), size), Pane::Settings);
        let before = pane(&state, Pane::Settings, size.0, size.1);
        let mut state = state;
        state
            .shared
            .inform("step 4 is on, but has no effect while step 1 is off, as a process that is alone has nobody to share with");
        let shown = text(&state, size.0, size.1);
        for row in before.lines().filter(|line| line.contains("preset") || line.contains("epochs")) {
            assert!(shown.contains(row.trim_matches('"')), "{row} at {size:?}:\n{shown}");
        }
        assert!(shown.contains("no effect"), "{shown}");
    }
}

/// The figure alone says nothing of what was gained over what.
#[test]
fn the_lecture_view_has_its_words_on_the_smallest_screen() {
    let mut state = sized(samples::running(), SMALLEST);
    type_text(&mut state, "P");
    let shown = text(&state, 60, 16);
    for words in ["against run 1", "2 ranks against 1", "efficiency", "of 2x", "step 1 on in run 2", "P or Esc: back"] {
        assert!(shown.contains(words), "{words}:\n{shown}");
    }
    let mut empty = sized(samples::never_used(), SMALLEST);
    type_text(&mut empty, "P");
    assert!(text(&empty, 60, 16).contains("step 1 on in the next run"), "{}", text(&empty, 60, 16));
    press(&mut empty, KeyCode::Esc);
    let places = crate::tui::app::places::current(&empty).unwrap().panes;
    assert!(places.iter().any(|(pane, _)| *pane == empty.focus), "the keys go to a pane that is on the screen");
}

#[test]
fn what_the_played_run_gained_comes_before_where_it_was_recorded() {
    for paused in [false, true] {
        let mut state = sized(crate::tui::replay::tests::replayed(), SMALLEST);
        state.shared.replay.as_mut().unwrap().position.paused = paused;
        let shown = text(&state, 60, 16);
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines[0].contains("REPLAY") && lines[0].contains("2 ranks ") && lines[0].contains("x of 2x"), "{shown}");
        assert!(lines[1].contains(" 0:23/1:05 10x") && lines[1].contains("next: Space"), "{shown}");
    }
}
