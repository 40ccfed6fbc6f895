//! A program's standard output is its own: whatever it prints there, in whichever way, changes nothing of its evidence, and no event
//! shows in its log. Nor can a program speak in the place of the library.
//!
//! Each program is the solution of the first five steps with lines of its own, really run on two ranks.

use std::fs;
use std::process::Output;

use hvd_lab_terminal::domain::event::Event;
use hvd_lab_terminal::exercise::TEN_STEPS_IN_PYTHON;
use hvd_lab_terminal::runs::RunId;

use super::exercise_in_python::{judged_rows, started};
use crate::support::lab::{Lab, stderr, stdout};
use crate::support::trainer::turn;

const STEPS: usize = 5;

/// Hands in the solution with `first` as its first lines, `before` in front of the training and `last` behind everything.
fn attempt(lab: &Lab, [first, before, last]: [&str; 3]) -> Output {
    let solution = TEN_STEPS_IN_PYTHON.solution(STEPS);
    let with_training = solution.replacen("model.fit(", &format!("{before}\nmodel.fit("), 1);
    fs::write(lab.home().join("exercise/fashion_mnist.py"), format!("{first}\n{with_training}\n{last}\n")).unwrap();
    lab.run(&["exercise", "run"])
}

/// Whether the last run told the same steps of both ranks, and no event stands in a log.
fn is_whole(lab: &Lab) -> bool {
    let RunId(run) = *lab.store().ids().last().unwrap();
    let folder = lab.folder(run);
    let steps =
        |rank: usize| folder.events().filter(|line| line.process == rank && matches!(line.event, Event::Step { .. })).count();
    let has_event = |rank: usize| {
        let log = String::from_utf8_lossy(&fs::read(folder.rank_log(rank)).unwrap()).into_owned();
        log.contains("\"event\"")
    };
    steps(0) > 0 && steps(0) == steps(1) && !has_event(0) && !has_event(1)
}

#[test]
fn right_programs_pass_whatever_they_print() {
    let (_turn, Some(lab)) = (turn(), started(&[])) else { return };
    let solution = TEN_STEPS_IN_PYTHON.solution(STEPS);
    let astray = judged_rows("tests/wrong/python_right.toml", &solution, "step", |program| {
        fs::write(lab.home().join("exercise/fashion_mnist.py"), program).unwrap();
        let output = lab.run(&["exercise", "run"]);
        assert!(is_whole(&lab), "{program}\n{}{}", stdout(&output), stderr(&output));
        output
    });
    assert!(astray.is_empty(), "{}", astray.join("\n"));
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
