//! The image pipeline against TensorFlow's numbers, and against what comes between a file and a batch.
//!
//! Where no libjpeg is, the tests that decode say so and pass; HVD_LAB_REQUIRE=jpeg turns that into a failure.

mod damage;
mod golden;
mod threads;

use super::decode::{Decoder, Decoding};

/// A decoder, or the word that there is none.
fn decoder(decoding: Decoding) -> Option<Decoder> {
    match Decoder::open(decoding) {
        Ok(decoder) => Some(decoder),
        Err(reason) => {
            let required = std::env::var("HVD_LAB_REQUIRE").is_ok_and(|parts| parts.split(',').any(|part| part == "jpeg"));
            assert!(!required, "{reason}");
            eprintln!("skipped: {reason}");
            None
        }
    }
}

/// The JPEGs of the golden file, 56 x 40 pixels each, by name.
fn jpegs() -> Vec<(String, Vec<u8>)> {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    let bytes = |text: &str| text.as_bytes().chunks(2).map(byte).collect();
    golden::golden().decode.iter().map(|row| (row.name.clone(), bytes(&row.jpeg))).collect()
}
