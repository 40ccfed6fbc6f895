//! Where photos and records lie as archives and programs leave them, and what is said of what cannot be used.

use hvd_lab_terminal::dataset::images::{self, BadRecords, Part};
use hvd_lab_terminal::dataset::{example, tfrecord};

use super::{contents, drawn, lab, open};

/// A folder with these files: a record in those that hold records, else a few bytes.
fn with_files(files: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in files {
        let path = folder.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let record = tfrecord::record(&example::Example { jpeg: b"x", label: Some(1), ..Default::default() }.to_bytes());
        let is_records = file.contains("-of-") || file.contains("tfrecord");
        std::fs::write(path, if is_records { record } else { b"\xff\xd8".to_vec() }).unwrap();
    }
    folder
}

#[test]
fn photos_are_found_in_the_layouts_of_archives_and_programs() {
    // Files, how many are trained on and kept for validation, and their classes.
    type Case = (&'static [&'static str], usize, usize, usize);
    let cases: [Case; 16] = [
        (&["cat/1.jpg", "cat/2.JPE", "dog/3.jfif", "dog/notes.txt"], 3, 0, 2),
        (&["train/cat/1.jpg", "train/dog/2.jpg", "valid/dog/1.jpg"], 2, 1, 2),
        (&["Train/cat/1.jpg", "Train/dog/2.jpg", "Test/dog/1.jpg"], 2, 1, 2),
        (&["train/cat/1.jpg", "train/dog/2.jpg", "val/cat/1.jpg", "test/1.jpg", "test/2.jpg"], 2, 1, 2),
        (&["set/set/train/cat/1.jpg", "set/set/train/dog/2.jpg", "set/set/val/cat/3.jpg", "set/readme.txt"], 2, 1, 2),
        (
            &["seg_train/seg_train/sea/1.jpg", "seg_train/seg_train/ice/1.jpg", "seg_test/seg_test/ice/2.jpg", "seg_pred/3.jpg"],
            2,
            1,
            2,
        ),
        (&["images/train/cat/1.jpg", "images/train/dog/1.jpg", "images/val/dog/2.jpg", "labels/train/cat/1.txt"], 2, 1, 2),
        (
            &[
                "ILSVRC/Data/CLS-LOC/train/n01/1.JPEG",
                "ILSVRC/Data/CLS-LOC/train/n02/1.JPEG",
                "ILSVRC/Annotations/train/n01/1.xml",
            ],
            2,
            0,
            2,
        ),
        (&["train/n01/images/1.JPEG", "train/n01/n01_boxes.txt", "train/n02/images/2.JPEG", "val/images/3.JPEG"], 2, 0, 2),
        // A class may be called as a part is.
        (&["bus/1.jpg", "car/1.jpg", "train/1.jpg"], 3, 0, 3),
        (&["train-00000-of-00002", "train-00001-of-00002", "validation-00000-of-00001", "labels.txt"], 2, 1, 3),
        (&["records/train/train-00000-of-00001", "records/validation/validation-00000-of-00001"], 1, 1, 3),
        (&["imagenet2012/5.1.0/imagenet2012-train.tfrecord-00000-of-00001", "imagenet2012/5.1.0/features.json"], 1, 0, 3),
        (&["train-00000-of-00001.tfrecord", "val-00000-of-00001.tfrecord", "test-00000-of-00001.tfrecord"], 1, 1, 3),
        (&["train_0.tfrecord", "train_1.tfrecord", "test_0.tfrecord"], 2, 1, 3),
        (&["__MACOSX/cat/._1.jpg", "cat/1.jpg", "dog/1.jpg", "dog/@eaDir/1.jpg", "dog/._1.jpg"], 2, 0, 2),
    ];
    for (files, train, validation, classes) in cases {
        let folder = with_files(files);
        let source = open(folder.path(), Part::Train).source;
        assert_eq!((source.len(), source.classes()), (train, classes), "{files:?}");
        let kept = images::open(folder.path(), Part::Validation, 3, BadRecords::Stop);
        assert_eq!(kept.map_or(0, |kept| kept.source.len()), validation, "{files:?}");
    }
}

