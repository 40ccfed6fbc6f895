//! The two lines on top: what the ranks gained, what it means and the next key, at every width.

use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use crate::domain::command::CommandSpec;
use crate::domain::device::Reading;
use crate::domain::event::{ConfigReport, Event, EventLine, Metrics};
use crate::domain::job::{Job, Resources, Workload};
use crate::domain::model::ModelSpec;
use crate::domain::run::RunState;
use crate::domain::speedup::Figures;
use crate::domain::step::{Step, StepSet};
use crate::domain::training::TrainingSpec;
use crate::runs::{RunId, RunSummary, RunUpdate, Tally};
use crate::tui::actions::Pane;
use crate::tui::message::Message;
use crate::tui::state::State;
use crate::tui::testing::samples;
use crate::tui::tests::{cut_out, picture, text, type_text};

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

/// One cell of the first line, where these words begin.
fn style_of(state: &State, words: &str) -> Style {
    let terminal = picture(state, 120, 40);
    let buffer = terminal.backend().buffer();
    let line: String = (0..120).map(|x| buffer[(x, 0)].symbol()).collect();
    let at = line.find(words).unwrap_or_else(|| panic!("no {words}: {line}"));
    buffer[(line[..at].chars().count() as u16, 0)].style()
}

#[test]
fn a_run_that_trains_says_what_it_gained_so_far() {
    let state = training(1820.0, 60);
    let [first, second] = header(&state, 140);
    assert!(first.starts_with(" hvd-lab  run 2 ▶ running  epoch 1/3 22 %  A 1 rank 1000/s █"), "{first}");
    assert!(first.contains("  B 2 ranks 1820/s █") && first.contains("  1.82x of 2x, 91 % so far"), "{first}");
    assert!(second.contains("next: w why step 1 is needed"), "{second}");
    for (width, said) in [
        (80, " run 2 ▶  epoch 1/3 22 %  A 1 rank 1000/s  B 2 ranks 1820/s  1.82x of 2x, 91 %"),
        (60, " run 2 ▶  1 rank 1000/s  2 ranks 1820/s  1.82x of 2x, 91 %"),
    ] {
        let [first, second] = header(&state, width);
        assert!(first.contains(said) && second.contains("next: w"), "{first}\n{second}");
    }
    assert!(text(&state, 200, 60).contains(" 1.82x "), "the table says it too");
}

#[test]
fn the_first_moments_of_a_run_say_nothing_of_its_speed_and_the_next_are_dim() {
    let [first, _] = header(&training(1820.0, 5), 120);
    assert!(first.contains("A 1 rank 1000/s") && first.contains("B 2 ranks  images/s appear after the first seconds"), "{first}");
    let is_dim = |state: &State| style_of(state, "1.82x").add_modifier.contains(Modifier::DIM);
    // 1.9 seconds of 28 steps: a figure, but none to rely on.
    assert!(is_dim(&training(1820.0, 29)), "{}", header(&training(1820.0, 29), 120)[0]);
    assert!(!is_dim(&training(1820.0, 60)));
}

#[test]
fn a_finished_run_says_what_it_gained() {
    let state = one_and(samples::finished(2, 4, 1.0), 3000.0);
    for (width, said) in [
        (140, "  A 1 rank 1000/s ██████··················  B 4 ranks 3000/s ██████████████████······  3.00x of 4x, 75 %"),
        (80, " run 2 ✓ finished  A 1 rank 1000/s  B 4 ranks 3000/s  3.00x of 4x, 75 %"),
        (60, " run 2 ✓  1 rank 1000/s  4 ranks 3000/s  3.00x of 4x, 75 %"),
    ] {
        let [first, second] = header(&state, width);
        assert!(first.contains(said), "{first}");
        assert!(second.contains(" +0.0 points") && second.contains("next: v"), "{second}");
    }
    let mut ascii = state;
    ascii.shared.theme.ascii = true;
    let [first, _] = header(&ascii, 140);
    assert!(first.contains("A 1 rank 1000/s ######..................  B 4 ranks") && first.is_ascii(), "{first}");
}

/// The header never says "the baseline of all other runs": the answer is about two runs, whichever of them is shown.
#[test]
fn both_runs_of_the_answer_stay_whichever_is_chosen() {
    let runs = || vec![samples::finished(1, 1, 1000.0), samples::finished(2, 2, 1900.0), samples::finished(3, 4, 3000.0)];
    let said = |shown: u32| header(&watching(runs(), shown), 80)[0].clone();
    assert!(said(3).contains("A 1 rank 1000/s  C 4 ranks 3000/s  3.00x of 4x, 75 %"), "{}", said(3));
    assert!(said(2).contains("A 1 rank 1000/s  B 2 ranks 1900/s  1.90x of 2x, 95 %"), "{}", said(2));
    assert!(said(1).contains("A 1 rank 1000/s  C 4 ranks 3000/s  3.00x of 4x, 75 %"), "the newest: {}", said(1));
    for shown in 1..=3 {
        let state = watching(runs(), shown);
        let pair = state.shared.pair().unwrap().runs().map(|run| run.id);
        let drawn = crate::tui::chart::state::shown(&state.shared);
        assert!(pair.iter().all(|run| drawn.contains(run) && state.shared.pins.letter(*run).is_some()), "{drawn:?}");
    }
}

