//! Folders with a few images in the files that the trainer reads: it would draw all 70,000 garments, and test itself on 10,000, which takes
//! ten times as long as to train on some hundreds.

use std::path::Path;
use std::sync::OnceLock;

use super::dataset::{self, Location, SplitKind};

/// Images of the folder that all tests share.
pub const TRAIN_IMAGES: usize = 2000;
pub const TEST_IMAGES: usize = 1000;

/// Writes the first generated garments into a folder.
pub fn draw(folder: &Path, train_images: usize, test_images: usize) {
    std::fs::create_dir_all(folder).unwrap();
    for (kind, name, count) in [(SplitKind::Train, "train", train_images), (SplitKind::Test, "t10k", test_images)] {
        let split = dataset::load(&Location::Generated, kind, Some(count)).unwrap();
        let header = |magic: u32, sizes: &[u32]| -> Vec<u8> {
            [magic].iter().chain(sizes).flat_map(|number| number.to_be_bytes()).collect()
        };
        let mut images = header(2051, &[count as u32, 28, 28]);
        (0..count).for_each(|index| images.extend(split.image(index)));
        let labels = [header(2049, &[count as u32]), split.labels.clone()].concat();
        for (what, content) in [("images-idx3", images), ("labels-idx1", labels)] {
            let file = folder.join(format!("{name}-{what}-ubyte"));
            // Another test program may read it at this moment.
            let new = folder.join(format!("{name}-{what}-{}", std::process::id()));
            std::fs::write(&new, content).unwrap();
            std::fs::rename(new, file).unwrap();
        }
    }
}

/// The folder that all tests share.
pub fn few() -> &'static str {
    static FOLDER: OnceLock<String> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("few-images");
        draw(&folder, TRAIN_IMAGES, TEST_IMAGES);
        folder.display().to_string()
    })
}
