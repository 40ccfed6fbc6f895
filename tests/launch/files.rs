//! What the lab writes: whole on a full disk, for its user alone, and never over a file that was not meant.
//!
//! Never changes the umask of the tests: shells of their own do.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::support::lab::{Lab, finish, program, stderr, stdout};

/// A shell script in which `$0` is the lab.
fn shell(lab: &Lab, script: &str) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(program());
    lab.set_environment(&mut command);
    finish(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
}

/// Everything in a folder, with its permissions and group.
fn entries(folder: &Path) -> Vec<(PathBuf, u32, u32)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let metadata = entry.metadata().unwrap();
        found.push((entry.path(), metadata.permissions().mode() & 0o7777, metadata.gid()));
        if metadata.is_dir() {
            found.extend(entries(&entry.path()));
        }
    }
    found
}

/// The parts of a script's output, each after a line `== NAME`.
fn parts(text: &str) -> BTreeMap<String, String> {
    text.split("== ").skip(1).filter_map(|part| part.split_once('\n')).map(|(name, rest)| (name.into(), rest.into())).collect()
}

#[test]
fn a_full_disk_leaves_every_file_whole_and_the_run_goes_on_later() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let lab = lab.env("STAND_IN", "flood");
    // A disk of its own, in a namespace of its own; where that is not allowed there is nothing to try.
    let script = "mount -t tmpfs -o size=400k none \"$HVD_LAB_HOME\" || exit 77
        \"$0\" run --np 2 --force --data generated --checkpointing >/dev/null; code=$?; echo '== code'; echo $code
        cd \"$HVD_LAB_HOME\"/runs/0001
        cat /dev/zero > filler 2>/dev/null
        \"$0\" runs note 1 \"$(printf %06000d 0)\" >/dev/null; code=$?; echo '== noted'; echo $code
        for file in run.json status.json; do echo \"== $file\"; cat $file; done
        echo '== there'; ls -A
        rm filler rank-*.log
        STAND_IN= \"$0\" run --continue 1 --epochs 9 >/dev/null; code=$?; echo '== again'; echo $code
        echo '== events'; cat events.jsonl";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]).arg(program());
    lab.set_environment(&mut command);
    let Ok(child) = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn() else { return };
    let output = finish(child);
    let parts = parts(&stdout(&output));
    let Some(code) = parts.get("code") else {
        eprintln!("skipped: no namespace with a disk of its own here ({})", stderr(&output).trim());
        return;
    };
    assert_eq!(code, "1\n", "{}", stderr(&output));
    assert_eq!(parts["noted"], "1\n");
    let record: Value = serde_json::from_str(&parts["run.json"]).unwrap_or_else(|error| panic!("{error}: {}", parts["run.json"]));
    assert_eq!(record["attempts"].as_array().unwrap().len(), 1);
    let status: Value = serde_json::from_str(&parts["status.json"]).unwrap();
    assert_eq!(status["state"], "failed");
    let message = status["message"].as_str().unwrap();
    assert_eq!(message.matches("No space left on device").count(), 1, "{message}");
    let left = parts["there"].lines().filter(|name| name.starts_with('.')).collect::<Vec<_>>();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(parts["again"], "0\n", "{}", stderr(&output));
    let broken = parts["events"].lines().filter(|line| serde_json::from_str::<Value>(line).is_err()).count();
    assert!(broken <= 1, "{broken} broken lines: {}", parts["events"]);
    assert!(parts["events"].lines().filter(|line| line.contains("\"finished\"")).count() >= 2);
}

#[test]
fn what_a_run_writes_is_its_users_alone_whatever_the_umask() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let output = shell(
        &lab,
        "umask 000; \"$0\" run --np 2 --force --data generated && \"$0\" check; \"$0\" exercise start && \"$0\" runs",
    );
    assert!(output.status.success(), "{}", stderr(&output));
    lab.assert_nothing_left(1);
    let all = entries(lab.home());
    assert!(all.len() > 12, "{all:?}");
    let open: Vec<_> = all.iter().filter(|(_, mode, _)| mode & 0o077 != 0).collect();
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn a_home_is_shared_with_a_group_that_is_named() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let group = nix::unistd::getegid().as_raw();
    let lab = lab.env("HVD_LAB_GROUP", &group.to_string());
    let output = shell(&lab, "umask 022; \"$0\" run --np 2 --force --data generated && \"$0\" runs");
    assert!(output.status.success(), "{}", stderr(&output));
    lab.assert_nothing_left(1);
    for (path, mode, of) in entries(lab.home()) {
        let expected = if path.is_dir() { 0o2770 } else { 0o660 };
        assert_eq!((mode, of), (expected, group), "{}", path.display());
    }
    let unknown = lab.command(&["runs"]).env("HVD_LAB_GROUP", "no-such-group").output().unwrap();
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).contains("no-such-group") && stderr(&unknown).contains("id -Gn"), "{}", stderr(&unknown));
}

