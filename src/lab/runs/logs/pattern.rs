//! What to look for: text as it stands or a regular expression, in any case unless it has a capital letter.
//!
//! Never guesses which of the two is meant: `loss 0.4` as text finds `loss 0.4`, dots and brackets included.

use std::ops::Range;

use regex::{Regex, RegexBuilder};
use regex_syntax::ast::{self, Ast, ClassSetItem, Visitor};
use regex_syntax::hir::translate::Translator;

/// Memory of a compiled expression: enough for any that a person types, and compiled before they look up.
const MOST_BYTES: usize = 4 << 20;

#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Text { any_case: bool },
    Regex(Regex),
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        (&self.text, self.is_regex()) == (&other.text, other.is_regex())
    }
}

impl Pattern {
    /// The text as it stands.
    pub fn new(text: &str) -> Pattern {
        Pattern { kind: Kind::Text { any_case: !text.chars().any(char::is_uppercase) }, text: text.to_owned() }
    }

    /// A regular expression, as the regex crate has them: linear in the length of a line, whatever is typed.
    ///
    /// # Errors
    /// Where it goes wrong, and why.
    pub fn regex(text: &str) -> Result<Pattern, String> {
        let at =
            |span: &ast::Span, reason: String| format!("character {}: {reason}", text[..span.start.offset].chars().count() + 1);
        let parsed = ast::parse::Parser::new().parse(text).map_err(|error| at(error.span(), error.kind().to_string()))?;
        let translated = Translator::new().translate(text, &parsed);
        translated.map_err(|error| at(error.span(), error.kind().to_string()))?;
        let any_case = ast::visit(&parsed, Capitals).is_ok();
        let built = RegexBuilder::new(text).case_insensitive(any_case).size_limit(MOST_BYTES).build();
        let regex = built.map_err(|_| "too large: repeat less".to_owned())?;
        Ok(Pattern { text: text.to_owned(), kind: Kind::Regex(regex) })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn is_regex(&self) -> bool {
        matches!(self.kind, Kind::Regex(_))
    }

    pub fn is_in(&self, line: &str) -> bool {
        match &self.kind {
            Kind::Regex(regex) => regex.is_match(line),
            Kind::Text { any_case: false } => line.contains(&self.text),
            Kind::Text { .. } if line.is_ascii() && self.text.is_ascii() => self.next(line, 0).is_some(),
            Kind::Text { .. } => line.to_lowercase().contains(&self.text),
        }
    }

    /// Bytes of the line where it stands, from left to right. Where an expression matches nothing at all, nothing is to be seen.
    pub fn places(&self, line: &str) -> Vec<Range<usize>> {
        if let Kind::Regex(regex) = &self.kind {
            return regex.find_iter(line).map(|found| found.range()).filter(|place| !place.is_empty()).collect();
        }
        let mut places = Vec::new();
        let mut from = 0;
        while let Some(place) = self.next(line, from).filter(|place| !place.is_empty()) {
            from = place.end;
            places.push(place);
        }
        places
    }

    /// Of a text, from there on.
    fn next(&self, line: &str, from: usize) -> Option<Range<usize>> {
        let found = |start: usize| start..start + self.text.len();
        if matches!(self.kind, Kind::Text { any_case: false }) {
            return line[from..].find(&self.text).map(|place| found(from + place));
        }
        // Letters whose lower case is of another length are found by `is_in`, and not marked.
        let (line, text) = (line.as_bytes(), self.text.as_bytes());
        let same = |at: &usize| line[*at..*at + text.len()].eq_ignore_ascii_case(text);
        (from..(line.len() + 1).saturating_sub(text.len())).find(same).map(found)
    }
}

/// Ends with an error at a letter that is meant as a capital: the S of `\S` is none.
struct Capitals;

impl Capitals {
    fn look(&self, literal: &ast::Literal) -> Result<(), ()> {
        if literal.c.is_uppercase() { Err(()) } else { Ok(()) }
    }
}

impl Visitor for Capitals {
    type Output = ();
    type Err = ();

    fn finish(self) -> Result<(), ()> {
        Ok(())
    }

    fn visit_pre(&mut self, part: &Ast) -> Result<(), ()> {
        if let Ast::Literal(literal) = part { self.look(literal) } else { Ok(()) }
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), ()> {
        match item {
            ClassSetItem::Literal(literal) => self.look(literal),
            ClassSetItem::Range(range) => self.look(&range.start).and_then(|()| self.look(&range.end)),
            _ => Ok(()),
        }
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

    #[test]
    fn an_expression_finds_what_a_text_cannot() {
        let loss = Pattern::regex(r"loss \d+\.\d").unwrap();
        assert!(loss.is_in("step 3 LOSS 12.5") && !loss.is_in("loss nan"));
        assert_eq!(Pattern::regex(r"a.b|日").unwrap().places("aXb 日 a.b"), [0..3, 4..7, 8..11]);
        assert!(Pattern::regex("x*").unwrap().places("abc").is_empty(), "nothing is nothing to be seen");
    }

    #[test]
    fn only_a_letter_meant_as_a_capital_makes_case_count() {
        for (pattern, line, expected) in [
            (r"\S+ loss", "STEP LOSS", true),
            (r"\pL oss", "L OSS", true),
            ("Loss", "LOSS", false),
            ("[A-C]x", "ax", false),
            ("[a-c]x", "AX", true),
            ("(?i)Loss", "LOSS", true),
        ] {
            assert_eq!(Pattern::regex(pattern).unwrap().is_in(line), expected, "{pattern} in {line}");
        }
    }

    #[test]
    fn what_is_no_expression_says_where_and_why() {
        for (text, expected) in [
            ("loss (", "character 6: unclosed group"),
            ("größe [a", "character 7: unclosed character class"),
            ("*", "character 1: repetition operator missing expression"),
            (r"a\pX", "character 2: Unicode property not found"),
            ("((((a{99}){99}){99}){99})", "too large: repeat less"),
        ] {
            assert_eq!(Pattern::regex(text).unwrap_err(), expected, "{text}");
        }
    }
}
