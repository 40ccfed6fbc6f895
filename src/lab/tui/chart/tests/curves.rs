//! The chart in its states, from made-up events, and what its keys do.

use crate::tui::app::view::draw_pane;
use crossterm::event::KeyCode;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use crate::domain::event::{ConfigReport, EpochReport, Event, EventLine, Metrics};
use crate::domain::phase::{Phase, PhaseSeconds};
use crate::domain::run::RunState;
use crate::runs::{RunId, RunUpdate};
use crate::tui::actions::{Effect, Pane};
use crate::tui::app::layout::{Wish, places};
use crate::tui::chart::graph::{Graph, Tab};
use crate::tui::message::Message;
use crate::tui::shared::Along;
use crate::tui::state::State;
use crate::tui::testing::samples;
use crate::tui::tests::{press, type_text};

const STEPS: usize = 93;
/// Its curve, where nothing else has that colour.
const RUN_B: Color = Color::Indexed(29);

/// What a run of `np` processes writes in `epochs` and some steps: 0.1 s a step, process 1 by `slower` in forward.
pub fn written(np: usize, epochs: usize, steps: usize, slower: f64, loss: impl Fn(usize) -> f64) -> Vec<RunUpdate> {
    let mut time_s = 1000.0;
    let mut all = vec![RunUpdate::Status(samples::status(RunState::Running, "training"))];
    let mut tell = |time_s: f64, process: usize, event: Event| all.push(RunUpdate::Event(EventLine { time_s, process, event }));
    (0..np).for_each(|process| tell(time_s, process, samples::topology(process, np)));
    tell(time_s, 0, Event::Config(ConfigReport { steps_per_epoch: STEPS, ..samples::config(3) }));
    for step in 0..epochs * STEPS + steps {
        let (epoch, batch) = (step / STEPS, step % STEPS);
        time_s += 0.1;
        let lr = 0.01 * ((step + 1) as f64 / (2 * STEPS) as f64).min(1.0);
        tell(time_s, 0, Event::Step { epoch, batch, lr, loss: loss(step) });
        if batch + 1 == STEPS {
            time_s += 1.5;
            for process in 0..np {
                let forward = if process == 1 { 2.79 * (1.0 + slower) } else { 2.79 };
                let allreduce = if process == 1 { 0.1 } else { 0.1 + 2.79 * slower };
                let phases = PhaseSeconds::from([
                    (Phase::Data, 0.05),
                    (Phase::Forward, forward),
                    (Phase::Backward, 4.65),
                    (Phase::AllreduceExposed, allreduce),
                    (Phase::Optimizer, 0.4),
                ]);
                let validation = Metrics { loss: 0.8, accuracy: 0.55 + 0.12 * epoch as f64 };
                let report =
                    EpochReport { epoch: epoch + 1, batches: STEPS, validation, averaged: None, phases, ..EpochReport::sample() };
                tell(time_s, process, Event::Epoch(EpochReport { images_per_sec: 1250.0 + 10.0 * epoch as f64, ..report }));
            }
        }
    }
    all
}

pub fn falling(step: usize) -> f64 {
    let x = step as f64 / STEPS as f64;
    2.0 * (-1.4 * x).exp() + 0.35 + 0.06 * (x * 37.0).sin() * (x * 11.0).cos()
}

/// Run 2 on the screen in its third epoch, run 1 the baseline.
pub fn running() -> State {
    with(written(2, 2, 30, 0.0, falling))
}

pub fn with(updates: Vec<RunUpdate>) -> State {
    let mut state = samples::never_used();
    let going = samples::summary(2, 2, samples::status(RunState::Running, "training"), None);
    samples::say(&mut state, Message::Runs(vec![samples::finished(1, 1, 640.0), going]));
    samples::say(&mut state, Message::Updates(RunId(2), updates));
    samples::say(&mut state, Message::Curves(RunId(1), curves(|step| falling(step) + 0.25).into()));
    (state.focus, state.slot) = (Pane::Chart, Pane::Chart);
    state
}

fn curves(loss: impl Fn(usize) -> f64) -> crate::tui::shared::curves::Curves {
    let event = |update| if let RunUpdate::Event(line) = update { Some(line) } else { None };
    crate::tui::shared::curves::Curves::from_events(written(1, 3, 0, 0.0, loss).into_iter().filter_map(event))
}

/// Run 6 on the screen; 1 is the baseline; 3, 4 and 5 are pinned.
pub fn pinned() -> State {
    let mut state = samples::never_used();
    samples::say(&mut state, Message::Runs((1..=6).map(|id| samples::finished(id, 1, 640.0)).collect()));
    state.focus = Pane::Runs;
    type_text(&mut state, "jpjpjp");
    press(&mut state, KeyCode::Home);
    samples::say(&mut state, Message::Updates(RunId(6), written(2, 3, 0, 0.0, falling)));
    for (index, run) in [1, 3, 4, 5].into_iter().enumerate() {
        samples::say(
            &mut state,
            Message::Curves(RunId(run), curves(move |step| falling(step) + 0.3 * (index + 1) as f64).into()),
        );
    }
    (state.focus, state.slot) = (Pane::Chart, Pane::Chart);
    state
}

