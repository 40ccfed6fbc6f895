//! A folder of a class in which others write: what stands in the place of a copy harms nobody, and two learners of one name are told.
//!
//! Never gives a file away but one of its own; what only root can do is skipped elsewhere.

use std::fs;
use std::os::unix::fs::{MetadataExt, lchown, symlink};
use std::path::Path;
use std::process::Output;

use hvd_lab_terminal::course::{Prediction, ProgressFile};
use serde_json::Value;

use super::asked;
use crate::support::lab::{Lab, stderr};

fn class() -> (tempfile::TempDir, String) {
    let class = tempfile::tempdir().unwrap();
    let dir = class.path().canonicalize().unwrap().display().to_string();
    (class, dir)
}

fn share(lab: &Lab, dir: &str, name: &str) -> Output {
    lab.run(&["progress", "--share", dir, "--name", name])
}

/// Changes what the lab keeps; what there is to say of it.
fn predict(lab: &Lab) -> Option<String> {
    ProgressFile::of(lab.home()).update(|progress| progress.predict(asked(4), Prediction::Choice(0), true)).unwrap().1.note
}

fn predictions(copy: &Path) -> usize {
    let copy: Value = serde_json::from_slice(&fs::read(copy).unwrap()).unwrap();
    copy["predictions"]["4"].as_array().map_or(0, Vec::len)
}

/// Exit code 2 and one line with these words.
fn refused(output: &Output, words: &[&str]) {
    let said = stderr(output);
    assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{said}");
    assert!(words.iter().all(|word| said.contains(word)), "{words:?}: {said}");
}

type Plant = fn(&Path, &Path) -> std::io::Result<()>;

#[test]
fn a_link_in_the_place_of_a_copy_is_replaced_and_what_it_points_to_stays() {
    let (lab, (class, dir)) = (Lab::with_fake_mpirun("5"), class());
    let precious = lab.home().join("thesis.tex");
    let copy = class.path().join("ada.json");
    let symbolic = |target: &Path, link: &Path| symlink(target, link);
    let hard = |target: &Path, link: &Path| fs::hard_link(target, link);
    let links: [(Plant, &str); 2] = [(symbolic, "precious"), (hard, "")];
    for (plant, text) in links {
        fs::write(&precious, text).unwrap();
        assert_eq!(share(&lab, &dir, "ada").status.code(), Some(0));
        fs::remove_file(&copy).unwrap();
        plant(&precious, &copy).unwrap();
        assert_eq!(predict(&lab), None);
        assert!(copy.symlink_metadata().unwrap().is_file() && predictions(&copy) > 0);
        assert_eq!(fs::read_to_string(&precious).unwrap(), text, "it is as it was");
    }
    fs::remove_file(&copy).unwrap();
    symlink("nothing", &copy).unwrap();
    assert_eq!(predict(&lab), None);
    assert!(copy.symlink_metadata().unwrap().is_file() && !class.path().join("nothing").exists());
    assert_eq!(fs::read_dir(class.path()).unwrap().count(), 1, "nothing else is left there");
}

