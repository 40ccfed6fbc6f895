//! A home that a stranger has written: escape sequences, and signs that turn text around or cannot be seen, in every text that
//! the lab reads. What it shows of them can do nothing but be read.
//!
//! Never trains.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

use hvd_lab_terminal::course::Progress;
use hvd_lab_terminal::domain::device::TelemetrySample;
use hvd_lab_terminal::domain::event::EventLine;
use hvd_lab_terminal::domain::run::RunStatus;
use hvd_lab_terminal::runs::RunRecord;
use serde_json::Value;

use crate::support::pty::{Home, Lab, Options, PATIENCE};

/// A title, colours in two spellings, direction signs, what cannot be seen, separators, tabs, controls, and a line of the lab's own.
const HOSTILE: &str = "H\x1b]0;PWNED\x07\x1b[31;7mO\u{9b}32mS\u{202e}T\u{202a}I\u{2066}L\u{200e}E\u{200b}\u{200d}\u{feff}\u{61c}\u{2028}\t\r\
                       \x08\x7f\x0c\u{9d}0;PWNED\u{9c}\x1b\nhvd-lab: all is well";

/// Made without the lab's own idea of what is safe.
fn acts(c: char) -> bool {
    let hidden = [
        "\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}",
        "\u{2066}\u{2067}\u{2068}\u{2069}",
        "\u{200b}\u{200c}\u{200d}",
        "\u{200e}\u{200f}",
    ];
    c.is_control() || hidden.concat().contains(c) || ['\u{feff}', '\u{61c}', '\u{2028}', '\u{2029}'].contains(&c)
}

/// Every text in `value` made hostile, but for those that nothing would be read with.
fn poisoned(mut value: Value, is_read: impl Fn(&Value) -> bool) -> Value {
    fn texts(value: &Value, at: String, found: &mut Vec<String>) {
        match value {
            Value::String(_) => found.push(at),
            Value::Array(items) => items.iter().enumerate().for_each(|(index, item)| texts(item, format!("{at}/{index}"), found)),
            Value::Object(items) => items.iter().for_each(|(name, item)| texts(item, format!("{at}/{name}"), found)),
            _ => {}
        }
    }
    assert!(is_read(&value), "{value}");
    let mut places = Vec::new();
    texts(&value, String::new(), &mut places);
    for place in places {
        let text = value.pointer_mut(&place).unwrap();
        let before = text.clone();
        *text = format!("{}{HOSTILE}", before.as_str().unwrap()).into();
        if !is_read(&value) {
            *value.pointer_mut(&place).unwrap() = before;
        }
    }
    value
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn poison_lines(path: &Path, is_read: impl Fn(&str) -> bool, more: &[Value]) {
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|line| {
        // Not each of a thousand steps.
        let is_step = line.contains("\"event\":\"step\"");
        let value: Value = serde_json::from_str(line).unwrap();
        if is_step { value } else { poisoned(value, |value| is_read(&value.to_string())) }
    });
    let lines: Vec<String> = lines.chain(more.iter().cloned()).map(|value| format!("{value}\n")).collect();
    fs::write(path, lines.concat()).unwrap();
}

