//! The devices pane in every state: what it shows, in which colours, and what its keys do.

use crossterm::event::KeyCode;
use ratatui::style::{Color, Modifier};

use crate::domain::device::{DeviceSample, Reading, TelemetrySample};
use crate::domain::event::{Event, EventLine};
use crate::runs::{RunId, RunUpdate};
use crate::tui::actions::Pane;
use crate::tui::app::update::update;
use crate::tui::message::Message;
use crate::tui::state::State;
use crate::tui::state::typed_line::TypedLine;
use crate::tui::testing::samples;
use crate::tui::tests::{pane, picture, press, text, type_text, window};

const BLUE: Color = Color::Indexed(63);
const ORANGE: Color = Color::Indexed(131);

/// The pane alone on the screen, after two minutes of such samples with use going up and down.
fn lab(sample: &TelemetrySample) -> State {
    let mut state = samples::running();
    (state.focus, state.slot, state.zoom) = (Pane::Devices, Pane::Devices, true);
    for turn in 0..240 {
        let mut now = sample.clone();
        now.time_s = sample.time_s + f64::from(turn) / 2.0;
        for (index, device) in now.devices.iter_mut().enumerate() {
            if let Reading::Value(percent) = &mut device.utilization_percent {
                let wave = (f64::from(turn) / (9.0 + index as f64)).sin();
                // The last one is as given.
                *percent = if turn == 239 { *percent } else { 50.0 + 45.0 * wave };
            }
        }
        samples::say(&mut state, Message::Telemetry(now));
    }
    state
}

pub fn gpus(count: usize) -> TelemetrySample {
    let mut sample = samples::gpu_sample();
    let some: Vec<DeviceSample> = sample.devices.clone();
    sample.devices = (0..count).map(|index| DeviceSample { index, ..some[index % some.len()].clone() }).collect();
    for (index, device) in sample.devices.iter_mut().enumerate() {
        device.uuid = format!("GPU-{index:04}");
        device.bus_id = Reading::Value(format!("00000000:{:02X}:00.0", 0x18 + index));
        device.performance_state = Reading::Value("P0".into());
        device.compute_mode = Reading::Value("default".into());
        (device.mig_enabled, device.ecc_enabled) = (Reading::Value(false), Reading::Value(true));
        device.ecc_errors = Reading::Value(0);
        device.fan_percent = Reading::missing("no fan of its own");
        device.processes.retain(|process| index < 4 || process.rank.is_none());
    }
    sample
}

fn mig() -> TelemetrySample {
    let mut sample = gpus(1);
    sample.devices[0].mig_enabled = Reading::Value(true);
    sample.devices[0].utilization_percent = Reading::missing("NVML gives no utilisation in MIG mode");
    for part in 0..2 {
        let mut slice = sample.devices[0].clone();
        slice.uuid = format!("MIG-{part}");
        slice.name = "NVIDIA H200 MIG 3g.71gb".into();
        slice.memory_total_bytes = Reading::Value(71 << 30);
        slice.mig_enabled = Reading::missing("it is a MIG device itself");
        slice.processes.iter_mut().for_each(|process| process.rank = Some(part));
        sample.devices.push(slice);
    }
    sample.devices[0].processes.clear();
    sample
}

fn look(name: &str, state: &State) {
    for (width, height) in [(80, 24), (200, 60)] {
        insta::assert_snapshot!(format!("devices_{name}_{width}x{height}"), pane(state, Pane::Devices, width, height));
    }
}

#[test]
fn nothing_known_yet() {
    let mut state = samples::fresh();
    (state.focus, state.zoom) = (Pane::Devices, true);
    look("empty", &state);
}

#[test]
fn no_gpu_and_why() {
    look("no_gpu", &lab(&samples::cpu_sample(&[(0, 412), (1, 413)])));
    let mut many = samples::cpu_sample(&[]);
    many.devices[0].core_percent = (0..96).map(f64::from).collect();
    look("many_cores", &lab(&many));
}

#[test]
fn one_eight_and_sixteen() {
    look("one", &lab(&gpus(1)));
    look("eight", &lab(&gpus(8)));
    look("sixteen", &lab(&gpus(16)));
    let mut idle = gpus(8);
    idle.devices.iter_mut().for_each(|device| device.processes.clear());
    look("eight_without_ranks", &lab(&idle));
}

