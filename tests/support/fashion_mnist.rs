//! Finds the real Fashion-MNIST files for tests that use them where they are.
//!
//! Never downloads. `HVD_LAB_REQUIRE=data` turns a skip into a failure.

use std::path::{Path, PathBuf};

use super::needs::skip;

/// HVD_LAB_TEST_DATA, or `shared/fashion-mnist` in a folder above the repository.
pub fn folder() -> Option<PathBuf> {
    let named = std::env::var_os("HVD_LAB_TEST_DATA").map(PathBuf::from);
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|folder| folder.join("shared/fashion-mnist"));
    let found = named.into_iter().chain(above).find(|folder| folder.join("train-images-idx3-ubyte.gz").is_file());
    if found.is_none() {
        skip("data", "no real Fashion-MNIST files here (set HVD_LAB_TEST_DATA)");
    }
    found
}
