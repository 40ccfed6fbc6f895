//! Which rows of the corpora of wrong programs a test runs, for each takes seconds of both cores: a quarter of them, with each commit
//! another one. `HVD_LAB_WRONG_ONLY` names some instead, or asks for `all`.

use std::process::Command;

const PARTS: usize = 4;

/// Whether a program of this name is asked for, if it is in no corpus.
pub fn is_asked_for(name: &str) -> bool {
    wish().is_none_or(|wish| wish.split(',').any(|part| name.contains(part)))
}

/// Those rows of a corpus that are asked for.
pub fn asked_for<Row>(rows: Vec<Row>, name: impl Fn(&Row) -> &str) -> Vec<Row> {
    let is_limited = std::env::var_os("HVD_LAB_WRONG_ONLY").is_none();
    let part = commits().filter(|_| is_limited).map(|commits| commits % PARTS);
    if let Some(part) = part {
        eprintln!("part {} of {PARTS} of {} programs; HVD_LAB_WRONG_ONLY=all runs all", part + 1, rows.len());
    }
    let is_in_part = |at: usize| part.is_none_or(|part| at % PARTS == part);
    let of_part = rows.into_iter().enumerate().filter(|(at, _)| is_in_part(*at)).map(|(_, row)| row);
    of_part.filter(|row| is_asked_for(name(row))).collect()
}

/// Names, or parts of them, with commas between. `None` for all.
fn wish() -> Option<String> {
    std::env::var("HVD_LAB_WRONG_ONLY").ok().filter(|wish| wish != "all")
}

/// `None` without git or its history: then all are run.
fn commits() -> Option<usize> {
    let mut git = Command::new("git");
    let output = git.args(["-C", env!("HVD_LAB_CHECKOUT"), "rev-list", "--count", "HEAD"]).output().ok()?;
    String::from_utf8_lossy(&output.stdout).trim().parse().ok()
}
