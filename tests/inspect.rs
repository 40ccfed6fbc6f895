//! Programs of the user's own with the inspector: how it gets into their ranks, and what the lab tells of its reports.

use std::process::Output;

use hvd_lab_terminal::domain::event::{Event, InspectorReport};
use hvd_lab_terminal::domain::run::RunState;
use hvd_lab_terminal::runs::recording::Recording;
use hvd_lab_terminal::runs::{RunFolder, RunId};

use crate::support::lab::{Lab, finish, stderr, stdout};

/// A rank that speaks as the inspector does, by the package that the run has put on its path, and prints where it found things.
const RANK: &str = r#"import hvd_lab, json, os, sys, time
def tell(what, **fields):
    line = {"time_s": time.time(), "process": hvd_lab._rank(), "event": "inspected", "what": what, **fields}
    hvd_lab._tell(json.dumps(line))
tell("looking", framework="torch", versions=["torch 2.11.0"], python="3.11", pid=os.getpid(), launched=1, program=sys.argv[0])
tell("blind", why="this is a stand-in")
print("path", os.environ["PYTHONPATH"], os.environ.get("HVD_LAB_INSPECT", "-"))
"#;

/// A program in the folder where the tests start their runs.
fn script(lab: &Lab, name: &str, body: &str) {
    std::fs::write(lab.home().join(name), body).unwrap();
}

/// A lab verb with these words, where the tests' programs are.
fn lab_says(lab: &Lab, args: &[&str]) -> Output {
    let mut command = lab.command(args);
    command.current_dir(lab.home()).env_remove("PYTHONPATH");
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    finish(command.spawn().unwrap())
}

fn reports(lab: &Lab, run: u32) -> Vec<(usize, InspectorReport)> {
    reports_in(&lab.folder(run))
}

fn reports_in(folder: &RunFolder) -> Vec<(usize, InspectorReport)> {
    folder
        .events()
        .filter_map(|line| if let Event::Inspected(report) = line.event { Some((line.process, *report)) } else { None })
        .collect()
}

