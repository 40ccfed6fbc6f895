//! A few JPEGs by class, from the golden file of the image pipeline.

use hvd_lab::trainer::pipeline::{Decoder, Decoding};

use super::needs::skip;

/// The JPEGs of the golden file; nothing where none can be decoded, unless HVD_LAB_REQUIRE names jpeg.
pub fn jpegs() -> Option<Vec<Vec<u8>>> {
    if let Err(reason) = Decoder::open(Decoding::default()) {
        skip("jpeg", reason);
        return None;
    }
    let golden: serde_json::Value = serde_json::from_str(include_str!("../golden/images.json")).unwrap();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    let bytes = |row: &serde_json::Value| row["jpeg"].as_str().unwrap().as_bytes().chunks(2).map(byte).collect();
    Some(golden["decode"].as_array().unwrap().iter().map(bytes).collect())
}

/// Two classes of eight images each, as files.
pub fn folder(jpegs: &[Vec<u8>]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for at in 0..16 {
        let class = folder.path().join(["cat", "dog"][at % 2]);
        std::fs::create_dir_all(&class).unwrap();
        std::fs::write(class.join(format!("{at:02}.jpg")), &jpegs[at % 2]).unwrap();
    }
    folder
}
