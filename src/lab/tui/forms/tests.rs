//! The forms on the whole screen: found, filled in, refused and started.

use crate::domain::settings::without_flags;
use crate::tui::actions::Effect;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::domain::benchmark::BenchmarkSpec;
use crate::domain::command::CommandSpec;
use crate::domain::job::{RunSpec, Workload};
use crate::tui::app::update::update;
use crate::tui::message::Message;
use crate::tui::shared::run_form::RunRow;
use crate::tui::state::State;
use crate::tui::state::form::Form;
use crate::tui::testing::samples;
use crate::tui::tests::{press, text, type_text, window};

fn opened(key: &str) -> State {
    let mut state = samples::never_used();
    update(&mut state, Message::Resize(80, 24));
    assert!(type_text(&mut state, key).is_empty(), "it only asks");
    state
}

fn spec(state: &State) -> RunSpec {
    state.windows.get::<Form>().unwrap().spec.clone()
}

#[test]
fn both_forms_are_laid_out() {
    for (name, key) in [("benchmark", "B"), ("photos", "I")] {
        insta::assert_snapshot!(format!("{name}_80x24"), window(&opened(key), 80, 24));
    }
}

#[test]
fn a_field_is_changed_and_the_run_starts_as_the_form_says() {
    let mut state = opened("B");
    let before = spec(&state);
    press(&mut state, KeyCode::Right);
    assert_eq!(spec(&state).resources.np, before.resources.np + 1);
    for _ in 0..5 {
        press(&mut state, KeyCode::Down);
    }
    press(&mut state, KeyCode::Left);
    let benchmark = |spec: &RunSpec| -> BenchmarkSpec { spec.benchmark().unwrap().clone() };
    assert_eq!(benchmark(&spec(&state)).batch_size, benchmark(&before).batch_size / 2);
    let wanted = spec(&state);
    assert_eq!(press(&mut state, KeyCode::Enter), [Effect::StartOther(Box::new(wanted.clone()))]);
    assert!(state.windows.is_empty());
    // It is left as it was.
    state.shared.starting.run = false;
    type_text(&mut state, "B");
    assert_eq!(spec(&state), wanted);
}

#[test]
fn a_folder_is_typed_letter_by_letter_and_what_cannot_run_is_refused_in_the_words_of_the_settings() {
    let mut state = opened("I");
    for _ in 0..3 {
        press(&mut state, KeyCode::Down);
    }
    assert!(type_text(&mut state, "/qx kj").is_empty());
    press(&mut state, KeyCode::Backspace);
    assert_eq!(spec(&state).nvcnn().unwrap().data_dir.as_deref(), Some("/qx k"));
    press(&mut state, KeyCode::Home);
    press(&mut state, KeyCode::Down);
    // Photos have three colours: the first model in the list takes one.
    for _ in 0..30 {
        press(&mut state, KeyCode::Left);
    }
    assert!(press(&mut state, KeyCode::Enter).is_empty());
    let problem = spec(&state).problem().unwrap();
    assert!(text(&state, 80, 24).contains("takes images of"), "{}", text(&state, 80, 24));
    assert_eq!(state.shared.notice.as_ref().unwrap().text, without_flags(&problem));
    assert!(!text(&state, 80, 24).contains("--"), "{}", text(&state, 80, 24));
}

#[test]
fn every_field_shows_a_value_and_can_be_turned_up_and_down() {
    for key in ["B", "I"] {
        let before = spec(&opened(key));
        for field in RunRow::all(&before, 0) {
            assert!(!field.value(&before).is_empty(), "{field:?}");
            let mut spec = before.clone();
            if field.folder(&mut spec).is_some() {
                continue;
            }
            let mut values = Vec::new();
            for up in [true, true, false, false, false] {
                field.step(&mut spec, up);
                values.push(field.value(&spec));
            }
            assert!(values.iter().any(|value| *value != field.value(&before)), "{field:?}: {values:?}");
            assert!(!matches!(spec.workload, Workload::Unknown(_)));
        }
    }
}

