//! A run of 512 ranks on 64 hosts, ten steps a second each: what it costs the supervisor and the screen, and whether any step is lost.
//!
//! Never a real cluster: one process stands in for the launcher and for all ranks (`tests/launch/cluster.py`).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use hvd_lab_terminal::domain::event::Event;
use hvd_lab_terminal::runs::{RunFolder, RunId};

use super::figures::Round;
use super::options::Scale;
use super::screen::{FIRST_FRAME, key_to_frame, percentile_99, status_bytes};
use crate::support::pty::{Home, Options};

const CLUSTER: &str = concat!(env!("HVD_LAB_CHECKOUT"), "/tests/launch/cluster.py");
/// No run here goes on for longer.
const PATIENCE: Duration = Duration::from_secs(180);

pub fn run(scale: &Scale) -> Result<Round, String> {
    catch_unwind(AssertUnwindSafe(|| measure(scale))).map_err(|_| "the run of 512 ranks could not be measured".to_owned())
}

fn measure(scale: &Scale) -> Round {
    let home = Home::new();
    let folder = start(&home, scale.cluster_epochs);
    let began = Instant::now();
    let mut lab = Options { columns: 200, rows: 60, ..Options::default() }.start(&home);
    lab.wait_for(FIRST_FRAME);
    let first_frame = began.elapsed();
    // All ranks have reported, and what they wrote so far is read.
    lab.wait_for("epoch 1/");
    lab.wait_for("65 hosts");
    let (supervisor, screen) = (folder.read_status().unwrap().supervisor_pid as i32, lab.pid().as_raw());
    let (before, since) = ([supervisor, screen].map(cpu_seconds), Instant::now());
    std::thread::sleep(Duration::from_secs(scale.cluster_seconds));
    let (after, elapsed) = ([supervisor, screen].map(cpu_seconds), since.elapsed().as_secs_f64());
    let share = |place: usize| (after[place] - before[place]) / elapsed;
    let seconds = (0..scale.keys).map(|turn| key_to_frame(&mut lab, turn)).collect();
    let peak = status_bytes(supervisor, "VmHWM:");
    let resident = status_bytes(screen, "VmRSS:");
    assert!(peak.is_some(), "the run ended before it was measured");
    let (printed, late_s) = wait_until_over(&folder);
    let kept = folder.events().filter(|line| matches!(line.event, Event::Step { .. })).count();
    lab.wait_for("✓ finished");
    std::thread::sleep(Duration::from_secs(2));
    let (before, since) = (cpu_seconds(screen), Instant::now());
    std::thread::sleep(Duration::from_secs(scale.idle_seconds));
    let idle = (cpu_seconds(screen) - before) / since.elapsed().as_secs_f64();
    let resident_after = status_bytes(screen, "VmRSS:");
    lab.press("q");
    lab.exit();
    Round::from([
        ("scale: supervisor_share".into(), share(0)),
        ("scale: supervisor_bytes".into(), peak.unwrap_or(f64::NAN)),
        ("scale: lost_share".into(), 1.0 - kept as f64 / printed as f64),
        ("scale: late_s".into(), late_s),
        ("scale: screen_share".into(), share(1)),
        ("scale: first_frame_s".into(), first_frame.as_secs_f64()),
        ("scale: resident_bytes".into(), resident.unwrap_or(f64::NAN)),
        ("scale: resident_after_bytes".into(), resident_after.unwrap_or(f64::NAN)),
        ("scale: key_to_frame_p99_s".into(), percentile_99(seconds)),
        ("scale: idle_share".into(), idle),
    ])
}

/// Of all threads, those that have ended too: of a run so large some end while it is measured.
fn cpu_seconds(pid: i32) -> f64 {
    let ticks = u32::try_from(pid).ok().and_then(hvd_lab_terminal::process::look_up).map_or(0, |found| found.cpu_ticks);
    // The kernel counts in ticks of 10 ms.
    ticks as f64 / 100.0
}

fn start(home: &Home, epochs: usize) -> RunFolder {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hvd-lab"));
    command.args(["run", "--np", "512", "--force", "--data", "generated", "--detach", "--epochs", &epochs.to_string()]);
    command.envs(home.variables()).env("HVD_LAB_MPIRUN", CLUSTER).env("STAND_IN_CLUSTER", "batches=50");
    assert!(command.stdout(Stdio::null()).status().unwrap().success());
    home.store().folder(RunId(1))
}

/// The steps that were printed, as who printed them says, and by how many seconds it was late.
fn wait_until_over(folder: &RunFolder) -> (usize, f64) {
    let end = Instant::now() + PATIENCE;
    while !folder.read_status().unwrap().state.is_over() {
        assert!(Instant::now() < end, "the run goes on and on");
        std::thread::sleep(Duration::from_millis(50));
    }
    let said = std::fs::read_to_string(folder.launcher_log()).unwrap();
    let words: Vec<&str> = said.lines().find_map(|line| line.strip_prefix("stand-in: ")).unwrap().split(' ').collect();
    // `153600 steps printed, at most 0.061 s late`
    (words[0].parse().unwrap(), words[5].parse().unwrap())
}