/// A training of one rank, a whole one of two, and one of two with something changed.
fn three(change: impl FnOnce(&mut TrainingSpec)) -> Vec<RunSummary> {
    let mut other = samples::finished(3, 2, 1900.0);
    other.tally.test = Some(Metrics { loss: 1.0, accuracy: 0.55 });
    change(other.record.as_mut().unwrap().request.spec.workload.training_mut().unwrap());
    vec![samples::finished(1, 1, 1000.0), samples::finished(2, 2, 2000.0), other]
}

#[test]
fn the_honest_partner_differs_in_one_thing() {
    let without = |step: Step| move |training: &mut TrainingSpec| training.steps = StepSet::ALL.without(step);
    let cases: [(Vec<RunSummary>, [&str; 2]); 4] = [
        (
            three(without(Step::Broadcast)),
            [
                "2 ranks without step 4: accuracy 55.0 % instead of 69.4 %, 1900/s instead of 2000/s",
                " -14.4 points: the ranks started from different weights (step 4 is off)",
            ],
        ),
        // Ranks that share no gradients have no speed to compare.
        (
            three(without(Step::DistributedOptimizer)),
            [
                "2 ranks without step 3: accuracy 55.0 % instead of 69.4 %; no speed-up: its ranks do not share",
                " -14.4 points: each rank trained alone (step 3 is off)",
            ],
        ),
        (three(|training| training.seed = 9), ["2 ranks seed 9 instead of 7: accuracy 55.0 %", "seed 9 instead of 7"]),
        // Two settings differ: the run on one rank is the better partner.
        (
            three(|training| (training.seed, training.epochs) = (9, 4)),
            ["1 rank 1000/s", " -14.4 points: 282 updates instead of 564"],
        ),
    ];
    for (runs, [first, second]) in cases {
        let said = header(&watching(runs, 3), 140);
        assert!(said[0].contains(first) && said[1].contains(second), "{said:?}");
    }
    // A run of the same settings is a better partner than the baseline of others.
    let mut runs = three(|training| training.batch_size = 128);
    runs.push(RunSummary { id: RunId(4), ..runs[2].clone() });
    runs[2].tally.figures = Figures { np: 1, images_per_sec: Some(1500.0), seconds_to_target: None };
    runs[2].record.as_mut().unwrap().request.spec.resources.np = 1;
    let [first, _] = header(&watching(runs, 4), 80);
    assert!(first.contains("C 1 rank 1500/s  D 2 ranks 1900/s  1.27x of 2x, 63 %"), "{first}");
    let mut chosen = watching(three(|_| {}), 2);
    chosen.shared.baseline = Some(RunId(3));
    assert!(header(&chosen, 80)[0].contains("accuracy 69.4 % instead of 55.0 %"), "the user's choice goes first");
}

#[test]
fn what_cannot_be_compared_says_why_or_what_an_answer_takes() {
    let mut other = samples::finished(2, 2, 1.0);
    other.record.as_mut().unwrap().request.spec.workload.training_mut().unwrap().model = ModelSpec::wrn(16, 4);
    let state = one_and(other, 2000.0);
    for width in [80, 120, 200] {
        let [first, _] = header(&state, width);
        assert!(first.contains("2 ranks 2000/s  no speed-up: other model than the baseline"), "{first}");
    }
    for (np, needed) in
        [(1, "1 rank 1000/s. Its gain needs a run on 2 ranks"), (2, "2 ranks 1000/s. Its gain needs a run on 1 rank")]
    {
        let [first, second] = header(&watching(vec![samples::finished(1, np, 1000.0)], 1), 60);
        assert!(first.contains(needed) && second.contains("next: "), "{first}\n{second}");
    }
    let mut status = samples::status(RunState::Failed, "rank 1 was ended by signal 9");
    status.failed_process = Some(1);
    let failed = samples::summary(1, 2, status, None);
    let [first, second] = header(&watching(vec![failed], 1), 80);
    assert!(first.contains("run 1 ✗ failed: rank 1 was ended by signal 9"), "{first}");
    assert!(second.starts_with(" next: i why it failed"), "trouble goes first: {second}");
}