#[test]
fn long_names_missing_figures_mig_and_a_lost_gpu() {
    let mut odd = gpus(4);
    odd.devices[0].name = "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition".into();
    odd.devices[0].processes[0].command = "python3 a_program_with_a_long_name.py --and many --arguments of its own".repeat(3);
    odd.devices[1] = DeviceSample { processes: Vec::new(), ..DeviceSample::silent(odd.devices[1].kind, 1, "Old GPU", "too old") };
    odd.devices[1].memory_used_bytes = Reading::Value(1 << 30);
    let lost = "the GPU has fallen off the bus";
    odd.devices[2] = DeviceSample::silent(odd.devices[2].kind, 2, format!("GPU 2: {lost}"), lost);
    odd.devices[3].ecc_errors = Reading::Value(7);
    odd.devices[3].temperature_celsius = Reading::Value(91.0);
    odd.host = "a-host-with-a-very-long-name.cluster.example.org".into();
    look("odd", &lab(&odd));
    look("mig", &lab(&mig()));
}

/// Where a text stands on the screen, in columns.
fn find(state: &State, (width, height): (u16, u16), wanted: &str) -> (u16, u16) {
    let screen = text(state, width, height);
    for (row, line) in screen.lines().enumerate() {
        // Each line of the picture is quoted.
        if let Some(at) = line.find(wanted) {
            return ((line[..at].chars().count() - 1) as u16, row as u16);
        }
    }
    panic!("`{wanted}` is not on the screen:\n{screen}");
}

fn colour_at(state: &State, size: (u16, u16), wanted: &str) -> Color {
    let at = find(state, size, wanted);
    picture(state, size.0, size.1).backend().buffer()[at].fg
}

#[test]
fn colours_say_use_memory_trouble_and_what_is_missing() {
    let mut sample = gpus(4);
    sample.devices[2].temperature_celsius = Reading::Value(91.0);
    sample.devices[3].power_watts = Reading::missing("not supported");
    let state = lab(&sample);
    for size in [(80, 24), (120, 40), (200, 60)] {
        assert_eq!(colour_at(&state, size, "GPU-Util 61 %"), BLUE, "{size:?}");
        assert_eq!(colour_at(&state, size, "91 C"), ORANGE, "{size:?}");
        assert_eq!(colour_at(&state, size, "37 C"), Color::Reset, "{size:?}");
        let missing = find(&state, size, "N/A");
        assert!(picture(&state, size.0, size.1).backend().buffer()[missing].modifier.contains(Modifier::DIM));
    }
    let mut plain = state;
    plain.shared.theme.colour = false;
    assert!(picture(&plain, 120, 40).backend().buffer().content.iter().all(|cell| cell.fg == Color::Reset));
}

#[test]
fn every_state_is_ascii_where_that_is_asked_for() {
    for sample in [gpus(1), gpus(16), mig(), samples::cpu_sample(&[(0, 412)])] {
        let mut state = lab(&sample);
        state.shared.theme.ascii = true;
        for (width, height) in [(80, 24), (120, 40), (200, 60)] {
            let screen = text(&state, width, height);
            assert!(screen.is_ascii() && screen.matches('?').count() <= 1, "{screen}");
        }
    }
}

#[test]
fn every_figure_that_is_missing_says_why_under_the_cursor() {
    let mut state = lab(&gpus(8));
    assert!(text(&state, 80, 24).contains("GPU 0 · GPU-Util: 61 %"));
    for _ in 0..6 {
        press(&mut state, KeyCode::Down);
    }
    assert!(text(&state, 80, 24).contains("GPU 6 · GPU-Util: N/A, a MIG device gives none"));
    // Each field of each device in turn: a value, or a reason.
    let facts = state.devices.chosen().unwrap().device.facts();
    for (name, fact) in &facts {
        let screen = text(&state, 120, 40);
        let expected = fact.value().cloned().unwrap_or_else(|| format!("N/A, {}", fact.reason().unwrap()));
        assert!(screen.contains(&format!("{name}: {expected}")), "{name}:\n{screen}");
        press(&mut state, KeyCode::Right);
    }
    press(&mut state, KeyCode::Enter);
    assert!(state.windows.get::<crate::tui::devices::details::Details>().is_some());
    assert_eq!(state.windows.scroll(), Some(0));
    let screen = text(&state, 120, 40);
    for (name, fact) in &facts {
        let expected = fact.value().cloned().unwrap_or_else(|| format!("N/A  {}", fact.reason().unwrap()));
        assert!(screen.contains(&format!("{name:<15}{expected}")), "{name}:\n{screen}");
    }
    insta::assert_snapshot!("devices_details_80x24", window(&state, 80, 24));
    press(&mut state, KeyCode::Esc);
    assert!(state.windows.is_empty());
}

