//! The simulation on the screen: what it shows of a machine, and what changes with its settings.

use crossterm::event::KeyCode;

use crate::tui::app::update::update;
use crate::tui::message::Message;
use crate::tui::testing::samples;
use crate::tui::tests::{press, text, type_text, window};

#[test]
fn a_machine_is_put_together_and_simulated() {
    let mut state = samples::running();
    update(&mut state, Message::Resize(80, 24));
    assert_eq!(type_text(&mut state, "U"), []);
    insta::assert_snapshot!("simulate_80x24", window(&state, 80, 24));
    assert!(text(&state, 80, 24).contains("simulated efficiency by ranks"), "the first picture");
    press(&mut state, KeyCode::Tab);
    assert!(text(&state, 80, 24).contains("simulated speed-up by ranks"), "the second");
    press(&mut state, KeyCode::Tab);
    let efficiency = |state: &_| {
        let shown = text(state, 80, 24);
        let row = shown.lines().find(|line| line.contains("  1024 ")).unwrap().to_owned();
        row.split_whitespace().skip_while(|word| *word != "1024").nth(2).unwrap().parse::<f64>().unwrap()
    };
    let usual = efficiency(&state);
    // A slower network: the fourth row.
    for _ in 0..3 {
        press(&mut state, KeyCode::Down);
    }
    for _ in 0..20 {
        press(&mut state, KeyCode::Left);
    }
    assert!(text(&state, 80, 24).contains("10gbe-tcp"), "{}", text(&state, 80, 24));
    assert!(efficiency(&state) < usual - 5.0, "{} after {usual}", efficiency(&state));
    press(&mut state, KeyCode::Tab);
    assert!(text(&state, 80, 24).contains("simulated efficiency by ranks"), "and again from the first");
    insta::assert_snapshot!("simulate_chart_80x24", window(&state, 80, 24));
    press(&mut state, KeyCode::Esc);
    type_text(&mut state, "U");
    assert!(text(&state, 80, 24).contains("10gbe-tcp"), "the machine is remembered");
}

#[test]
fn every_choice_can_be_simulated_or_says_why_not() {
    let mut state = samples::running();
    update(&mut state, Message::Resize(120, 40));
    type_text(&mut state, "U");
    for _ in 0..super::fields::FIELDS.len() {
        for key in [KeyCode::Right, KeyCode::Left] {
            for _ in 0..30 {
                press(&mut state, key);
                let shown = text(&state, 120, 40);
                assert!(shown.contains("Simulated: what more GPUs") && shown.contains("Knee: "), "{shown}");
            }
        }
        press(&mut state, KeyCode::Down);
    }
    update(&mut state, Message::Resize(60, 16));
    let narrow = text(&state, 60, 16);
    assert!(narrow.contains("Simulated") && narrow.contains("efficiency by ranks"), "a narrow screen shows it too:\n{narrow}");
    assert!(narrow.contains("▶ "), "and the setting that the keys change:\n{narrow}");
}

#[test]
fn a_large_screen_shows_machine_table_and_picture_at_once() {
    let mut state = samples::running();
    update(&mut state, Message::Resize(200, 60));
    type_text(&mut state, "U");
    for picture in ["simulated efficiency by ranks", "simulated speed-up by ranks", "simulated efficiency by ranks"] {
        let shown = text(&state, 200, 60);
        assert!(shown.contains(picture) && shown.contains("bound by") && shown.contains("GPUs per host"), "{shown}");
        press(&mut state, KeyCode::Tab);
    }
}

#[test]
fn a_run_on_one_rank_is_a_source() {
    let mut state = samples::running();
    let mut run = samples::finished(7, 1, 1234.0);
    run.tally.figures.images_per_sec = Some(1234.0);
    update(&mut state, Message::Runs(vec![run]));
    update(&mut state, Message::Resize(100, 30));
    type_text(&mut state, "U");
    for _ in 0..40 {
        press(&mut state, KeyCode::Right);
    }
    let shown = text(&state, 100, 30);
    assert!(shown.contains("as run 7") && shown.contains("1234 images/s, measured in run 7"), "{shown}");
}
