//! Which runs a list shows, and in which order: the same words for the screen and for the verbs.
//!
//! Never changes a run.

use std::fmt;
use std::str::FromStr;

use super::RunSummary;

/// Words that all have to fit: `failed`, `np:2`, `model:wrn-16`, and with `!` before a word that must not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    text: String,
    words: Vec<Word>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Word {
    inverse: bool,
    field: Option<String>,
    text: String,
}

/// The fields that a filter can name, in the order of the help.
pub const FIELDS: [&str; 11] = ["run", "state", "np", "steps", "model", "precision", "data", "preset", "host", "name", "note"];

impl Filter {
    /// A filter that names no field but those that there are.
    ///
    /// # Errors
    /// Which field is unknown, and which there are.
    pub fn of_known_fields(text: &str) -> Result<Filter, String> {
        let filter = Filter::new(text);
        let unknown = filter.words.iter().filter(|word| word.field.is_none()).find_map(|word| word.text.split_once(':'));
        match unknown {
            Some((field, rest)) => {
                let fields = FIELDS.join(", ");
                Err(format!(
                    "a run has no field `{field}`: use one of {fields}, such as `name:{field}:{rest}` for a part of a name"
                ))
            }
            None => Ok(filter),
        }
    }

    /// Any text is a filter: an unknown field is part of a word.
    pub fn new(text: &str) -> Filter {
        let words = text.split_whitespace().filter_map(|word| {
            let (inverse, word) = word.strip_prefix('!').map_or((false, word), |rest| (true, rest));
            let field = word.split_once(':').filter(|(field, _)| FIELDS.contains(&field.to_lowercase().as_str()));
            let (field, word) = field.map_or((None, word), |(field, value)| (Some(field.to_lowercase()), value));
            (!word.is_empty()).then(|| Word { inverse, field, text: word.to_lowercase() })
        });
        Filter { text: text.to_owned(), words: words.collect() }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Lets every run through.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    pub fn fits(&self, run: &RunSummary) -> bool {
        self.words.iter().all(|word| {
            let mut fields = FIELDS.iter().filter(|field| word.field.as_deref().is_none_or(|wanted| wanted == **field));
            fields.any(|field| word.fits(field, run)) != word.inverse
        })
    }
}

impl Word {
    fn fits(&self, field: &str, run: &RunSummary) -> bool {
        let is_named = self.field.is_some();
        match field {
            // A number is meant as a whole: `np:1` is not np 16. Without its field, `2` may well be part of a name.
            "run" => run.id.to_string() == self.text,
            "np" => is_named && run.np_in_words().as_ref() == Some(&self.text),
            "state" => run.status.state.name().contains(&self.text),
            _ => run.record.as_ref().is_some_and(|record| {
                let has = |text: &str| text.to_lowercase().contains(&self.text);
                match field {
                    "steps" => is_named && record.training().is_some_and(|training| training.steps.to_string() == self.text),
                    "model" => has(&record.request.spec.workload.title()),
                    // Nearly every run computes in fp32: a word such as `32` is about something else.
                    "precision" => is_named && record.request.spec.precision().is_some_and(|format| has(format.name())),
                    "data" => has(&record.data_label),
                    "preset" => has(&record.request.preset),
                    "host" => has(&record.host),
                    "name" => record.request.name.as_deref().is_some_and(has),
                    _ => record.request.note.as_deref().is_some_and(has),
                }
            }),
        }
    }
}

/// What a list is sorted by; each begins with what one looks for first (newest, fastest, most accurate).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SortKey {
    #[default]
    Number,
    Np,
    Rate,
    Time,
    ToTarget,
    Accuracy,
    Cost,
    State,
    Name,
}

/// A key, its name for verbs and screen, whether what is highest comes first, and its value for a run.
type Order = (SortKey, &'static str, bool, fn(&RunSummary) -> Option<Value>);

static ORDERS: [Order; 9] = [
    (SortKey::Number, "run", true, |run| number(Some(f64::from(run.id.0)))),
    (SortKey::Np, "np", false, |run| number(Some(run.figures.np as f64))),
    (SortKey::Rate, "img/s", true, |run| number(run.figures.images_per_sec)),
    (SortKey::Time, "time", false, |run| number(run.training_seconds)),
    (SortKey::ToTarget, "to-target", false, |run| number(run.figures.seconds_to_target)),
    (SortKey::Accuracy, "accuracy", true, |run| number(run.test.or(run.validation).map(|metrics| metrics.accuracy))),
    (SortKey::Cost, "device-s", false, |run| number(run.device_seconds())),
    (SortKey::State, "state", false, |run| Some((0.0, run.status.state.name().to_owned()))),
    (SortKey::Name, "name", false, |run| Some((0.0, run.record.as_ref()?.request.name.as_ref()?.to_lowercase()))),
];

/// What is sorted: a number, or a text where the numbers are equal, as they are of a key that has none.
type Value = (f64, String);

fn number(value: Option<f64>) -> Option<Value> {
    value.map(|value| (value, String::new()))
}

impl SortKey {
    fn order(self) -> &'static Order {
        &ORDERS[self as usize]
    }

    /// The names of all, between commas.
    pub fn names() -> String {
        ORDERS.map(|(_, name, ..)| name).join(", ")
    }

    #[must_use]
    pub fn next(self) -> SortKey {
        ORDERS[(self as usize + 1) % ORDERS.len()].0
    }
}

/// The runs that fit, in order. A run without the value comes last either way; equal ones newest first.
pub fn select<'a>(runs: &'a [RunSummary], filter: &Filter, key: SortKey, reverse: bool) -> Vec<&'a RunSummary> {
    let (_, _, highest_first, value) = key.order();
    let fitting = runs.iter().filter(|run| filter.fits(run));
    let mut keyed: Vec<(Option<Value>, &RunSummary)> = fitting.map(|run| (value(run), run)).collect();
    let compare = |(number, text): &Value, other: &Value| number.total_cmp(&other.0).then_with(|| text.cmp(&other.1));
    keyed.sort_by(|(a, one), (b, other)| {
        let order = match (a, b) {
            (Some(a), Some(b)) if *highest_first != reverse => compare(b, a),
            (Some(a), Some(b)) => compare(a, b),
            _ => b.is_some().cmp(&a.is_some()),
        };
        order.then(other.id.cmp(&one.id))
    });
    keyed.into_iter().map(|(_, run)| run).collect()
}

impl fmt::Display for SortKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.order().1)
    }
}

impl FromStr for SortKey {
    type Err = String;

    fn from_str(text: &str) -> Result<SortKey, String> {
        let found = ORDERS.iter().find(|(_, name, ..)| *name == text).map(|(key, ..)| *key);
        found.ok_or_else(|| format!("`{text}` is not an order: use {}", SortKey::names()))
    }
}

#[cfg(test)]
mod tests;