#[test]
fn an_efficiency_over_100_percent_is_no_figure_and_has_its_reason() {
    let state = one_and(samples::finished(2, 2, 1.0), 2100.0);
    let [first, _] = header(&state, 160);
    assert!(first.contains("2.10x of 2x, over 100 %: the baseline was too slow (other programs, a busy machine)"), "{first}");
    let [first, _] = header(&state, 120);
    assert!(first.contains("2.10x of 2x, over 100 %: the baseline was too slow"), "{first}");
    assert!(!text(&state, 200, 60).contains("105 %"));
}

/// What will be said at its end is said while it trains, by what the cores do beside its ranks.
#[test]
fn other_programs_are_seen_while_the_run_trains() {
    let watch = |ranks_percent: f64| {
        let mut state = training(1820.0, 60);
        samples::say(
            &mut state,
            Message::Updates(
                RunId(2),
                vec![RunUpdate::Event(EventLine { time_s: BEGAN, process: 1, event: samples::topology(1, 2) })],
            ),
        );
        let mut sample = samples::cpu_sample(&[(0, 412), (1, 413)]);
        sample.devices[0].processes.iter_mut().for_each(|rank| rank.utilization_percent = Reading::Value(ranks_percent));
        (0..4).for_each(|_| samples::say(&mut state, Message::Telemetry(sample.clone())));
        header(&state, 120)[0].clone()
    };
    // The cores are busy for 91 %.
    assert!(
        watch(40.0).contains("not measured: run 2 shares the machine (other programs use 51 % of the cores)"),
        "{}",
        watch(40.0)
    );
    assert!(watch(88.0).contains("1.82x of 2x, 91 %"), "{}", watch(88.0));
}

/// Beside another run, and after it: no figure, and the same words.
#[test]
fn a_run_that_shares_its_machine_has_no_figure_while_it_runs_and_afterwards() {
    let mut busy = samples::finished(2, 2, 1.0);
    busy.record.as_mut().unwrap().attempts[0].others_cpu = Some(0.6);
    let over = one_and(busy, 1200.0);
    let mut beside = training(1820.0, 60);
    let mut runs = beside.shared.runs.clone();
    runs.push(samples::summary(3, 2, samples::status(RunState::Running, "training"), Some(900.0)));
    samples::say(&mut beside, Message::Runs(runs));
    for (state, said) in [
        (&over, "not measured: run 2 shared the machine (other programs used 60 % of the cores)"),
        (&beside, "not measured: run 2 shares the machine with run 3"),
    ] {
        for width in [60, 80, 120, 200] {
            let [first, second] = header(state, width);
            assert!(first.contains(&said[..32]) && (width < 120 || first.contains(said)), "{first}");
            assert!(!first.contains("/s ") && !first.contains("x of"), "{first}");
            assert!(second.contains("next: "), "{second}");
        }
    }
    let mut watching_the_first = beside.clone();
    samples::say(&mut watching_the_first, Message::Started(RunId(1)));
    assert!(header(&watching_the_first, 80)[1].contains("(run 3 is running)"), "{:?}", header(&watching_the_first, 80));
    assert!(!text(&beside, 200, 60).contains("1.82x"), "the table does not say it either");
}

#[test]
fn a_run_that_shared_its_machine_is_repeated_by_the_key_that_the_hint_names() {
    let mut busy = samples::finished(1, 1, 1000.0);
    busy.record.as_mut().unwrap().attempts[0].others_cpu = Some(0.6);
    let wanted = busy.record.as_ref().unwrap().request.spec.training_job().unwrap();
    let mut state = watching(vec![busy, samples::finished(2, 2, 1820.0)], 2);
    assert_ne!(state.shared.spec, wanted);
    let says = |state: &State, key: &str, what_for: &str| {
        let [_, narrow] = header(state, 80);
        let [_, wide] = header(state, 200);
        assert!(narrow.contains(key) && wide.contains(&format!("{key} {what_for}")), "{narrow}\n{wide}");
    };
    // That it has finished goes after who else used the cores.
    assert!(
        header(&state, 80)[0].starts_with(" run 2 ✓ finished  not measured: run 1 shared the machine "),
        "{:?}",
        header(&state, 80)
    );
    says(&state, "next: a in Runs on run 1, then r repeats it", "with the machine to itself");
    samples::say(&mut state, Message::Started(RunId(1)));
    state.focus = Pane::Runs;
    type_text(&mut state, "a");
    assert_eq!(state.shared.spec, wanted);
    samples::say(&mut state, Message::Started(RunId(2)));
    says(&state, "next: r repeats run 1", "with the machine to itself");
    // Where a second try shared the machine as well, the next thing is said.
    let mut tries = state.shared.runs.clone();
    tries.push(RunSummary { id: RunId(3), ..tries[0].clone() });
    let [_, second] = header(&watching(tries, 3), 120);
    assert!(second.contains("next: ") && !second.contains("repeats"), "{second}");
    // Repeated, the quiet run answers in its place.
    let mut runs = state.shared.runs.clone();
    runs.push(samples::finished(3, 1, 910.0));
    let repeated = watching(runs, 2);
    assert!(header(&repeated, 120)[0].contains("2.00x of 2x"), "{:?}", header(&repeated, 120));
}

