//! A recording without the names of hosts, users and folders, for others to see.
//!
//! Never changes a figure, a time or the order of anything.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::domain::device::{DeviceKind, TelemetrySample};
use crate::runs::{Arrival, LogSource};

/// Replaces names in all parts: `node`, `node-2` and so on for hosts, and paths by their last part.
pub fn hide(parts: &mut [(String, Vec<u8>)]) {
    let mut names = Names::default();
    for (name, bytes) in parts.iter() {
        let text = String::from_utf8_lossy(bytes);
        match name.as_str() {
            "run.json" | "status.json" => names.find(&serde_json::from_str(&text).unwrap_or(Value::Null)),
            "events.jsonl" | "telemetry.jsonl" => {
                text.lines().filter_map(|line| serde_json::from_str(line).ok()).for_each(|value| names.find(&value));
            }
            _ => {}
        }
    }
    // Where the lines of each log end, before and after.
    let mut ends = BTreeMap::new();
    for (name, bytes) in parts.iter_mut() {
        let text = names.hidden(&String::from_utf8_lossy(bytes));
        let hidden = match name.as_str() {
            "status.json" => without_place(text).into_bytes(),
            "telemetry.jsonl" => text.lines().map(without_model).collect::<String>().into_bytes(),
            _ => text.into_bytes(),
        };
        if name.ends_with(".log") {
            ends.insert(name.clone(), [line_ends(bytes), line_ends(&hidden)]);
        }
        *bytes = hidden;
    }
    if let Some((_, arrivals)) = parts.iter_mut().find(|(name, _)| name == "arrivals.txt") {
        *arrivals = recount(arrivals, &ends);
    }
}

/// Removes what identifies a machine.
fn without_place(status: String) -> String {
    let Ok(Value::Object(mut fields)) = serde_json::from_str(&status) else { return status };
    fields.remove("supervisor_place");
    Value::Object(fields).to_string()
}

#[derive(Default)]
struct Names {
    hosts: Vec<String>,
    /// Folders of paths, the deepest first.
    folders: BTreeSet<(std::cmp::Reverse<usize>, String)>,
}

impl Names {
    fn find(&mut self, value: &Value) {
        match value {
            Value::Object(fields) => {
                for (key, field) in fields {
                    match (key.as_str(), field) {
                        // Where an own program works: its last part may be the name of a user.
                        ("directory", Value::String(folder)) if folder.len() > 1 => {
                            self.folders.insert((std::cmp::Reverse(folder.len()), folder.clone()));
                        }
                        ("host", Value::String(host)) if !self.hosts.contains(host) => self.hosts.push(host.clone()),
                        _ => self.find(field),
                    }
                }
            }
            Value::Array(values) => values.iter().for_each(|value| self.find(value)),
            Value::String(text) => text.split([' ', '=', ',', '"', '\'']).for_each(|word| self.folder(word)),
            _ => {}
        }
    }

    fn folder(&mut self, word: &str) {
        let folder = word.rfind('/').map(|end| &word[..=end]).filter(|folder| folder.starts_with('/') && folder.len() > 1);
        if let Some(folder) = folder {
            self.folders.insert((std::cmp::Reverse(folder.len()), folder.to_owned()));
        }
    }

    fn hidden(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (_, folder) in &self.folders {
            text = text.replace(folder, "");
        }
        let mut hosts: Vec<(usize, &String)> = self.hosts.iter().enumerate().collect();
        hosts.sort_by_key(|(_, host)| std::cmp::Reverse(host.len()));
        for (index, host) in hosts {
            let name = if index == 0 { "node".to_owned() } else { format!("node-{}", index + 1) };
            text = replace_word(&text, host, &name);
        }
        text
    }
}

/// A host may be called `a`: only whole words are replaced.
fn replace_word(text: &str, word: &str, by: &str) -> String {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let mut hidden = String::with_capacity(text.len());
    let mut at = 0;
    for (place, _) in text.match_indices(word).filter(|_| !word.is_empty()) {
        let end = place + word.len();
        if place >= at && !is_part(text[..place].chars().next_back()) && !is_part(text[end..].chars().next()) {
            hidden.push_str(&text[at..place]);
            hidden.push_str(by);
            at = end;
        }
    }
    hidden.push_str(&text[at..]);
    hidden
}

/// The model of a CPU identifies a machine; the model of a GPU stays, for it explains the figures.
fn without_model(line: &str) -> String {
    match TelemetrySample::parse_line(line) {
        Some(mut sample) => {
            for device in sample.devices.iter_mut().filter(|device| device.kind == DeviceKind::Cpu) {
                device.name = "CPU".to_owned();
            }
            serde_json::to_string(&sample).map(|line| line + "\n").unwrap_or_default()
        }
        None => String::new(),
    }
}

fn line_ends(log: &[u8]) -> Vec<u64> {
    log.iter().zip(1..).filter(|(byte, _)| **byte == b'\n').map(|(_, end)| end).collect()
}

/// `arrivals.txt` counts bytes of logs that are shorter now: the same lines, counted again.
fn recount(arrivals: &[u8], ends: &BTreeMap<String, [Vec<u64>; 2]>) -> Vec<u8> {
    let mut recounted = String::new();
    for mut arrival in arrivals.split(|byte| *byte == b'\n').filter_map(Arrival::parse) {
        let log = match arrival.source {
            LogSource::Launcher => "launcher.log".to_owned(),
            LogSource::Process(process) => format!("rank-{process}.log"),
        };
        let end = ends.get(&log).and_then(|[before, after]| {
            let lines = before.partition_point(|end| *end <= arrival.end);
            after.get(lines.checked_sub(1)?).copied()
        });
        arrival.end = end.unwrap_or(0);
        recounted.push_str(&format!("{arrival}\n"));
    }
    recounted.into_bytes()
}
