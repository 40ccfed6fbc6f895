//! Data files good and bad, as a user may hand them over: each fault gets one message naming file, expected and found.
//!
//! Never uses the network beyond 127.0.0.1, nor the user's own cache.

use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::{Compression, write::GzEncoder};
use hvd_lab_core::dataset::{self, Collection, FASHION_MNIST, Location, SplitKind};
use hvd_lab_core::domain::training::DataSource;

const IMAGE_BYTES: usize = FASHION_MNIST.numbers();

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn images(count: usize) -> Vec<u8> {
    let pixels = (0..count * IMAGE_BYTES).map(|index| (index * 7 % 251) as u8);
    words(&[0x803, count as u32, 28, 28]).into_iter().chain(pixels).collect()
}

fn labels(count: usize) -> Vec<u8> {
    words(&[0x801, count as u32]).into_iter().chain((0..count).map(|index| (index % 10) as u8)).collect()
}

/// A folder with 20 training and 10 test images.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let files = [
        ("train-images-idx3-ubyte.gz", images(20)),
        ("train-labels-idx1-ubyte.gz", labels(20)),
        ("t10k-images-idx3-ubyte.gz", images(10)),
        ("t10k-labels-idx1-ubyte.gz", labels(10)),
    ];
    for (name, content) in files {
        std::fs::write(folder.path().join(name), gzip(&content)).unwrap();
    }
    folder
}

fn load(folder: &Path, limit: Option<usize>) -> Result<dataset::Split, String> {
    let location = Location::Folder(folder.to_owned());
    dataset::load(&location, SplitKind::Train, limit).map_err(|error| error.to_string())
}

#[test]
fn compressed_and_plain_files_read_alike_and_a_limit_gives_a_prefix() {
    let folder = folder();
    let all = load(folder.path(), None).unwrap();
    assert_eq!((all.len(), all.images.len()), (20, 20 * IMAGE_BYTES));
    assert_eq!(all.image(0), &images(20)[16..16 + IMAGE_BYTES]);
    let some = load(folder.path(), Some(7)).unwrap();
    assert_eq!(some.labels, all.labels[..7]);
    assert_eq!(some.images, all.images[..7 * IMAGE_BYTES]);
    assert_eq!(load(folder.path(), Some(1000)).unwrap(), all);

    for (name, content) in [("train-images-idx3-ubyte", images(20)), ("train-labels-idx1-ubyte", labels(20))] {
        std::fs::remove_file(folder.path().join(format!("{name}.gz"))).unwrap();
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    assert_eq!(load(folder.path(), None).unwrap(), all);
    assert_eq!(load(folder.path(), Some(7)).unwrap(), some);
}

#[test]
fn files_are_found_as_torchvision_kaggle_and_emnist_lay_them_down() {
    // What each of the four names becomes, below the data folder.
    type Layout = (&'static str, fn(&str) -> String);
    let layouts: [Layout; 8] = [
        ("torchvision", |name| format!("FashionMNIST/raw/{name}")),
        ("torchvision's folder of one set", |name| format!("raw/{}", name.trim_end_matches(".gz"))),
        ("Kaggle, a folder each", |name| format!("archive/{0}/{0}", name.trim_end_matches(".gz"))),
        ("Kaggle, dots", |name| name.trim_end_matches(".gz").replace("-idx", ".idx")),
        ("EMNIST", |name| format!("gzip/emnist-digits-{}", name.replace("t10k", "test"))),
        ("short names", |name| name.replace("-idx3-ubyte", "").replace("-idx1-ubyte", "")),
        ("underscores", |name| name.replace('-', "_").to_uppercase().replace(".GZ", ".gz")),
        ("as published", str::to_owned),
    ];
    let expected = load(folder().path(), None).unwrap();
    for (layout, place) in layouts {
        let (from, to) = (folder(), tempfile::tempdir().unwrap());
        for entry in std::fs::read_dir(from.path()).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let target = to.path().join(place(&name));
            std::fs::create_dir_all(target.parent().unwrap()).unwrap();
            std::fs::rename(from.path().join(&name), target).unwrap();
        }
        assert_eq!(load(to.path(), None).as_ref(), Ok(&expected), "{layout}");
        assert_eq!(dataset::locate(DataSource::Auto, Some(to.path()), true).unwrap().label, "custom images", "{layout}");
    }
}

#[test]
fn files_that_are_not_found_or_several_are_named() {
    let name = "train-images-idx3-ubyte";
    let (several, torchvision) = (["MNIST/raw/", "FashionMNIST/raw/"], tempfile::tempdir().unwrap());
    for place in several {
        std::fs::create_dir_all(torchvision.path().join(place)).unwrap();
        std::fs::write(torchvision.path().join(place).join(name), images(1)).unwrap();
    }
    let message = load(torchvision.path(), None).unwrap_err();
    assert!(message.contains("several sets of images") && several.iter().all(|place| message.contains(place)), "{message}");
    for there in ["mnist.npz", "fashion-mnist_train.csv", "train-images-idx3-ubyte.gz.part", "sub/train-images-idx3-ubyte (1).gz"]
    {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(there);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "x").unwrap();
        let message = load(folder.path(), None).unwrap_err();
        assert!(message.contains("there is only ") && message.contains(there) && message.contains(name), "{message}");
    }
}

