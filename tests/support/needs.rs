//! What a test needs of the machine: it is skipped where that is missing, or fails where `HVD_LAB_REQUIRE` names it.

use std::fmt::Display;

/// Says why a test is skipped. `need` is a word of `HVD_LAB_REQUIRE`, a list with commas; if it is on the list, the test fails instead.
pub fn skip(need: &str, why: impl Display) {
    let required = std::env::var("HVD_LAB_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|word| word.trim() == need), "HVD_LAB_REQUIRE names {need}: {why}");
    eprintln!("skipped: {why}");
}
