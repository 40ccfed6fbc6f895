//! The pieces of a line, and which words are the name of a number: those between it and the number, the mark, or the wide gap before.

use std::sync::LazyLock;

use regex::{Captures, Match, Regex};

use super::name::{Name, Scope, is_aside, is_in, meaning, name, scope_of};
use super::number::NUMBER;

/// Words of a phrase, and marks between it and its number.
const MOST: usize = 8;
/// How important a line is.
const LEVELS: &str = " info debug warning warn error critical ";
/// What is behind these words is of another time, or of another training.
const STOPS: &str = " best lowest highest load loading loaded resume resuming resumed restore restoring restored checkpoint ckpt snapshot \
    early earlystopping previous previously target expected threshold stopped stopping ";
/// They may stand behind a number with a space between.
const UNITS: &str = " s sec secs seconds ms us min h gb gib mb mib tokens images samples ";

#[expect(clippy::unwrap_used, reason = "a constant, and a test uses it")]
static PIECE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(&format!(r"({NUMBER})|([\p{{L}}_](?:[\p{{L}}\d_]|@\d)*(?:[-./](?:[\p{{L}}\d_]|@\d)+)*)|(\t| {{2,}})|(\S)"))
        .unwrap()
});

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Number,
    Word,
    Gap,
    Mark,
}

/// A number, a word, a wide gap or a mark.
#[derive(Debug)]
pub(super) struct Piece<'l> {
    pub kind: Kind,
    pub found: Match<'l>,
}

impl<'l> Piece<'l> {
    /// The pieces of a line, as far as they are about this training, now.
    pub fn all(line: &'l str) -> Vec<Piece<'l>> {
        let kinds = [Kind::Number, Kind::Word, Kind::Gap, Kind::Mark];
        let piece =
            |found: Captures<'l>| (1..).zip(kinds).find_map(|(group, kind)| Some(Piece { kind, found: found.get(group)? }));
        let mut pieces: Vec<Piece<'l>> = PIECE.captures_iter(line).filter_map(piece).collect();
        // Neither a unit is a name nor a value: `730.46it/s loss: 0.1`, `900 img/s loss 0.1`, `model=vit loss=0.1`, `val: None`
        for at in 1..pieces.len() {
            let (before, word) = (&pieces[at - 1], &pieces[at]);
            let next = pieces.get(at + 1);
            let (names, is_next) = (next.is_some_and(Piece::is_separator), next.is_some_and(|next| next.kind == Kind::Number));
            let may_be_unit = word.is_word_of(UNITS) || word.found.as_str().contains('/') && !is_next;
            let is_glued = before.found.end() == word.found.start();
            let is_unit = before.kind == Kind::Number && (is_glued || may_be_unit && !names);
            let is_value = is_glued && before.is_mark(&['=']) && !is_array(word.found.as_str())
                || matches!(word.found.as_str(), "None" | "null" | "n/a");
            if word.kind == Kind::Word && (is_unit || is_value) {
                pieces[at].kind = Kind::Mark;
            }
        }
        pieces.truncate(pieces.iter().position(|piece| piece.is_word_of(STOPS)).unwrap_or(pieces.len()));
        pieces
    }

    fn is_word_of(&self, list: &str) -> bool {
        self.kind == Kind::Word && is_in(list, &self.found.as_str().to_lowercase())
    }

    /// `:` and `=`
    pub fn is_separator(&self) -> bool {
        self.is_mark(&[':', '='])
    }

    fn is_mark(&self, marks: &[char]) -> bool {
        self.kind == Kind::Mark && self.found.as_str().starts_with(marks)
    }
}

/// The name of a number.
#[derive(Debug, Default)]
pub(super) struct Phrase<'l> {
    pub words: Vec<&'l str>,
    /// Those in the parentheses behind them: `Loss (train): 0.5`.
    pub behind: Vec<&'l str>,
    pub is_per_cent: bool,
}