/// Three runs of an older lab, poisoned: the last one has failed.
fn home() -> Home {
    let home = Home::new();
    let stored = Path::new(env!("HVD_LAB_CHECKOUT")).join("tests/data/version_0.1.0");
    for run in ["0001", "0002", "0003"] {
        let folder = home.path().join("runs").join(run);
        fs::create_dir_all(folder.join("logs")).unwrap();
        for file in fs::read_dir(stored.join("runs").join(run)).unwrap() {
            let file = file.unwrap();
            if file.file_name() != "summary.json" && file.file_type().unwrap().is_file() {
                fs::copy(file.path(), folder.join(file.file_name())).unwrap();
            }
        }
        let mut record = read(&folder.join("run.json"));
        record["name"] = "a name ".into();
        record["note"] = "a note ".into();
        record["data_dir"] = "/a/folder".into();
        let record = poisoned(record, |value| {
            serde_json::from_value::<RunRecord>(value.clone()).is_ok_and(|record| record.training().is_some())
        });
        fs::write(folder.join("run.json"), record.to_string()).unwrap();
        let mut status = read(&folder.join("status.json"));
        status["last_lines"] = serde_json::json!(["said last ", HOSTILE]);
        if run == "0003" {
            (status["state"], status["failed_process"], status["exit_code"]) = ("failed".into(), 0.into(), 7.into());
        }
        let status = poisoned(status, |value| serde_json::from_value::<RunStatus>(value.clone()).is_ok());
        fs::write(folder.join("status.json"), status.to_string()).unwrap();
        let time = 1_795_337_000.0;
        let more = [
            serde_json::json!({"time_s": time, "process": 0, "event": "warning", "message": HOSTILE}),
            serde_json::json!({"time_s": time, "process": 0, "event": "fatal", "during": HOSTILE, "cause": HOSTILE}),
        ];
        assert!(more.iter().all(|event| EventLine::parse_line(&event.to_string()).is_some()));
        poison_lines(
            &folder.join("events.jsonl"),
            |line| EventLine::parse_line(line).is_some(),
            if run == "0003" { &more } else { &[] },
        );
        poison_lines(&folder.join("telemetry.jsonl"), |line| serde_json::from_str::<TelemetrySample>(line).is_ok(), &[]);
        for log in ["rank-0.log", "rank-1.log", "launcher.log"].map(|name| folder.join(name)) {
            if log.exists() {
                let lines = fs::read_to_string(&log).unwrap();
                fs::write(log, lines.lines().map(|line| format!("{line}{}\n", HOSTILE.replace('\n', ""))).collect::<String>())
                    .unwrap();
            }
        }
    }
    let progress =
        poisoned(read(&stored.join("progress/tried.json")), |value| serde_json::from_value::<Progress>(value.clone()).is_ok());
    fs::write(home.path().join("progress.json"), progress.to_string()).unwrap();
    let class = home.path().join("class");
    fs::create_dir(&class).unwrap();
    fs::write(class.join("Ada\x1b[31;7m\u{202e}.json"), progress.to_string()).unwrap();
    fs::write(class.join("Bob\x1b[31;7m\u{202e}.json"), HOSTILE).unwrap();
    let lessons = home.path().join("lessons");
    fs::create_dir(&lessons).unwrap();
    let lesson = fs::read_to_string(Path::new(env!("HVD_LAB_CHECKOUT")).join("lessons/04_broadcast.md")).unwrap();
    let quoted = "\\u001b[31;7m\\u202e\\u0007\\u009b32m";
    // In the part that is shown before its questions are answered, and in the rest.
    let shown = format!("## The problem\n\n{}\n", HOSTILE.replace('\n', " "));
    let lesson = lesson
        .replacen("title = \"", &format!("title = \"{quoted}"), 1)
        .replacen("summary = \"", &format!("summary = \"{quoted}"), 1)
        .replacen("## The problem\n", &shown, 1);
    fs::write(lessons.join("04_hostile.md"), format!("{lesson}\n{}\n\n```text\n{HOSTILE}\n```\n", HOSTILE.replace('\n', " ")))
        .unwrap();
    fs::write(home.path().join("config.toml"), format!("theme = \"{quoted}\"\n\"{quoted}\" = 1\n")).unwrap();
    home
}

fn verb(home: &Home, arguments: &[&str], env: &[(&str, &str)]) -> Output {
    let mut lab = assert_cmd::Command::new(env!("CARGO_BIN_EXE_hvd-lab"));
    lab.envs(home.variables()).env_remove("STAND_IN").envs(env.iter().copied()).current_dir(home.path());
    lab.args(arguments).timeout(PATIENCE).output().unwrap()
}

/// Nothing but text and line ends.
fn expect_readable(what: &str, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for line in text.split('\n') {
        assert!(!line.chars().any(acts), "{what}: {line:?}");
    }
}

