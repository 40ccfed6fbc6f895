//! Lists of boxes as people, spreadsheets and TensorFlow's scripts write them.

use hvd_lab_terminal::dataset::images::{self, BadRecords, Part};

use super::{drawn, open};

#[test]
fn boxes_are_cut_to_the_edge_or_refused_with_their_line() {
    let folder = drawn();
    let list = folder.path().join("photos/boxes.csv");
    let open = || images::open(&folder.path().join("photos"), Part::Train, 3, BadRecords::Stop);
    std::fs::write(&list, "\u{feff}000-disc/000000.jpg,0.1,-0.001,0.9,1.0016\r\n").unwrap();
    let found = open().unwrap().source.read(0, &mut Vec::new()).unwrap().boxes[0];
    assert_eq!((found.ymin, found.xmin, found.ymax, found.xmax), (0.1, 0.0, 0.9, 1.0));
    for (line, expected) in [
        ("000-disc/000000.jpg,12,40,300,280", "has 12: the sides are fractions"),
        ("000-disc/000000.jpg,10%,10%,90%,90%", "is not `class/file.jpg"),
        ("000-disc/000000.jpg,0.9,0,0.1,1", "a minimum above its maximum"),
        ("000-disc/none.jpg,0,0,1,1", "names 000-disc/none.jpg"),
        ("000-disc/000000.jpg,0,0,1", "is not `class/file.jpg"),
    ] {
        std::fs::write(&list, format!("000-disc/000000.jpg,0,0,1,1\n{line}\n")).unwrap();
        let error = open().err().unwrap().to_string();
        assert!(error.contains("boxes.csv: line 2 ") && error.contains(expected), "{error}");
    }
}

#[test]
fn boxes_are_read_as_spreadsheets_and_tensorflows_scripts_write_them() {
    let rows: [(&str, &str); 12] = [
        ("boxes.csv", "000-disc/000000.jpg,0.1,0.2,0.8,0.9"),
        ("boxes.csv", "name;ymin;xmin;ymax;xmax;\r\n000-disc/000000.jpg; 0,1; 0,2; 0,8; 0,9;\r\n;;;;;\r\n"),
        ("boxes.csv", "\u{feff}filename,xmin,ymin,xmax,ymax,class\n\"000000.jpg\", 0.2, 0.1, 0.9, 0.8, disc"),
        ("boxes.csv", "Image\tX1\tX2\tY1\tY2\n000000\t0.2\t0.9\t0.1\t0.8"),
        ("boxes.csv", "# mine\n\n000-disc\\000000.jpg\t0.1\t0.2\t0.8\t0.9"),
        ("boxes.csv", "photos/000-disc/000000.JPEG,0.1,0.2,0.8,0.9"),
        ("boxes.csv", "./000-disc/000000,0.1,0.2,0.8,0.9"),
        ("../boxes.csv", "train/000-disc/000000.jpg,0.1,0.2,0.8,0.9\nval/001-square/7.jpg,0,0,1,1"),
        ("imagenet_2012_bounding_boxes.csv", "000000.JPEG,0.2,0.1,0.9,0.8\nn02_1.JPEG,0,0,1,1"),
        ("../imagenet_2012_bounding_boxes.csv", "000000.JPEG,0.2,0.1,0.9,0.8"),
        // A list that is nobody's: beside the folder, which is no part.
        ("../../boxes.csv", ""),
        ("boxes.csv", ""),
    ];
    let folder = drawn();
    let train = folder.path().join("train");
    std::fs::rename(folder.path().join("photos"), &train).unwrap();
    std::fs::remove_file(train.join("boxes.csv")).unwrap();
    for (name, text) in rows {
        let list = train.join(name);
        std::fs::write(&list, text).unwrap();
        let images = open(folder.path(), Part::Train);
        let boxes = images.source.read(0, &mut Vec::new()).unwrap().boxes;
        let found: Vec<_> = boxes.iter().map(|found| (found.ymin, found.xmin, found.ymax, found.xmax)).collect();
        let expected = if text.is_empty() { vec![] } else { vec![(0.1, 0.2, 0.8, 0.9)] };
        assert_eq!(found, expected, "{name}: {text}");
        let has_strangers = text.contains("val/") || text.contains("n02");
        assert_eq!(images.notes.iter().any(|note| note.contains("1 line is of no photo")), has_strangers, "{:?}", images.notes);
        std::fs::remove_file(&list).unwrap();
    }
    for (text, expected) in [
        (&b"ImageId,PredictionString\n1,2"[..], "line 1 has the headings ImageId,PredictionString: write name, ymin"),
        (b"\xff\xfe0\0", "save it as UTF-8"),
        (b"name,x,y,w,h\n000000.jpg,0,0,1,1", "line 1 has the headings"),
    ] {
        std::fs::write(train.join("boxes.csv"), text).unwrap();
        let error = images::open(folder.path(), Part::Train, 3, BadRecords::Stop).err().unwrap().to_string();
        assert!(error.contains("boxes.csv: ") && error.contains(expected), "{error}");
    }
    std::fs::copy(train.join("000-disc/000000.jpg"), train.join("001-square/000000.jpg")).unwrap();
    std::fs::write(train.join("boxes.csv"), "000000.jpg,0,0,1,1").unwrap();
    let error = images::open(folder.path(), Part::Train, 3, BadRecords::Stop).err().unwrap().to_string();
    assert!(error.contains("there are several such photos: write class/file.jpg"), "{error}");
}