#[test]
fn what_is_shared_or_handed_in_can_be_read_as_the_user_is_used_to() {
    let lab = Lab::with_fake_mpirun("4");
    let class = tempfile::tempdir().unwrap();
    let script = format!(
        "cd {0}; umask 022; \"$0\" progress --share . --name ada && \"$0\" report --out open.md && umask 077 && \
         \"$0\" report --out closed.md",
        class.path().display()
    );
    let output = shell(&lab, &script);
    assert!(output.status.success(), "{}", stderr(&output));
    let modes: BTreeMap<String, u32> = entries(class.path())
        .into_iter()
        .map(|(path, mode, _)| (path.file_name().unwrap().to_string_lossy().into(), mode))
        .collect();
    let expected = [("ada.json", 0o644), ("closed.md", 0o600), ("open.md", 0o644)];
    assert_eq!(modes, expected.map(|(name, mode)| (name.to_owned(), mode)).into());
}

#[test]
fn programs_of_the_user_have_the_users_umask_and_the_class_can_read_after_every_run() {
    let lab = Lab::with_fake_mpirun("4");
    let (class, own) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for umask in ["022", "027", "077"] {
        let script = format!(
            "cd {}; umask {umask}; \"$0\" run --np 1 -- sh -c 'umask > umask; : > made' && \"$0\" run --np 1 --force --data generated",
            own.path().display()
        );
        let mut command = Command::new("sh");
        command.args(["-c", &script]).arg(program());
        lab.set_environment(&mut command);
        command.env("HVD_LAB_CLASS", class.path());
        let output = finish(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(fs::read_to_string(own.path().join("umask")).unwrap(), format!("0{umask}\n"));
        let expected = 0o666 & !u32::from_str_radix(umask, 8).unwrap();
        assert_eq!(fs::metadata(own.path().join("made")).unwrap().permissions().mode() & 0o777, expected, "{umask}");
        fs::remove_file(own.path().join("made")).unwrap();
        let copies = entries(class.path());
        assert!(copies.len() == 1 && copies[0].1 == 0o644, "the instructor reads it, whatever the umask: {copies:?}");
    }
    let open: Vec<_> = entries(lab.home()).into_iter().filter(|(_, mode, _)| mode & 0o077 != 0).collect();
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn a_file_that_may_not_grow_is_named_with_the_limit() {
    let lab = Lab::with_fake_mpirun("4");
    super::stored::copy(&super::stored::data().join("runs"), &lab.home().join("runs"));
    let place = tempfile::tempdir().unwrap();
    for (verb, file) in [
        ("report --out report.md", "report.md"),
        ("progress --export p.json", "p.json"),
        ("record 1 --out r.hvdrun", "r.hvdrun"),
        ("progress --reset 4", "progress.json"),
        ("data make-images --out images --images 10", "images"),
        ("runs > list", "standard output"),
        ("run --np 1 --data generated", "status.json"),
    ] {
        let output = shell(&lab, &format!("cd {}; ulimit -f 0; \"$0\" {verb}", place.path().display()));
        let said = stderr(&output);
        assert_eq!((output.status.code(), said.lines().count()), (Some(1), 1), "{verb}: {said}");
        for words in [file, "no file may be larger than 0 B here", "`ulimit -f` shows it"] {
            assert!(said.contains(words), "{verb}: no `{words}` in {said}");
        }
        assert!(!said.contains("Free some"), "{verb}: {said}");
    }
    let left: Vec<_> = entries(place.path()).into_iter().map(|(path, ..)| path).collect();
    assert_eq!(left, [place.path().join("list")], "of what could not be written nothing is left");
}

#[test]
fn no_verb_writes_over_a_file_unless_told_so() {
    let lab = Lab::with_fake_mpirun("4");
    super::stored::copy(&super::stored::data().join("runs"), &lab.home().join("runs"));
    let place = tempfile::tempdir().unwrap();
    let verbs: [&[&str]; 4] = [&["compare", "--out"], &["report", "--out"], &["record", "1", "--out"], &["progress", "--export"]];
    for verb in verbs {
        let file = place.path().join(format!("{}.md", verb[0]));
        let name = file.to_str().unwrap();
        let to = |file: &str, more: &[&str]| lab.run(&[verb, &[file], more].concat());
        fs::write(&file, "mine").unwrap();
        let refused = to(name, &[]);
        assert_eq!((refused.status.code(), stdout(&refused).as_str()), (Some(2), ""), "{verb:?}");
        let expected = format!("hvd-lab: {name} is there already: give another name, or --force to replace it\n");
        assert_eq!((stderr(&refused), fs::read_to_string(&file).unwrap().as_str()), (expected, "mine"), "{verb:?}");
        let replaced = to(name, &["--force"]);
        assert_eq!(replaced.status.code(), Some(0), "{verb:?}: {}", stderr(&replaced));
        assert_ne!(fs::read(&file).unwrap(), b"mine");
        let missing = place.path().join("nowhere/x.md");
        let nowhere = to(missing.to_str().unwrap(), &[]);
        let expected = format!(
            "hvd-lab: cannot write {}: there is no such folder. Make it first, or give another name\n",
            missing.display()
        );
        assert_eq!((nowhere.status.code(), stderr(&nowhere)), (Some(2), expected), "{verb:?}");
        let format: &[&str] = if verb[0] == "compare" { &["--format", "md"] } else { &[] };
        assert_eq!(to("/dev/null", format).status.code(), Some(0), "{verb:?}");
    }
    assert_eq!(entries(place.path()).len(), verbs.len(), "nothing else is left there");
}

#[test]
fn the_systems_error_stands_once_in_a_message() {
    let lab = Lab::with_fake_mpirun("4");
    for verb in
        [["run"].as_slice(), &["runs"], &["progress", "--reset", "all"], &["exercise", "start"], &["replay", "/dev/null/x"]]
    {
        let output = lab.command(verb).env("HVD_LAB_HOME", "/dev/null/lab").output().unwrap();
        let said = stderr(&output);
        let count = ["os error", "needs a terminal"].map(|words| said.matches(words).count()).iter().sum::<usize>();
        assert_eq!((output.status.code(), count), (Some(2), 1), "{verb:?}: {said}");
    }
}

#[test]
fn a_home_that_is_not_utf_8_is_refused_before_anything_is_made() {
    let lab = Lab::with_fake_mpirun("4");
    let place = tempfile::tempdir().unwrap();
    let home = place.path().join(OsStr::from_bytes(b"caf\xe9"));
    let mut command = lab.command(&["run", "--np", "1", "--data", "generated"]);
    let output = command.env("HVD_LAB_HOME", &home).current_dir(place.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(said.contains(r"caf\xE9") && said.contains("UTF-8") && said.contains("HVD_LAB_HOME"), "{said}");
    let runs = entries(place.path()).into_iter().filter(|(path, ..)| path.components().any(|part| part.as_os_str() == "0001"));
    assert_eq!(runs.count(), 0);
}

#[test]
fn images_in_a_folder_that_is_not_utf_8_are_refused() {
    let lab = Lab::with_fake_mpirun("4");
    let place = tempfile::tempdir().unwrap();
    let images = place.path().join(OsStr::from_bytes(b"caf\xe9"));
    let names = ["train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"];
    fs::create_dir(&images).unwrap();
    for (name, is_images) in names.iter().zip([true, false, true, false]) {
        let head: &[u32] = if is_images { &[0x803, 1, 28, 28] } else { &[0x801, 1] };
        let body = vec![0; if is_images { 784 } else { 1 }];
        let bytes: Vec<u8> = head.iter().flat_map(|word| word.to_be_bytes()).chain(body).collect();
        fs::write(images.join(format!("{name}-ubyte")), bytes).unwrap();
    }
    let output = lab.command(&["run", "--np", "1", "--data-dir"]).arg(&images).output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(r"caf\xE9") && said.contains("rename it"), "{said}");
    assert_eq!(lab.store().ids(), []);
}