pub fn pane(state: &State, width: u16, height: u16, zoom: bool) -> Buffer {
    let (area, zoomed, wish) =
        (Rect::new(0, 0, width, height), zoom.then_some(Pane::Chart), Wish { devices: 6, packed: false, log: 0, runs: 9 });
    let places = places(area, zoomed, Pane::Chart, wish, &Default::default()).unwrap();
    let (_, rect) = places.panes.into_iter().find(|(pane, _)| *pane == Pane::Chart).unwrap();
    let mut terminal = Terminal::new(TestBackend::new(rect.width, rect.height)).unwrap();
    terminal.draw(|frame| draw_pane(frame, frame.area(), Pane::Chart, state, &[])).unwrap();
    terminal.backend().buffer().clone()
}

pub fn text(buffer: &Buffer) -> String {
    let rows = buffer.content.chunks(buffer.area.width as usize);
    rows.map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>().trim_end().to_owned() + "\n").collect()
}

fn look_at(name: &str, state: &State, (width, height): (u16, u16)) {
    insta::assert_snapshot!(format!("chart_{name}_{width}x{height}"), text(&pane(state, width, height, false)));
}

fn look(name: &str, state: &State) {
    look_at(name, state, (80, 24));
}

/// Where more room shows more than the same in more cells.
fn look_wide(name: &str, state: &State) {
    look(name, state);
    look_at(name, state, (200, 60));
}

#[test]
fn looks() {
    look("empty", &{
        let mut state = samples::never_used();
        state.slot = Pane::Chart;
        state
    });
    look("no_step_yet", &with(written(2, 0, 0, 0.0, falling)));
    look_wide("running", &running());
    look("pinned", &pinned());
    look("nan", &with(written(2, 1, 60, 0.0, |step| if (50..70).contains(&step) { f64::NAN } else { falling(step) })));
    let keys = |keys: &str| {
        let mut state = running();
        type_text(&mut state, keys);
        state
    };
    look("log", &keys("L"));
    look("zoomed", &keys("]]"));
    look("cursor_by_step", &keys("tt,,,,,,,,,,"));
    look("by_epoch", &keys("t"));
    look("rate", &keys("lll"));
}

#[test]
fn looks_of_a_failed_run() {
    let mut state = running();
    let status = samples::status(RunState::Failed, "rank 1 was ended by signal 9 (SIGKILL)");
    samples::say(&mut state, Message::Updates(RunId(2), vec![RunUpdate::Status(status)]));
    look("failed", &state);
}

#[test]
fn looks_with_long_names() {
    let mut state = pinned();
    for run in &mut state.shared.runs {
        run.record.as_mut().unwrap().request.name = Some(format!("a very long name of an experiment, {}", "é日本".repeat(9)));
    }
    look_wide("long_names", &state);
}

#[test]
fn looks_of_the_timeline() {
    let timeline = |np, slower| {
        let mut state = with(written(np, 2, 30, slower, falling));
        press(&mut state, KeyCode::Left);
        assert_eq!(state.chart.tab, Tab::Timeline);
        state
    };
    look("timeline", &timeline(2, 0.12));
    look("timeline_even", &timeline(4, 0.0));
    look_wide("timeline_of_16", &timeline(16, 1.5));
    let mut early = with(written(2, 0, 30, 0.0, falling));
    press(&mut early, KeyCode::Left);
    look("timeline_early", &early);
    insta::assert_snapshot!("chart_all_four_120x40", text(&pane(&running(), 120, 40, true)));
}

fn timeline(np: usize, slower: f64) -> String {
    let mut state = with(written(np, 2, 30, slower, falling));
    press(&mut state, KeyCode::Left);
    text(&pane(&state, 120, 40, true))
}

#[test]
fn the_straggler_is_named() {
    let screen = timeline(4, 0.25);
    assert!(screen.contains("rank 1 is the slowest: 25 % more in forward; the others wait 7.5 ms a step longer"), "{screen}");
    assert!(timeline(4, 0.0).contains("ranks are balanced"));
    assert!(timeline(1, 0.0).contains("one rank"));
}

