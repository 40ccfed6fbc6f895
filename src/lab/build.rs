//! Lists the lessons, which `hvd-lab` carries inside.

#[path = "../checkout.rs"]
mod checkout;

use std::path::PathBuf;

/// Writes a table of (name, text) of every `lessons/NN_slug.md`, by name: a new lesson is a new file and nothing else.
fn main() {
    let folder = checkout::tell().join("lessons");
    println!("cargo:rerun-if-changed={}", folder.display());
    let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| name.ends_with(".md") && name.starts_with(|first: char| first.is_ascii_digit()));
    names.sort();
    let rows = names.iter().map(|name| format!("    ({name:?}, include_str!({:?})),\n", folder.join(name)));
    let table = format!("&[\n{}]\n", rows.collect::<String>());
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default()).join("lessons.rs");
    std::fs::write(&out, table).unwrap_or_else(|error| panic!("cannot write {}: {error}", out.display()));
}