/// What is wrong with a file, its bytes, and words that the message must hold.
type Fault = (&'static str, Vec<u8>, &'static [&'static str]);

fn image_faults() -> Vec<Fault> {
    let good = images(20);
    let packed = gzip(&good);
    let longer = [good.clone(), vec![0; 5]].concat();
    let mut flipped = packed.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 0x55;
    flipped[middle + 1] ^= 0x55;
    vec![
        ("empty", vec![], &["IDX header", "the file's end"]),
        ("cut header", good[..10].to_vec(), &["IDX header", "the file's end"]),
        ("cut plain", good[..good.len() - 1].to_vec(), &["20 values", "only 15679 bytes"]),
        ("cut gzip", packed[..packed.len() / 2].to_vec(), &["20 values", "damaged gzip"]),
        ("gzip without its end", packed[..packed.len() - 6].to_vec(), &["20 values", "damaged gzip"]),
        ("gzip header alone", packed[..10].to_vec(), &["IDX header"]),
        ("short content in sound gzip", gzip(&good[..good.len() - 1]), &["only 15679 bytes"]),
        ("one byte more", longer.clone(), &["15680 bytes in all", "more bytes"]),
        ("one byte more in gzip", gzip(&longer), &["more bytes"]),
        ("two files in one", [packed.clone(), packed.clone()].concat(), &["more bytes"]),
        ("flipped bits", flipped, &["20 values"]),
        ("a text", b"<html><body>404 Not Found</body></html>".to_vec(), &["IDX image file", "another kind of file"]),
        ("labels", labels(20), &["IDX image file", "IDX label file"]),
        ("MNIST of another size", words(&[0x803, 20, 32, 32]), &["28x28", "32x32"]),
        ("no images", words(&[0x803, 0, 28, 28]), &["at least 1", "found 0"]),
        ("a header that promises 3 TB", words(&[0x803, u32::MAX, 28, 28]), &["4294967295 values", "only 0 bytes"]),
        ("fewer than labels", gzip(&images(19)), &["19 labels", "found 20 labels"]),
    ]
}

#[test]
fn every_fault_of_an_image_file_is_named() {
    for (what, content, expected) in image_faults() {
        for limit in [None, Some(20), Some(3)] {
            let folder = folder();
            std::fs::write(folder.path().join("train-images-idx3-ubyte.gz"), &content).unwrap();
            // With a limit, what lies behind it may go unseen if the sizes fit; every other fault shows.
            let Err(message) = load(folder.path(), limit) else {
                let behind = ["flipped bits", "two files in one"].contains(&what) && limit == Some(3);
                assert!(behind, "{what} was accepted with limit {limit:?}");
                continue;
            };
            assert!(message.contains("train-") && message.contains("idx"), "{what}: {message}");
            assert!(!message.contains('\n'), "{what}: {message}");
            expected.iter().for_each(|part| assert!(message.contains(part), "{what}: `{part}` not in: {message}"));
        }
    }
}

/// A plain file that is as long as its header says, and needs no room on the disk.
fn sparse(folder: &Path, name: &str, header: &[u32], bytes: u64) {
    let _ = std::fs::remove_file(folder.join(format!("{name}.gz")));
    std::fs::write(folder.join(name), words(header)).unwrap();
    std::fs::File::options().write(true).open(folder.join(name)).unwrap().set_len(bytes).unwrap();
}

#[test]
fn of_a_file_that_announces_millions_nothing_is_read_that_is_not_asked_for() {
    let folder = folder();
    let (count, began) = (13_700_000u32, std::time::Instant::now());
    sparse(folder.path(), "train-images-idx3-ubyte", &[0x803, count, 28, 28], 16 + u64::from(count) * 784);
    let message = load(folder.path(), None).unwrap_err();
    assert!(message.contains("13700000 labels") && message.contains("found 20 labels"), "{message}");
    assert!(dataset::locate(DataSource::Auto, Some(folder.path()), true).unwrap_err().to_string().contains("found 20 labels"));

    sparse(folder.path(), "train-labels-idx1-ubyte", &[0x801, count], 8 + u64::from(count));
    let message = load(folder.path(), None).unwrap_err();
    assert!(message.contains("at most 1048576 images, or a limit") && message.contains("found 13700000"), "{message}");
    assert_eq!(load(folder.path(), Some(7)).unwrap().len(), 7);
    assert_eq!(dataset::locate(DataSource::Auto, Some(folder.path()), true).unwrap().label, "custom images");

    // A small gzip of zeros without end: no more is unpacked than the header announces.
    let packed = gzip(&[words(&[0x803, 20, 28, 28]), vec![0; 50 << 20]].concat());
    std::fs::write(folder.path().join("train-images-idx3-ubyte.gz"), packed).unwrap();
    std::fs::write(folder.path().join("train-labels-idx1-ubyte.gz"), gzip(&labels(20))).unwrap();
    let message = load(folder.path(), None).unwrap_err();
    assert!(message.contains("15680 bytes in all") && message.contains("more bytes"), "{message}");
    assert!(began.elapsed() < std::time::Duration::from_secs(60), "{:?}", began.elapsed());
}

#[test]
fn labels_beyond_nine_and_missing_things_are_named() {
    let folder = folder();
    let mut wrong = labels(20);
    wrong[8 + 5] = 11;
    std::fs::write(folder.path().join("train-labels-idx1-ubyte.gz"), gzip(&wrong)).unwrap();
    let message = load(folder.path(), None).unwrap_err();
    assert!(message.contains("labels 0 to 9") && message.contains("label 11 at index 5"), "{message}");

    std::fs::remove_file(folder.path().join("train-labels-idx1-ubyte.gz")).unwrap();
    let message = load(folder.path(), None).unwrap_err();
    assert!(message.contains("has no train-labels-idx1-ubyte.gz"), "{message}");

    std::fs::create_dir(folder.path().join("train-labels-idx1-ubyte.gz")).unwrap();
    assert!(load(folder.path(), None).unwrap_err().contains("a folder, pipe or device"));

    let message = load(&folder.path().join("nowhere"), None).unwrap_err();
    assert!(message.contains("cannot read") && message.contains("nowhere"), "{message}");
}

#[test]
fn own_images_are_accepted_from_a_folder_under_their_own_name_only() {
    let folder = folder();
    let located = dataset::locate(DataSource::Auto, Some(folder.path()), true).unwrap();
    assert_eq!(located.label, "custom images");
    assert_eq!(located.location, Location::Folder(folder.path().to_owned()));
    let demanded = dataset::locate(DataSource::FashionMnist, Some(folder.path()), true).unwrap_err();
    assert!(demanded.to_string().contains("not Fashion-MNIST"), "{demanded}");
    let cache = tempfile::tempdir().unwrap();
    let import = dataset::import(folder.path(), cache.path()).unwrap_err().to_string();
    assert!(import.contains("not an official file of Fashion-MNIST or MNIST"), "{import}");
    assert_eq!(std::fs::read_dir(cache.path()).unwrap().count(), 0, "the cache holds official files only");
    // A damaged folder is refused before any rank starts.
    std::fs::write(folder.path().join("t10k-images-idx3-ubyte.gz"), b"oops").unwrap();
    assert!(dataset::locate(DataSource::Auto, Some(folder.path()), true).is_err());
}

#[test]
fn the_word_generated_stands_for_the_generator() {
    let located = dataset::locate(DataSource::Auto, Some(Path::new("generated")), true).unwrap();
    assert_eq!((located.location, located.label.as_str()), (Location::Generated, "generated garments"));
    let split = dataset::load(&Location::Generated, SplitKind::Test, Some(5)).unwrap();
    assert_eq!(split.len(), 5);
    assert!(dataset::locate(DataSource::FashionMnist, Some(Path::new("generated")), true).is_err());

    let located = dataset::locate(DataSource::Auto, Some(Path::new("generated-digits")), true).unwrap();
    assert_eq!((located.location, located.label.as_str()), (Location::GeneratedDigits, "generated digits"));
    let digits = dataset::load(&Location::GeneratedDigits, SplitKind::Test, Some(5)).unwrap();
    assert!(digits.len() == 5 && !digits.may_mirror && split.may_mirror, "a digit in a mirror is no digit");
    for choice in [DataSource::Mnist, DataSource::FashionMnist] {
        let refused = dataset::locate(choice, Some(Path::new("generated-digits")), true).unwrap_err().to_string();
        assert!(refused.contains("in generated-digits are not "), "{refused}");
    }
}

#[test]
fn the_real_files_are_read_recognised_and_imported() {
    let Some(real) = crate::support::fashion_mnist::folder() else { return };
    let split = load(&real, None).unwrap();
    assert_eq!(split.len(), 60_000);
    assert_eq!(split.labels[..5], [9, 0, 0, 3, 0]);
    let test = dataset::load(&Location::Folder(real.clone()), SplitKind::Test, Some(5000)).unwrap();
    assert_eq!((test.len(), &test.labels[..5]), (5000, &[9, 2, 1, 1, 6][..]));

    let located = dataset::locate(DataSource::FashionMnist, Some(&real), true).unwrap();
    assert_eq!(located.label, "Fashion-MNIST");

    let home = tempfile::tempdir().unwrap();
    let cache: PathBuf = home.path().join("deep/data");
    assert!(!dataset::status(&Collection::FASHION_MNIST, &cache).unwrap().is_complete());
    // From names that are not the published ones.
    let dotted = home.path().join("dotted");
    std::fs::create_dir(&dotted).unwrap();
    for file in Collection::FASHION_MNIST.files() {
        std::fs::copy(real.join(file.name), dotted.join(file.name.replace("-idx", ".idx"))).unwrap();
    }
    dataset::import(&dotted, &cache).unwrap();
    assert!(dataset::status(&Collection::FASHION_MNIST, &cache).unwrap().is_complete());
    assert_eq!(std::fs::read_dir(&cache).unwrap().count(), 4);

    // They are kept unpacked, and also known as they were published.
    let (kept, published) = (cache.join("t10k-images-idx3-ubyte"), cache.join("t10k-images-idx3-ubyte.gz"));
    assert_eq!(std::fs::metadata(&kept).unwrap().len(), 7_840_016);
    let mut content = std::fs::read(&kept).unwrap();
    content[1000] ^= 1;
    std::fs::remove_file(&kept).unwrap();
    std::fs::write(&kept, content).unwrap();
    assert!(!dataset::status(&Collection::FASHION_MNIST, &cache).unwrap().is_complete());
    let located = dataset::locate(DataSource::Auto, Some(&cache), true).unwrap();
    assert_eq!(located.label, dataset::LABEL_CUSTOM);
    std::fs::remove_file(&kept).unwrap();
    std::fs::copy(real.join("t10k-images-idx3-ubyte.gz"), &published).unwrap();
    assert!(dataset::status(&Collection::FASHION_MNIST, &cache).unwrap().is_complete());

    // A byte changed later is found by the status, which reads everything.
    let victim = published;
    let mut content = std::fs::read(&victim).unwrap();
    content[1000] ^= 1;
    std::fs::remove_file(&victim).unwrap();
    std::fs::write(&victim, content).unwrap();
    assert!(!dataset::status(&Collection::FASHION_MNIST, &cache).unwrap().is_complete());
    dataset::import(&real, &cache).unwrap();
    assert!(dataset::status(&Collection::FASHION_MNIST, &cache).unwrap().is_complete());
    assert!(kept.is_file() && !victim.exists(), "what was damaged is gone");
}
