//! Photos by the real programs: drawn, packed, trained on by one rank and by two, tested, compared, and damaged.

use super::*;
use crate::support::lab::program;
use crate::support::needs::skip;

/// The program is the one built beside the lab.
fn with_nvcnn() -> Option<Lab> {
    let nvcnn = program().with_file_name("hvd-measure");
    if nvcnn.is_file() {
        return Some(Lab::with_mpirun()?.env("HVD_MEASURE", &nvcnn.display().to_string()));
    }
    skip("train", "no hvd-measure beside hvd-lab; `make test` builds it");
    None
}

fn done(lab: &Lab, line: &str) -> String {
    let output = lab.run(&line.split_whitespace().collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(0), "{line}: {}{}", stdout(&output), stderr(&output));
    stdout(&output)
}

#[test]
fn photos_are_trained_on_tested_compared_and_named_when_they_are_damaged() {
    let (_turn, Some(lab)) = (turn(), with_nvcnn()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (photos, records, logs) = (at("photos"), at("records"), at("logs"));
    done(&lab, &format!("data make-images --out {photos} --images 24 --classes 2 --size 48x48"));
    done(&lab, &format!("data tfrecord {photos} --out {records} --shards 2 --validation 0.25"));
    let small = "nvcnn -m trivial --image-size 24 -b 3 --no-cuda";
    let said = done(&lab, &format!("{small} --np 1 --num_epochs 3 --data_dir {records}"));
    assert!(said.contains("  Step Epoch Img/sec   Loss   LR") && said.contains("Num images:  18"), "{said}");
    done(&lab, &format!("{small} --np 2 --num_epochs 3 --data_dir {records} --log_dir {logs}"));
    let said = done(&lab, &format!("{small} --np 2 --eval --data_dir {records} --log_dir {logs}"));
    assert!(said.contains("Validation Top-1: ") && said.contains("over 6 images"), "{said}");
    for (id, message) in [(1, "trained 18 steps"), (2, "trained 9 steps"), (3, "tested 6 images")] {
        assert_eq!(lab.status(id).message, message);
        lab.assert_nothing_left(id);
    }
    let two = lab.store().summary(RunId(2)).unwrap();
    assert!(two.figures.images_per_sec.is_some() && two.train.is_some() && two.validation.is_none(), "{two:?}");
    assert!(lab.store().record(RunId(2)).unwrap().data_label.ends_with("records (generated)"));
    let rows: serde_json::Value = serde_json::from_str(&done(&lab, "compare 1 2 --json")).unwrap();
    assert!(rows.to_string().contains("\"speedup\":"), "{rows}");
    assert!(done(&lab, "runs").contains("nvcnn trivial"));

    std::fs::write(folder.path().join("photos/000-disc/bad.jpg"), b"no").unwrap();
    let line = format!("{small} --np 2 --num_epochs 3 --data_dir {photos}");
    let output = lab.run(&line.split_whitespace().collect::<Vec<_>>());
    assert_ne!(output.status.code(), Some(0), "{}", stdout(&output));
    assert!(lab.status(4).message.contains("bad.jpg: it is not a JPEG"), "{}", lab.status(4).message);
    let said = done(&lab, &format!("{line} --bad-records skip"));
    assert!(said.contains("1 bad image or file was left out: ") && said.contains("bad.jpg"), "{said}");

    for (line, words) in [
        (format!("{small} --data_dir {}", at("nowhere")), "nowhere cannot be read"),
        (format!("{small} --fp16"), "use --precision bf16"),
        (format!("{small} --eval --data_dir {records}"), "give its folder with --log-dir"),
        ("check 2".to_owned(), "has no steps to switch"),
    ] {
        let output = lab.run(&line.split_whitespace().collect::<Vec<_>>());
        assert_eq!((output.status.code(), stderr(&output).lines().count()), (Some(2), 1), "{line}: {}", stderr(&output));
        assert!(stderr(&output).contains(words), "{line}: {}", stderr(&output));
    }
}
