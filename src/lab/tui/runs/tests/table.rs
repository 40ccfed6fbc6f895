//! The runs pane in every state: what its keys do, what it looks like, and what it asks of real folders.

use crossterm::event::KeyCode;
use ratatui::style::{Color, Modifier};

use crate::domain::device::DeviceKind;
use crate::domain::model::ModelSpec;
use crate::domain::run::RunState;
use crate::domain::step::{Step, StepSet};
use crate::runs::{Attempt, Devices, RunId, RunStore, RunSummary};
use crate::tui::actions::{Change, Changed, Effect, Pane};
use crate::tui::app::update::update;
use crate::tui::io::change::apply;
use crate::tui::message::Message;
use crate::tui::runs::ask::Asked;
use crate::tui::runs::confirm::{Confirm, What};
use crate::tui::state::State;
use crate::tui::state::typed_line::TypedLine;
use crate::tui::testing::samples;
use crate::tui::tests::{pane, picture, press, text, type_text, window};

const BLUE: Color = Color::Indexed(63);
const ORANGE: Color = Color::Indexed(131);

pub fn with(runs: Vec<RunSummary>) -> State {
    let mut state = samples::never_used();
    samples::say(&mut state, Message::Runs(runs));
    state.focus = Pane::Runs;
    state
}

fn named(mut run: RunSummary, name: &str) -> RunSummary {
    run.record.as_mut().unwrap().request.name = Some(name.into());
    run
}

/// Some forty runs on 1 to 4 ranks, the odd ones named.
fn many() -> Vec<RunSummary> {
    let one = |id: u32| {
        let np = 1 + (id as usize * 7) % 4;
        let mut run = samples::finished(id, np, 950.0 * np as f64 * (1.0 - 0.03 * np as f64) - f64::from(id));
        run.tally.figures.seconds_to_target = Some(60.0 / np as f64);
        run.tally.devices = Some(Devices { kind: DeviceKind::Cpu, count: np });
        if id % 2 == 1 { named(run, &format!("try {id}")) } else { run }
    };
    (1..=40).map(one).collect()
}

fn damaged(id: u32) -> RunSummary {
    let status = samples::status(RunState::Failed, "run.json is damaged: EOF while parsing");
    RunSummary { record: None, ..samples::summary(id, 1, status, None) }
}

/// Two runs on GPUs that differ in steps, flags and code.
pub fn two_versions() -> Vec<RunSummary> {
    let mut runs = vec![samples::finished(1, 1, 1023.0), samples::finished(2, 4, 3900.0)];
    for run in &mut runs {
        run.tally.devices = Some(Devices { kind: DeviceKind::Gpu, count: run.figures.np });
        run.tally.figures.seconds_to_target = Some(35_000.0 / run.figures.images_per_sec.unwrap());
    }
    let record = runs[1].record.as_mut().unwrap();
    record.request.spec.workload.training_mut().unwrap().steps = StepSet::ALL.without(Step::Warmup);
    record.request.spec.workload.training_mut().unwrap().trainer_flags = vec!["--precision".into(), "bf16".into()];
    record.versions[0] = "libtorch 2.12.0".into();
    runs
}

