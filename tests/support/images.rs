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
    for (kind, count) in [(SplitKind::Train, train_images), (SplitKind::Test, test_images)] {
        let split = dataset::load(&Location::Generated, kind, Some(count)).unwrap();
        for (name, content) in dataset::files_of(kind, &split) {
            // Another test program may read it at this moment.
            let new = folder.join(format!("{name}-{}", std::process::id()));
            std::fs::write(&new, content).unwrap();
            std::fs::rename(new, folder.join(name)).unwrap();
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
