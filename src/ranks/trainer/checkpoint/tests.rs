//! What may happen to a checkpoint, done to real files.
//!
//! Never leaves a file behind: every test has a folder of its own that goes with it.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::process::Command;

use super::*;

fn checkpoint(epoch: usize) -> Checkpoint {
    let array = |shape: &[usize], first: f32| {
        let values: Vec<f32> = (0..shape.iter().product()).map(|i| first + i as f32).collect();
        (shape.to_vec(), values)
    };
    Checkpoint {
        epoch,
        images: 0,
        steps: "1-7".into(),
        seed: u64::MAX,
        model: "wrn-10-1".into(),
        optimizer: "sgd".into(),
        tensors: BTreeMap::from([
            ("model.stem.weight".into(), array(&[2, 1, 3, 3], epoch as f32)),
            ("model.dense.bias".into(), array(&[10], f32::MIN_POSITIVE)),
            ("buffer.norm.mean".into(), array(&[3], -0.5)),
            ("optimizer.momentum".into(), array(&[28], 0.25)),
            ("optimizer.second".into(), array(&[], 7.0)),
            ("buffer.empty".into(), array(&[0, 4], 0.0)),
        ]),
        metadata: BTreeMap::from([("met_target".into(), "1".into()), ("format".into(), "mine".into())]),
    }
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn what_is_saved_is_loaded_bit_for_bit() {
    let folder = folder();
    let mut original = checkpoint(3);
    original.tensors.get_mut("model.dense.bias").unwrap().1[1] = -0.0;
    let logs = folder.path().join("not-there-yet");
    let written = save(&logs, &original).unwrap();
    assert_eq!(names(&logs), ["checkpoint-3.safetensors"]);
    assert_eq!(written.path, path(&logs, 3).display().to_string());
    assert_eq!(written.bytes, Some(std::fs::metadata(&written.path).unwrap().len()));
    let (loaded, read) = load(Path::new(&written.path)).unwrap();
    let written = CheckpointReport { action: CheckpointAction::Loaded, ..written };
    assert_eq!((&loaded, read), (&original, written));
    assert!(loaded.tensors["model.dense.bias"].1[1].is_sign_negative());
}

#[test]
fn the_digest_is_that_of_the_weights_in_the_order_of_their_names() {
    let checkpoint = checkpoint(1);
    let (dense, stem) = (&checkpoint.tensors["model.dense.bias"].1, &checkpoint.tensors["model.stem.weight"].1);
    let flat: Vec<f32> = dense.iter().chain(stem).copied().collect();
    assert_eq!(checkpoint.parameters_digest(), crate::trainer::digest::digest(&flat));
}

#[test]
fn every_cut_and_every_flipped_bit_is_noticed() {
    let folder = folder();
    let path = PathBuf::from(save(folder.path(), &checkpoint(1)).unwrap().path);
    let whole = std::fs::read(&path).unwrap();
    for length in 0..whole.len() {
        std::fs::write(&path, &whole[..length]).unwrap();
        let reason = load(&path).expect_err(&format!("cut to {length} of {}", whole.len()));
        assert_eq!(reason, Reason::Truncated(length as u64));
    }
    for offset in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[offset] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert!(load(&path).is_err(), "byte {offset} of {}", whole.len());
    }
    let mut bytes = whole.clone();
    *bytes.last_mut().unwrap() ^= 0x40;
    std::fs::write(&path, &bytes).unwrap();
    assert!(matches!(load(&path), Err(Reason::Corrupt(_))));
}

#[test]
fn other_files_under_the_name_are_foreign() {
    let folder = folder();
    let path = path(folder.path(), 1);
    std::fs::write(&path, "a text that somebody saved here").unwrap();
    assert_eq!(load(&path).unwrap_err().to_string(), "foreign: no safetensors file");

    let bytes = [0u8; 8];
    let tensors = || [("weight", safetensors::tensor::TensorView::new(safetensors::Dtype::F32, vec![2], &bytes).unwrap())];
    safetensors::serialize_to_file(tensors(), None, &path).unwrap();
    assert_eq!(load(&path).unwrap_err().to_string(), "foreign: a safetensors file of another program");

    let newer = HashMap::from([("format".into(), "hvd-lab-checkpoint".into()), ("version".into(), "2".into())]);
    safetensors::serialize_to_file(tensors(), Some(newer), &path).unwrap();
    assert_eq!(load(&path).unwrap_err().to_string(), "foreign: version 2 of the format, this program reads 1");

    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    assert_eq!(load(&path).unwrap_err(), Reason::Folder);
}