impl<'l> Phrase<'l> {
    /// Of the number at this place.
    pub fn before(pieces: &[Piece<'l>], at: usize) -> Phrase<'l> {
        let mut phrase = Phrase::default();
        let mut rest = &pieces[..at];
        for _ in 0..MOST {
            rest = match rest {
                [before @ .., last] if last.kind == Kind::Gap || last.is_mark(&[':', '=', '#', '[', '(', '\'', '"']) => before,
                // tensor(0.5), np.float32(0.5)
                [before @ .., word] if word.kind == Kind::Word && is_array(word.found.as_str()) => before,
                [.., last] if last.is_mark(&[')']) && phrase.behind.is_empty() => match phrase.take_behind(rest) {
                    Some(before) => before,
                    None => return Phrase::default(),
                },
                _ => break,
            };
        }
        let is_name = |piece: &&Piece<'l>| piece.kind == Kind::Word && !piece.is_word_of(LEVELS);
        phrase.words = rest.iter().rev().take(MOST).take_while(is_name).map(|piece| piece.found.as_str()).collect();
        phrase.words.reverse();
        phrase
    }

    /// What it says, and of what.
    pub fn name(&self) -> Option<(Name, Option<Scope>)> {
        name(&self.words, &self.behind)
    }

    /// The words in the parentheses at the end. Returns what is before them.
    fn take_behind<'p>(&mut self, pieces: &'p [Piece<'l>]) -> Option<&'p [Piece<'l>]> {
        let open = pieces.iter().rposition(|piece| piece.is_mark(&['(']))?;
        for piece in &pieces[open + 1..pieces.len() - 1] {
            match piece.kind {
                Kind::Word => self.behind.push(piece.found.as_str()),
                Kind::Mark if piece.is_mark(&['%']) => self.is_per_cent = true,
                _ => return None,
            }
        }
        Some(&pieces[..open])
    }

    /// Whether a separate word says what it is of: `val Loss`, but not `val_loss`.
    pub fn is_loose(&self) -> bool {
        self.words.iter().any(|word| scope_of(&word.to_lowercase()).is_some())
    }

    /// Whether it has this word, or a part of one.
    pub fn has(&self, parts: &[&str]) -> bool {
        let words = self.words.iter().chain(&self.behind).flat_map(|word| word.split(['_', '.', '/', '-']));
        words.map(str::to_lowercase).any(|word| parts.contains(&word.as_str()))
    }
}

fn is_array(word: &str) -> bool {
    matches!(word.rsplit('.').next(), Some("tensor" | "array" | "Array" | "float32" | "float64" | "DeviceArray" | "Tensor"))
}

/// What the words that begin at this place, with nothing but such words, say of all that follow them: `Test set:`, `[valid]`, `eval epoch`.
pub(super) fn heading(pieces: &[Piece<'_>], at: usize) -> Option<Scope> {
    let is_word = |piece: &Piece<'_>| piece.kind == Kind::Word;
    if !is_word(&pieces[at]) || at > 0 && is_word(&pieces[at - 1]) && !pieces[at - 1].is_word_of(LEVELS) {
        return None;
    }
    let words = pieces[at..].iter().take_while(|piece| is_word(piece)).map(|piece| piece.found.as_str().to_lowercase());
    let words: Vec<String> = words.collect();
    let scope = words.iter().find_map(|word| scope_of(word))?;
    let is_place = words.iter().any(|word| matches!(meaning(word).0, Name::Epoch | Name::Step));
    let known = |word: &String| is_aside(word) || matches!(meaning(word).0, Name::Epoch | Name::Step);
    // `val: 0.5` is a figure, and `Test: [3/10]` is none.
    let mut after =
        pieces[at + words.len()..].iter().skip_while(|piece| piece.kind == Kind::Gap || piece.is_mark(&[':', '=', '\'', '"']));
    let is_number = after.next().is_some_and(|piece| piece.kind == Kind::Number);
    let is_bar =
        after.next().is_some_and(|piece| piece.is_mark(&['%'])) && after.next().is_some_and(|piece| piece.is_mark(&['|']));
    let is_figure = is_number && !is_bar && !is_place;
    (words.iter().all(known) && !is_figure).then_some(scope)
}

/// What all of a line is of, where it says so in brackets or quotes, wherever: `loss 0.5 (val)`, `{"loss": 0.5, "split": "dev"}`.
pub(super) fn label(pieces: &[Piece<'_>]) -> Option<Scope> {
    let is_figure =
        |piece: &Piece<'_>| matches!(meaning(&piece.found.as_str().to_lowercase()).0, Name::Loss | Name::Accuracy | Name::Top);
    let mut headings = (0..pieces.len()).filter_map(|at| {
        let (scope, rest) = (heading(pieces, at)?, pieces.get(at + 1..).unwrap_or_default());
        let is_closed = rest.first().is_some_and(|piece| piece.is_mark(&[')', ']', '\'', '"']));
        // `"val": {"loss": 0.5}` is a key: what is in it is of it, and what stands before is not.
        let is_key = rest.get(1).is_some_and(Piece::is_separator);
        let is_enclosed = at > 0 && pieces[at - 1].is_mark(&['(', '[', '\'', '"']) && is_closed && !is_key;
        // `loss 0.5 [val] loss 0.4` is of both.
        Some((scope, is_enclosed && (!pieces[at - 1].is_mark(&['[']) || !rest.iter().any(is_figure))))
    });
    let (scope, is_label) = headings.next()?;
    let (is_alone, labels) =
        headings.fold((true, is_label), |(alone, labels), (of, is_label)| (alone && of == scope, labels || is_label));
    (is_alone && labels).then_some(scope)
}