#[test]
fn the_inspector_comes_first_on_the_path_and_its_reports_are_kept() {
    let Some(lab) = Lab::with_mpirun() else { return };
    script(&lab, "train.py", RANK);
    let output = lab_says(&lab, &["inspect", "-np", "2", "--force", "--", "python3", "train.py"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let folder = lab.folder(1).path().join("python");
    for rank in 0..2 {
        assert_eq!(std::fs::read_to_string(lab.folder(1).rank_log(rank)).unwrap(), format!("path {} 1\n", folder.display()));
        let kept = reports(&lab, 1).into_iter().filter(|(process, _)| *process == rank).count();
        assert!(kept >= 2, "{rank}: {kept}");
    }
    assert!(!stderr(&output).contains("the inspector saw nothing"), "{}", stderr(&output));
    // Ranks are found by their environment, as in any run of an own program.
    assert_eq!(lab.store().summary(RunId(1)).unwrap().figures.np, 2);
    let json: serde_json::Value = serde_json::from_str(&stdout(&lab_says(&lab, &["check", "--json"]))).unwrap();
    assert_eq!((&json["run"], &json["has_reports"]), (&1.into(), &true.into()));
    // A recording has them too, and says that the run was inspected.
    let file = lab.home().join("inspected.hvdrun");
    assert!(lab_says(&lab, &["record", "1", "--anonymous", "--out", file.to_str().unwrap()]).status.success());
    let recording = Recording::open(&file).unwrap();
    assert_eq!(reports_in(&recording.folder), reports(&lab, 1));
    assert!(recording.record.request.spec.command().unwrap().inspect);
    lab.assert_nothing_left(1);
}

#[test]
fn ranks_that_a_program_starts_itself_are_counted() {
    let lab = Lab::with_fake_mpirun("stranger");
    let group = "tell(\"group\", by=\"torch.distributed\", rank=0, size=3, local_rank=0, local_size=3, host=\"h\", device=\"cpu\", threads=1, \
                 cores=1, place={\"file\": \"train.py\", \"line\": 1})\n";
    script(&lab, "train.py", &(RANK.to_owned() + group));
    let output = lab_says(&lab, &["inspect", "--", "python3", "train.py"]);
    assert!(output.status.success() && stderr(&output).contains("hvd-lab: starting the program\n"), "{}", stderr(&output));
    let summary = lab.store().summary(RunId(1)).unwrap();
    assert_eq!((summary.figures.np, summary.np_in_words().as_deref()), (3, Some("3")));
}

#[test]
fn a_step_that_no_rank_reported_anything_about_was_not_judged() {
    let lab = Lab::with_fake_mpirun("stranger");
    let only_looking: Vec<&str> = RANK.lines().filter(|line| !line.contains("blind")).collect();
    script(&lab, "train.py", &only_looking.join("\n"));
    assert!(lab_says(&lab, &["inspect", "--", "python3", "train.py"]).status.success());
    let step = lab_says(&lab, &["check", "1", "--step", "6"]);
    let unjudged = "run 1: step 6 was not judged: its ranks have reported nothing about it\n";
    assert_eq!((step.status.code(), stdout(&step).as_str()), (Some(1), unjudged));
}

#[test]
fn without_the_flag_nothing_is_different() {
    let lab = Lab::with_fake_mpirun("stranger").env("PYTHONPATH", "");
    script(
        &lab,
        "train.py",
        "import os, sys\nprint(os.environ['PYTHONPATH'], os.environ.get('HVD_LAB_INSPECT'), 'sitecustomize' in sys.modules)\n",
    );
    let run = |flag: &[&str], path: &str| {
        let mut command = lab.command(&[&["run"], flag, &["--", "python3", "train.py"]].concat());
        command.current_dir(lab.home()).env("PYTHONPATH", path);
        assert!(
            finish(command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap())
                .status
                .success()
        );
        let id = lab.store().ids().last().unwrap().0;
        (std::fs::read_to_string(lab.folder(id).rank_log(0)).unwrap(), lab.folder(id).path().join("python"))
    };
    let (said, folder) = run(&[], "/nowhere");
    assert!(said.starts_with(&format!("/nowhere:{} None ", folder.display())), "{said}");
    assert!(!folder.join("sitecustomize.py").exists() && !folder.join("hvd_lab/_inspect").exists());
    let record = std::fs::read_to_string(lab.folder(1).record_file()).unwrap();
    assert!(!record.contains("inspect"), "a record of an older lab opens as one without: {record}");
    let (said, folder) = run(&["--inspect"], "/nowhere");
    assert!(said.starts_with(&format!("{}:/nowhere 1 ", folder.display())), "{said}");
    assert!(std::fs::read_to_string(lab.folder(2).record_file()).unwrap().contains("\"inspect\""));
    // The same work, with and without.
    let (one, two) = (lab.store().summary(RunId(1)).unwrap(), lab.store().summary(RunId(2)).unwrap());
    assert!(hvd_lab_terminal::runs::gained(&two, &one).is_ok());
}

#[test]
fn a_sitecustomize_of_the_users_own_still_runs() {
    let lab = Lab::with_fake_mpirun("stranger");
    let own = lab.home().join("mine");
    std::fs::create_dir(&own).unwrap();
    std::fs::write(own.join("sitecustomize.py"), "import os\nos.environ['MINE'] = 'ran'\n").unwrap();
    script(&lab, "train.py", "import os\nprint(os.environ.get('MINE'), os.environ['PYTHONPATH'])\n");
    let words = format!("PYTHONPATH={}", own.display());
    let output = lab_says(&lab, &["inspect", "--", "env", &words, "python3", "train.py"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let path = format!("{}:{}", lab.folder(1).path().join("python").display(), own.display());
    assert_eq!(
        std::fs::read_to_string(lab.folder(1).rank_log(0)).unwrap(),
        format!("ran {path}\n"),
        "and the inspector comes first"
    );
    // Also behind the inspector of another run, which does not look a second time.
    script(
        &lab,
        "train.py",
        "import os, sys\nprint(os.environ.get('MINE'), [type(one).__name__ for one in sys.meta_path].count('_Finder'))\n",
    );
    let words = format!("PYTHONPATH={}", path);
    let output = lab_says(&lab, &["inspect", "--", "env", &words, "python3", "train.py"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(std::fs::read_to_string(lab.folder(2).rank_log(0)).unwrap(), "ran 1\n");
}

#[test]
fn where_the_inspector_sees_nothing_that_is_said() {
    let lab = Lab::with_fake_mpirun("stranger");
    let output = lab_says(&lab, &["inspect", "--", "python3", "-I", "-c", "print(1)"]);
    assert_eq!(output.status.code(), Some(0), "the program itself has ended well");
    assert!(
        stderr(&output).contains("the inspector saw nothing") && stderr(&output).contains("-I, -E or -S"),
        "{}",
        stderr(&output)
    );
    let check = lab_says(&lab, &["check"]);
    assert_eq!(check.status.code(), Some(1));
    assert!(stdout(&check).contains("no rank has reported anything to the inspector"), "{}", stdout(&check));
    // A program that runs long enough to be looked at is told why at its start.
    let wait = "import os, time\nlog = os.path.join(os.environ['HVD_LAB_RUN_DIR'], 'launcher.log')\n\
                while 'python -I' not in open(log).read():\n    time.sleep(0.05)\n";
    script(&lab, "wait.py", wait);
    let output = lab_says(&lab, &["inspect", "--time-limit", "0:01:00", "--", "python3", "-I", "wait.py"]);
    assert!(stderr(&output).contains("the inspector cannot look: `python -I` ignores PYTHONPATH"), "{}", stderr(&output));
    assert_eq!(lab.status(2).state, RunState::Finished, "{}", stderr(&output));
}

#[test]
fn what_cannot_be_inspected_is_refused_in_one_line() {
    let lab = Lab::with_fake_mpirun("stranger");
    for (args, expected) in [
        (&["inspect"][..], "no program is named: write it behind --"),
        (&["run", "--inspect"], "--inspect is for a program of your own"),
        (&["inspect", "--np", "2", "--", "torchrun", "t.py"], "torchrun starts the ranks itself"),
        (&["inspect", "--epochs", "3", "--", "true"], "--epochs"),
    ] {
        let output = lab_says(&lab, args);
        assert!(stderr(&output).contains(expected), "{args:?}: {}", stderr(&output));
        assert_eq!((output.status.code(), stderr(&output).lines().count()), (Some(2), 1), "{args:?}");
    }
    assert!(lab_says(&lab, &["run", "--", "true"]).status.success());
    let check = lab_says(&lab, &["check"]);
    assert_eq!(check.status.code(), Some(2));
    assert!(stderr(&check).contains("started without the inspector: `hvd-lab inspect -- PROGRAM`"), "{}", stderr(&check));
}
