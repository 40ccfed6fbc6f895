//! What other programs print of their training, read line by line.
//!
//! Each family of programs has the shapes of its lines, with named groups for their figures (the fields of [`Logged`]). Any
//! other line is read by the words that stand before its numbers, such as `loss=0.3`. What is not there is left out.

mod name;
mod number;
mod phrase;
mod words;

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde::Deserialize;

pub(super) use self::name::{Name, Scope, meaning, scope_of};
pub(super) use self::number::Percents;
use self::number::{compiled, figure};
use self::words::Words;
use crate::domain::command::CommandSpec;
use crate::domain::user_metrics::{FIGURES, Figure, Logged, PATTERN, WORDS};

/// A longer line is not a line about training.
const LONGEST: usize = 4096;

/// A family of programs that print alike.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Family {
    name: String,
    /// The shapes of its lines: the first that fits a line reads it.
    lines: Vec<String>,
    /// Whether what a shape does not name may be looked for by its words.
    has_words: bool,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    family: Vec<Family>,
}

/// A line that two families could read belongs to the first one.
// The file is part of the program, and tests read it.
static TABLE: LazyLock<Table> =
    LazyLock::new(|| toml::from_str(include_str!("../../../../assets/adapters.toml")).unwrap_or_default());

/// Reads the lines of one run.
#[derive(Debug)]
pub(super) struct Adapter {
    /// The shapes of lines, each with its family.
    shapes: Vec<(&'static Family, Regex)>,
    words: Words,
    patterns: Vec<(Figure, Regex)>,
    percents: Percents,
}

impl Adapter {
    /// With the patterns of this run.
    ///
    /// # Errors
    /// A pattern that is not a regular expression, in one sentence.
    pub fn new(spec: &CommandSpec) -> Result<Adapter, String> {
        let shapes = TABLE.family.iter().flat_map(|family| family.lines.iter().map(move |line| (family, line)));
        let shapes = shapes.map(|(family, line)| {
            let regex = compiled(line).map_err(|error| format!("{}: {error}", family.name))?;
            Ok((family, regex))
        });
        let patterns = spec.pattern_fields().map(|(field, expression)| {
            let name = field.name;
            let regex = compiled(expression).map_err(|error| format!("--pattern {name}={expression}: {error}"))?;
            if regex.captures_len() < 2 {
                return Err(format!(
                    "--pattern {name}={expression} has no group: put parentheses around the number, such as {name}=\"cost ([0-9.]+)\""
                ));
            }
            Ok((field, regex))
        });
        Ok(Adapter {
            shapes: shapes.collect::<Result<_, String>>()?,
            words: Words::new()?,
            patterns: patterns.collect::<Result<_, String>>()?,
            percents: Percents::default(),
        })
    }

    /// What a line says, which a rank printed: first what the patterns of the run find, then what else is there.
    pub fn read(&self, line: &str) -> Vec<Logged> {
        let line = as_seen(line);
        let line = line.trim_end();
        if line.is_empty() || line.len() > LONGEST {
            return Vec::new();
        }
        let by_pattern = self.by_pattern(line);
        let mut by_adapter = self
            .by_family(line)
            .unwrap_or_else(|| self.words.read_any(line, Logged { by: WORDS.into(), ..Logged::default() }, &self.percents));
        // What was asked for counts.
        for field in FIGURES.iter().filter(|field| (field.get)(&by_pattern).is_some()) {
            *(field.slot)(&mut by_adapter) = None;
        }
        [by_pattern, by_adapter].into_iter().filter(|logged| !logged.is_empty()).collect()
    }

    fn by_pattern(&self, line: &str) -> Logged {
        let mut logged = Logged { by: PATTERN.into(), ..Logged::default() };
        for (field, regex) in &self.patterns {
            // The first group that is there.
            let found = regex.captures(line).and_then(|found| found.iter().skip(1).flatten().next());
            if let Some(value) = found.and_then(|found| figure(line, found)) {
                *(field.slot)(&mut logged) = self.percents.told(*field, value);
            }
        }
        logged
    }

    fn by_family(&self, line: &str) -> Option<Logged> {
        let (family, regex, found) =
            self.shapes.iter().find_map(|(family, regex)| Some((family, regex, regex.captures(line)?)))?;
        let logged = named(line, regex, &found, Logged { by: family.name.as_str().into(), ..Logged::default() });
        if !family.has_words {
            return Some(logged);
        }
        let scope = found.name("val").map(|_| Scope::Validation);
        Some(self.words.read(line, logged, scope, &self.percents))
    }
}

/// Escape sequences, and what a progress bar takes back.
#[expect(clippy::unwrap_used, reason = "a constant, and a test uses it")]
static ESCAPES: LazyLock<Regex> = LazyLock::new(|| Regex::new("\x1b\\[[0-9;?]*[A-Za-z]|\x1b\\][^\x07]*\x07|\x08").unwrap());

/// What stays on a terminal: behind the last return of the carriage, without colours.
fn as_seen(line: &str) -> Cow<'_, str> {
    let is_drawn = |part: &&str| !part.trim_matches(['\x08', ' ']).is_empty();
    let last = line.trim_end_matches(['\n', '\r']).rsplit('\r').find(is_drawn).unwrap_or("");
    if last.contains(['\x1b', '\x08']) { ESCAPES.replace_all(last, "") } else { Cow::Borrowed(last) }
}

/// The named groups of a line as figures.
fn named(line: &str, regex: &Regex, found: &Captures<'_>, mut logged: Logged) -> Logged {
    for name in regex.capture_names().flatten() {
        let Some(value) = found.name(name).and_then(|group| figure(line, group)) else { continue };
        let (name, value) = name.strip_suffix("_percent").map_or((name, value), |name| (name, value / 100.0));
        logged.is_total |= name == "total_rate";
        let name = if matches!(name, "rate" | "total_rate") { "images_per_sec" } else { name };
        if let Some(field) = Figure::named(name) {
            *(field.slot)(&mut logged) = Some(value);
        }
    }
    logged
}

#[cfg(test)]
mod tests;