#[test]
fn what_of_a_folder_cannot_be_used_is_said_in_one_sentence() {
    // Files, and what the error says, or a note where the others can be used.
    let cases: [(&[&str], &str); 19] = [
        (&["1.jpg", "2.jpg"], "its JPEGs lie in no folder of a class"),
        (&["train/cat.0.jpg", "train/dog.0.jpg", "test/1.jpg"], "train: its JPEGs lie in no folder of a class"),
        (&["train/images/1.jpg", "train/labels/1.txt"], "images: its JPEGs lie in no folder of a class"),
        (&["a/train/cat/1.jpg", "b/train/cat/1.jpg"], "it holds several sets of photos"),
        (
            &["train-00000-of-00002", "train-00001-of-00002", "train-00000-of-00004"],
            "two sets of records, train-*-of-00002 and train-*-of-00004",
        ),
        (
            &["train-00000-of-00002", "train-00001-of-00002.crdownload"],
            "download train-00001-of-00002.crdownload is not finished",
        ),
        (
            &["train.tfrecord-00000-of-00003", "train.tfrecord-00002-of-00003"],
            "train.tfrecord-00001-of-00003: the file is missing: 2 of 3",
        ),
        (&["train-00000-of-00001.part"], "1 unfinished download such as train-00000-of-00001.part is not used"),
        (&["train/n01.tar", "train/n02.tar"], "2 archives such as n01.tar are not unpacked: unpack them first"),
        (&["cat/1.png", "dog/2.webp", "dog/3.TIFF"], "3 files such as 1.png are not used, because only JPEGs are read"),
        (&["train-images-idx3-ubyte.gz"], "holds no train images"),
        (&["cat/1.jpg", "dog/1.jpg", "1.jpg"], "1 JPEG in"),
        (&["cat/1.jpg", "dog/1.jpg", "dog/2.png"], "1 file such as dog/2.png is not used, because only JPEGs are read: save"),
        (&["cat/1.jpg", "dog/1.jpg", "dog/2.jpg.part"], "1 unfinished download such as dog/2.jpg.part is not used"),
        (&["cat/1.jpg", "dog/1.jpg", "dog/more/2.jpg"], "dog/more: the JPEGs in it are a level too deep"),
        (&["cat/1.jpg", "dog/1.jpg", "emu/2.png"], "emu holds no JPEG: it is no class"),
        (&["photos/cat/1.jpg", "photos/dog/1.jpg"], "are in "),
        (&["all/1.jpg", "all/2.jpg"], "has a single class, all: the folders in it are the classes"),
        (&["train/cat/1.jpg", "train/dog/1.jpg", "val/1.jpg"], ""),
    ];
    for (files, expected) in cases {
        let folder = with_files(files);
        let said = match images::open(folder.path(), Part::Train, 3, BadRecords::Stop) {
            Ok(images) => images.notes,
            Err(error) => vec![error.to_string()],
        };
        assert_eq!(said.is_empty(), expected.is_empty(), "{files:?}: {said:?}");
        assert!(said.iter().all(|line| !line.contains('\n')), "{said:?}");
        assert!(said.is_empty() || said.iter().any(|line| line.contains(expected)), "{files:?}: {said:?}");
    }
    let folder = with_files(&["train/cat/1.jpg", "val/1.jpg"]);
    let error = images::open(folder.path(), Part::Validation, 3, BadRecords::Stop).err().unwrap().to_string();
    assert!(error.contains("val: its JPEGs lie in no folder of a class"), "{error}");
}

#[test]
fn records_of_tensorflow_datasets_count_their_labels_from_0() {
    let folder = with_files(&["set-train.tfrecord-00000-of-00001"]);
    // `{"image": b"x", "label": 2}` as an example of theirs.
    let feature = |name: &[u8], feature: &[u8]| [&[0x0a, name.len() as u8], name, &[0x12, feature.len() as u8], feature].concat();
    let entries = [feature(b"image", b"\x0a\x03\x0a\x01x"), feature(b"label", b"\x1a\x03\x0a\x01\x02")];
    let features: Vec<u8> = entries.iter().flat_map(|entry| [&[0x0a, entry.len() as u8], &entry[..]].concat()).collect();
    let example = [&[0x0a, features.len() as u8], &features[..]].concat();
    std::fs::write(folder.path().join("set-train.tfrecord-00000-of-00001"), tfrecord::record(&example)).unwrap();
    assert_eq!(contents(&open(folder.path(), Part::Train)), [(2, b"x".to_vec())]);
}

#[test]
fn folders_without_a_jpeg_are_no_classes_in_either_part_and_are_named() {
    let folder = drawn();
    let photos = folder.path().join("photos");
    std::fs::create_dir_all(photos.join("001-@eaDir/1.jpg")).unwrap();
    std::fs::create_dir(photos.join("002-empty")).unwrap();
    let (code, said, error) = lab(&["tfrecord", "photos", "--out", "records"], folder.path());
    assert_eq!((code, error.lines().count()), (0, 2), "{said}{error}");
    assert!(error.contains("001-@eaDir holds no JPEG") && error.contains("002-empty holds no JPEG"), "{error}");
    let labels = std::fs::read_to_string(folder.path().join("records/labels.txt")).unwrap();
    assert_eq!(labels, "000-disc\n001-square\n002-triangle\n");

    // A class of which no photo is kept for validation does not move the labels of the others.
    let divided = folder.path().join("divided");
    std::fs::create_dir_all(divided.join("val/001-square")).unwrap();
    std::fs::rename(&photos, divided.join("train")).unwrap();
    std::fs::rename(divided.join("train/002-triangle/000002.jpg"), divided.join("val/001-square/000002.jpg")).unwrap();
    std::fs::remove_file(divided.join("train/boxes.csv")).unwrap();
    let validation = open(&divided, Part::Validation);
    assert_eq!((contents(&validation)[0].0, validation.source.classes()), (1, 3));
    std::fs::rename(divided.join("val/001-square"), divided.join("val/other")).unwrap();
    let error = images::open(&divided, Part::Validation, 3, BadRecords::Stop).err().unwrap().to_string();
    assert!(error.contains("val/other") && error.contains("no such class"), "{error}");
}
