//! What CONTRIBUTING.md promises: the files that it names are there, and no recipe needs more than four.
//!
//! Never reads code.

use std::collections::BTreeSet;
use std::path::Path;

const GUIDE: &str = include_str!("../../CONTRIBUTING.md");
const FOLDERS: [&str; 5] = ["src/", "tests/", "assets/", "lessons/", "solutions/"];
/// Files that an addition may touch.
const MOST: usize = 4;

/// Paths between backticks. A name to be chosen stands in capitals: `lessons/NN_slug.md`.
fn paths(text: &str) -> BTreeSet<&str> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted
        .filter(|word| FOLDERS.iter().any(|folder| word.starts_with(folder)) && !word.contains(' ') && !word.contains("NN_"))
        .collect()
}

fn missing(text: &str) -> Vec<&str> {
    let root = Path::new(env!("HVD_LAB_CHECKOUT"));
    paths(text).into_iter().filter(|path| !root.join(path).exists()).collect()
}

/// Each begins with its name in bold.
fn recipes(text: &str) -> impl Iterator<Item = &str> {
    text.split("\n\n").filter(|paragraph| paragraph.starts_with("**"))
}

fn too_long(text: &str) -> Vec<&str> {
    let files = |recipe: &str| paths(recipe).iter().filter(|path| !path.ends_with('/')).count();
    recipes(text).filter(|recipe| files(recipe) > MOST).collect()
}

#[test]
fn the_guide_names_files_that_are_there() {
    assert!(paths(GUIDE).len() > 30, "{:?}", paths(GUIDE));
    assert_eq!(missing(GUIDE), [""; 0]);
}

#[test]
fn no_recipe_needs_more_than_four_files() {
    assert!(recipes(GUIDE).count() > 12, "{}", recipes(GUIDE).count());
    assert_eq!(too_long(GUIDE), [""; 0]);
}

#[test]
fn a_file_that_is_gone_and_a_long_recipe_are_noticed() {
    assert_eq!(missing("See `src/core/lib.rs`, `src/nowhere.rs` and `cargo test src/x`."), ["src/nowhere.rs"]);
    let long = "Text.\n\n**A thing.** `src/a.rs`, `src/b.rs`, `src/c.rs`, `src/d.rs` and `tests/e.rs`.";
    assert_eq!(too_long(long).len(), 1);
}