pub fn states() -> Vec<(&'static str, State)> {
    let mut states = vec![("empty", with(Vec::new())), ("one", with(vec![samples::finished(1, 1, 1023.0)]))];
    states.push(("many", with(many())));
    let mut state = with(many());
    type_text(&mut state, "/np:1 !try");
    states.push(("filter", state));
    let mut state = with(many());
    type_text(&mut state, "/nowhere");
    press(&mut state, KeyCode::Enter);
    states.push(("no_hit", state));
    let failed = samples::summary(2, 2, samples::status(RunState::Failed, "rank 1 was killed"), None);
    states.push(("failed", with(vec![samples::finished(1, 1, 1023.0), failed, damaged(3)])));
    let mut other = samples::finished(1, 1, 320.0);
    other.record.as_mut().unwrap().request.spec.workload.training_mut().unwrap().model = ModelSpec::wrn(16, 4);
    states.push(("other_model", with(vec![other, samples::finished(2, 2, 1964.0)])));
    let long = "a name that goes on and on, far beyond the end of any column there is on any screen, and further still";
    let wide = "\u{8868}\u{793a}\u{540d}".repeat(12);
    states.push((
        "long_names",
        with(vec![
            named(samples::finished(1, 1, 1023.0), long),
            named(samples::finished(2, 2, 1964.0), &wide),
            named(samples::finished(3, 2, 1964.0), "red \x1b[31mred\x1b[0m"),
        ]),
    ));
    let mut state = with(two_versions());
    type_text(&mut state, "o");
    states.push(("published", state));
    states
}

#[test]
fn in_every_state() {
    for (name, mut state) in states() {
        insta::assert_snapshot!(format!("{name}_80x24"), pane(&state, Pane::Runs, 80, 24));
        state.zoom = true;
        insta::assert_snapshot!(format!("{name}_zoomed_120x40"), pane(&state, Pane::Runs, 120, 40));
    }
}

#[test]
fn windows_in_front() {
    for (name, keys) in [("compare", "v"), ("compare_published", "ov"), ("delete", "D"), ("name", "Rtwo ranks"), ("export", "X")]
    {
        let mut state = with(two_versions());
        type_text(&mut state, keys);
        insta::assert_snapshot!(format!("{name}_80x24"), window(&state, 80, 24));
        if name.starts_with("compare") {
            insta::assert_snapshot!(format!("{name}_120x60"), window(&state, 120, 60));
        }
    }
}

#[test]
fn no_size_breaks_it_and_ascii_stays_ascii() {
    let mut states = states();
    for keys in ["v", "D", "R", "/", "X", "ov"] {
        let mut state = with(two_versions());
        type_text(&mut state, keys);
        states.push((keys, state));
    }
    for (name, state) in &mut states {
        for width in (1..200).step_by(11) {
            for height in (1..60).step_by(7) {
                state.zoom = height % 2 == 0;
                picture(state, width, height);
            }
        }
        state.shared.theme.ascii = true;
        let screen = text(state, 120, 60);
        assert!(*name == "long_names" || screen.is_ascii(), "{name}: {:?}", screen.chars().find(|c| !c.is_ascii()));
    }
}

/// The colour of the first cell of a text on the screen.
fn colour_of(state: &State, wanted: &str) -> Color {
    let terminal = picture(state, 120, 40);
    let buffer = terminal.backend().buffer();
    for y in 0..40 {
        let row: Vec<&str> = (0..120).map(|x| buffer[(x, y)].symbol()).collect();
        if let Some(place) = row.concat().find(wanted) {
            let x = row.concat()[..place].chars().count() as u16;
            return buffer[(x, y)].fg;
        }
    }
    panic!("no `{wanted}` in\n{}", text(state, 120, 40));
}

#[test]
fn what_is_published_has_a_sign_and_a_word_that_no_measured_row_has() {
    let mut state = with(two_versions());
    state.zoom = true;
    assert_eq!(colour_of(&state, "✓ finished"), BLUE);
    type_text(&mut state, "o");
    assert_eq!(colour_of(&state, "○ published"), Color::Reset, "it is no trouble");
    let screen = text(&state, 120, 40);
    let rows: Vec<&str> = screen.lines().filter(|line| line.contains("published") && line.contains('○')).collect();
    assert!(rows.len() > 10 && rows.iter().all(|row| !row.contains("finished")), "{screen}");
    press(&mut state, KeyCode::Char('o'));
    assert!(!text(&state, 120, 40).contains("published"));
}