fn expect_verb(home: &Home, arguments: &[&str], codes: &[i32]) -> Output {
    let output = verb(home, arguments, &[]);
    expect_readable(&format!("{arguments:?}"), &output.stdout);
    expect_readable(&format!("{arguments:?}, error"), &output.stderr);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some_and(|code| codes.contains(&code)), "{arguments:?}: {:?}: {said}", output.status);
    for text in [&said, &String::from_utf8_lossy(&output.stdout)] {
        assert!(!text.contains("\nhvd-lab: all is well"), "{arguments:?}: a line in the lab's name: {text}");
    }
    output
}

#[test]
fn no_verb_prints_anything_that_acts() {
    let home = home();
    let said = |output: Output| String::from_utf8(output.stdout).unwrap();
    let listed = said(expect_verb(&home, &["runs"], &[0]));
    assert!(listed.contains("a name HO"), "it is there, and can be read: {listed}");
    assert_eq!(listed.lines().count(), 4, "{listed}");
    for arguments in [
        ["runs", "--json"].as_slice(),
        &["runs", "--filter", "name:a\x1b[31;7m\u{202e}"],
        &["runs", "trash"],
        &["compare"],
        &["compare", "--json"],
        &["compare", "--format", "md"],
        &["compare", "--format", "svg"],
        &["stop", "3"],
        &["report"],
        &["report", "--format", "html", "--host", "--name", HOSTILE],
        &["report", "--format", "json"],
        &["progress"],
        &["lessons", "--lessons", "lessons"],
        &["lessons", "--lessons", "lessons", "show", "4"],
        &["class", "class"],
        &["class", "class", "--json"],
        &["data"],
        &["devices"],
        &["devices", "--json"],
        &["run", "--dry-run", "--data-dir", "gone/\x1b[31;7m\u{202e}"],
    ] {
        expect_verb(&home, arguments, &[0, 1, 2]);
    }
    for run in ["1", "2", "3"] {
        expect_verb(&home, &["check", run], &[0, 1]);
        expect_verb(&home, &["check", run, "--json"], &[0, 1]);
    }
    for arguments in [
        ["lessons", "check", "lessons"].as_slice(),
        &["config", "check"],
        &["config", "show"],
        &["doctor"],
        &["runs", "--sort", "\x1b[31;7m\u{202e}"],
        &["stop", "\x1b[31;7m\u{202e}"],
        &["class", "gone/\x1b[31;7m\u{202e}"],
        &["replay", "class/Bob\x1b[31;7m\u{202e}.json"],
        &["data", "import", "gone/\x1b[31;7m\u{202e}"],
    ] {
        expect_verb(&home, arguments, &[0, 1, 2]);
    }
    // What was damaged is said with its name.
    fs::write(home.path().join("runs/0002/run.json"), format!("{{\"id\": \"{}\"}}", "\\u001b[31;7m\\u202e\\n")).unwrap();
    expect_verb(&home, &["runs"], &[0]);
    fs::write(home.path().join("progress.json"), "{\"version\": \"\\u001b[31;7m\\u202e\"}").unwrap();
    expect_verb(&home, &["progress"], &[0, 1]);
}

#[test]
fn no_file_for_people_holds_anything_that_acts() {
    let home = home();
    for (arguments, file) in [
        (["report", "--out", "report.html"].as_slice(), "report.html"),
        (&["report", "--out", "report.md"], "report.md"),
        (&["compare", "--out", "compared.md"], "compared.md"),
        (&["compare", "--out", "compared.csv"], "compared.csv"),
        (&["compare", "--out", "compared.svg"], "compared.svg"),
        (&["progress", "--export", "progress.md"], "progress.md"),
    ] {
        expect_verb(&home, arguments, &[0]);
        let text = fs::read_to_string(home.path().join(file)).unwrap().replace("\r\n", "\n");
        assert!(text.len() > 100, "{file}: {text}");
        expect_readable(file, text.as_bytes());
    }
}

