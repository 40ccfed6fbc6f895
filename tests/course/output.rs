//! A program's standard output is its own: whatever it prints there, in whichever way, changes nothing of its evidence, and no event
//! shows in its log. Nor can a program speak in the place of the library.
//!
//! Each program is the solution of the first five steps with lines of its own, really run on two ranks.

use std::fs;
use std::process::Output;

use hvd_lab::domain::event::Event;
use hvd_lab::exercise::TEN_STEPS_IN_PYTHON;
use hvd_lab::runs::RunId;

use super::exercise_in_python::started;
use super::lab::{Lab, stderr, stdout};
use super::trainer::turn;

const STEPS: usize = 5;

/// Hands in the solution with `first` as its first lines, `before` in front of the training and `last` behind everything.
fn attempt(lab: &Lab, [first, before, last]: [&str; 3]) -> Output {
    let solution = TEN_STEPS_IN_PYTHON.solution(STEPS);
    let with_training = solution.replacen("model.fit(", &format!("{before}\nmodel.fit("), 1);
    fs::write(lab.home().join("exercise/fashion_mnist.py"), format!("{first}\n{with_training}\n{last}\n")).unwrap();
    lab.run(&["exercise", "run"])
}

/// The last run: what its ranks logged, and how many steps each of them told.
fn logs_and_steps(lab: &Lab) -> ([String; 2], [usize; 2]) {
    let RunId(run) = *lab.store().ids().last().unwrap();
    let folder = lab.folder(run);
    let log = |rank: usize| String::from_utf8_lossy(&fs::read(folder.rank_log(rank)).unwrap()).into_owned();
    let steps =
        |rank: usize| folder.events().filter(|line| line.process == rank && matches!(line.event, Event::Step { .. })).count();
    ([log(0), log(1)], [steps(0), steps(1)])
}

/// Prints in each way that leaves a line open, from callbacks, from a child and past Python's own file.
const NOISE: &str = r#"
import os, subprocess, sys
from hvd_lab.callbacks import Callback
class Tee:
    def __init__(self, one, other):
        self.both = (one, other)
    def write(self, text):
        return [each.write(text) for each in self.both][0]
    def flush(self):
        [each.flush() for each in self.both]
CHILD = "import os\nwhile os.getppid() == {}: os.write(1, b'child without end ')"
child = subprocess.Popen([sys.executable, "-S", "-c", CHILD.format(os.getpid())])
print("starting", end="")
os.write(1, b"\x1b[2K\rraw \xff bytes")
sys.stdout = Tee(sys.stdout, open(os.devnull, "w"))
class Dots(Callback):
    def on_batch_end(self, batch, logs=None):
        print(".", end="")
        print(f"\r{batch} batches", end="", flush=True)
    def on_epoch_end(self, epoch, logs=None):
        child.kill()
        child.wait()
        print("no line end", end="")
        os.write(1, b"nor here")
"#;

#[test]
fn whatever_a_right_program_prints_it_passes() {
    let (_turn, Some(lab)) = (turn(), started(&[])) else { return };
    let much = "[print('x' * 199) for _ in range(100_000)]";
    let programs: [(&str, [&str; 3]); 3] = [
        ("open lines", [NOISE, "callbacks.append(Dots())", "print('the end', end='')"]),
        ("20 MB", ["", much, ""]),
        // Its output is a file from the first line on.
        ("dup2", ["import os; os.dup2(os.open(os.devnull, os.O_WRONLY), 1)", "", ""]),
    ];
    for (name, lines) in programs {
        let output = attempt(&lab, lines);
        let text = stdout(&output);
        assert!(output.status.success(), "{name}: {text}{}", stderr(&output));
        assert_eq!(text.matches(" passed: ").count(), STEPS, "{name}: {text}");
        let (logs, [root, other]) = logs_and_steps(&lab);
        assert!(root > 0 && root == other, "{name}: {root} and {other} steps");
        for log in logs {
            assert!(!log.contains("@hvd") && !log.contains("\"event\""), "{name}: {log}");
        }
    }
    let (logs, _) = logs_and_steps(&lab);
    assert!(logs.iter().all(String::is_empty), "what goes to a file is in no log");
}

#[test]
fn the_secret_is_gone_before_the_first_line_of_a_program() {
    let (_turn, Some(lab)) = (turn(), started(&[])) else { return };
    let first = r#"
import os, posix
seen = dict(os.environ), {os.fsdecode(name): value for name, value in posix.environ.items()}
shown = open("/proc/self/environ", "rb").read().decode(errors="replace").split("\0")
seen += (dict(pair.split("=", 1) for pair in shown if "=" in pair),)
import hvd_lab._log
left = [one[name] for one in seen for name in one if name.startswith("HVD_LAB_EVENT") and one[name]]
left += [value for value in (hvd_lab._log._SECRET, hvd_lab._log._SOCKET) if value]
assert not left, "the secret is left in " + repr(left)
"#;
    let output = attempt(&lab, [first, "", ""]);
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
}

#[test]
fn a_program_that_speaks_in_the_place_of_the_library_passes_nothing() {
    let (_turn, Some(lab)) = (turn(), started(&[])) else { return };
    // It takes the secret from the environment of mpirun, which is another process of the same user.
    let stolen = r#"
import os, socket
def of(name):
    for pair in open(f"/proc/{os.getppid()}/environ").read().split("\0"):
        if pair.startswith(name + "="):
            return pair.split("=", 1)[1]
secret, path = of("HVD_LAB_EVENT_SECRET"), of("HVD_LAB_EVENT_SOCKET")
event = '{"time_s": 1.0, "process": 1, "event": "early_stop", "epoch": 1}'
"#;
    let on_the_socket = r#"
channel = socket.socket(socket.AF_UNIX)
channel.connect(path)
channel.sendall(f"{secret} 1\n1 {event}\n".encode())
"#;
    let printed = r#"os.write(1, f"\n@hvd {secret} 1 {event}\n".encode())"#;
    for way in [on_the_socket, printed] {
        let output = attempt(&lab, [stolen, way, ""]);
        let text = stdout(&output);
        assert!(!output.status.success() && !text.contains(" passed: "), "{text}");
        let RunId(run) = *lab.store().ids().last().unwrap();
        let said = fs::read_to_string(lab.folder(run).launcher_log()).unwrap();
        assert!(said.contains("cannot be trusted"), "{said}");
    }
}
