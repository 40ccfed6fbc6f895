//! The lab in a terminal of its own: time to the first frame, memory, and what it uses when nothing happens.
//!
//! Never drives it: it is started, looked at and ended.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use super::figures::Round;
use super::pty::{Home, Options};

/// On the screen from the first frame on.
const FIRST_FRAME: &str = "Init and pin a device";
/// On the screen when it has found out about this machine.
const SETTLED: &str = "press r to run";

pub fn run(idle_seconds: u64) -> Result<Round, String> {
    // The terminal of the tests fails by panicking.
    let measured = catch_unwind(AssertUnwindSafe(|| measure(idle_seconds)));
    measured.unwrap_or_else(|_| Err("the screen did not come up".into()))
}

fn measure(idle_seconds: u64) -> Result<Round, String> {
    let began = Instant::now();
    let mut lab = Options { columns: 120, rows: 40, ..Options::default() }.start(&Home::new());
    lab.wait_for(FIRST_FRAME);
    let first_frame = began.elapsed();
    lab.wait_for(SETTLED);
    // What start-up leaves to do is over after a second; then nothing but the clock and the devices moves.
    std::thread::sleep(Duration::from_secs(1));
    let pid = lab.pid().as_raw();
    let (before, since) = (cpu_seconds(pid), Instant::now());
    std::thread::sleep(Duration::from_secs(idle_seconds));
    let (after, elapsed) = (cpu_seconds(pid), since.elapsed());
    let resident = resident_bytes(pid).ok_or("the screen is gone")?;
    lab.press("q");
    lab.exit();
    Ok(Round::from([
        ("screen: first_frame_s".into(), first_frame.as_secs_f64()),
        ("screen: resident_bytes".into(), resident),
        ("screen: idle_share".into(), (after - before) / elapsed.as_secs_f64()),
    ]))
}

/// Of all threads, from the scheduler: clock ticks are too coarse for a program that rests.
fn cpu_seconds(pid: i32) -> f64 {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return 0.0 };
    let used = |thread: std::fs::DirEntry| -> Option<f64> {
        std::fs::read_to_string(thread.path().join("schedstat")).ok()?.split_whitespace().next()?.parse().ok()
    };
    threads.flatten().filter_map(used).sum::<f64>() / 1e9
}

fn resident_bytes(pid: i32) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.split_whitespace().next()?.parse::<f64>().ok()? * 1024.0)
}
