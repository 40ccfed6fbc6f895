//! What the standard library says of a text that is no number, in words that say what is expected.
//!
//! Never reads the text itself.

const WORDS: [(&str, &str); 6] = [
    ("invalid digit found in string", "expected a whole number"),
    ("invalid float literal", "expected a number"),
    ("number too large to fit in target type", "the number is too large"),
    ("number too small to fit in target type", "the number is too small"),
    ("cannot parse integer from empty string", "expected a whole number"),
    ("cannot parse float from empty string", "expected a number"),
];

/// An error of a command line, with what the standard library said in it replaced.
pub fn in_plain_words(error: &str) -> String {
    WORDS.iter().fold(error.to_owned(), |error, (said, plain)| error.replace(said, plain))
}

#[cfg(test)]
mod tests {
    use super::in_plain_words;

    #[test]
    fn every_error_of_a_number_is_known() {
        let whole = |text: &str| text.parse::<u8>().unwrap_err().to_string();
        let errors = [whole("x"), whole(""), whole("300"), "-300".parse::<i8>().unwrap_err().to_string()];
        let floats = ["x", ""].map(|text| text.parse::<f64>().unwrap_err().to_string());
        for error in errors.iter().chain(&floats) {
            assert_ne!(&in_plain_words(error), error, "it is said in other words now");
        }
        assert_eq!(
            in_plain_words("invalid value 'x': invalid digit found in string"),
            "invalid value 'x': expected a whole number"
        );
    }
}
