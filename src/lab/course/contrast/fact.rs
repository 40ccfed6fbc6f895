//! The difference that a step makes, as rows and sentences.

use serde::Serialize;

/// The difference that a step makes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Contrast {
    pub facts: Vec<Fact>,
    /// What the facts mean, a sentence or two each.
    pub explained: Vec<String>,
}

/// One line of the table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fact {
    pub what: String,
    pub before: String,
    pub after: String,
}

impl Contrast {
    pub(in crate::course) fn fact(&mut self, what: &str, pair: [String; 2]) {
        let [before, after] = pair;
        self.facts.push(Fact { what: what.to_owned(), before, after });
    }

    pub(in crate::course) fn say(&mut self, sentence: String) {
        self.explained.push(sentence);
    }
}