#[test]
fn a_failed_run_is_orange_and_a_filter_is_not() {
    let (_, failed) = states().remove(5);
    let mut state = failed;
    state.zoom = true;
    assert_eq!(colour_of(&state, "✗ failed    ?"), BLUE, "the chosen row is one colour, as every row under the cursor");
    press(&mut state, KeyCode::End);
    assert_eq!(colour_of(&state, "✗ failed    ?"), ORANGE);
    type_text(&mut state, "/finished");
    assert_ne!(colour_of(&state, "/finished 1 of 3"), ORANGE);
}

#[test]
fn the_bar_of_the_chosen_row_is_no_hole_in_it() {
    let mut state = with(many());
    state.zoom = true;
    let row = |state: &State| {
        let terminal = picture(state, 120, 40);
        let buffer = terminal.backend().buffer();
        let y = (0..40).find(|y| (0..120).any(|x| buffer[(x, *y)].modifier.contains(Modifier::REVERSED))).unwrap();
        (0..120).map(|x| buffer[(x, y)].clone()).collect::<Vec<_>>()
    };
    // One on four ranks.
    (0..3).for_each(|_| drop(press(&mut state, KeyCode::Down)));
    let cells = row(&state);
    let bar: Vec<_> = cells.iter().filter(|cell| cell.symbol() == "█").collect();
    assert!(bar.len() > 2, "{}", text(&state, 120, 40));
    assert!(bar.iter().all(|cell| !cell.modifier.contains(Modifier::REVERSED) && cell.fg == Color::Reset), "{bar:?}");
    let reversed = cells.iter().filter(|cell| cell.modifier.contains(Modifier::REVERSED)).count();
    assert!(reversed > 90, "all but the bar and the frame: {reversed}");
}

#[test]
fn a_pinned_run_shows_its_letter_in_its_colour() {
    let mut state = with(many());
    state.zoom = true;
    press(&mut state, KeyCode::Down);
    type_text(&mut state, "p");
    let run = state.shared.watched.as_ref().unwrap().id;
    let (letter, slot) = (state.shared.pins.letter(run).unwrap(), state.shared.pins.slot(run).unwrap());
    press(&mut state, KeyCode::Down);
    let Some(colour) = state.shared.theme.run(slot).fg else { panic!() };
    assert_eq!(colour_of(&state, &format!("{letter}  {run} ✓")), colour);
}

#[test]
fn a_filter_shows_while_it_is_typed_and_escape_takes_it_back() {
    let mut state = with(many());
    type_text(&mut state, "/np:4");
    assert!(text(&state, 120, 40).contains("10 of 40 match"));
    assert_eq!(press(&mut state, KeyCode::Esc), []);
    assert!(state.runs.filter.is_empty());
    type_text(&mut state, "/try:");
    press(&mut state, KeyCode::Backspace);
    let effects = press(&mut state, KeyCode::Enter);
    assert!(effects.contains(&Effect::Watch(RunId(39))), "40 is hidden now: {effects:?}");
    type_text(&mut state, "j");
    assert_eq!(state.shared.watched.as_ref().unwrap().id, RunId(37), "the cursor moves over what is shown");
    press(&mut state, KeyCode::Esc);
    assert!(state.runs.filter.is_empty(), "outside of the line it goes with Escape");
}

#[test]
fn sorting_goes_round_and_back() {
    let mut state = with(many());
    let first = |state: &State| state.runs.shown(&state.shared.runs)[0].id;
    assert_eq!(first(&state), RunId(40));
    type_text(&mut state, "S");
    assert_eq!(first(&state), RunId(1));
    type_text(&mut state, "ss");
    assert_eq!(first(&state), RunId(1), "four ranks and the first of them: the fastest");
    assert!(text(&state, 120, 40).contains("by img/s ↓"));
    type_text(&mut state, "S");
    assert!(text(&state, 80, 24).contains("by img/s ↑"));
    type_text(&mut state, "sssssss");
    assert_eq!(first(&state), RunId(40));
}

