//! Runs one program with limits on time and memory, and judges how it ended.
//!
//! A program that crosses a limit is ended and reported. What it started itself is found by the folder of its run.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// No verb needs nearly as long, whatever it is given.
pub const LIMIT: Duration = Duration::from_secs(10);
/// Memory that no verb may need, whatever it is given.
pub const MOST_BYTES: u64 = 500 << 20;
/// Output that is kept of one program; the rest is read and forgotten.
const MOST_OUTPUT: usize = 4 << 20;

/// How a program ended.
pub struct Ran {
    pub status: Option<ExitStatus>,
    pub stdout: String,
    pub stderr: String,
    pub peak_bytes: u64,
    pub seconds: f64,
}

impl Ran {
    pub fn code(&self) -> Option<i32> {
        self.status.and_then(|status| status.code())
    }

    /// No panic, no signal, no hang, no memory beyond all reason, and an exit code that means something.
    pub fn judge(&self) -> Result<(), String> {
        let said = || {
            let text: String = self.stderr.chars().rev().take(600).collect::<Vec<_>>().into_iter().rev().collect();
            text.trim().to_owned()
        };
        let Some(status) = self.status else {
            return Err(format!("ended by force after {:.1} s with {} MB", self.seconds, self.peak_bytes >> 20));
        };
        match (status.code(), status.signal()) {
            (Some(0..=2), _) => {}
            (Some(code), _) => return Err(format!("exit code {code}: {}", said())),
            (None, signal) => return Err(format!("ended by signal {signal:?}: {}", said())),
        }
        if self.stderr.contains("panicked at") {
            return Err(format!("a panic: {}", said()));
        }
        if self.peak_bytes > MOST_BYTES {
            return Err(format!("took {} MB of memory", self.peak_bytes >> 20));
        }
        if status.code() != Some(0) && self.stderr.trim().is_empty() && self.stdout.trim().is_empty() {
            return Err(format!("exit code {:?} without a word", status.code()));
        }
        Ok(())
    }
}

/// The most memory that a process has had so far, while it is there.
pub fn peak_bytes(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) << 10
}

/// Runs it to its end or to a limit.
pub fn run(command: &mut Command) -> Ran {
    run_within(command, LIMIT)
}

pub fn run_within(command: &mut Command, limit: Duration) -> Ran {
    let begin = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (out, err) = (collect(child.stdout.take().unwrap()), collect(child.stderr.take().unwrap()));
    let (status, peak_bytes) = watch(&mut child, begin + limit);
    let seconds = begin.elapsed().as_secs_f64();
    // A process left behind may hold the pipes open: what came so far does.
    let take = |thread: JoinHandle<Vec<u8>>| {
        let deadline = Instant::now() + Duration::from_secs(2);
        while !thread.is_finished() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(2));
        }
        let bytes = if thread.is_finished() { thread.join().unwrap() } else { b"(its output is still open)".to_vec() };
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Ran { status, stdout: take(out), stderr: take(err), peak_bytes, seconds }
}

/// `None` for the status of one that had to be ended.
///
/// Memory is looked at while it goes on rather than asked of the kernel afterwards, so that the machine is spared a program
/// that wants it all.
fn watch(child: &mut Child, deadline: Instant) -> (Option<ExitStatus>, u64) {
    let mut peak = 0;
    loop {
        peak = peak.max(peak_bytes(child.id()));
        if let Some(status) = child.try_wait().unwrap() {
            return (Some(status), peak);
        }
        if Instant::now() > deadline || peak > MOST_BYTES {
            child.kill().unwrap();
            child.wait().unwrap();
            return (None, peak);
        }
        std::thread::sleep(Duration::from_millis(3));
    }
}

fn collect(mut pipe: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        let mut bytes = vec![0; 1 << 16];
        while let Ok(read @ 1..) = pipe.read(&mut bytes) {
            kept.extend(&bytes[..read.min(MOST_OUTPUT.saturating_sub(kept.len()))]);
        }
        kept
    })
}

#[test]
fn hangs_hunger_panics_and_signals_are_noticed() {
    let shell = |script: &str| run_within(Command::new("sh").args(["-c", script]), Duration::from_millis(500)).judge();
    assert_eq!(shell("echo no such run >&2; exit 2"), Ok(()));
    for (script, said) in [
        ("sleep 5", "ended by force"),
        ("echo thread main panicked at src >&2; exit 101", "exit code 101"),
        ("echo thread worker panicked at src >&2; exit 1", "a panic"),
        ("kill -SEGV $$", "signal Some(11)"),
        ("exit 1", "without a word"),
    ] {
        let error = shell(script).unwrap_err();
        assert!(error.contains(said), "{script}: {error}");
    }
    let hungry = Ran {
        status: Some(ExitStatus::default()),
        stdout: String::new(),
        stderr: String::new(),
        peak_bytes: MOST_BYTES + 1,
        seconds: 0.0,
    };
    assert!(hungry.judge().unwrap_err().contains("memory"));
    assert!(peak_bytes(std::process::id()) > 1 << 20);
}
