//! The cells say what the ranks really had, and every key goes where it says.

use crossterm::event::KeyCode;

use super::samples::{events, execution, opened, rows, summary, told};
use crate::domain::collective::{Algorithm, Operation, Shape};
use crate::runs::RunId;
use crate::tui::actions::{Effect, Pane};
use crate::tui::app::update::update;
use crate::tui::collectives::log::Log;
use crate::tui::collectives::stage::Stage;
use crate::tui::message::Message;
use crate::tui::state::State;
use crate::tui::testing::samples;
use crate::tui::tests::{press, text, type_text};

/// Rank r begins with 2^r everywhere, so the sum of a cell is the set of ranks in it.
#[test]
fn cells_hold_what_was_added_up_for_every_algorithm_and_rank() {
    for algorithm in Algorithm::ALL {
        for ranks in 1..=9 {
            for elements in [0, 1, 7, 64] {
                let log = Log::of(&execution(algorithm, ranks, elements, 9e-6), ranks);
                // Numbers as the ranks had them, round by round.
                let schedule = algorithm.schedule(ranks, elements, Shape { servers: 1, ranks_per_host: 2 });
                let mut numbers: Vec<Vec<u64>> = (0..ranks).map(|rank| vec![1 << rank; elements]).collect();
                let mut arrived = 0;
                for sent in &schedule.rounds {
                    let before = numbers.clone();
                    for message in sent {
                        for place in message.range.clone() {
                            match message.operation {
                                Operation::Reduce => numbers[message.to][place] += before[message.from][place],
                                Operation::Copy => numbers[message.to][place] = before[message.from][place],
                            }
                        }
                        arrived += usize::from(!message.range.is_empty());
                    }
                }
                assert_eq!(log.messages.len(), arrived, "{algorithm:?} {ranks} {elements}");
                let parts = &log.cells.as_ref().unwrap().parts;
                for (rank, cells) in log.contents(arrived).unwrap().iter().enumerate() {
                    for (part, who) in parts.iter().zip(cells) {
                        let sum = numbers[rank][part.start];
                        assert_eq!((who.count() as u32, who.is_complete(ranks)), (sum.count_ones(), sum == (1 << ranks) - 1));
                    }
                }
            }
        }
    }
}

#[test]
fn a_log_in_another_order_is_played_in_the_order_of_its_times() {
    let mut shuffled = execution(Algorithm::Ring, 4, 64, 9e-6);
    let log = Log::of(&shuffled, 4);
    shuffled.messages.reverse();
    assert_eq!(Log::of(&shuffled, 4), log);
    assert!(log.messages.windows(2).all(|pair| pair[0].ended_s <= pair[1].ended_s));
}

#[test]
fn a_log_that_no_run_can_have_made_is_listed_without_a_picture() {
    let many = Log::of(&execution(Algorithm::Ring, 65, 65, 0.0), 65);
    assert_eq!(many.contents(3), None);
    let mut state = opened(65, (80, 24));
    assert!(text(&state, 80, 24).contains("Too many ranks"), "{}", text(&state, 80, 24));
    type_text(&mut state, "..>>}");
    // A message to a rank beyond those of the record.
    let mut beyond = execution(Algorithm::Ring, 4, 64, 0.0);
    beyond.messages[3].to = 11;
    assert_eq!(Log::of(&beyond, 4).ranks, 12);
}

fn arrived(state: &State) -> usize {
    state.collectives.player.arrived
}

#[test]
fn keys_step_through_messages_and_rounds_both_ways() {
    let mut state = opened(4, (80, 24));
    type_text(&mut state, "..");
    assert_eq!(arrived(&state), 2);
    type_text(&mut state, ",");
    assert_eq!(arrived(&state), 1);
    type_text(&mut state, ",,,");
    assert_eq!(arrived(&state), 0, "not before the start");
    type_text(&mut state, "}");
    assert_eq!(arrived(&state), 24);
    assert!(text(&state, 80, 24).contains("message 24 of 24"));
    type_text(&mut state, ".");
    assert_eq!(arrived(&state), 24);
    type_text(&mut state, "<");
    let log = state.collectives.log.clone().unwrap();
    assert!(log.messages[..arrived(&state)].iter().all(|message| message.round < 5), "before any of the last round");
    type_text(&mut state, "{>");
    assert!(log.messages[..arrived(&state)].iter().filter(|message| message.round == 0).count() == 4, "all of the first round");
    press(&mut state, KeyCode::Home);
    assert_eq!(arrived(&state), 0);
}

#[test]
fn it_plays_while_it_plays_and_stops_at_the_end() {
    let mut state = opened(4, (80, 24));
    assert!(!state.collectives.player.is_playing);
    type_text(&mut state, " ");
    assert!(state.collectives.player.is_playing);
    let mut before = 0;
    for beat in 0..400 {
        update(&mut state, Message::Beat(100.0 + f64::from(beat) * 0.05));
        assert!(arrived(&state) >= before, "never backwards");
        before = arrived(&state);
    }
    assert_eq!((before, state.collectives.player.is_playing), (24, false), "15 s are over");
    type_text(&mut state, " ");
    assert_eq!((arrived(&state), state.collectives.player.is_playing), (0, true), "from the start again");
    type_text(&mut state, "++");
    assert_eq!(state.collectives.player.speed(), 4.0);
    type_text(&mut state, " ");
    assert!(!state.collectives.player.is_playing);
    type_text(&mut state, " ");
    press(&mut state, KeyCode::Esc);
    assert!(!state.collectives.player.is_playing && state.windows.is_empty(), "a closed window has no clock");
}