#[test]
fn sorting_and_filtering_are_keys_of_the_pane_and_say_what_they_do() {
    let mut sample = gpus(8);
    sample.devices[5].utilization_percent = Reading::Value(99.0);
    let mut state = lab(&sample);
    type_text(&mut state, "s");
    let screen = text(&state, 120, 40);
    assert!(screen.contains("GPU · node · by load"), "{screen}");
    assert_eq!(state.devices.rows()[0].device.index, 5);
    assert_eq!(state.devices.cursor(), 1, "the cursor is on GPU 0 still");
    // Keys are text while the filter is typed.
    assert!(type_text(&mut state, "/rank 2").is_empty());
    assert!(state.windows.get::<TypedLine<crate::tui::devices::update::DeviceFilter>>().is_some());
    assert_eq!(state.devices.rows().iter().map(|row| row.device.index).collect::<Vec<_>>(), [2]);
    assert!(text(&state, 80, 24).contains("/rank 2 7 hidden"));
    press(&mut state, KeyCode::Enter);
    assert_eq!((state.windows.is_empty(), text(&state, 80, 24).contains("/rank 2 7 hidden")), (true, true));
    type_text(&mut state, "/x");
    assert!(text(&state, 80, 24).contains("no device, rank or process"));
    press(&mut state, KeyCode::Esc);
    assert_eq!((state.devices.rows().len(), state.devices.filter.as_str()), (8, ""));
}

#[test]
fn hosts_whose_ranks_report_stand_below_this_one_with_totals_of_their_own() {
    let mut state = lab(&gpus(2));
    let mut other = gpus(2);
    other.host = "other".into();
    other.devices.iter_mut().for_each(|device| device.processes.iter_mut().for_each(|process| process.rank = None));
    let run = state.shared.watched.as_ref().unwrap().id;
    let mut topology = samples::updates(2, 1, 0);
    topology.retain_mut(|update| match update {
        RunUpdate::Event(EventLine { event: Event::Topology(report), .. }) => {
            report.host = "other".into();
            true
        }
        _ => false,
    });
    update(&mut state, Message::Updates(run, topology));
    let report = EventLine { time_s: 1.0, process: 1, event: Event::Devices { sample: other } };
    update(&mut state, Message::Updates(run, vec![RunUpdate::Event(report)]));
    look("two_hosts", &state);
    let found: Vec<Option<usize>> =
        state.devices.hosts().nth(1).unwrap().devices.iter().map(|device| device.processes[0].rank).collect();
    assert_eq!(found, [Some(0), Some(1)], "by the pids that the ranks of that host told");
    let mut same = gpus(2);
    same.host = "other".into();
    state.devices.measured(same);
    assert_eq!(state.devices.hosts().count(), 1, "a host that is looked at needs no reports");
    update(&mut state, Message::Started(RunId(9)));
    assert_eq!(state.devices.hosts().count(), 1, "another run has other hosts");
}

/// A small pane shows the devices first, and graphs as soon as they have room.
#[test]
fn the_room_decides_the_form() {
    let mut state = lab(&gpus(8));
    state.zoom = false;
    let compact = pane(&state, Pane::Devices, 80, 24);
    assert!(!compact.contains("┤") && compact.contains(" 7 ") && !compact.contains("00000000:18:00.0"), "{compact}");
    state.zoom = true;
    let wide = text(&state, 200, 60);
    for expected in
        ["bus", "fan", "temp", "perf", "power", "compute", "ECC", "MIG", "memory", "GPU-Util", "ranks", "100 ┤", "-1 min", "pid"]
    {
        assert!(wide.contains(expected), "{expected}:\n{wide}");
    }
    let two_lines = text(&lab(&gpus(4)), 80, 40);
    assert!(two_lines.contains("00000000:18:00.0") && two_lines.contains("default") && two_lines.contains("MIG"), "{two_lines}");
}