/// A file of the name with a header of our format, and as many bytes behind it as are given.
fn hostile(path: &Path, header: &str, length: u64) {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(header.as_bytes());
    std::fs::write(path, &bytes).unwrap();
    // Sparse: it needs no room.
    std::fs::File::options().write(true).open(path).unwrap().set_len(bytes.len() as u64 + length).unwrap();
}

#[test]
fn headers_that_lie_are_refused_and_nothing_is_read_on_their_word() {
    let folder = folder();
    let path = path(folder.path(), 1);
    let ours = r#""__metadata__":{"format":"hvd-lab-checkpoint","version":"1","sha256":"0"}"#;
    let tensor = |kind: &str, shape: &str, end: u64| {
        format!(r#"{{{ours},"model.x":{{"dtype":"{kind}","shape":{shape},"data_offsets":[0,{end}]}}}}"#)
    };
    let terabyte = 1 << 40;
    let cases = [
        ("of another program", r#"{"x":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}"#.to_owned(), terabyte, "foreign: "),
        ("longer than announced", tensor("F32", "[4]", 16), terabyte, "truncated: "),
        ("shorter than announced", tensor("F32", "[1099511627776]", 1 << 42), 16, "truncated: "),
        ("shape that does not fit", tensor("F32", "[5]", 16), 16, "corrupt: "),
        ("shape beyond all numbers", tensor("F32", "[18446744073709551615,18446744073709551615]", 16), 16, "corrupt: "),
        ("offset beyond all numbers", tensor("F32", "[4]", u64::MAX), 16, "corrupt: "),
        ("kind of number", tensor("F64", "[2]", 16), 16, "foreign: `model.x` is F64, not F32"),
        ("another seal", tensor("F32", "[4]", 16), 16, "corrupt: its SHA-256"),
        ("deep", "[".repeat(1 << 20), 16, "corrupt: "),
        ("no JSON", "x".repeat(100), 16, "corrupt: "),
    ];
    for (name, header, length, expected) in cases {
        hostile(&path, &header, length);
        let reason = load(&path).unwrap_err().to_string();
        assert!(reason.starts_with(expected), "{name}: {reason}");
    }
    // A header of a terabyte, which is not there or not read.
    for length in [0, terabyte] {
        std::fs::write(&path, (1u64 << 40).to_le_bytes()).unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_len(8 + length).unwrap();
        assert_eq!(load(&path).unwrap_err().to_string(), "foreign: no safetensors file");
    }
    std::fs::remove_file(&path).unwrap();
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert!(matches!(load(&path), Err(Reason::Unreadable(_))), "a pipe is not waited for");
}

#[test]
fn the_newest_that_fits_is_taken_and_the_refused_are_named() {
    let folder = folder();
    let found = |up_to| {
        let (found, refused) = latest(folder.path(), up_to, u64::MAX, |_| Ok(()));
        (found.map(|(checkpoint, _)| checkpoint), refused)
    };
    assert_eq!(latest(&folder.path().join("nowhere"), 9, u64::MAX, |_| Ok(())), (None, vec![]));
    assert_eq!(found(9), (None, vec![]));

    for epoch in 1..=5 {
        save(folder.path(), &checkpoint(epoch)).unwrap();
    }
    std::fs::write(folder.path().join(".checkpoint-6.99-99.tmp"), "left by a dead process").unwrap();
    std::fs::write(folder.path().join("checkpoint-007.safetensors"), "no name of ours").unwrap();
    std::fs::write(folder.path().join("checkpoint-0.safetensors"), "nor this").unwrap();
    assert_eq!(found(9), (Some(checkpoint(5)), vec![]));
    assert_eq!(found(2), (Some(checkpoint(2)), vec![]), "no more epochs than asked for");

    let cut = std::fs::read(path(folder.path(), 5)).unwrap();
    std::fs::write(path(folder.path(), 5), &cut[..cut.len() / 2]).unwrap();
    std::fs::copy(path(folder.path(), 1), path(folder.path(), 4)).unwrap();
    let (found, refused) = found(9);
    assert_eq!(found, Some(checkpoint(3)));
    assert!(matches!(refused[0].reason, Reason::Truncated(_)) && refused[0].path == path(folder.path(), 5));
    assert!(refused[1].to_string().ends_with("is of another training: it holds epoch 1, not 4"), "{}", refused[1]);
    assert_eq!((refused.len(), refused[1].report().epoch), (2, 4));
}

#[test]
fn checkpoints_of_another_training_are_refused_in_the_trainings_own_words() {
    let folder = folder();
    save(folder.path(), &checkpoint(1)).unwrap();
    save(folder.path(), &Checkpoint { model: "wrn-16-10".into(), ..checkpoint(2) }).unwrap();
    let fits = |checkpoint: &Checkpoint| match checkpoint.model.as_str() {
        "wrn-10-1" => Ok(()),
        other => Err(Reason::Mismatch(format!("it is of model {other}, this run uses wrn-10-1"))),
    };
    let (found, refused) = latest(folder.path(), 9, u64::MAX, fits);
    assert_eq!(found.map(|(checkpoint, file)| (checkpoint.epoch, file.epoch)), Some((1, 1)));
    assert_eq!(refused[0].reason.to_string(), "of another training: it is of model wrn-16-10, this run uses wrn-10-1");
}

#[test]
fn a_folder_that_cannot_be_written_is_named_and_nothing_is_left() {
    let folder = folder();
    let file = folder.path().join("file");
    std::fs::write(&file, "in the way").unwrap();
    let error = save(&file, &checkpoint(2)).unwrap_err().to_string();
    assert!(error.contains("checkpoint-2.safetensors") && error.contains("Earlier checkpoints are kept"), "{error}");
    assert!(error.contains("Where its folder should be, there is a file: move that away"), "{error}");
}

#[test]
fn a_folder_in_the_place_of_a_checkpoint_or_a_commit_is_named_as_one_and_never_taken() {
    let folder = folder();
    let within = |images| Checkpoint { images, ..checkpoint(1) };
    for images in [0, 64, 128] {
        save(folder.path(), &within(images)).unwrap();
    }
    let commit = Progress { epoch: 1, images: 192 }.file_name();
    for name in [&commit, "checkpoint-2.safetensors"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    for whole in [within(192), checkpoint(2)] {
        let error = save(folder.path(), &whole).unwrap_err().to_string();
        assert!(error.contains("There is a folder of that name: move it away or remove it"), "{error}");
        assert!(!error.contains("Free some space"), "{error}");
    }
    let (found, refused) = latest(folder.path(), 9, u64::MAX, |_| Ok(()));
    assert_eq!(found.map(|(found, _)| found), Some(within(128)));
    let refused: Vec<String> = refused.iter().map(Refused::to_string).collect();
    assert!(refused[1].ends_with(&format!("{commit}` is a folder, not a file: move it away or remove it")), "{refused:?}");
    // Of the commits, the newest is kept, and the folder is none of them.
    prune(folder.path(), Progress { epoch: 2, images: 0 }, 1);
    let commits = ["checkpoint-1.safetensors", "checkpoint-2.safetensors", "commit-1-128.safetensors", &commit];
    assert_eq!(names(folder.path()), commits, "no temporary file is left either");
}

#[test]
fn names_with_numbers_that_no_training_reaches_are_other_files() {
    let folder = folder();
    save(folder.path(), &checkpoint(1)).unwrap();
    let copy = |name: String| std::fs::copy(path(folder.path(), 1), folder.path().join(name)).unwrap();
    for number in ["18446744073709551615", "99999999999999999999", "-1", "+2", "02"] {
        copy(format!("checkpoint-{number}.safetensors"));
        copy(format!("commit-1-{number}.safetensors"));
    }
    let (found, refused) = latest(folder.path(), usize::MAX, u64::MAX, |_| Ok(()));
    assert_eq!((found.map(|(found, _)| found.epoch), refused), (Some(1), vec![]));
    prune(folder.path(), Progress { epoch: usize::MAX, images: 0 }, 0);
    assert_eq!(names(folder.path()).len(), 11, "what is not ours stays");
}

/// Where [`on_a_full_disk`] finds the small disk that the test below mounts for it.
const SMALL_DISK: &str = "HVD_LAB_SMALL_DISK";

#[test]
fn a_full_disk_loses_nothing() {
    let folder = folder();
    // A file system of 64 KiB, in a mount namespace that ends with the process: nothing to unmount.
    let script = "mount -t tmpfs -o size=64k none \"$1\" || exit 77; shift; exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]).arg(folder.path());
    command.arg(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "trainer::checkpoint::tests::on_a_full_disk", "--nocapture"]);
    let output = command.env(SMALL_DISK, folder.path()).output();
    let Some(output) = output.ok().filter(|output| String::from_utf8_lossy(&output.stdout).contains("running 1 test")) else {
        eprintln!("skipped: this machine lets nobody mount a small disk");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
#[ignore = "started on a small disk by the test above"]
fn on_a_full_disk() {
    let Some(disk) = std::env::var_os(SMALL_DISK).map(PathBuf::from) else { return };
    let mut large = checkpoint(2);
    save(&disk, &checkpoint(1)).unwrap();
    large.tensors.insert("model.large".into(), (vec![50_000], vec![1.0; 50_000]));
    let error = save(&disk, &large).unwrap_err();
    assert_eq!(error.cause.raw_os_error(), Some(nix::errno::Errno::ENOSPC as i32));
    let text = format!("{:#}", anyhow::Error::from(error));
    assert_eq!(text.matches("No space left").count(), 1, "{text}");
    assert!(text.contains("--log-dir") && text.contains("196 KiB") && text.contains("checkpoint-2"), "{text}");
    assert_eq!(names(&disk), ["checkpoint-1.safetensors"]);
    assert_eq!(load(&path(&disk, 1)).unwrap().0, checkpoint(1));
}

#[test]
fn many_writers_of_one_file_leave_it_whole_and_one_of_theirs() {
    let folder = folder();
    save(folder.path(), &checkpoint(1)).unwrap();
    let writers: Vec<Checkpoint> = (0..4).map(|i| Checkpoint { epoch: 2, ..checkpoint(100 + i) }).collect();
    std::thread::scope(|scope| {
        for writer in &writers {
            scope.spawn(|| (0..5).for_each(|_| drop(save(folder.path(), writer).unwrap())));
        }
    });
    let report = inspect(folder.path(), 2);
    let digest = report.digest.unwrap();
    assert!(writers.iter().any(|writer| writer.parameters_digest() == digest));
    assert!(report.note.unwrap().contains("the last to rename its file wins"));
    assert_eq!(names(folder.path()), ["checkpoint-1.safetensors", "checkpoint-2.safetensors"]);
    assert_eq!(load(&path(folder.path(), 1)).unwrap().0, checkpoint(1), "the one before is untouched");
    assert!(inspect(folder.path(), 3).note.unwrap().contains("unreadable"));
}

#[test]
fn a_run_that_was_removed_is_not_made_again() {
    let home = tempfile::tempdir().unwrap();
    let logs = home.path().join("0001/logs");
    let error = save(&logs, &checkpoint(1)).unwrap_err().to_string();
    assert!(error.contains("No such file") && !home.path().join("0001").exists(), "{error}");
}

#[test]
fn commits_lie_between_the_ends_of_epochs_and_old_ones_go() {
    let folder = tempfile::tempdir().unwrap();
    let within = |epoch, images| Checkpoint { images, ..checkpoint(epoch) };
    for (epoch, images) in [(1, 0), (1, 64), (1, 128), (1, 192), (2, 0)] {
        save(folder.path(), &within(epoch, images)).unwrap();
    }
    let newest = |up_to| latest(folder.path(), up_to, u64::MAX, |_| Ok(())).0.map(|(found, _)| (found.epoch, found.images));
    assert_eq!(newest(9), Some((2, 0)));
    std::fs::remove_file(path(folder.path(), 2)).unwrap();
    assert_eq!(
        (newest(9), newest(1)),
        (Some((1, 192)), Some((1, 0))),
        "a run that is to end with epoch 1 has not begun the next"
    );
    prune(folder.path(), Progress { epoch: 1, images: 192 }, 1);
    let there = |images| folder.path().join(Progress { epoch: 1, images }.file_name()).exists();
    assert_eq!([64, 128, 192, 0].map(there), [false, true, true, true]);
    // A file that was renamed by hand is not what it says.
    std::fs::rename(folder.path().join("commit-1-192.safetensors"), folder.path().join("commit-1-500.safetensors")).unwrap();
    assert_eq!(newest(9), Some((1, 128)));
}

#[test]
fn a_folder_has_one_owner_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let first = claim(folder.path()).unwrap();
    let second = claim(folder.path()).err().unwrap();
    assert!(second.to_string().contains("another training writes to it"), "{second}");
    drop(first);
    assert!(claim(folder.path()).is_ok());
    assert!(claim(&folder.path().join("gone")).is_err());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "it leaves nothing there");
}
