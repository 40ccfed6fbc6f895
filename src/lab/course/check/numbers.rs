//! Numbers of a verdict: which are equal, and how they are written.

/// Rates are equal to six digits.
const SIX_DIGITS: f64 = 5e-7;

/// Whether two rates are the same.
pub fn equal_rates(a: f64, b: f64) -> bool {
    (a - b).abs() <= SIX_DIGITS * a.abs().max(b.abs())
}

/// Two numbers with four digits behind the point, or as many more as it takes to tell them apart.
pub fn apart(a: f64, b: f64) -> [String; 2] {
    let with = |digits: usize| [a, b].map(|number| format!("{number:.digits$}"));
    (4..17).map(with).find(|[a, b]| a != b).unwrap_or_else(|| with(4))
}

/// Six digits, without noughts at the end.
pub fn digits(rate: f64) -> String {
    format!("{rate:.5e}").parse::<f64>().unwrap_or(rate).to_string()
}

/// The same number, though it may have travelled as an f32.
pub fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * a.abs().max(b.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_numbers_are_told_apart() {
        assert_eq!(apart(0.5, 0.25), ["0.5000", "0.2500"]);
        assert_eq!(apart(0.848_301, 0.848_299_6), ["0.848301", "0.848300"]);
        assert_eq!(apart(0.5, 0.5), ["0.5000", "0.5000"]);
    }
}