/// Alone on the screen each device has its last minutes once: as a graph, or in its own row where not all graphs have room.
#[test]
fn every_device_has_its_last_minutes_once() {
    let is_dots = |sign: &str| sign.chars().all(|c| ('\u{2801}'..='\u{28ff}').contains(&c));
    for count in [1, 4, 8, 16] {
        let state = lab(&gpus(count));
        for (width, height) in [(80, 24), (120, 40), (200, 60)] {
            let terminal = picture(&state, width, height);
            let (screen, buffer) = (terminal.backend(), terminal.backend().buffer());
            let row = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
            let rows: Vec<u16> = (0..height).filter(|y| row(*y).contains("61 %") && row(*y).contains("139G")).collect();
            // The seventh of each eight gives no load.
            assert_eq!(rows.len(), count - (count + 1) / 8, "{count} at {width}x{height}:\n{screen}");
            let graphs = text(&state, width, height).matches("-1 min").count();
            assert!(graphs == 0 || graphs == count, "{count} at {width}x{height}:\n{screen}");
            for y in rows {
                let history = (0..width).map(|x| &buffer[(x, y)]).filter(|cell| is_dots(cell.symbol()));
                let (all, blue): (Vec<_>, Vec<_>) = history.map(|cell| ((), cell.fg == BLUE)).unzip();
                let is_drawn = all.len() >= 6 && blue.iter().all(|blue| *blue);
                assert!(
                    is_drawn == (graphs == 0) && (is_drawn || all.is_empty()),
                    "{count} at {width}x{height}, row {y}:\n{screen}"
                );
            }
        }
    }
    let mut cpu = lab(&samples::cpu_sample(&[(0, 412), (1, 413)]));
    assert!(text(&cpu, 200, 60).contains("100 ┤"), "a tall screen has a scale and a time axis as well");
    cpu.zoom = false;
    for (width, height) in [(80, 24), (120, 40), (200, 60)] {
        let screen = text(&cpu, width, height);
        assert!(screen.contains("91 % of 2 cores") && screen.contains("core 0") && screen.contains("core 1"), "{screen}");
    }
}

#[test]
fn a_small_history_is_as_high_as_the_use_was_and_empty_where_nothing_was_measured() {
    // So many that their graphs have no room.
    let mut sample = gpus(8);
    let mut state = samples::running();
    (state.focus, state.slot, state.zoom) = (Pane::Devices, Pane::Devices, true);
    // A minute without a figure, half a minute of nothing to do, half a minute of work.
    for turn in 0..240 {
        sample.time_s += 0.5;
        sample.devices[0].utilization_percent = match turn {
            0..120 => Reading::missing("not yet"),
            120..180 => Reading::Value(0.0),
            _ => Reading::Value(100.0),
        };
        samples::say(&mut state, Message::Telemetry(sample.clone()));
    }
    let line = |state: &State| {
        let screen = text(state, 80, 24);
        screen
            .lines()
            .find(|line| line.contains("100 %") && line.contains("139G"))
            .unwrap_or_else(|| panic!("{screen}"))
            .to_owned()
    };
    let shown = line(&state);
    let (idle, busy) = (shown.matches('⣀').count(), shown.matches('⣿').count());
    assert!(idle >= 1 && busy >= 1 && idle.abs_diff(busy) <= 1, "{shown}");
    let (before, after) = shown.split_once('⣀').unwrap();
    // The oldest of it may fill half a sign.
    let before = before.trim_end_matches('⢀');
    assert!(before.ends_with(&" ".repeat(idle + busy)), "nothing stands for what was not measured: {shown}");
    assert!(after.contains("⣿ rank 0"), "the newest at the right: {shown}");
    state.shared.theme.ascii = true;
    assert!(line(&state).contains("_#") && line(&state).contains("# rank 0"), "{}", line(&state));
}

#[test]
fn a_process_has_its_owner_and_its_whole_id() {
    let mut sample = gpus(2);
    sample.devices[0].processes[0].pid = 4_294_967_295;
    sample.devices[1].processes[0].owner = Reading::missing("it may run in another container");
    let mut state = lab(&sample);
    for size in [(80, 24), (120, 40), (200, 60)] {
        let screen = text(&state, size.0, size.1);
        let line = |rank: &str| screen.lines().find(|line| line.contains(rank) && line.contains("MiB")).unwrap().to_owned();
        assert!(line("rank 0").contains("4294967295  learner"), "{size:?}:\n{screen}");
        assert!(line("rank 1").contains("413  N/A"), "{size:?}:\n{screen}");
        let head = screen.lines().find(|line| line.contains("owner")).unwrap();
        assert_eq!(head.find("owner"), line("rank 0").find("learner"));
    }
    press(&mut state, KeyCode::Down);
    press(&mut state, KeyCode::Enter);
    assert!(text(&state, 120, 40).contains("owner          N/A  it may run in another container"), "{}", text(&state, 120, 40));
}
