//! Digests of numbers: equal digests are equal bits.
//!
//! Never rounds: a difference in the last bit of one weight is a difference.

use sha2::{Digest as _, Sha256};
use zerocopy::IntoBytes as _;

// What is in memory is what is digested, written and sent.
const _: () = assert!(cfg!(target_endian = "little"), "libtorch is there for little-endian machines alone");

/// SHA-256 over buffers of f32, as little-endian bytes.
#[derive(Clone, Default)]
pub struct Digester(Sha256);

impl Digester {
    /// Adds the bits of these numbers.
    pub fn add(&mut self, values: &[f32]) {
        self.0.update(values.as_bytes());
    }

    /// Adds a text and its length, so that two different lists of texts never give the same digest.
    pub fn add_text(&mut self, text: &str) {
        self.0.update((text.len() as u64).to_le_bytes());
        self.0.update(text);
    }

    /// All 64 hexadecimal digits.
    pub fn hex(self) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The first 16 digits: enough to tell apart what ranks hold, short enough to print.
    pub fn short(self) -> String {
        self.hex()[..16].to_owned()
    }
}

/// [`Digester::short`] of one buffer.
pub fn digest(values: &[f32]) -> String {
    let mut digester = Digester::default();
    digester.add(values);
    digester.short()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_sha256_of_little_endian_bytes() {
        // printf '\0\0\200\077\0\0\0\300' | sha256sum
        assert_eq!(digest(&[1.0, -2.0]), "ee4ac73c2bd27756");
        assert_eq!(digest(&[]), "e3b0c44298fc1c14");
    }

    #[test]
    fn blocks_make_no_difference_and_bits_do() {
        let values: Vec<f32> = (0..5000).map(|i| i as f32).collect();
        let mut parts = Digester::default();
        parts.add(&values[..1]);
        parts.add(&values[1..3000]);
        parts.add(&values[3000..]);
        assert_eq!(parts.short(), digest(&values));
        assert_ne!(digest(&[0.0]), digest(&[-0.0]));
    }
}