#[test]
fn the_first_line_names_no_next_key_after_one_run_and_never_ends_in_a_colon() {
    let mut other_steps = samples::finished(2, 2, 0.0);
    // Neither a speed nor an accuracy: all that stands behind the difference is the reason, which goes first.
    other_steps.tally = Tally::default();
    let training = other_steps.record.as_mut().unwrap().request.spec.workload.training_mut().unwrap();
    training.steps = StepSet::ALL.without(Step::Broadcast);
    // Whatever has a name has a long one.
    let long = "a name: that goes on for much longer than the line: ".repeat(4);
    let mut other_hosts = samples::finished(2, 2, 850.0);
    other_hosts.record.as_mut().unwrap().request.spec.resources.hosts = Some(long.clone());
    let mut broken = samples::summary(2, 2, samples::status(RunState::Failed, &long), None);
    broken.record.as_mut().unwrap().request.name = Some(long);
    let before = || samples::finished(1, 2, 900.0);
    let others = [other_steps, other_hosts, broken].map(|other| (vec![before(), other], 2));
    for (runs, run) in [(vec![before()], 1)].into_iter().chain(others) {
        let state = watching(runs, run);
        for width in 40..160 {
            let [first, _] = header(&state, width);
            assert!(!first.trim_end().ends_with([':', ',', ';']) && !first.contains("then r"), "{width}: {first}");
            // What is cut says so: else the line has whole words only.
            let is_cut = first.trim_end().chars().count() == usize::from(width);
            assert!(!is_cut || first.contains('…') || first.ends_with(|end: char| "%/sxk".contains(end)), "{width}: {first}");
        }
    }
}

/// Nothing is said twice of a program that prints no figures.
#[test]
fn an_own_program_without_figures_is_told_once_how_it_ended() {
    let mut own = samples::finished(3, 2, 0.0);
    own.status.message = "the program has ended well".into();
    (own.tally.figures.images_per_sec, own.tally.test, own.tally.validation) = (None, None, None);
    let command = CommandSpec::sample("torchrun --nproc_per_node 2 train.py");
    own.record.as_mut().unwrap().request.spec = Job { resources: Resources::ranks(2), workload: Workload::Command(command) };
    for runs in [vec![own.clone()], vec![samples::finished(1, 1, 1000.0), own]] {
        let state = watching(runs, 3);
        for width in [60, 80, 120, 200] {
            let [first, _] = header(&state, width);
            assert_eq!(first.matches("ended well").count(), 1, "{first}");
            assert!(first.contains("run 3 ✓") && (width == 60 || first.contains("and reported no images/s")), "{first}");
            assert!(header(&state, 80)[1].contains("next: O starts it again"), "{:?}", header(&state, 80));
        }
    }
}

#[test]
fn no_width_breaks_the_header() {
    for state in [training(1820.0, 60), one_and(samples::finished(2, 2, 1.0), 2100.0), samples::failed(), samples::never_used()] {
        for width in 60..200 {
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
        assert_eq!(crate::tui::app::view::title(&state), "hvd-lab: run 2 testing");
        say(&mut state, Event::Test { loss: 0.5, accuracy: 0.8, images: 100, seconds: 1.0 });
        assert!(!header(&state, 140)[0].contains("testing"), "it is over");
    }
}

#[test]
fn a_run_of_collectives_has_no_speed_up_and_a_key_that_shows_it() {
    let run = crate::tui::collectives::tests::samples::summary(3, 2);
    let [first, _] = header(&watching(vec![samples::finished(1, 1, 1000.0), run], 3), 120);
    assert!(
        first.contains(" run 3 ✓ finished  collectives; C shows them  measured 15 rows") && !first.contains("epoch"),
        "{first}"
    );
}

#[test]
fn a_run_of_collectives_says_in_its_own_words_that_it_is_not_continued() {
    let mut state = watching(vec![samples::finished(1, 1, 1000.0), crate::tui::collectives::tests::samples::summary(3, 2)], 3);
    crate::tui::tests::type_text(&mut state, "c");
    let notice = state.shared.notice.clone().unwrap();
    assert!(!notice.is_error, "it is no problem: {}", notice.text);
    assert_eq!(notice.text, "run 3 measured allreduces, so there is nothing to continue: to measure again press C, then Enter");
}
