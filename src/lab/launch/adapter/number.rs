//! How numbers in lines are found and read, and whether an accuracy without a sign is per cent.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use regex::{Match, Regex, RegexBuilder};

use crate::domain::user_metrics::Figure;

/// Numbers as programs print them, with all that may belong to them: [`number`] says whether it does.
pub(super) const NUMBER: &str =
    r"(?:[-+]?(?:\d+(?:[.,'’_\u{a0}\u{202f}\u{2009}]\d+)*\.?(?:[eE][-+]?\d+)?(?:[kKM]\b)?|(?i:nan|inf(?:inity)?)\b))";
/// Memory of a compiled expression.
const MOST_BYTES: usize = 4 << 20;

/// An expression in the notation of the families.
pub fn compiled(expression: &str) -> Result<Regex, String> {
    let built = RegexBuilder::new(&expression.replace("NUM", NUMBER)).size_limit(MOST_BYTES).build();
    built.map_err(|error| error.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned())
}

/// A comma before decimals: then a point does not separate decimals.
#[expect(clippy::unwrap_used, reason = "a constant, and a test uses it")]
static DECIMAL_COMMA: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?:^|[^\d.,])(?:\d+,(?:\d{1,2}|\d{4,})(?:[^\d,.]|$)|0,\d)|\d\.\d{3},\d").unwrap());

/// What was found in a line, as a number; `None` where there is more to it than was found, or where it could be two.
pub(super) fn figure(line: &str, found: Match<'_>) -> Option<f64> {
    let (text, before, after) = (found.as_str(), &line[..found.start()], &line[found.end()..]);
    let digit = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    let goes_on = match after.chars().next() {
        Some('…' | '_') => true,
        Some('.') => digit(&after[1..]) || after.starts_with("..") || text.ends_with('.'),
        Some(',' | '\'' | ':' | '-') => digit(&after[1..]),
        Some(letter) => letter.is_alphanumeric() && !["im", "sa", "ex"].iter().any(|unit| after.starts_with(unit)),
        None => false,
    };
    let rest = before.trim_end_matches(['.', ',', '\'']);
    let began = before.ends_with(|c: char| c.is_ascii_digit())
        || rest.len() < before.len() && rest.ends_with(|c: char| c.is_ascii_digit());
    // `[1,2]` are two.
    let is_list = text.contains(',') && before.ends_with(['[', '(']);
    let may_be_thousands = text.split_once('.').is_some_and(|(_, decimals)| decimals.len() == 3);
    let is_unclear = may_be_thousands && !text.starts_with('0') && DECIMAL_COMMA.is_match(line);
    if goes_on || began || is_list || is_unclear { None } else { number(text) }
}

/// `12,345.6`, `1.234,5`, `12'345`, `1.2k`, `1e-3`, `NaN`; `None` where it could be two numbers, as `1,234` could.
pub(super) fn number(text: &str) -> Option<f64> {
    let (digits, factor) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1e3),
        None => text.strip_suffix('M').map_or((text, 1.0), |digits| (digits, 1e6)),
    };
    let (mantissa, exponent) = digits.split_at(digits.find(['e', 'E']).unwrap_or(digits.len()));
    let mantissa = mantissa.trim_end_matches('.');
    let is_mark = |c: &char| !c.is_ascii_alphanumeric() && !matches!(c, '+' | '-');
    let marks: Vec<char> = mantissa.chars().filter(is_mark).collect();
    let Some(&last) = marks.last() else { return Some(format!("{mantissa}{exponent}").parse::<f64>().ok()? * factor) };
    let (whole, decimals) = mantissa.rsplit_once(last)?;
    let has_decimals = match &marks[..] {
        ['.'] => true,
        [','] if decimals.len() == 3 && whole.len() < 4 && whole.trim_start_matches(['+', '-']) != "0" => return None,
        [','] => true,
        [others @ .., '.' | ','] => !others.contains(&last),
        _ => false,
    };
    let (whole, decimals) = if has_decimals { (whole, decimals) } else { (mantissa, "0") };
    let mut groups = whole.split(|c| is_mark(&c));
    let first = groups.next()?;
    let is_grouped = whole.contains(|c| is_mark(&c));
    let leads = !is_grouped || first.len() < 5 && !first.trim_start_matches(['+', '-']).starts_with('0');
    let separators = &marks[..marks.len() - usize::from(has_decimals)];
    let is_whole = leads && separators.windows(2).all(|pair| pair[0] == pair[1]) && groups.all(|group| group.len() == 3);
    let digits: String = whole.chars().filter(|c| !is_mark(c)).collect();
    is_whole.then(|| format!("{digits}.{decimals}{exponent}").parse::<f64>().ok()).flatten().map(|value| value * factor)
}

/// What is known of the accuracies of one program: once it prints one above 1, all later ones are per cent.
#[derive(Debug, Default)]
pub struct Percents(AtomicBool);

impl Percents {
    /// A figure as it is kept: an accuracy as [`Percents::fraction`] has it, any other as it is.
    pub fn told(&self, field: Figure, value: f64) -> Option<f64> {
        if matches!(field.name, "accuracy" | "val_accuracy") { self.fraction(value, false) } else { Some(value) }
    }

    /// An accuracy from 0 to 1; `None` if it is out of range, or if it could be per cent and nothing says whether it is.
    pub fn fraction(&self, value: f64, may_be_percent: bool) -> Option<f64> {
        if value > 1.0 && value <= 100.0 {
            self.0.store(true, Ordering::Relaxed);
        }
        match self.0.load(Ordering::Relaxed) {
            _ if !(0.0..=100.0).contains(&value) => None,
            true => Some(value / 100.0),
            false => Some(value).filter(|value| !may_be_percent || *value == 0.0),
        }
    }
}
