//! What is done about collectives is noted, shared and handed in like the steps.

use std::fs;

use crate::support::lab::{Lab, stderr, stdout};

const SOLUTION: &str = include_str!("../../solutions/ring.py");

#[test]
fn the_ring_exercise_and_checked_runs_are_in_progress_report_and_class() {
    let class = tempfile::tempdir().unwrap();
    let lab = Lab::with_fake_mpirun("4");
    let said = |words: &[&str]| stdout(&lab.run(words));
    let attempt = || lab.run(&["exercise", "run", "--track", "collectives"]);
    // As it was before there was anything to note.
    assert_eq!(said(&["progress"]).lines().last(), Some("seen 0, predicted 0, proven 0, written 0 of 10 steps"));
    let old = r#"{"version":1,"done":{"1":{"run":3,"time_s":1700000000.0,"evidence":"ok"}},"predictions":{}}"#;
    fs::write(lab.home().join("progress.json"), old).unwrap();

    let program = said(&["exercise", "start", "--track", "collectives"]).trim().to_owned();
    assert!(said(&["progress"]).contains("ring exercise (lesson 15): started 20"), "{}", said(&["progress"]));
    attempt();
    fs::write(&program, SOLUTION.replace("    rounds = []", "    rounds = secret_of_mine + 1")).unwrap();
    attempt();
    let progress = said(&["progress"]);
    assert!(progress.contains("ring exercise (lesson 15): 2 attempts, not passed yet: ring.py:"), "{progress}");
    let kept = fs::read_to_string(lab.home().join("progress.json")).unwrap();
    assert!(!kept.contains("rounds = "), "no line of the program is kept: {kept}");
    fs::write(&program, SOLUTION).unwrap();
    attempt();

    let flags = ["collectives", "run", "--np", "2", "-b", "1K", "-e", "16K", "--algorithm", "ring,mpi", "--log-bytes", "1K"];
    let run = lab.run(&flags);
    assert!(run.status.success(), "{}", stderr(&run));
    lab.run(&["check", "1"]);
    lab.run(&["check", "1"]);
    let shared = lab.run(&["progress", "--share", class.path().to_str().unwrap(), "--name", "Ada"]);
    assert!(shared.status.success(), "{}", stderr(&shared));
    let reported = class.path().join("Bo.json");
    let out = |file: &str| class.path().join(file).to_str().unwrap().to_owned();
    assert!(lab.run(&["report", "--format", "json", "--name", "Bo", "--out", reported.to_str().unwrap()]).status.success());
    assert!(lab.run(&["report", "--format", "html", "--out", &out("report.html")]).status.success());
    let html = fs::read_to_string(out("report.html")).unwrap();
    for text in [
        said(&["progress"]),
        said(&["report"]),
        html,
        said(&["class", class.path().to_str().unwrap()]),
        said(&["class", class.path().to_str().unwrap(), "--json"]),
    ] {
        assert!(text.contains("ring exercise (lesson 15): passed 20") && text.contains(", 3 attempts"), "{text}");
        assert!(text.contains("run 1 (collectives): 4 of 4 checks passed"), "{text}");
    }
    let text = said(&["class", class.path().to_str().unwrap()]);
    assert!(["Ada, run 1 (collectives)", "Bo, run 1 (collectives)"].iter().all(|line| text.matches(line).count() == 1), "{text}");
    assert!(said(&["progress"]).contains("seen 1, predicted 0"), "the old file was read");
    // One that fails is named.
    let events = lab.folder(1).events_file();
    let wrong = fs::read_to_string(&events).unwrap().replace("\"wrong\":0", "\"wrong\":3");
    fs::write(&events, wrong).unwrap();
    lab.run(&["check", "1"]);
    let text = said(&["progress"]);
    assert!(text.contains("run 1 (collectives): 3 of 4 checks passed, 1 failed (every sum is right: 3 numbers"), "{text}");
}
