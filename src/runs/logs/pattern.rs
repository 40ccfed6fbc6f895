//! Text to look for: as it stands, and in any case unless it has a capital letter.
//!
//! Never a language of its own: `loss 0.4` finds `loss 0.4`, dots and brackets included.

use std::ops::Range;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    any_case: bool,
}

impl Pattern {
    pub fn new(text: &str) -> Pattern {
        Pattern { any_case: !text.chars().any(char::is_uppercase), text: text.to_owned() }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn is_in(&self, line: &str) -> bool {
        match self.any_case {
            false => line.contains(&self.text),
            true if line.is_ascii() && self.text.is_ascii() => self.next(line, 0).is_some(),
            true => line.to_lowercase().contains(&self.text),
        }
    }

    /// Bytes of the line where it stands, from left to right.
    pub fn places(&self, line: &str) -> Vec<Range<usize>> {
        let mut places = Vec::new();
        let mut from = 0;
        while let Some(place) = self.next(line, from).filter(|place| !place.is_empty()) {
            from = place.end;
            places.push(place);
        }
        places
    }

    fn next(&self, line: &str, from: usize) -> Option<Range<usize>> {
        let found = |start: usize| start..start + self.text.len();
        if !self.any_case {
            return line[from..].find(&self.text).map(|place| found(from + place));
        }
        // Letters whose lower case is of another length are found by `is_in`, and not marked.
        let (line, text) = (line.as_bytes(), self.text.as_bytes());
        let same = |at: &usize| line[*at..*at + text.len()].eq_ignore_ascii_case(text);
        (from..(line.len() + 1).saturating_sub(text.len())).find(same).map(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_counts_only_where_a_capital_is_typed() {
        assert!(Pattern::new("epoch").is_in("EPOCH 1/3") && Pattern::new("Epoch").is_in("Epoch 1/3"));
        assert!(!Pattern::new("Epoch").is_in("EPOCH 1/3"));
        assert!(Pattern::new("größe").is_in("GRÖSSE Größe"));
    }

    #[test]
    fn every_place_is_found_and_none_inside_a_character() {
        assert_eq!(Pattern::new("ss").places("loss Loss sss"), [2..4, 7..9, 10..12]);
        assert_eq!(Pattern::new("a.b").places("aXb a.b a.b"), [4..7, 8..11]);
        assert_eq!(Pattern::new("日").places("日本 日"), [0..3, 7..10]);
        assert!(Pattern::new("long").places("lo").is_empty());
    }
}