#[test]
fn it_opens_from_the_run_by_its_key_and_from_the_palette() {
    let mut state = samples::never_used();
    update(&mut state, Message::Runs(vec![summary(3, 4)]));
    state.focus = Pane::Runs;
    let is_open = |state: &State| state.windows.get::<Stage>().is_some() && state.collectives.run == Some(RunId(3));
    assert_eq!(press(&mut state, KeyCode::Enter), [Effect::ReadCollectives(RunId(3))]);
    assert!(is_open(&state));
    press(&mut state, KeyCode::Esc);
    type_text(&mut state, ":collectives");
    press(&mut state, KeyCode::Enter);
    assert!(is_open(&state), "{:?}", state.windows);
    type_text(&mut state, "C");
    assert!(state.windows.is_empty(), "what opened it closes it");
    // A training run has its page as ever.
    update(&mut state, Message::Runs(vec![samples::finished(1, 1, 900.0), summary(3, 4)]));
    press(&mut state, KeyCode::Down);
    press(&mut state, KeyCode::Enter);
    assert!(state.windows.get::<crate::tui::runs::details::Details>().is_some());
    press(&mut state, KeyCode::Esc);
    assert!(type_text(&mut state, "C").contains(&Effect::Watch(RunId(3))), "the newest run of collectives comes on the screen");
}

#[test]
fn what_the_run_tells_is_read_once_at_a_time() {
    let mut state = opened(4, (80, 24));
    type_text(&mut state, ">>");
    let before = arrived(&state);
    let lines = events(&execution(Algorithm::Ring, 4, 4096, 9e-6), &rows()[..3]);
    let tell = |state: &mut State| {
        let updates = lines.iter().cloned().map(crate::runs::RunUpdate::Event).collect();
        let effects = update(state, Message::Updates(RunId(3), updates));
        effects.into_iter().filter(|effect| matches!(effect, Effect::ReadCollectives(_))).count()
    };
    assert_eq!((tell(&mut state), tell(&mut state)), (1, 0));
    let measured = told(4, &lines);
    let effects = update(&mut state, Message::Collectives(RunId(3), Box::new(measured.clone())));
    assert_eq!(effects, [Effect::ReadCollectives(RunId(3))], "more was told meanwhile");
    assert_eq!(update(&mut state, Message::Collectives(RunId(3), Box::new(measured.clone()))), []);
    assert_eq!(arrived(&state), before, "the same messages stay where they were");
    assert_eq!(state.collectives.measured.rows.len(), 3);
    update(&mut state, Message::Collectives(RunId(9), Box::default()));
    assert_eq!(state.collectives.measured, measured, "another run's");
}

#[test]
fn a_schedule_without_a_run_says_so() {
    let mut state = samples::never_used();
    update(&mut state, Message::Resize(80, 24));
    type_text(&mut state, "C>");
    let screen = text(&state, 80, 24);
    assert!(screen.contains("schedule, no run") && screen.contains("no times"), "{screen}");
    assert!(!screen.contains("µs"), "{screen}");
    // Methods without messages have nothing to play; of others the schedule is shown as one.
    let mut state = opened(4, (80, 24));
    assert!(!text(&state, 80, 24).contains("schedule"));
    while state.collectives.method() != "mpi" {
        press(&mut state, KeyCode::Tab);
    }
    let screen = text(&state, 80, 24);
    assert!(screen.contains("does not tell which messages"), "{screen}");
}

#[test]
fn without_a_run_the_schedules_of_the_methods_differ() {
    for np in [1, 2, 4, 8] {
        let mut state = samples::never_used();
        state.shared.spec.resources.np = np;
        update(&mut state, Message::Resize(120, 40));
        type_text(&mut state, "C");
        let mut seen = std::collections::BTreeSet::new();
        for _ in Algorithm::ALL {
            let screen = text(&state, 120, 40);
            assert!(screen.contains(&format!("on {} ranks", np.max(4))), "{screen}");
            // Below the names: how many rounds and messages, and what the first round sends.
            seen.insert(screen.lines().skip(4).map(str::to_owned).collect::<Vec<_>>());
            press(&mut state, KeyCode::Tab);
        }
        assert!(seen.len() >= Algorithm::ALL.len() - 1, "{np}: {} of {}", seen.len(), Algorithm::ALL.len());
    }
}

/// Not all of them have room in the footer.
#[test]
fn the_keys_of_the_window_are_a_key_away_on_the_smallest_screen() {
    for right in [false, true] {
        let mut state = opened(4, (60, 16));
        if right {
            press(&mut state, KeyCode::Right);
        }
        let footer = if right { ["size", "? keys"] } else { [", . < > step", "? keys"] };
        assert!(footer.iter().all(|hint| text(&state, 60, 16).contains(hint)), "{}", text(&state, 60, 16));
        type_text(&mut state, "?");
        update(&mut state, Message::Resize(80, 40));
        let help = text(&state, 80, 40);
        for words in ["In the window of collectives", "the next algorithm", "play faster or slower", "measure"] {
            assert!(help.contains(words), "{words}: {help}");
        }
        assert!(!help.contains("In Runs"), "{help}");
    }
}
