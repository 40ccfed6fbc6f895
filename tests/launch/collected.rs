//! What the verbs of collectives say of requests that cannot be met, and of runs whose events are gone, damaged or strange.

use std::fs;

use serde_json::Value;

use crate::support::lab::{Lab, stderr, stdout};

/// A run of two ranks by the stand-in, over, with a log of 1 KiB.
fn measured(flags: &[&str]) -> Lab {
    let lab = Lab::with_fake_mpirun("4");
    let usual = ["collectives", "run", "--np", "2", "-b", "1K", "-e", "16K", "--log-bytes", "1K"];
    let output = lab.run(&[&usual, flags].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    lab
}

/// Change the events of run 1, line by line.
fn change(lab: &Lab, line: impl Fn(&str) -> Option<String>) {
    let file = lab.folder(1).events_file();
    let text = fs::read_to_string(&file).unwrap();
    let lines: String = text.lines().filter_map(line).map(|line| line + "\n").collect();
    fs::write(&file, lines).unwrap();
}

fn of(event: &str, line: &str) -> bool {
    line.contains(&format!("\"event\":\"{event}\""))
}

#[test]
fn rows_without_a_time_are_left_out_and_said() {
    let lab = measured(&["--algorithm", "ring,mpi"]);
    change(&lab, |line| {
        let mut value: Value = serde_json::from_str(line).unwrap();
        if value["event"] == "allreduce" && (value["method"] == "mpi" || value["bytes"] == 1024) {
            for name in ["bytes", "elements", "mean_s", "median_s", "min_s", "max_s"] {
                value[name] = 0.into();
            }
        }
        Some(value.to_string())
    });
    let shown = lab.run(&["collectives", "show", "1"]);
    let text = stdout(&shown);
    assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    assert_eq!(text.lines().filter(|line| !line.starts_with('#')).count(), 2, "{text}");
    assert!(stderr(&shown).contains("run 1: 4 rows have no size or no time and are left out"), "{}", stderr(&shown));
    for words in [&["compare", "1"] as &[&str], &["collectives", "advise", "--size", "1M"], &["check", "1"]] {
        let text = stdout(&lab.run(words));
        assert!(!text.contains("NaN") && !text.contains("inf"), "{words:?}: {text}");
    }
}

#[test]
fn a_run_without_rows_says_why() {
    let lab = measured(&["--algorithm", "ring"]);
    let none = lab.run(&["collectives", "show", "1", "--algorithm", "mpi"]);
    assert_eq!((none.status.code(), stderr(&none)), (Some(2), "hvd-lab: run 1 has no row of mpi: it measured ring\n".into()));
    fs::write(lab.folder(1).events_file(), "").unwrap();
    for words in [&["collectives", "show", "1"] as &[&str], &["collectives", "show", "1", "--json"]] {
        let empty = lab.run(words);
        let said = stderr(&empty);
        assert_eq!(empty.status.code(), Some(1), "{said}");
        assert!(said.starts_with("hvd-lab: run 1 finished, and its events hold no row") && said.lines().count() == 1, "{said}");
    }
    let failed = Lab::with_fake_mpirun("4").env("STAND_IN", "exit");
    failed.run(&["collectives", "run", "--np", "2"]);
    let said = stderr(&failed.run(&["collectives", "show", "1"]));
    assert!(said.contains("run 1 measured nothing: it failed: ") && said.contains("cannot send"), "{said}");
}

#[test]
fn a_log_that_is_damaged_or_incomplete_is_called_so() {
    let lab = measured(&["--algorithm", "ring"]);
    change(&lab, |line| {
        let is_second = of("messages", line) && line.contains("\"process\":1");
        (!is_second).then(|| line.to_owned())
    });
    let replayed = stdout(&lab.run(&["collectives", "replay", "1"]));
    assert!(replayed.contains("# the log is incomplete: it has 2 of the schedule's 4 messages\n"), "{replayed}");
    change(&lab, |line| Some(if of("messages", line) { line.replace("\"to\":0", "\"to\":99999") } else { line.to_owned() }));
    let replayed = lab.run(&["collectives", "replay", "1"]);
    let said = stderr(&replayed);
    assert!(said.contains("1 damaged event was skipped") && said.contains("the log of its messages is damaged"), "{said}");
    assert!(!said.contains("--log-bytes"), "{said}");
    assert_eq!(replayed.status.code(), Some(1), "{said}");
    // One of two logs is gone.
    let lab = measured(&["--algorithm", "ring,mpi"]);
    change(&lab, |line| (!of("messages", line)).then(|| line.to_owned()));
    let replayed = lab.run(&["collectives", "replay", "1", "--algorithm", "ring"]);
    let said = stderr(&replayed);
    assert!(said.contains("the log of its messages (ring) is not there: the run finished"), "{said}");
    assert_eq!((replayed.status.code(), said.lines().count()), (Some(1), 1), "{said}");
    let of_mpi = lab.run(&["collectives", "replay", "1", "--algorithm", "mpi"]);
    assert_eq!((of_mpi.status.code(), stderr(&of_mpi).contains("has no log of messages")), (Some(2), true));
}

#[test]
fn what_cannot_be_measured_is_refused_before_there_is_a_run() {
    let lab = Lab::with_fake_mpirun("4");
    for (words, said) in [
        (&["run", "--log-bytes", "64G"] as &[&str], "a log of 64 GiB"),
        (&["run", "-b", "100000G", "-e", "100000G"], "lower --max-bytes"),
        (&["run", "--np", "4", "--ranks-per-host", "9"], "--ranks-per-host: 9 ranks per host are more than the 4 ranks"),
        (&["run", "--np", "1", "--servers", "2"], "--servers: 2 servers are more than the 1 rank:"),
        (&["show", "--algorithm", "hierarchical", "--np", "4", "--ranks-per-host", "9"], "more than the 4 ranks"),
        (&["show", "--algorithm", "ring", "--size", "0"], "holds no number"),
        (&["show", "--algorithm", "ring", "--size", "3"], "holds no number"),
        (&["advise", "--size", "0"], "holds no number"),
        (&["show", "--algorithm", "mpi"], "has no schedule"),
    ] {
        let output = lab.run(&[&["collectives"], words].concat());
        let line = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {line}");
        assert!(line.contains(said) && line.lines().count() == 1, "{words:?}: {line}");
    }
    assert!(lab.store().ids().is_empty(), "a run was made");
}

#[test]
fn flags_that_no_algorithm_uses_are_left_out_with_a_word() {
    let lab = measured(&["--algorithm", "ring,mpi", "--servers", "5", "--ranks-per-host", "9"]);
    let shown = stdout(&lab.run(&["collectives", "show", "1"]));
    assert!(!shown.contains("servers") && !shown.contains("ranks per host"), "{shown}");
    let output = lab.run(&["collectives", "show", "--algorithm", "ring", "--np", "3", "--servers", "5"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(stderr(&output), "hvd-lab: --servers is ignored: only parameter-server has servers\n");
}

#[test]
fn all_schedules_are_those_that_the_lab_has() {
    let lab = Lab::with_fake_mpirun("4");
    for list in ["all", "ring,mpi"] {
        let output = lab.run(&["collectives", "show", "--algorithm", list, "--np", "2", "--json"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let said = stderr(&output);
        assert!(said.contains("mpi") && said.contains("left out") && said.lines().count() == 1, "{said}");
        let value: Value = serde_json::from_str(&stdout(&output)).unwrap();
        let count = value.as_array().map_or(1, Vec::len);
        assert_eq!(count, if list == "all" { 6 } else { 1 });
    }
}

#[test]
fn one_rank_and_odd_sizes_are_said_as_they_are() {
    let lab = Lab::with_fake_mpirun("4");
    let output =
        lab.run(&["collectives", "run", "--np", "1", "--algorithm", "ring", "-b", "7", "-e", "30", "-f", "2", "-n", "1"]);
    let text = stdout(&output);
    assert!(text.starts_with("# 1 rank, 7 B to 30 B by 2, 1 iteration after 5 to warm up\n"), "{text}");
    assert!(text.contains("# one rank exchanges nothing: these times are what the call alone takes\n"), "{text}");
    assert!(text.contains("# sizes are rounded down to whole numbers of 4 B: 7 B is measured as 4 B\n"), "{text}");
    let schedule = lab.run(&["collectives", "show", "--algorithm", "ring", "--np", "2", "--size", "11"]);
    assert!(stdout(&schedule).contains("2 numbers float32 (8 B)"), "{}", stdout(&schedule));
    assert!(stderr(&schedule).contains("--size: 11 B is rounded down to 8 B, 2 whole numbers of 4 B"), "{}", stderr(&schedule));
}

#[test]
fn slow_links_keep_their_digits() {
    let lab = measured(&["--algorithm", "ring"]);
    change(&lab, |line| {
        let mut value: Value = serde_json::from_str(line).unwrap();
        if value["event"] == "allreduce" {
            for name in ["mean_s", "median_s", "min_s", "max_s"] {
                value[name] = (value["bytes"].as_f64().unwrap() * 8e-6).into();
            }
        }
        Some(value.to_string())
    });
    let text = stdout(&lab.run(&["collectives", "show", "1"]));
    let rows = || text.lines().filter(|line| line.starts_with("ring"));
    // 125 kB a second.
    assert!(rows().all(|row| row.split_whitespace().nth(6) == Some("1.25e-4")), "{text}");
    let heading = text.lines().find(|line| line.starts_with("# algorithm")).unwrap();
    assert!(rows().all(|row| row.len() == heading.len()), "{text}");
    assert!(text.contains("# Avg bus bandwidth ring                   : 1.25e-4"), "{text}");
}

#[test]
fn a_check_of_very_many_ranks_ends() {
    let lab = measured(&["--algorithm", "ring,parameter-server"]);
    let file = lab.folder(1).path().join("run.json");
    let mut record: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    record["spec"]["np"] = 4096.into();
    for attempt in record["attempts"].as_array_mut().unwrap() {
        attempt["np"] = 4096.into();
    }
    fs::write(&file, record.to_string()).unwrap();
    let began = std::time::Instant::now();
    let text = stdout(&lab.run(&["check", "1"]));
    assert!(text.contains("4,096 ranks are too many to compare with the schedule"), "{text}");
    assert!(began.elapsed() < std::time::Duration::from_secs(20), "{:?}", began.elapsed());
}

#[test]
fn advice_names_its_run_prefers_real_links_and_explains_itself() {
    let lab = measured(&["--algorithm", "ring"]);
    // Stands for a run on made links: what is stored of it says so.
    let run =
        |flags: &[&str]| lab.run(&[&["collectives", "run", "--np", "2", "-e", "16K", "--algorithm", "ring"], flags].concat());
    run(&[]);
    let file = lab.folder(2).path().join("run.json");
    let mut record: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    record["spec"]["link_bits"] = 200_000_000.into();
    fs::write(&file, record.to_string()).unwrap();
    let text = stdout(&lab.run(&["collectives", "advise", "--size", "65M", "--np", "2"]));
    assert!(text.contains("from what run 1 measured"), "{text}");
    assert!(text.contains("# run 1's own predictions were off by 0 % (median)\n"), "{text}");
    assert!(text.contains("# run 1 sent messages of up to 1.0 MiB: what is larger is predicted in proportion\n"), "{text}");
    let asked = stdout(&lab.run(&["collectives", "advise", "--size", "65M", "--np", "2", "--run", "2"]));
    assert!(asked.contains("from what run 2 measured on 200 Mbit/s links, made on this machine"), "{asked}");
    // Both ways at once takes four times as long as one way.
    change(&lab, |line| {
        let mut value: Value = serde_json::from_str(line).unwrap();
        if value["event"] == "link" {
            for row in value["rows"].as_array_mut().unwrap() {
                row["exchange_s"] = (4.0 * row["one_way_s"].as_f64().unwrap()).into();
            }
        }
        Some(value.to_string())
    });
    let text = stdout(&lab.run(&["collectives", "advise", "--size", "65M", "--np", "2"]));
    let why: Vec<&str> = text.lines().filter(|line| line.starts_with("# ring: ")).collect();
    assert_eq!(why.len(), 1, "{text}");
    assert!(why[0].contains("both directions") && why[0].contains("4.0 times"), "{why:?}");
}
