//! Figures by name, of each round, and what is made of them: medians, spreads, ratios.
//!
//! Never averages: a median bears a round that went wrong.

use std::collections::BTreeMap;

use serde::Serialize;

/// What was measured in one round, by `case: figure`.
pub type Round = BTreeMap<String, f64>;

/// Median, least and greatest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    pub median: f64,
    pub min: f64,
    pub max: f64,
}

impl Spread {
    /// `None` without values.
    pub fn of(mut values: Vec<f64>) -> Option<Spread> {
        values.retain(|value| value.is_finite());
        values.sort_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let middle = values.len() / 2;
        let median = if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 };
        Some(Spread { median, min, max })
    }
}

/// All rounds.
#[derive(Clone, Debug, Default)]
pub struct Rounds(pub Vec<Round>);

impl Rounds {
    /// A value made of each round that has the figures for it.
    pub fn each(&self, value: impl Fn(&Round) -> Option<f64>) -> Option<Spread> {
        Spread::of(self.0.iter().filter_map(value).collect())
    }

    /// The figures whose names begin with these words, without them.
    pub fn of(&self, prefix: &str) -> Rounds {
        let of = |round: &Round| {
            let figures = round.iter().filter_map(|(name, value)| Some((name.strip_prefix(prefix)?.to_owned(), *value)));
            figures.collect()
        };
        Rounds(self.0.iter().map(of).collect())
    }

    pub fn figure(&self, name: &str) -> Option<Spread> {
        self.each(|round| round.get(name).copied())
    }

    /// `over / under`, divided within each round: what slows a round slows both sides of it.
    pub fn ratio(&self, over: &str, under: &str) -> Option<Spread> {
        self.each(|round| Some(round.get(over)? / round.get(under)?))
    }
}
