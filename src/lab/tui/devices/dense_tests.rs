//! Many devices in little room: side by side, then a cell each, and never one that is not to be seen.

use std::collections::BTreeSet;

use crossterm::event::KeyCode;
use ratatui::layout::{Margin, Position, Rect};
use ratatui::style::Modifier;

use super::draw;
use super::tests::gpus;
use crate::domain::device::{DeviceSample, Reading, TelemetrySample};
use crate::domain::event::{Event, EventLine};
use crate::runs::RunUpdate;
use crate::tui::actions::Pane;
use crate::tui::app::places::in_area;
use crate::tui::app::update::update;
use crate::tui::message::Message;
use crate::tui::state::State;
use crate::tui::testing::samples;
use crate::tui::tests::{pane, picture, press, text, type_text};
use crate::tui::widgets::Focus;

const SIZES: [(u16, u16); 4] = [(60, 16), (80, 24), (120, 40), (200, 60)];

/// So many GPUs, each a little busier than the one before.
fn ramp(count: usize) -> TelemetrySample {
    let mut sample = gpus(count);
    for (index, device) in sample.devices.iter_mut().enumerate() {
        device.utilization_percent = Reading::Value((index * 100 / (count.max(2) - 1)) as f64);
        device.processes.clear();
    }
    sample
}

fn lab(sample: TelemetrySample) -> State {
    let mut state = samples::running();
    state.focus = Pane::Devices;
    samples::say(&mut state, Message::Telemetry(sample));
    state
}

/// This host and 25 others, eight GPUs each.
fn hosts() -> State {
    let mut state = lab(TelemetrySample { host: "node-00".into(), ..ramp(8) });
    let run = state.shared.watched.as_ref().unwrap().id;
    for host in 1..26 {
        let sample = TelemetrySample { host: format!("node-{host:02}"), ..ramp(8) };
        let report = EventLine { time_s: 1.0, process: 1, event: Event::Devices { sample } };
        update(&mut state, Message::Updates(run, vec![RunUpdate::Event(report)]));
    }
    assert_eq!(state.devices.rows().len(), 208);
    state
}

fn place(state: &State, (width, height): (u16, u16)) -> Rect {
    let places = in_area(state, Rect::new(0, 0, width, height)).unwrap().panes;
    places.into_iter().find(|(pane, _)| *pane == Pane::Devices).unwrap().1
}

/// The devices that are to be seen, and can be clicked.
fn seen(state: &State, size: (u16, u16)) -> BTreeSet<usize> {
    let inner = place(state, size).inner(Margin::new(1, 1));
    let focus = Focus { here: state.focus == Pane::Devices, ..Focus::default() };
    let at = |position: Position| draw::hit(&state.devices, &state.shared, focus, inner, position);
    inner.positions().filter_map(at).collect()
}

#[test]
fn every_device_is_to_be_seen_at_every_size() {
    for (count, state) in [0, 1, 8, 16, 32, 72].map(|count| (count, lab(ramp(count)))).into_iter().chain([(208, hosts())]) {
        for size in SIZES {
            let seen = seen(&state, size);
            let screen = || pane(&state, Pane::Devices, size.0, size.1);
            // 208 cells need more than a pane of six lines: what is left out is said.
            if (count, size.0) == (208, 60) {
                assert!(seen.len() > 90 && screen().contains("not shown"), "{}", screen());
            } else {
                assert_eq!(seen, (0..count).collect(), "{count} at {size:?}:\n{}", screen());
            }
            // Between those of 80 and of 200 columns there is no layout of its own.
            if size.0 != 120 {
                insta::assert_snapshot!(format!("dense_{count}_{}x{}", size.0, size.1), screen());
            }
        }
    }
}

#[test]
fn the_sum_stands_there_however_many_there_are() {
    for count in [8, 16, 72] {
        for size in SIZES {
            let screen = pane(&lab(ramp(count)), Pane::Devices, size.0, size.1);
            // Cells have no head of their own.
            let sum = ["", ", use %"].map(|head| format!("node {count} GPUs{head} · mean 50 %"));
            assert!(sum.iter().any(|sum| screen.contains(sum)), "{count} at {size:?}:\n{screen}");
        }
    }
    for size in SIZES {
        let screen = pane(&hosts(), Pane::Devices, size.0, size.1);
        assert!(screen.contains("26 hosts 208 GPUs, use % · mean 5"), "{size:?}:\n{screen}");
    }
    let screen = pane(&hosts(), Pane::Devices, 200, 60);
    assert!((0..26).all(|host| screen.contains(&format!("node-{host:02} "))), "a line a host where there is room:\n{screen}");
}

