//! 512 ranks on 64 hosts: a rank is found by its number, those that failed come first, and each stands with its host.

use crossterm::event::KeyCode;

use super::{pane, press, text, type_text, window};
use crate::runs::RunId;
use crate::tui::actions::Pane;
use crate::tui::app::screen::focus;
use crate::tui::app::update::update;
use crate::tui::log::state::{LogTab, tabs};
use crate::tui::message::Message;
use crate::tui::runs::details::Details;
use crate::tui::state::State;
use crate::tui::testing::cluster;

fn go_to(state: &mut State, words: &str) {
    type_text(state, "#");
    type_text(state, words);
    press(state, KeyCode::Enter);
}

fn chosen_host(state: &State) -> String {
    state.devices.chosen().unwrap().sample.host.clone()
}

#[test]
fn a_rank_is_found_by_its_number_and_by_its_host() {
    let mut state = cluster::going();
    update(&mut state, Message::Resize(80, 24));
    for (words, rank) in [("317", 317), ("rank 0", 0), ("511", 511), ("node17", 136), ("node6", 0), ("node63", 504)] {
        let before = state.log.tab;
        go_to(&mut state, words);
        if words == "node6" {
            // Four hosts begin so: nothing is chosen, and it says so.
            assert_eq!((state.log.tab, text(&state, 80, 24).contains("4 hosts begin so")), (before, true));
            press(&mut state, KeyCode::Esc);
            assert_eq!((state.windows.is_empty(), state.log.tab), (true, before));
            continue;
        }
        assert_eq!((state.log.tab, chosen_host(&state)), (LogTab::of(rank), cluster::host(rank)), "{words}");
        assert_eq!(state.focus, Pane::Log, "{words}");
        let name = if rank == 0 { "root".to_owned() } else { rank.to_string() };
        let shown = pane(&state, Pane::Log, 200, 60);
        assert!(shown.contains(&format!("{name} {}", cluster::host(rank))), "{words}: {shown}");
    }
    go_to(&mut state, "512");
    assert!(text(&state, 80, 24).contains("there is no rank 512: the last one is 511"), "{}", text(&state, 80, 24));
    press(&mut state, KeyCode::Esc);
    // What it would be is said while it is typed.
    type_text(&mut state, "#44");
    assert!(text(&state, 80, 24).contains("rank 44 on node05"), "{}", text(&state, 80, 24));
    press(&mut state, KeyCode::Esc);
    // From the devices it stays there, and a filter that hides it goes.
    focus(&mut state, Pane::Devices);
    type_text(&mut state, "/node00");
    press(&mut state, KeyCode::Enter);
    go_to(&mut state, "200");
    assert_eq!((state.focus, chosen_host(&state), state.devices.filter.as_str()), (Pane::Devices, "node25".into(), ""));
}

#[test]
fn failed_ranks_come_first() {
    let mut state = cluster::failed();
    assert_eq!(state.log.tab, LogTab::of(317), "the first to fail is shown");
    let order = tabs(&state.shared);
    assert_eq!(order[..4], [LogTab::ROOT, LogTab::of(317), LogTab::of(44), LogTab::of(1)]);
    assert_eq!(order.len(), cluster::RANKS + 2, "each once");
    assert!(pane(&state, Pane::Log, 200, 60).contains("✗317 node39"));
    let devices = pane(&state, Pane::Devices, 200, 60);
    assert!(devices.contains("✗node39") && devices.contains("✗node05") && devices.contains(" node06"), "{devices}");
    // A host by its name: the rank that failed there.
    go_to(&mut state, "node39");
    assert_eq!(state.log.tab, LogTab::of(317));
    state.windows.show(Details { run: RunId(1), is_training: true });
    let details = window(&state, 120, 140);
    let at = |words: &str| details.find(words).unwrap_or_else(|| panic!("no {words} in {details}"));
    assert!(at("failed first rank 317 on node39") < at("rank 44 on node05: process 317 is gone"));
    let by_host =
        ["317 failed, ranks 312-319", "44 failed, ranks 40-47", "silent for 0:12, ranks 136-143", "ranks 0-7,", "ranks 8-15,"];
    assert!(by_host.windows(2).all(|pair| at(pair[0]) < at(pair[1])), "{details}");
}

#[test]
fn hosts_stand_in_the_order_of_their_ranks_and_a_filter_takes_a_number_as_such() {
    let mut state = cluster::going();
    let hosts: Vec<String> = state.devices.hosts().map(|sample| sample.host.clone()).collect();
    assert_eq!(hosts.len(), 65);
    assert_eq!(hosts[..3], ["node", "node00", "node01"], "this host, and the others by their ranks");
    let shown = pane(&state, Pane::Devices, 200, 60);
    assert!(shown.contains("0-7 ") && shown.contains("504-511"), "{shown}");
    state.devices.filter = "rank 31".into();
    let found: Vec<&str> = state.devices.rows().iter().map(|row| row.sample.host.as_str()).collect();
    assert_eq!(found, ["node03"], "not those of 310 to 319");
}

#[test]
fn a_large_run_looks_as_it_did() {
    for (width, height) in [(80, 24), (200, 60)] {
        for (name, mut state) in [("going", cluster::going()), ("failed", cluster::failed())] {
            update(&mut state, Message::Resize(width, height));
            insta::assert_snapshot!(format!("cluster_{name}_{width}x{height}"), text(&state, width, height));
        }
    }
}
