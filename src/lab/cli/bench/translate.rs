//! The command line of another benchmark in the lab's own words.
//!
//! Never decides what a flag means: the table of flags does.

use std::ffi::OsString;

use super::flags::{FLAGS, Flag, Here, Takes};
use crate::domain::benchmark::Style;

/// A line whose second word is `bench`: flags of the style that it names become the lab's own; what there is to say of them stands
/// in flags that only this file writes.
pub fn translated(words: Vec<OsString>) -> Vec<OsString> {
    let mut words = words.into_iter();
    let mut lab: Vec<OsString> = words.by_ref().take(2).collect();
    let rest: Vec<OsString> = words.collect();
    let style = style(&rest);
    let mut rest = rest.into_iter().peekable();
    let mut said: Option<OsString> = None;
    while let Some(word) = rest.next() {
        let Some((name, value)) = word.to_str().and_then(long_flag) else {
            lab.push(word);
            continue;
        };
        let Some((flag, is_off)) = find(style, &name) else {
            said = said.or_else(|| of_another(style, &name).map(Into::into));
            lab.push(with_value(&format!("--{name}"), value.as_deref()));
            continue;
        };
        let written = word.to_string_lossy().into_owned();
        let (value, written) = match flag.takes {
            Takes::Switch => (value.unwrap_or_default(), written),
            Takes::Bool => (as_bool(value.as_deref(), is_off).to_owned(), written),
            Takes::Value => match value.or_else(|| rest.next_if(is_value)?.into_string().ok()) {
                Some(value) if written.contains('=') => (value, written),
                Some(value) => (value.clone(), format!("{written} {value}")),
                // The lab's own flag says what is missing.
                None => {
                    lab.push(format!("--{name}").into());
                    continue;
                }
            },
        };
        let here = flag.values.iter().find(|(of, _)| *of == value).or(flag.values.iter().find(|(of, _)| of.is_empty()));
        match here.map(|(_, here)| *here) {
            Some(Here::By(own)) if own.ends_with(' ') => lab.push(with_value(own.trim_end(), Some(&value))),
            Some(Here::By(own)) => lab.extend(own.split(' ').map(OsString::from)),
            Some(Here::Nothing(why)) => lab.push(format!("--note={written}: {why}").into()),
            Some(Here::Refused(why)) => said = said.or_else(|| Some(format!("{written}: {why}").into())),
            Some(Here::Already) | None => {}
        }
    }
    // Whatever else is wrong with the line: this is the first thing to change.
    if let Some(said) = said {
        lab.truncate(2);
        let mut refused = OsString::from("--refused=");
        refused.push(said);
        lab.push(refused);
    }
    lab
}

fn is_value(word: &OsString) -> bool {
    !word.as_encoded_bytes().starts_with(b"--")
}

fn with_value(flag: &str, value: Option<&str>) -> OsString {
    value.map_or(flag.to_owned(), |value| format!("{flag}={value}")).into()
}

/// Name with dashes, and what stands behind `=`.
fn long_flag(word: &str) -> Option<(String, Option<String>)> {
    let word = word.strip_prefix("--").filter(|word| !word.is_empty())?;
    let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value.to_owned())));
    Some((dashed(name), value))
}

fn dashed(name: &str) -> String {
    name.replace('_', "-")
}

/// The style that the line asks for, as far as it is one.
fn style(words: &[OsString]) -> Style {
    let texts: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    let behind = |place: usize| texts[place].strip_prefix("--style=").or(texts.get(place + 1).copied());
    let place = texts.iter().position(|word| *word == "--style" || word.starts_with("--style="));
    place.and_then(behind).and_then(|name| name.parse().ok()).unwrap_or(Style::Horovod)
}

/// The flag of this name, and whether it is switched off by `no` before it.
fn find(style: Style, name: &str) -> Option<(&'static Flag, bool)> {
    let of = |name: &str| FLAGS.iter().find(|flag| flag.style == style && dashed(flag.name) == name);
    of(name).map(|flag| (flag, false)).or_else(|| {
        let off = of(name.strip_prefix("no")?).filter(|flag| flag.takes == Takes::Bool)?;
        Some((off, true))
    })
}

fn as_bool(value: Option<&str>, is_off: bool) -> &'static str {
    let is_true = value.is_none_or(|value| ["true", "t", "1", "yes", "y"].contains(&value.to_lowercase().as_str()));
    if is_true != is_off { "true" } else { "false" }
}

/// For a flag that only another of the programs has: which one.
fn of_another(style: Style, name: &str) -> Option<String> {
    let hands_on = |flag: &Flag| matches!(flag.values, [(_, Here::By(own))] if own.trim_end().trim_start_matches("--") == name);
    let all = [Style::TfCnn, Style::Nvcnn, Style::Horovod].into_iter().filter(|other| *other != style);
    let (other, _) = all.filter_map(|other| Some((other, find(other, name)?.0))).find(|(_, flag)| !hands_on(flag))?;
    let program = match other {
        Style::TfCnn => "tf_cnn_benchmarks",
        Style::Nvcnn => "nvcnn",
        Style::Horovod | Style::Json => "Horovod's benchmark",
    };
    Some(format!("--{name} is a flag of {program}: add --style {other}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_lab_stay_as_they_are() {
        let line = "hvd-lab bench --np 2 --style tf-cnn --name a_b -H x_1:2 --batch_size=8 --num_batches 5 --json";
        let words = translated(line.split(' ').map(OsString::from).collect());
        let expected = "hvd-lab bench --np 2 --style tf-cnn --name a_b -H x_1:2 --batch-size=8 --num-batches=5 --json";
        assert_eq!(words.join(std::ffi::OsStr::new(" ")), OsString::from(expected));
    }
}