#[test]
fn what_is_no_copy_of_the_learner_stays_and_is_named() {
    let (lab, (class, dir)) = (Lab::with_fake_mpirun("5"), class());
    let place = |name: &str| class.path().join(name);
    fs::create_dir(place("folder.json")).unwrap();
    nix::unistd::mkfifo(&place("pipe.json"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    fs::write(place("package.json"), "{\"name\": \"x\", \"version\": \"1.0.0\"}").unwrap();
    for (name, what) in [("folder", "a folder in its place"), ("pipe", "a pipe"), ("package", "not a progress file")] {
        refused(&share(&lab, &dir, name), &[&format!("{name}.json"), what, &format!("--name {name}-2")]);
    }
    assert!(place("folder.json").is_dir() && fs::read_to_string(place("package.json")).unwrap().contains("1.0.0"));
    assert!(!lab.home().join("share.json").exists(), "nothing is shared by that");
    assert_eq!(fs::read_dir(class.path()).unwrap().count(), 3);
}

#[test]
fn a_copy_of_another_user_stays_and_its_owner_is_named() {
    let (lab, (class, dir)) = (Lab::with_fake_mpirun("5"), class());
    let copy = class.path().join("ada.json");
    assert_eq!(share(&lab, &dir, "ada").status.code(), Some(0));
    if lchown(&copy, Some(12_345), None).is_err() {
        eprintln!("skipped: only root can give a file to another user");
        return;
    }
    let note = predict(&lab).unwrap();
    for words in ["your progress is kept", "ada.json", "of user 12345", "--name ada-2"] {
        assert!(note.contains(words) && !note.contains('\n'), "{note}");
    }
    assert_eq!((predictions(&copy), copy.metadata().unwrap().uid()), (0, 12_345));
    let precious = lab.home().join("thesis.tex");
    fs::write(&precious, "precious").unwrap();
    fs::remove_file(&copy).unwrap();
    symlink(&precious, &copy).unwrap();
    lchown(&copy, Some(12_345), None).unwrap();
    assert!(predict(&lab).unwrap().contains("a link of user 12345"));
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
}

#[test]
fn two_learners_of_one_name_are_told_and_keep_their_copies() {
    let (first, second, (class, dir)) = (Lab::with_fake_mpirun("5"), Lab::with_fake_mpirun("5"), class());
    let copy = class.path().join("ada.json");
    assert_eq!(share(&first, &dir, "ada").status.code(), Some(0));
    assert_eq!(predict(&first), None);
    let before = fs::read(&copy).unwrap();
    refused(&share(&second, &dir, "ada"), &["ada.json belongs to another learner", "--name ada-2"]);
    // As the second one stood there before: by the environment of the class, or by a lab of an older version.
    fs::write(second.home().join("share.json"), format!("{{\"folder\": {dir:?}, \"learner\": \"ada\"}}")).unwrap();
    let note = predict(&second).unwrap();
    assert!(note.contains("your progress is kept") && note.contains("belongs to another learner"), "{note}");
    assert_eq!(fs::read(&copy).unwrap(), before);
    assert_eq!(share(&second, &dir, "ada-2").status.code(), Some(0));
    assert_eq!((predict(&first), predict(&second)), (None, None));
    assert_eq!((predictions(&copy), predictions(&class.path().join("ada-2.json"))), (2, 2));
    assert_eq!(share(&first, &dir, "ada").status.code(), Some(0), "it is this home's own");
    // A copy of an older version does not say whose it is.
    fs::write(&copy, "{\"version\": 1, \"done\": {}, \"predictions\": {}}").unwrap();
    assert_eq!(predict(&first), None);
    assert_eq!(predictions(&copy), 3);
    // What an instructor sees of it is as before.
    let class = first.run(&["class", &dir, "--json"]);
    let class: Value = serde_json::from_slice(&class.stdout).unwrap();
    assert_eq!((class["learners"].as_array().map(Vec::len), class["problems"].as_array().map(Vec::len)), (Some(2), Some(0)));
}

#[test]
fn damage_is_told_wherever_progress_is_read() {
    let lab = Lab::with_fake_mpirun("4");
    let (progress, share) = (lab.home().join("progress.json"), lab.home().join("share.json"));
    fs::write(&progress, "{\"version\": 1, \"done\": {\"4\"").unwrap();
    fs::write(&share, "{\"folder\": 7}").unwrap();
    for verb in [["progress"].as_slice(), &["lessons"], &["lessons", "show", "4"], &["report"]] {
        let output = lab.run(verb);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(0), "{verb:?}: {said}");
        for words in ["progress.json is damaged", "your progress is not shared", "share.json is damaged", "--share DIR"] {
            assert!(said.contains(words), "{verb:?}: no `{words}` in {said}");
        }
    }
    // A run ends where nobody may be told: its supervisor leaves the file to the next one who can say so.
    let run = lab.run(&["run", "--np", "1", "--force", "--data", "generated", "--detach"]);
    assert_eq!(run.status.code(), Some(0), "{}", stderr(&run));
    lab.wait_until_over(1);
    lab.assert_nothing_left(1);
    assert!(progress.exists());
    let said = stderr(&lab.run(&["progress", "--reset", "4"]));
    assert!(said.contains("was damaged") && said.contains("progress.damaged-1.json") && said.contains("share.json"), "{said}");
    assert_eq!(lab.run(&["progress", "--share", "none"]).status.code(), Some(0));
    assert_eq!(stderr(&lab.run(&["progress"])), "");
}

#[test]
fn a_name_without_end_is_one_line() {
    let (lab, (class, dir)) = (Lab::with_fake_mpirun("5"), class());
    let long = "x".repeat(7 << 20);
    fs::write(lab.home().join("share.json"), format!("{{\"folder\": {dir:?}, \"learner\": {long:?}}}")).unwrap();
    let said = stderr(&lab.run(&["progress"]));
    assert!(said.contains("is not a name for a file") && said.lines().count() == 1 && said.len() < 2000, "{} bytes", said.len());
    let report = format!("{{\"report\": 1, \"learner\": {long:?}}}");
    fs::write(class.path().join("report.json"), report).unwrap();
    let name = "y".repeat(100_000);
    assert_eq!(share(&lab, &dir, &name).status.code(), Some(0), "it is cut");
    let evidence = format!(
        "{{\"version\": 1, \"done\": {{}}, \"predictions\": {{}}, \"tried\": {{\"4\": {{\"runs\": 1, \"run\": 1, \"evidence\": {long:?}, \
         \"first_s\": 1.0, \"time_s\": 1.0}}}}}}"
    );
    fs::write(class.path().join("stuck.json"), evidence).unwrap();
    let whole = lab.run(&["report", "--format", "json", "--name", "Ada"]);
    let whole = String::from_utf8(whole.stdout).unwrap().replacen("\"Ada\"", &format!("{long:?}"), 1);
    fs::write(class.path().join("whole.json"), whole).unwrap();
    let seen = lab.run(&["class", &dir]);
    let table = String::from_utf8_lossy(&seen.stdout).into_owned();
    assert!(seen.status.success() && table.len() < 10_000, "{} bytes", table.len());
    assert!(table.contains("whole.json is damaged: its learner's name has 7340032 characters"), "{table}");
    assert!(table.contains("stuck is stuck at step 4") && table.contains(&"y".repeat(64)), "{table}");
    refused(&lab.run(&["report", "--name", &name]), &["--name has 100000 characters"]);
    refused(&share(&lab, &dir, &"/".repeat(100_000)), &["is not a name"]);
    assert!(stderr(&share(&lab, &dir, &"/".repeat(100_000))).len() < 1000);
}
