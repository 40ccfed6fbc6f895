//! Lanes: what each rank does now, where its step goes, and which one the others wait for.

use crossterm::event::KeyCode;

use super::details::Details;
use super::tests::gpus;
use crate::domain::device::{DeviceProcess, Machine, Reading, TelemetrySample};
use crate::domain::event::{EpochReport, Event, EventLine};
use crate::domain::phase::{Phase, PhaseSeconds};
use crate::domain::run::RunState;
use crate::runs::{RunId, RunUpdate};
use crate::tui::actions::Pane;
use crate::tui::message::Message;
use crate::tui::state::State;
use crate::tui::testing::samples;
use crate::tui::tests::{pane, press, text, type_text};

const SIZES: [(u16, u16); 4] = [(60, 16), (80, 24), (120, 36), (200, 60)];

/// Run 2 goes on with so many ranks, whose devices are as in the sample.
fn lab(np: usize, sample: TelemetrySample) -> State {
    let mut state = samples::running();
    state.focus = Pane::Runs;
    samples::say(&mut state, Message::Updates(RunId(2), samples::updates(np, 2, 60)));
    samples::say(&mut state, Message::Telemetry(sample));
    state
}

/// Each rank reports an epoch of 100 steps, with milliseconds of data, computing and waiting.
fn report(state: &mut State, epoch: usize, ranks: &[(f64, f64, f64)]) {
    let line = |(process, (data, compute, waits)): (usize, &(f64, f64, f64))| {
        let seconds = [(Phase::Data, data), (Phase::Backward, compute), (Phase::AllreduceExposed, waits)];
        let phases = PhaseSeconds::from(seconds.map(|(phase, ms)| (phase, ms / 10.0)));
        let report = EpochReport { epoch, batches: 100, phases, ..EpochReport::sample() };
        RunUpdate::Event(EventLine { time_s: samples::START, process, event: Event::Epoch(report) })
    };
    let lines = ranks.iter().enumerate().map(line).collect();
    samples::say(state, Message::Updates(RunId(2), lines));
}

fn two() -> State {
    let mut state = lab(2, samples::cpu_sample(&[(0, 412), (1, 413)]));
    report(&mut state, 2, &[(4.0, 50.0, 16.0), (4.0, 66.0, 0.2)]);
    state
}

fn line<'a>(screen: &'a str, start: &str) -> &'a str {
    let is_lane = |line: &&str| line.trim_start_matches(['"', '│', '|', ' ', '▸', '>']).starts_with(start);
    screen.lines().find(is_lane).unwrap_or_else(|| panic!("no lane {start}:\n{screen}"))
}

fn cpu_ranks(count: usize) -> TelemetrySample {
    let mut sample = samples::cpu_sample(&(0..count).map(|rank| (rank, 412 + rank as u32)).collect::<Vec<_>>());
    for (rank, process) in sample.devices[0].processes.iter_mut().enumerate() {
        process.utilization_percent = Reading::Value(5.0 * rank as f64);
    }
    sample
}

#[test]
fn each_rank_has_a_lane_with_its_step_and_the_slowest_is_named() {
    let check = |screen: &str, width: u16, [computes, waiting]: [&str; 2]| {
        let (waits, slow) = (line(screen, "0 core 0"), line(screen, "1 core 1"));
        assert!(
            waits.contains("98 %") && waits.contains("0.8/8.0G") && waits.contains(&format!("{waiting}   16 ms")),
            "{screen}"
        );
        assert!(slow.contains(computes) && slow.contains("slowest") && !waits.contains("slowest"), "{screen}");
        assert_eq!(slow.contains("0.2 ms"), width >= 120, "{screen}");
        // What the bar is, and its signs in words.
        let words = ["epoch 2", "step", "computes", "loads data", "waits"];
        assert!(words.iter().all(|word| screen.contains(word)), "{screen}");
        let title = ["a step", "mean step: 70 ms", "a step, mean of epoch 2: 70 ms"];
        let head = line(screen, "rank");
        assert!(head.contains(title[if width == 80 { 0 } else { usize::from(width >= 120) + 1 }]), "{screen}");
        assert!(head.trim_end_matches(['"', '│', '|', ' ']).ends_with("waits"), "the figures have a head:\n{screen}");
    };
    for (width, height) in SIZES {
        let space = if width >= 120 { "        " } else { "" };
        check(&pane(&two(), Pane::Devices, width, height), width, ["█", &format!("░{space}")]);
    }
    let mut ascii = two();
    ascii.shared.theme.ascii = true;
    check(&text(&ascii, 60, 16), 60, ["#", "."]);
    insta::assert_snapshot!("lanes_cpu_80x24", pane(&two(), Pane::Devices, 80, 24));
}