#[test]
fn a_cell_is_coloured_by_load_and_the_one_under_the_cursor_is_told_in_words() {
    let mut state = lab(ramp(72));
    let size = (120, 40);
    let cell = |state: &State, wanted: usize| {
        let inner = place(state, size).inner(Margin::new(1, 1));
        let focus = Focus { here: true, ..Focus::default() };
        let hit = |at: &Position| draw::hit(&state.devices, &state.shared, focus, inner, *at) == Some(wanted);
        let buffer = picture(state, size.0, size.1).backend().buffer().clone();
        inner.positions().filter(hit).map(|at| buffer[at].clone()).find(|cell| cell.symbol() != " ").unwrap()
    };
    let (idle, some, much, all) = (cell(&state, 1), cell(&state, 20), cell(&state, 50), cell(&state, 71));
    assert!(idle.modifier.contains(Modifier::DIM) && idle.fg != much.fg, "nothing to do");
    assert!(some.fg == much.fg && some.modifier.contains(Modifier::DIM) && !much.modifier.contains(Modifier::DIM));
    assert!(all.modifier.contains(Modifier::BOLD) && all.fg == much.fg);
    assert!(cell(&state, 0).modifier.contains(Modifier::REVERSED), "the cursor");
    press(&mut state, KeyCode::End);
    let screen = text(&state, 120, 40);
    assert!(screen.contains("▸ GPU 71: 100 %, 41 GiB of 139 GiB, 37 C, 120 of 700 W"), "{screen}");
    state.focus = Pane::Runs;
    assert!(text(&state, 120, 40).contains("▸ GPU 71: 100 %"), "also while another pane has the keyboard");
    // What tells nothing, and what is lost, is no idle device.
    let mut odd = ramp(72);
    odd.devices[1].utilization_percent = Reading::missing("not supported");
    odd.devices[2] = DeviceSample::silent(odd.devices[2].kind, 2, "GPU 2: lost", "the GPU has fallen off the bus");
    let state = lab(odd);
    assert_eq!((cell(&state, 1).symbol(), cell(&state, 2).symbol()), ("?", "✗"));
}

#[test]
fn side_by_side_devices_have_load_memory_and_rank_each() {
    let state = lab(gpus(16));
    let screen = pane(&state, Pane::Devices, 120, 40);
    let line = screen.lines().find(|line| line.contains(" 3 ")).unwrap_or_else(|| panic!("{screen}"));
    assert!(line.contains("61 %") && line.contains("41/139G  37 C r3") && line.contains(" 11 "), "{screen}");
    assert_eq!(seen(&state, (120, 40)).len(), 16, "{screen}");
}

/// Neither lies over the other, and the graphs show the load alone until more is asked for.
#[test]
fn memory_and_power_come_beside_the_load_by_a_key() {
    let mut state = lab(gpus(1));
    state.zoom = true;
    for turn in 0..240 {
        let mut sample = gpus(1);
        sample.time_s += f64::from(turn) / 2.0;
        samples::say(&mut state, Message::Telemetry(sample));
    }
    for size in [(80, 24), (200, 60)] {
        let load = pane(&state, Pane::Devices, size.0, size.1).matches('⣿').count();
        let seen = |state: &State, words: &str| text(state, size.0, size.1).contains(words);
        assert!(seen(&state, "GPU-Util 61 %") && !seen(&state, "memory 41"));
        type_text(&mut state, "M");
        assert!(seen(&state, "GPU-Util 61 %") && seen(&state, "memory 41 GiB of 139 GiB"));
        let both = pane(&state, Pane::Devices, size.0, size.1).matches('⣿').count();
        assert!(both > load / 3, "the load is still there: {both} of {load}");
        type_text(&mut state, "M");
        assert!(seen(&state, "GPU-Util 61 %") && seen(&state, "power 120 of 700 W"));
        type_text(&mut state, "M");
        assert!(!seen(&state, "power 120 of 700 W"));
    }
}