#[test]
fn deleting_asks_and_a_run_that_is_going_stays() {
    let mut state = with(many());
    type_text(&mut state, "D");
    assert_eq!(state.windows.get(), Some(&Confirm { run: RunId(40), what: What::Delete }));
    assert_eq!(press(&mut state, KeyCode::Esc), []);
    assert_eq!(type_text(&mut state, "Dy"), [Effect::Change(Change::Delete(RunId(40)))]);
    assert_eq!(type_text(&mut state, "u"), [Effect::Change(Change::Undo(Box::new(Change::Restore(None))))]);
    let mut going = samples::running();
    going.focus = Pane::Runs;
    assert_eq!(type_text(&mut going, "D"), []);
    assert!(going.windows.is_empty());
    assert!(going.shared.notice.unwrap().text.contains("x stops it"));
}

#[test]
fn a_run_out_of_reach_is_neither_stopped_nor_continued_nor_deleted_and_keeps_nobody_waiting() {
    let mut there = samples::summary(41, 2, samples::status(RunState::Running, "training"), Some(900.0));
    there.elsewhere = Some("on host `node3`".into());
    let mut state = with(many().into_iter().chain([there]).collect());
    assert_eq!(state.shared.watched.as_ref().map(|watched| watched.id), Some(RunId(41)));
    assert_eq!(state.shared.going(), None);
    for key in ["x", "c", "D"] {
        assert_eq!((type_text(&mut state, key), state.windows.is_empty()), (vec![], true), "{key}");
        let said = state.shared.notice.take().unwrap().text;
        assert!(
            said.contains("on host `node3`: stop it there") && said.contains("hvd-lab help stop") && !said.contains("--"),
            "{key}: {said}"
        );
    }
}

#[test]
fn when_the_shown_run_is_deleted_its_neighbour_takes_its_place() {
    let mut state = with(many());
    type_text(&mut state, "jj");
    // It is over, as its status says.
    let over = samples::status(RunState::Finished, "finished");
    samples::say(&mut state, Message::Updates(RunId(38), vec![crate::runs::RunUpdate::Status(over)]));
    type_text(&mut state, "i");
    let left: Vec<RunSummary> = many().into_iter().filter(|run| run.id != RunId(38)).collect();
    let effects = update(&mut state, Message::Runs(left));
    assert!(effects.contains(&Effect::Watch(RunId(37))), "{effects:?}");
    assert!(state.windows.is_empty(), "its window closes");
    let effects = update(&mut state, Message::Runs(Vec::new()));
    assert_eq!(state.shared.watched.as_ref().map(|watched| watched.id), None, "{effects:?}");
    text(&state, 80, 24);
}

#[test]
fn a_run_that_has_just_been_started_is_not_taken_for_deleted() {
    let mut state = with(many());
    update(&mut state, Message::Started(RunId(41)));
    update(&mut state, Message::Runs(many()));
    assert_eq!(state.shared.watched.as_ref().unwrap().id, RunId(41));
}

#[test]
fn names_notes_and_files_are_typed_and_sent() {
    let mut state = with(many());
    type_text(&mut state, "Rwarm x");
    press(&mut state, KeyCode::Backspace);
    assert_eq!(press(&mut state, KeyCode::Enter), [Effect::Change(Change::Name(RunId(40), "warm ".into()))]);
    type_text(&mut state, "Nq?");
    assert_eq!(press(&mut state, KeyCode::Enter), [Effect::Change(Change::Note(RunId(40), "q?".into()))]);
    type_text(&mut state, "/np:1");
    press(&mut state, KeyCode::Enter);
    type_text(&mut state, "Xx");
    assert_eq!(press(&mut state, KeyCode::Enter), []);
    assert!(matches!(state.windows.get(), Some(TypedLine { purpose: Asked::Export, error: Some(_), .. })));
    assert!(text(&state, 120, 40).contains("names no format"));
    press(&mut state, KeyCode::Backspace);
    let effects = press(&mut state, KeyCode::Enter);
    let [Effect::Change(Change::Export { file, runs, .. })] = effects.as_slice() else { panic!("{effects:?}") };
    assert_eq!((file.as_str(), runs.len()), ("runs.md", 10));
}