#[test]
fn the_timeline_shows_other_epochs_and_more_processes_than_fit() {
    let mut state = with(written(16, 2, 0, 0.5, falling));
    press(&mut state, KeyCode::Left);
    let small = |state: &State| text(&pane(state, 80, 24, true));
    assert!(small(&state).contains("epoch 2/3") && !small(&state).contains("rank 15"));
    type_text(&mut state, ",");
    assert!(small(&state).contains("epoch 1/3"));
    type_text(&mut state, ".f");
    assert!(small(&state).contains("epoch 2/3"));
    for _ in 0..20 {
        press(&mut state, KeyCode::Down);
    }
    assert!(small(&state).contains("rank 15") && small(&state).contains("of 16 ranks"), "{}", small(&state));
}

/// Cells with this symbol, and their colours.
fn colours(buffer: &Buffer, symbol: &str) -> Vec<Color> {
    buffer.content.iter().filter(|cell| cell.symbol() == symbol).map(|cell| cell.fg).collect()
}

#[test]
fn every_run_has_its_colour_in_the_legend_on_its_curve_and_in_its_values() {
    let state = pinned();
    let buffer = pane(&state, 200, 60, false);
    for run in [6, 1, 3, 4, 5] {
        let letter = state.shared.pins.letter(RunId(run)).unwrap().to_string();
        let slot = state.shared.pins.slot(RunId(run)).unwrap();
        let found = colours(&buffer, &letter);
        // Legend, and both plots: the value above and the letter at the end of the curve. "Chart" has a C of its own.
        let own = found.iter().filter(|colour| Style::new().fg(**colour) == state.shared.theme.run(slot)).count();
        assert!(own >= 4, "{letter}: {found:?}\n{}", text(&buffer));
        let braille = buffer.content.iter().filter(|cell| ("\u{2801}".."\u{28ff}").contains(&cell.symbol()));
        assert!(braille.filter(|cell| Style::new().fg(cell.fg) == state.shared.theme.run(slot)).count() > 10, "{letter}");
    }
}

#[test]
fn without_colours_letters_tell_the_curves_apart() {
    let mut state = pinned();
    let count = |state: &State, letter: &str| colours(&pane(state, 120, 40, false), letter).len();
    let coloured = ["F", "A", "D", "E"].map(|letter| count(&state, letter));
    state.shared.theme.colour = false;
    let plain = ["F", "A", "D", "E"].map(|letter| count(&state, letter));
    assert!(coloured.iter().zip(&plain).all(|(coloured, plain)| *plain >= coloured + 2), "{coloured:?} {plain:?}");
    assert!(pane(&state, 120, 40, false).content.iter().all(|cell| cell.fg == Color::Reset));
    state.shared.theme.ascii = true;
    let mut buffer = pane(&state, 120, 40, false);
    crate::tui::widgets::theme::to_ascii(&mut buffer);
    assert!(!text(&buffer).contains('?'), "{}", text(&buffer));
    assert!(text(&buffer).matches('f').count() > 10, "curves are drawn with letters:\n{}", text(&buffer));
}

#[test]
fn a_gap_shows_as_a_gap_with_a_mark_in_the_runs_colour() {
    let nan = |step: usize| if (50..70).contains(&step) { f64::NAN } else { falling(step) };
    let state = with(written(2, 1, 60, 0.0, nan));
    let buffer = pane(&state, 120, 40, false);
    let marks = colours(&buffer, "×");
    assert!(marks.len() >= 2 && marks.iter().all(|colour| *colour == RUN_B), "{marks:?}");
    // Above the marks no cell has the run's colour, except for its value in the heading.
    let place = buffer.content.iter().position(|cell| cell.symbol() == "×").unwrap() + marks.len() / 2;
    let (column, row) = (place % buffer.area.width as usize, place / buffer.area.width as usize);
    let above = (2..row).map(|row| &buffer.content[row * buffer.area.width as usize + column]);
    assert!(above.into_iter().all(|cell| cell.fg != RUN_B), "{}", text(&buffer));
}

#[test]
fn the_cursor_reads_every_run_where_it_stands() {
    let mut state = running();
    type_text(&mut state, "t");
    let heading = |state: &State| text(&pane(state, 120, 40, false)).lines().nth(1).unwrap().to_owned();
    let newest = format!("{:.3}", falling(2 * STEPS + 29));
    assert!(heading(&state).contains(&newest), "{}", heading(&state));
    press(&mut state, KeyCode::Home);
    let (own, baseline) = (format!("B {:.3}", falling(0)), format!("A {:.3}", falling(0) + 0.25));
    assert!(heading(&state).contains(&own) && heading(&state).contains(&baseline), "{}", heading(&state));
    assert!(text(&pane(&state, 120, 40, false)).lines().any(|line| line.contains("0.00")), "where it stands is written below");
    press(&mut state, KeyCode::End);
    assert!(heading(&state).contains(&newest), "the newest value of the run on the screen: {}", heading(&state));
    press(&mut state, KeyCode::PageDown);
    assert!(heading(&state).contains("B –"), "the baseline went further, this run has no value there: {}", heading(&state));
    type_text(&mut state, "f");
    assert_eq!(state.chart.range.cursor, None);
}

