//! The lab in a terminal of its own: time to the first frame, memory, what it uses when nothing happens, and how soon a
//! key shows while runs log.
//!
//! Never drives more than keys and two runs of the stand-in trainer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::time::{Duration, Instant};

use super::figures::Round;
use super::options::Scale;
use super::store;
use crate::support::pty::{Home, Lab, Options};

/// On the screen from the first frame on.
pub const FIRST_FRAME: &str = "Init and pin a device";
/// On the screen when it has found out about this machine.
const SETTLED: &str = "press r to run";
/// Eight devices, from a library that this builds.
const NVML: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/libnvml-bench.so");

pub fn run(scale: &Scale) -> Result<Round, String> {
    // The terminal of the tests fails by panicking.
    let caught = |measure: &dyn Fn() -> Round| catch_unwind(AssertUnwindSafe(measure));
    let mut round = caught(&|| idle(scale.idle_seconds)).map_err(|_| "the screen did not come up".to_owned())?;
    if let Ok(true) = nvml().map_err(|error| eprintln!("bench: no eight devices, so no key to frame: {error}")) {
        round.extend(caught(&|| keys(scale.keys)).map_err(|_| "the screen did not keep up".to_owned())?);
    }
    round.extend(caught(&store::measure).map_err(|_| "the store cannot be measured".to_owned())?);
    Ok(round)
}

fn idle(seconds: u64) -> Round {
    let began = Instant::now();
    let mut lab = Options { columns: 120, rows: 40, ..Options::default() }.start_alone();
    lab.wait_for(FIRST_FRAME);
    let first_frame = began.elapsed();
    lab.wait_for(SETTLED);
    lab.press("r");
    lab.wait_for("✓ finished");
    // What a run's end leaves to do is over after a second; then nothing but the devices moves.
    std::thread::sleep(Duration::from_secs(1));
    let pid = lab.pid().as_raw();
    let (before, since) = (cpu_seconds(pid), Instant::now());
    std::thread::sleep(Duration::from_secs(seconds));
    let (after, elapsed) = (cpu_seconds(pid), since.elapsed());
    let resident = status_bytes(pid, "VmRSS:");
    lab.press("q");
    lab.exit();
    Round::from([
        ("screen: first_frame_s".into(), first_frame.as_secs_f64()),
        ("screen: resident_bytes".into(), resident.unwrap_or(f64::NAN)),
        ("screen: idle_share".into(), (after - before) / elapsed.as_secs_f64()),
    ])
}

/// From a key to the frame that shows it, as a terminal sees it: the 99th percentile.
fn keys(count: usize) -> Round {
    let home = Home::new();
    let env = &[("STAND_IN", "chatter"), ("HVD_LAB_NVML", NVML), ("HVD_STAND_IN_GPUS", "8")];
    let mut lab = Options { columns: 200, rows: 60, env, ..Options::default() }.start(&home);
    lab.wait_for("8 GPUs");
    lab.wait_for(SETTLED);
    // No trainer here has these devices. One rank a run, which logs 1,000 lines a second.
    lab.press("\t\x1b[C");
    lab.wait_for("‹ cpu ›");
    lab.press("\x1b[Z-------r");
    lab.wait_for("Epoch 1/3: step");
    lab.press("r");
    lab.wait_for("Run 1 is still running");
    lab.press("y");
    lab.wait_for("run 2 ▶ running");
    lab.wait_for("Epoch 1/3: step");
    let seconds: Vec<f64> = (0..count).map(|turn| key_to_frame(&mut lab, turn)).collect();
    lab.press("ql");
    lab.exit();
    Round::from([("screen: key_to_frame_p99_s".into(), percentile_99(seconds))])
}

pub fn percentile_99(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[(seconds.len() * 99 / 100).min(seconds.len() - 1)]
}

pub fn key_to_frame(lab: &mut Lab, turn: usize) -> f64 {
    // Not in step with the lines.
    std::thread::sleep(Duration::from_millis(7 + (turn % 11) as u64));
    let (key, shown) = if turn.is_multiple_of(2) { ("\x1b[B", "Every rank prints") } else { ("\x1b[A", "Every process thinks") };
    let began = Instant::now();
    lab.press(key);
    lab.wait(shown, |seen| seen.terminal.screen().rows(0, 60).any(|row| row.contains(shown)));
    began.elapsed().as_secs_f64()
}

fn nvml() -> Result<bool, std::io::Error> {
    let source = concat!(env!("HVD_LAB_CHECKOUT"), "/tests/support/nvml_stand_in.c");
    Ok(Command::new("cc").args(["-shared", "-fPIC", "-o", NVML, source]).status()?.success())
}

/// Of all threads, from the scheduler: clock ticks are too coarse for a program that rests.
fn cpu_seconds(pid: i32) -> f64 {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return 0.0 };
    let used = |thread: std::fs::DirEntry| -> Option<f64> {
        std::fs::read_to_string(thread.path().join("schedstat")).ok()?.split_whitespace().next()?.parse().ok()
    };
    threads.flatten().filter_map(used).sum::<f64>() / 1e9
}

/// A figure of the kernel's on the memory of a process.
pub fn status_bytes(pid: i32, name: &str) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.split_whitespace().next()?.parse::<f64>().ok()? * 1024.0)
}