#[test]
fn a_run_that_has_just_ended_is_continued_by_what_it_said_itself() {
    let mut run = samples::finished(1, 2, 1000.0);
    run.status = samples::status(RunState::Running, "training");
    let mut state = with(vec![run]);
    let over = samples::status(RunState::Finished, "finished");
    samples::say(&mut state, Message::Updates(RunId(1), vec![crate::runs::RunUpdate::Status(over)]));
    type_text(&mut state, "c");
    let window = state.windows.get::<crate::tui::runs::confirm::Continue>().unwrap();
    assert_eq!((window.done, window.more), (3, 3));
}

#[test]
fn a_run_that_cannot_be_compared_has_a_dash_and_its_reason_stands_in_the_header() {
    let mut apart = samples::finished(2, 2, 3900.0);
    let training = apart.record.as_mut().unwrap().request.spec.workload.training_mut().unwrap();
    training.steps = StepSet::ALL.without(Step::DistributedOptimizer);
    let mut state = with(vec![samples::finished(1, 1, 1964.0), apart, samples::finished(3, 2, 3900.0)]);
    let shown = |state: &State| {
        let screen = text(state, 140, 40);
        let row = |id: &str| screen.lines().rfind(|line| line.contains("finished") && line.contains(id)).unwrap_or("").to_owned();
        (row(" 2 ✓").contains("1.99x"), row(" 3 ✓").contains("1.99x"), screen.contains("no speed-up: its ranks do not share"))
    };
    assert_eq!(shown(&state), (false, true, false), "{}", text(&state, 120, 40));
    press(&mut state, KeyCode::Down);
    assert_eq!(shown(&state), (false, true, true), "{}", text(&state, 120, 40));
}

#[test]
fn folders_are_changed_as_asked() {
    let home = tempfile::tempdir().unwrap();
    let store = RunStore::open(home.path()).unwrap();
    for run in two_versions() {
        store.create(run.record.unwrap(), &run.status).unwrap();
    }
    apply(&store, Change::Name(RunId(2), "two".into())).unwrap();
    apply(&store, Change::Note(RunId(2), "why".into())).unwrap();
    apply(&store, Change::Delete(RunId(2))).unwrap();
    assert_eq!(store.ids(), [RunId(1)]);
    let Changed { show, .. } = apply(&store, Change::Undo(Box::new(Change::Restore(None)))).unwrap();
    let record = store.record(RunId(2)).unwrap();
    assert_eq!(
        (show, record.request.name.as_deref(), record.request.note.as_deref()),
        (Some(RunId(2)), Some("two"), Some("why"))
    );
    let file = home.path().join("runs.csv").display().to_string();
    let export = Change::Export { file: file.clone(), runs: vec![RunId(1), RunId(2)], baseline: RunId(1), published: false };
    apply(&store, export.clone()).unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 3);
    let error = apply(&store, export).unwrap_err();
    assert!(error.to_string().contains("is there already"), "{error}");
}

#[test]
fn gains_of_runs_that_share_the_machine_have_a_star() {
    let mut runs = vec![samples::finished(1, 1, 1000.0), samples::finished(2, 2, 1900.0)];
    let row = |runs: &[RunSummary]| {
        let shown = text(&with(runs.to_vec()), 200, 50);
        shown.lines().rfind(|line| line.contains("1900")).unwrap().to_owned()
    };
    assert!(row(&runs).contains("1.90x ") && row(&runs).contains("95 % "), "{}", row(&runs));
    runs[0].record.as_mut().unwrap().attempts = vec![Attempt { others_cpu: Some(0.4), ..Attempt::default() }];
    assert!(row(&runs).contains("1.90x*") && row(&runs).contains("95 %*"), "{}", row(&runs));
}