#[test]
fn a_bar_is_as_long_as_its_step_and_its_parts_add_up() {
    let screen = pane(&two(), Pane::Devices, 120, 36);
    let count = |rank: &str, sign: char| {
        let lane = line(&screen, rank);
        // Behind the memory is the bar.
        lane.split_once("8.0G").unwrap().1.matches(sign).count()
    };
    let (first, second) = (["█", "▄", "░"], ["█", "▄", "░"]);
    let sum = |rank: &str, signs: [&str; 3]| signs.iter().map(|sign| count(rank, sign.chars().next().unwrap())).sum::<usize>();
    assert!(sum("0 core", first).abs_diff(sum("1 core", second)) <= 1, "{screen}");
    assert!(count("0 core", '█') < count("1 core", '█') && count("0 core", '░') > count("1 core", '░'), "{screen}");
    // Balanced ranks have no slowest one.
    let mut even = two();
    report(&mut even, 3, &[(1.0, 50.0, 5.0), (1.0, 50.5, 4.0)]);
    let screen = pane(&even, Pane::Devices, 120, 36);
    assert!(screen.contains("mean of epoch 3") && !screen.contains("slowest"), "{screen}");
}

#[test]
fn an_empty_bar_says_why() {
    let mut state = lab(2, samples::cpu_sample(&[(0, 412), (1, 413)]));
    let shown = |state: &State| pane(state, Pane::Devices, 80, 24);
    // Rank 0 of the sample has reported an epoch without phases, as a program of the user's own may.
    assert!(line(&shown(&state), "1 core 1").contains("no phases"), "{}", shown(&state));
    report(&mut state, 2, &[(4.0, 50.0, 16.0)]);
    assert!(line(&shown(&state), "1 core 1").contains("no epoch yet"), "{}", shown(&state));
    let mut young = samples::running();
    let start = samples::updates(2, 1, 60)
        .into_iter()
        .filter(|update| !matches!(update, RunUpdate::Event(line) if matches!(line.event, Event::Epoch(_))));
    samples::say(&mut young, Message::Started(RunId(3)));
    samples::say(&mut young, Message::Updates(RunId(3), start.collect()));
    assert!(line(&shown(&young), "0 core 0").contains("after epoch 1"), "{}", shown(&young));
}

#[test]
fn a_run_that_is_over_keeps_its_lanes_without_a_load() {
    let mut state = two();
    let over = RunUpdate::Status(samples::status(RunState::Finished, "finished"));
    samples::say(&mut state, Message::Updates(RunId(2), vec![over]));
    samples::say(&mut state, Message::Telemetry(samples::cpu_sample(&[])));
    let screen = pane(&state, Pane::Devices, 120, 36);
    assert!(line(&screen, "1 core 1").contains("not running") && screen.contains("slowest"), "{screen}");
    state.devices.choose(1);
    state.windows.show(Details);
    assert!(text(&state, 120, 36).contains("N/A  the process of this rank is not running"), "{}", text(&state, 120, 36));
    // Another run has other ranks.
    let mut other = two();
    samples::say(&mut other, Message::Telemetry(samples::cpu_sample(&[])));
    samples::say(&mut other, Message::Started(RunId(9)));
    assert_eq!(other.devices.rows().len(), 1, "the CPU alone");
    assert!(pane(&other, Pane::Devices, 120, 36).contains("cores █▇"), "{}", pane(&other, Pane::Devices, 120, 36));
}