#[test]
fn two_runs_that_are_compared_lie_along_the_time_until_the_user_turns_the_axis() {
    let by = |state: &State| state.chart.range.along;
    let mut state = running();
    assert_eq!(by(&state), Along::Time);
    samples::say(&mut state, Message::Started(RunId(1)));
    assert_eq!(by(&state), Along::Epoch, "the baseline alone");
    samples::say(&mut state, Message::Started(RunId(2)));
    assert_eq!(by(&state), Along::Time);
    type_text(&mut state, "tt");
    samples::say(&mut state, Message::Started(RunId(1)));
    samples::say(&mut state, Message::Started(RunId(2)));
    assert_eq!(by(&state), Along::Step, "as the user left it");
    let mut other = samples::finished(2, 2, 640.0);
    other.record.as_mut().unwrap().data_label = "other".into();
    let mut state = samples::never_used();
    samples::say(&mut state, Message::Runs(vec![samples::finished(1, 1, 640.0), other]));
    assert_eq!(by(&state), Along::Epoch, "what cannot be compared lies epoch by epoch");
}

#[test]
fn a_noisy_loss_has_a_thick_line_above_a_dim_one_and_says_where_it_is_cut() {
    let noisy = |step: usize| if step == 0 { 90.0 } else { falling(step) + 0.2 * (step as f64 * 2.9).sin() };
    let state = with(written(2, 2, 30, 0.0, noisy));
    let buffer = pane(&state, 120, 40, false);
    let own = buffer.content.iter().filter(|cell| ("\u{2801}".."\u{28ff}").contains(&cell.symbol()) && cell.fg == RUN_B);
    let (dim, bright): (Vec<_>, Vec<_>) = own.partition(|cell| cell.modifier.contains(Modifier::DIM));
    assert!(dim.len() > 8 && bright.len() > 20, "{} {}", dim.len(), bright.len());
    let screen = text(&buffer);
    assert!(screen.contains(" loss, cut above "), "{screen}");
    let wide = text(&pane(&state, 200, 60, true));
    assert!(wide.contains("  B run 2 ") && wide.contains("  A run 1 ") && wide.contains("B run 2 "), "{wide}");
    assert!(!screen.contains("80┤") && !screen.contains(" 90"), "the first value does not flatten the rest: {screen}");
}

#[test]
fn curves_end_with_the_names_of_their_runs_where_nothing_else_is() {
    let screen = text(&pane(&running(), 200, 60, true));
    let named = |run: &str| screen.lines().skip(2).filter(|line| line.contains(run) && line.contains('│')).count();
    assert!(named("B run 2") >= 2 && named("run 1") >= 3, "{screen}");
    let many = text(&pane(&pinned(), 80, 24, true));
    assert!(many.lines().any(|line| line.contains("run 3")), "{many}");
}

#[test]
fn keys_turn_scale_axis_and_graph() {
    let mut state = running();
    assert_eq!(type_text(&mut state, "L"), [] as [Effect; 0]);
    assert!(state.chart.is_log(Graph::Loss) && !state.chart.is_log(Graph::Accuracy));
    assert!(text(&pane(&state, 120, 40, false)).contains("training loss, log"));
    assert!(text(&pane(&state, 120, 40, false)).contains(" by training time "), "two runs are compared");
    type_text(&mut state, "gt");
    assert!(text(&pane(&state, 120, 40, false)).contains(" by epoch "));
    let small = |state: &State| text(&pane(state, 80, 24, false));
    for graph in ["validation accuracy", "learning rate", "images/s", "step timeline", "training loss"] {
        press(&mut state, KeyCode::Right);
        assert!(small(&state).contains(graph), "{graph}:\n{}", small(&state));
    }
}

#[test]
fn a_pinned_run_that_goes_on_is_read_again_when_it_has_finished_an_epoch() {
    let mut state = samples::never_used();
    let list = |epoch: usize| {
        let mut going = samples::summary(1, 2, samples::status(RunState::Running, "training"), None);
        going.tally.last_epoch = epoch;
        Message::Runs(vec![going, samples::finished(2, 1, 900.0)])
    };
    crate::tui::app::update::update(&mut state, list(1));
    type_text(&mut state, "p");
    state.focus = Pane::Runs;
    type_text(&mut state, "p");
    assert_eq!(state.shared.watched.as_ref().unwrap().id, RunId(1));
    press(&mut state, KeyCode::Home);
    let reads = |effects: Vec<Effect>| effects.contains(&Effect::ReadCurves(RunId(1)));
    assert!(!reads(crate::tui::app::update::update(&mut state, list(1))), "nothing new");
    assert!(reads(crate::tui::app::update::update(&mut state, list(2))));
}
