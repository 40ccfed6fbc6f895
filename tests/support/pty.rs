//! The real binary behind a pseudo terminal, with a home folder and stand-ins for launcher and trainer.
//!
//! Never waits without a limit, and ends what it started.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use hvd_lab_terminal::process;
use hvd_lab_terminal::runs::{RunId, RunStore};
use nix::sys::termios::LocalFlags;
use nix::unistd::Pid;
use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};

/// To the alternate screen and back.
pub const ENTER: &str = "\x1b[?1049h";
pub const LEAVE: &str = "\x1b[?1049l";

/// For whatever the screen should show: it ends a test that fails, and never one on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// What the program has written so far, as a terminal shows it.
pub struct Seen {
    pub terminal: vt100::Parser,
    pub bytes: Vec<u8>,
    /// The program closed its end.
    pub ended: bool,
}

pub struct Lab {
    child: Box<dyn Child + Send + Sync>,
    pub master: Option<Box<dyn MasterPty + Send>>,
    pub keys: Option<Box<dyn Write + Send>>,
    pub seen: Arc<(Mutex<Seen>, Condvar)>,
    /// Nobody reads the terminal while this is held.
    pub reading: Arc<Mutex<()>>,
    /// The home of a test that needs to know nothing of it.
    home: Option<Home>,
}

impl Lab {
    pub fn start(columns: u16, rows: u16) -> Lab {
        Options { columns, rows, ..Options::default() }.start_alone()
    }

    pub fn start_in(home: &Home) -> Lab {
        Options::default().start(home)
    }

    /// Waits until the terminal is as wanted; fails with a picture of it when that takes too long.
    pub fn wait(&self, wanted: &str, is_so: impl Fn(&Seen) -> bool) {
        let (seen, changed) = &*self.seen;
        let guard = seen.lock().unwrap();
        let (guard, out) = changed.wait_timeout_while(guard, PATIENCE, |seen| !is_so(seen)).unwrap();
        assert!(!out.timed_out(), "never saw {wanted}:\n{}", guard.terminal.screen().contents());
    }

    pub fn wait_for(&self, text: &str) {
        self.wait(text, |seen| seen.terminal.screen().contents().contains(text));
    }

    pub fn press(&mut self, keys: &str) {
        self.keys.as_mut().unwrap().write_all(keys.as_bytes()).unwrap();
    }

    /// Only tells the program of another size.
    pub fn tell_size(&self, columns: u16, rows: u16) {
        self.master.as_ref().unwrap().resize(PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 }).unwrap();
    }

    /// Has the program draw until the terminal, which nobody reads, takes no more.
    pub fn fill(&self) {
        let written = || std::fs::read_to_string(format!("/proc/{}/io", self.pid())).unwrap();
        let (end, mut last, mut looks) = (Instant::now() + PATIENCE, written(), 0);
        // Each size is drawn anew. A whole second without a byte: there is no room.
        while looks < 50 {
            assert!(Instant::now() < end, "the terminal is never full");
            self.tell_size(199 + looks % 2, 60);
            std::thread::sleep(Duration::from_millis(20));
            let now = written();
            let count = |io: &str| io.lines().find(|line| line.starts_with("wchar:")).map(str::to_owned);
            looks = if count(&now) == count(&last) { looks + 1 } else { 0 };
            last = now;
        }
    }

    /// Changes the terminal's size, as dragging its window does.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        self.seen.0.lock().unwrap().terminal.screen_mut().set_size(rows, columns);
        self.tell_size(columns, rows);
    }

    pub fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.process_id().unwrap()).unwrap())
    }

    pub fn exit(&mut self) -> ExitStatus {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < end, "still running after {PATIENCE:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Keys come one by one, not line by line.
    pub fn is_raw(&self) -> bool {
        let termios = self.master.as_ref().unwrap().get_termios().unwrap();
        termios.local_flags.bits() & LocalFlags::ICANON.bits() == 0
    }

    /// Where the program wrote `sequence` for the last time.
    pub fn last(&self, sequence: &str) -> Option<usize> {
        let seen = self.seen.0.lock().unwrap();
        seen.bytes.windows(sequence.len()).rposition(|window| window == sequence.as_bytes())
    }

    /// How often the program has written `sequence`.
    pub fn count(&self, sequence: &str) -> usize {
        let seen = self.seen.0.lock().unwrap();
        seen.bytes.windows(sequence.len()).filter(|window| *window == sequence.as_bytes()).count()
    }

    /// The terminal is as it was before: main screen, cursor shown, lines edited by the kernel.
    pub fn expect_restored(&self) {
        self.wait("the end of the output", |seen| seen.ended);
        let seen = self.seen.0.lock().unwrap();
        let screen = seen.terminal.screen();
        assert!(!screen.alternate_screen(), "the alternate screen was not left");
        assert!(!screen.hide_cursor(), "the cursor is hidden");
        assert!(!self.is_raw(), "the terminal is still raw");
        drop(seen);
        assert_eq!(self.count(ENTER), self.count(LEAVE), "taken as often as given back");
        assert_eq!(self.count("\x1b[22;2t"), self.count("\x1b[23;2t"), "the title is put aside as often as taken back");
        // The terminal selects text again, and pastes it as it is: the last word on each kind of report is "off".
        for kind in ["1000", "1002", "1006", "2004"] {
            let last = |end: char| self.last(&format!("\x1b[?{kind}{end}"));
            assert!(last('h') < last('l') || last('h').is_none(), "still on: {kind}");
        }
    }
}