/// As in step 1: without pinning all ranks are on the first GPU.
#[test]
fn ranks_that_share_a_gpu_have_a_lane_each_and_free_gpus_stand_below() {
    let mut sample = gpus(4);
    let process = |rank: usize, percent: f64| DeviceProcess {
        rank: Some(rank),
        pid: 412 + rank as u32,
        utilization_percent: Reading::Value(percent),
        memory_bytes: Reading::Value((rank as u64 + 1) << 30),
        ..gpus(1).devices[0].processes[0].clone()
    };
    sample.devices.iter_mut().for_each(|gpu| gpu.processes.clear());
    sample.devices[2].processes = vec![process(0, 31.0), process(1, 17.0)];
    sample.devices[3].processes = vec![DeviceProcess { rank: None, ..process(7, 1.0) }];
    let mut state = lab(2, sample);
    report(&mut state, 2, &[(4.0, 50.0, 16.0), (4.0, 66.0, 0.2)]);
    let screen = pane(&state, Pane::Devices, 120, 36);
    assert!(line(&screen, "0 GPU2").contains("31 %") && line(&screen, "0 GPU2").contains("1.0/139G"), "{screen}");
    assert!(line(&screen, "1 GPU2").contains("17 %") && line(&screen, "1 GPU2").contains("2.0/139G"), "{screen}");
    assert!(line(&screen, "– GPU0").contains("no rank") && line(&screen, "– GPU3").contains("1 other"), "{screen}");
    assert!(screen.find("1 GPU2").unwrap() < screen.find("– GPU0").unwrap(), "{screen}");
    assert!(screen.contains("4 GPUs · mean 61 %") && screen.contains("1 process is no rank"), "{screen}");
}

#[test]
fn the_host_line_has_cpu_memory_driver_and_cuda() {
    let machine = Machine {
        cpu_percent: Reading::Value(98.0),
        memory_used_bytes: Reading::Value(1 << 30),
        memory_total_bytes: Reading::Value(24 << 30),
        driver: Reading::Value("580.99".into()),
        cuda: Reading::missing("unknown"),
    };
    let mut sample = gpus(2);
    sample.machine = Some(Machine { cuda: Reading::Value("13.0".into()), ..machine.clone() });
    let shown = |sample: TelemetrySample| pane(&lab(2, sample), Pane::Devices, 120, 36);
    let screen = shown(sample.clone());
    assert!(screen.contains("CPU 98 % · mem 1.0/24G · driver 580.99 · CUDA 13.0"), "{screen}");
    let screen = shown(TelemetrySample { machine: Some(machine), ..sample.clone() });
    assert!(screen.contains("driver 580.99") && !screen.contains("CUDA"), "{screen}");
    assert!(shown(TelemetrySample { machine: None, ..sample }).contains("2 GPUs · mean 61 %"), "a recording of before");
    assert!(shown(samples::cpu_sample(&[(0, 412)])).contains("CPU 91 % of 2 cores · mem 3.0/8.0G"));
}

#[test]
fn sixteen_ranks_of_a_cpu_fold_as_gpus_do() {
    for (width, height) in SIZES {
        let state = lab(16, cpu_ranks(16));
        let screen = pane(&state, Pane::Devices, width, height);
        assert_eq!(state.devices.rows().len(), 16);
        // The load of each rank stands there: a multiple of five.
        for rank in 1..16 {
            assert!(screen.contains(&format!("{} ", 5 * rank)), "rank {rank} at {width}x{height}:\n{screen}");
        }
    }
    // What the numbers are stands above them; behind the end of the run, that there are none.
    let over = TelemetrySample { devices: samples::cpu_sample(&[]).devices, ..cpu_ranks(16) };
    let over = lab(16, over);
    for (width, height) in [(80, 24), (120, 36)] {
        let screen = pane(&lab(16, cpu_ranks(16)), Pane::Devices, width, height);
        assert!(screen.contains("16 ranks, use %"), "{screen}");
        let screen = pane(&over, Pane::Devices, width, height);
        assert!(screen.contains("16 ranks, not running"), "{screen}");
    }
    let packed = pane(&lab(48, cpu_ranks(48)), Pane::Devices, 80, 24);
    assert!(packed.contains("48 ranks") && packed.contains(" 32 "), "{packed}");
}

#[test]
fn no_graph_is_drawn_twice_and_what_is_left_out_is_said() {
    let mut state = samples::running();
    (state.focus, state.zoom) = (Pane::Devices, true);
    samples::say(&mut state, Message::Telemetry(gpus(8)));
    let shown = |state: &State, width, height| {
        let screen = text(state, width, height);
        (screen.contains("2 min  "), screen.matches("-1 min").count(), screen)
    };
    let (column, graphs, screen) = shown(&state, 80, 24);
    assert!(column && graphs == 0, "no room for eight graphs:\n{screen}");
    let (column, graphs, screen) = shown(&state, 200, 60);
    assert!(!column && graphs > 0, "{screen}");
    type_text(&mut state, "M");
    let (column, _, screen) = shown(&state, 80, 24);
    assert!(!column && screen.contains(" more "), "{screen}");
    press(&mut state, KeyCode::End);
    assert!(text(&state, 80, 24).contains("GPU 7  "), "the chosen one is among the graphs");
}
