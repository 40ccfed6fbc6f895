//! The screen on a terminal of its own: opened over a home, left with a key, judged like a verb.

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use portable_pty::{CommandBuilder, PtySize, native_pty_system};

use super::program::{LIMIT, MOST_BYTES, Ran, peak_bytes};

/// Looks at the runs from the first to the last, opens the lesson, the details and the help, and goes back each time.
pub const KEYS: [&str; 9] = ["\t", "j", "j", "k", "w", "\x1b", "?", "\x1b", "\x1b"];

/// Open the screen, press these keys one after the other, leave. What was on the terminal is what it said.
pub fn look(program: &Command, keys: &[&str]) -> Ran {
    let pty = native_pty_system().openpty(PtySize { rows: 40, cols: 120, pixel_width: 0, pixel_height: 0 }).unwrap();
    let mut command = CommandBuilder::new(program.get_program());
    command.args(program.get_args());
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        }
    }
    ["COLORFGBG", "VTE_VERSION"].iter().for_each(|name| command.env_remove(name));
    command.env("TERM", "xterm-256color");
    command.env("LC_ALL", "C.UTF-8");
    command.cwd(program.get_current_dir().unwrap_or("/".as_ref()));
    let mut child = pty.slave.spawn_command(command).unwrap();
    drop(pty.slave);
    let mut output = pty.master.try_clone_reader().unwrap();
    let (sender, seen) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = [0; 1 << 14];
        while let Ok(read @ 1..) = output.read(&mut bytes) {
            if sender.send(bytes[..read].to_vec()).is_err() {
                return;
            }
        }
    });
    let mut writer = pty.master.take_writer().unwrap();
    let begin = Instant::now();
    let pid = child.process_id().unwrap();
    let (mut text, mut peak_bytes_seen, mut pressed) = (Vec::new(), 0, 0);
    let status = loop {
        while let Ok(bytes) = seen.recv_timeout(Duration::from_millis(10)) {
            text.extend(bytes);
        }
        peak_bytes_seen = peak_bytes(pid).max(peak_bytes_seen);
        if let Some(status) = child.try_wait().unwrap() {
            // Which signal it was is not told as a number.
            break Some(ExitStatus::from_raw(status.signal().map_or((status.exit_code() as i32) << 8, |_| 6)));
        }
        if begin.elapsed() > LIMIT || peak_bytes_seen > MOST_BYTES {
            child.kill().unwrap();
            child.wait().unwrap();
            break None;
        }
        // The first frame is there: the next key each time the screen is quiet.
        if text.windows(8).any(|window| window == b"\x1b[?1049h") {
            // It may have ended just now.
            let _ = writer.write_all(keys.get(pressed).unwrap_or(&"q").as_bytes());
            pressed += 1;
        }
    };
    while let Ok(bytes) = seen.recv_timeout(Duration::from_millis(50)) {
        text.extend(bytes);
    }
    let said = String::from_utf8_lossy(&text).into_owned();
    Ran { status, stdout: String::new(), stderr: said, peak_bytes: peak_bytes_seen, seconds: begin.elapsed().as_secs_f64() }
}