/// A folder of runs; whatever still belongs to them is ended with it.
pub struct Home(tempfile::TempDir);

impl Home {
    pub fn new() -> Home {
        let home = Home::never_used();
        std::fs::write(home.0.path().join("screen.json"), r#"{"toured": true}"#).unwrap();
        home
    }

    /// Nobody has seen the tour yet.
    pub fn never_used() -> Home {
        Home(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// What keeps the lab away from the user's runs, data and launcher.
    pub fn variables(&self) -> [(&'static str, PathBuf); 5] {
        let stand_in = |name: &str| Path::new(env!("HVD_LAB_CHECKOUT")).join("tests/launch").join(name);
        [
            ("HVD_LAB_HOME", self.0.path().to_owned()),
            ("HVD_LAB_DATA", "generated".into()),
            ("HVD_LAB_MPIRUN", stand_in("mpirun.sh")),
            ("HVD_TRAIN", stand_in("hvd-train.sh")),
            ("FAKE_MPI", "4".into()),
        ]
    }

    pub fn store(&self) -> RunStore {
        RunStore::open(self.0.path()).unwrap()
    }

    /// Processes of run `id` that are still there.
    pub fn processes(&self, id: u32) -> Vec<u32> {
        process::of_run(self.store().folder(RunId(id)).path())
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        for id in self.store().ids() {
            for pid in self.processes(id.0) {
                process::signal(pid, nix::sys::signal::Signal::SIGKILL);
            }
        }
    }
}

pub struct Options {
    pub columns: u16,
    pub rows: u16,
    pub arguments: &'static [&'static str],
    /// What the stand-in trainer reads.
    pub env: &'static [(&'static str, &'static str)],
    /// Stop reading, and let go of the terminal, when this is on the screen.
    pub until: Option<&'static str>,
    /// A shell with job control has the terminal, and starts the program when told to: `"$LAB"`.
    pub shell: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { columns: 80, rows: 24, arguments: &[], env: &[], until: None, shell: false }
    }
}

impl Options {
    /// In a home of its own, which lasts as long as the program.
    pub fn start_alone(self) -> Lab {
        let home = Home::new();
        let mut lab = self.start(&home);
        lab.home = Some(home);
        lab
    }

    pub fn start(self, home: &Home) -> Lab {
        let Options { columns, rows, until, .. } = self;
        let pty = native_pty_system().openpty(PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 }).unwrap();
        let lab = env!("CARGO_BIN_EXE_hvd-lab");
        let mut command = CommandBuilder::new(if self.shell { "bash" } else { lab });
        // Without its line editor the shell leaves the terminal's modes alone.
        command.args(if self.shell { &["--norc", "--noprofile", "--noediting", "-i"] } else { self.arguments });
        command.cwd(home.path());
        command.env("LAB", lab);
        command.env("PS1", "prompt> ");
        for name in ["NO_COLOR", "COLORFGBG", "HVD_LAB_CONFIG", "VTE_VERSION", "STAND_IN", "STAND_IN_EPOCH_SECONDS"] {
            command.env_remove(name);
        }
        home.variables().iter().for_each(|(name, value)| command.env(name, value));
        command.env("TERM", "xterm-256color");
        ["LC_ALL", "LC_CTYPE"].iter().for_each(|name| command.env_remove(name));
        command.env("LANG", "C.UTF-8");
        self.env.iter().for_each(|(name, value)| command.env(name, value));
        let child = pty.slave.spawn_command(command).unwrap();
        drop(pty.slave);
        // One that does not say its size has the usual one.
        let (rows, columns) = if rows == 0 { (24, 80) } else { (rows, columns) };
        let seen = Arc::new((
            Mutex::new(Seen { terminal: vt100::Parser::new(rows, columns, 0), bytes: Vec::new(), ended: false }),
            Condvar::new(),
        ));
        let mut output = pty.master.try_clone_reader().unwrap();
        let writer = Arc::clone(&seen);
        let reading = Arc::new(Mutex::new(()));
        let gate = Arc::clone(&reading);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            loop {
                drop(gate.lock());
                let read = output.read(&mut bytes).unwrap_or(0);
                let mut seen = writer.0.lock().unwrap();
                seen.terminal.process(&bytes[..read]);
                seen.bytes.extend(&bytes[..read]);
                seen.ended |= read == 0;
                writer.1.notify_all();
                let enough = until.is_some_and(|text| seen.terminal.screen().contents().contains(text));
                if read == 0 || enough {
                    return;
                }
            }
        });
        let keys = pty.master.take_writer().unwrap();
        Lab { child, master: Some(pty.master), keys: Some(keys), seen, reading, home: None }
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        // Only what this test started, and only if it is still there.
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