#[test]
fn an_own_program_is_typed_as_at_a_shell_and_runs_with_the_inspector() {
    let mut state = opened("O");
    assert!(type_text(&mut state, "torchrun --nproc_per_node 2 'my train.py").is_empty());
    assert!(press(&mut state, KeyCode::Enter).is_empty());
    assert!(text(&state, 80, 24).contains("a quote is open"), "{}", text(&state, 80, 24));
    type_text(&mut state, "'");
    let effects = press(&mut state, KeyCode::Enter);
    let [Effect::StartOther(spec)] = effects.as_slice() else { panic!("{effects:?}") };
    let program = spec.command().unwrap();
    assert_eq!(program.argv, ["torchrun", "--nproc_per_node", "2", "my train.py"]);
    assert!(program.inspect && state.windows.is_empty());
    // Another one waits until it has appeared.
    type_text(&mut state, "Opython t.py");
    assert!(press(&mut state, KeyCode::Enter).is_empty());
    assert!(text(&state, 80, 24).contains("starting already"), "{}", text(&state, 80, 24));
}

/// The words that the line starts, or why it does not.
fn started(line: &str) -> Result<Vec<String>, String> {
    let mut state = opened("O");
    type_text(&mut state, line);
    let effects = press(&mut state, KeyCode::Enter);
    match effects.as_slice() {
        [Effect::StartOther(spec)] => Ok(spec.command().unwrap().argv.clone()),
        _ => Err(text(&state, 120, 24)),
    }
}

#[test]
fn what_only_a_shell_understands_is_handed_to_one() {
    for line in ["EPOCHS=3 torchrun t.py", "cd x && python t.py", "python t.py > out.txt", "python ~/t.py", "python $HOME/t.py"] {
        assert_eq!(started(line).unwrap(), ["sh", "-c", line]);
    }
    assert_eq!(started("python t.py --lr=0.1 -x a=b").unwrap(), ["python", "t.py", "--lr=0.1", "-x", "a=b"]);
    let nested = started("hvd-lab inspect -- torchrun t.py").unwrap_err();
    assert!(nested.contains("name the program itself"), "{nested}");
}

#[test]
fn a_line_is_kept_as_it_was_left_and_asks_where_a_run_is_going() {
    let mut state = opened("O");
    type_text(&mut state, "sh -c true");
    press(&mut state, KeyCode::Enter);
    state.shared.starting.run = false;
    type_text(&mut state, "O");
    assert!(text(&state, 80, 24).contains("sh -c true"), "{}", text(&state, 80, 24));
    let mut state = samples::running();
    type_text(&mut state, "Opython t.py");
    assert!(press(&mut state, KeyCode::Enter).is_empty());
    assert!(text(&state, 80, 24).contains("Start it all the same?"), "{}", text(&state, 80, 24));
}

#[test]
fn the_words_of_the_last_own_program_are_there_to_start_it_again() {
    let mut state = opened("O");
    press(&mut state, KeyCode::Esc);
    let mut run = samples::finished(1, 2, 1000.0);
    let program = CommandSpec { argv: vec!["python".into(), "my train.py".into()], ..CommandSpec::sample("python") };
    run.record.as_mut().unwrap().request.spec.workload = Workload::Command(program);
    state.shared.runs.push(run);
    type_text(&mut state, "O");
    let effects = press(&mut state, KeyCode::Enter);
    let [Effect::StartOther(spec)] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!(spec.command().unwrap().argv, ["python", "my train.py"]);
}

#[test]
fn the_caret_goes_to_what_is_wrong_in_the_line() {
    let mut state = opened("O");
    type_text(&mut state, "torchrun --nproc 3 trian.py");
    for _ in 0.."ian.py".len() {
        press(&mut state, KeyCode::Left);
    }
    press(&mut state, KeyCode::Delete);
    press(&mut state, KeyCode::Right);
    type_text(&mut state, "i");
    let foot = |state: &State| text(state, 80, 24).lines().last().unwrap_or_default().to_owned();
    assert!(foot(&state).contains(": torchrun --nproc 3 train.py "), "{}", foot(&state));
    for (code, left) in [
        (KeyCode::Home, ": torchrun --nproc 3 train.py "),
        (KeyCode::Backspace, ": torchrun --nproc 3 train.py "),
        (KeyCode::Delete, ": orchrun --nproc 3 train.py "),
        (KeyCode::End, ": orchrun --nproc 3 train.py "),
        (KeyCode::Delete, ": orchrun --nproc 3 train.py "),
    ] {
        press(&mut state, code);
        assert!(foot(&state).contains(left), "{code:?}: {}", foot(&state));
    }
    samples::say(&mut state, Message::Key(KeyEvent::new(KeyCode::Char('w'), KeyModifiers::CONTROL)));
    type_text(&mut state, "x");
    assert!(foot(&state).contains(": orchrun --nproc 3 x "), "{}", foot(&state));
}
