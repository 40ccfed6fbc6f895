//! The floors inside the screen: which folder may name which, and what logic never reads.
//!
//! Never looks at tests: they may ask for anything.

use std::collections::BTreeSet;

use super::source::{Source, inside};

/// The floors of the screen, with those that each may name beside itself. Features name no other feature.
const SCREEN: [(&str, &[&str]); 10] = [
    ("actions", &[]),
    ("widgets", &["actions"]),
    ("config", &["widgets"]),
    ("preferences", &["config"]),
    ("shared", &["actions", "widgets"]),
    ("message", &["actions", "widgets", "shared"]),
    ("window", &["widgets"]),
    ("state", &["actions", "widgets", "shared", "preferences", "window", ANY_FEATURE]),
    ("io", &["actions", "widgets", "shared", "message", "config"]),
    ("app", &["actions", "widgets", "shared", "message", "config", "preferences", "window", "state", ANY_FEATURE]),
];
const FEATURE: &[&str] = &["actions", "widgets", "shared", "window", "state"];
const ANY_FEATURE: &str = "any feature";

/// `tui::log::update` for src/lab/tui/log/update.rs, nothing for the binaries, tests, and what only tests use.
fn module(path: &str) -> Option<String> {
    let path = inside(path)?.strip_suffix(".rs")?;
    let is_test = path.contains("/tests") || path.ends_with("_tests") || path.contains("/testing/") || path.starts_with("bin/");
    (!is_test && path != "lib").then(|| path.strip_suffix("/mod").unwrap_or(path).replace('/', "::"))
}

/// The source without its module of tests.
fn code(source: &Source) -> Source {
    let text = source.text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    Source::new(&source.path, text)
}

/// What a module names inside of the crate, from the crate's root: `tui::log::state::Log`.
fn named(module: &str, source: &Source) -> BTreeSet<String> {
    let own: Vec<&str> = module.split("::").collect();
    let absolute = |path: &String| {
        let parts: Vec<&str> = path.split("::").collect();
        let climbed = parts.iter().take_while(|part| **part == "super").count();
        let (base, rest) = match parts[0] {
            "crate" => (0, 1),
            "self" => (own.len(), 1),
            "super" => (own.len().checked_sub(climbed)?, climbed),
            // A child of its own; its declaration alone imports nothing.
            _ if parts.len() > 1 => (own.len(), 0),
            _ => return None,
        };
        let path: Vec<&str> = own[..base].iter().chain(&parts[rest..]).copied().collect();
        Some(path.join("::"))
    };
    source.names.iter().filter_map(absolute).collect()
}

/// Below the crate's root: inside of the screen a folder names those beneath it only.
pub fn screen_floors(source: &Source) -> Vec<String> {
    let Some(module) = module(&source.path) else { return Vec::new() };
    let Some(own) = module.strip_prefix("tui::").map(|rest| rest.split("::").next().unwrap_or_default()) else {
        return Vec::new();
    };
    let floor = |name: &str| SCREEN.iter().find(|(floor, _)| *floor == name);
    let may_name = floor(own).map_or(FEATURE, |(_, below)| below);
    let others = named(&module, &code(source)).into_iter().filter_map(|path| {
        let other = path.strip_prefix("tui::")?.split("::").next()?.to_owned();
        let is_module = other.chars().all(|c| c.is_lowercase() || c == '_');
        (is_module && other != own).then_some(other)
    });
    let allowed = |other: &str| may_name.contains(&other) || (floor(other).is_none() && may_name.contains(&ANY_FEATURE));
    let strangers: BTreeSet<String> = others.filter(|other| !allowed(other)).collect();
    strangers.into_iter().map(|other| format!("names tui::{other}, which {own} may not")).collect()
}

/// What logic reads must not be made by drawing: `update` files name no file that draws.
pub fn logic_without_drawing(source: &Source) -> Vec<String> {
    if !source.path.starts_with("src/lab/tui/") || !source.path.ends_with("/update.rs") {
        return Vec::new();
    }
    let drawing = ["draw", "view", "Frame", "ratatui"];
    let named = drawing.iter().filter(|name| source.names(name));
    named.map(|name| format!("names {name}: what a key does is decided without drawing")).collect()
}

/// Whoever prints an error adds its sources: one that stands in the text as well would be said twice.
pub fn said_once(source: &Source) -> Vec<String> {
    let twice = |line: &str| line.trim_start().starts_with("#[error(") && line.contains("{source}");
    let lines = source.text.lines().enumerate().filter(|(_, line)| twice(line));
    lines.map(|(at, _)| format!("line {} says its source in the text: call the field `cause`", at + 1)).collect()
}
