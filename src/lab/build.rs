//! Lists the lessons and the files of the Python package, which `hvd-lab` carries inside.

#[path = "../checkout.rs"]
mod checkout;

use std::path::{Path, PathBuf};

/// A new lesson, `lessons/NN_slug.md`, or file of the package is a new file and nothing else.
fn main() {
    let root = checkout::tell();
    let is_lesson = |name: &str| name.ends_with(".md") && name.starts_with(|first: char| first.is_ascii_digit());
    write_table("lessons.rs", &root.join("lessons"), &[""], is_lesson);
    write_table("inspector.rs", &root.join("python/hvd_lab"), &["_inspect"], |name| name.ends_with(".py"));
    write_table("python.rs", &root.join("python/hvd_lab"), &["", "keras"], |name| name.ends_with(".py"));
}

/// Writes a table of (name, text) of the files in these parts of a folder whose names are `wanted`, by name.
fn write_table(table: &str, folder: &Path, parts: &[&str], wanted: fn(&str) -> bool) {
    let mut names: Vec<PathBuf> = Vec::new();
    for part in parts {
        println!("cargo:rerun-if-changed={}", folder.join(part).display());
        let entries = std::fs::read_dir(folder.join(part)).into_iter().flatten().flatten();
        let found = entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| wanted(name));
        names.extend(found.map(|name| Path::new(part).join(name)));
    }
    names.sort();
    let rows = names.iter().map(|name| format!("    ({name:?}, include_str!({:?})),\n", folder.join(name)));
    let rows = format!("&[\n{}]\n", rows.collect::<String>());
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default()).join(table);
    std::fs::write(&out, rows).unwrap_or_else(|error| panic!("cannot write {}: {error}", out.display()));
}