#[test]
fn a_run_whose_ranks_print_such_things_is_followed_in_peace() {
    let home = Home::new();
    let stand_in = Path::new(env!("HVD_LAB_CHECKOUT")).join("tests/launch/hvd-train.sh");
    let trainer = home.path().join("trainer.sh");
    let hostile = HOSTILE.replace('\n', "");
    fs::write(home.path().join("hostile.txt"), format!("{hostile}\n{HOSTILE}\n")).unwrap();
    let words = format!("#!/bin/sh\ncat '{}'\nexec '{}' \"$@\"\n", home.path().join("hostile.txt").display(), stand_in.display());
    fs::write(&trainer, words).unwrap();
    fs::set_permissions(&trainer, fs::Permissions::from_mode(0o755)).unwrap();
    for stand_in in ["", "fatal", "exit"] {
        let env = [("HVD_TRAIN", trainer.to_str().unwrap()), ("STAND_IN", stand_in)];
        for more in [[].as_slice(), &["--json"]] {
            let output = verb(&home, &[["run", "--np", "2", "--force", "--data", "generated"].as_slice(), more].concat(), &env);
            assert_eq!(
                output.status.code(),
                Some(i32::from(!stand_in.is_empty())),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
            // Programs part their columns by tabs, which do nothing else.
            let without_tabs = |bytes: &[u8]| bytes.iter().copied().filter(|byte| *byte != b'\t').collect::<Vec<u8>>();
            expect_readable(stand_in, &without_tabs(&output.stdout));
            expect_readable(stand_in, &output.stderr);
        }
    }
}

/// What the program itself writes are escape sequences too, but none of these.
fn expect_screen(lab: &Lab) {
    let seen = lab.seen.0.lock().unwrap();
    for sequence in ["\x1b]0;", "\x1b[31;7m", "PWNED\x07", "\t", "\x7f", "\x08", "\x0c"] {
        let found = seen.bytes.windows(sequence.len()).position(|window| window == sequence.as_bytes());
        assert_eq!(found, None, "{sequence:?}");
    }
    let text = String::from_utf8_lossy(&seen.bytes);
    let found = text.chars().find(|c| acts(*c) && !c.is_ascii());
    assert_eq!(found, None);
}

#[test]
fn the_screen_shows_it_and_nothing_acts() {
    let home = home();
    let mut lab = Options { columns: 120, rows: 40, arguments: &["--lessons", "lessons"], ..Options::default() }.start(&home);
    lab.wait_for("run 3 ✗ failed");
    lab.wait_for("a name HO");
    // What is wrong with the configuration.
    lab.wait_for("Problem");
    lab.press("\x1b");
    lab.wait("the notice gone", |seen| !seen.terminal.screen().contents().contains("Problem"));
    lab.press("i");
    lab.wait_for("Last lines");
    lab.wait_for("a note HO");
    lab.press("\x1b");
    lab.wait("the details closed", |seen| !seen.terminal.screen().contents().contains("Last lines"));
    // Zoomed in turn, all panes have room for what they have to say.
    for round in 0..6 {
        lab.press("z");
        lab.wait("one pane", |seen| !seen.terminal.screen().contents().contains("Steps") || round == 0);
        lab.press("z\t");
    }
    // The lesson of step 4 is the stranger's.
    lab.press("\x1b[H\x1b[B\x1b[B\x1b[Bw");
    lab.wait_for("The problem");
    lab.wait_for("│ H]0;PWNED");
    lab.press("\x1b[F");
    lab.wait_for("Read on");
    lab.press("\x1b");
    lab.resize(80, 24);
    lab.wait_for("r run");
    lab.press("q");
    assert!(lab.exit().success());
    expect_screen(&lab);
}

#[test]
fn a_recording_of_it_is_packed_and_played_in_peace() {
    let home = home();
    expect_verb(&home, &["record", "3", "--out", "hostile.hvdrun"], &[0]);
    let mut lab = Options { columns: 120, rows: 40, arguments: &["replay", "hostile.hvdrun"], ..Options::default() }.start(&home);
    lab.wait_for("REPLAY");
    lab.press("\x1b[F");
    lab.wait_for("✗ failed");
    lab.press("q");
    assert!(lab.exit().success());
    expect_screen(&lab);
}
