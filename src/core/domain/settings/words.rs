//! Puts messages in the reader's words: errors of the standard library about numbers, and flags, which the screen calls settings.

use super::table::SETTINGS;
use crate::domain::benchmark::BENCHMARK_SETTINGS;
use crate::domain::collective::COLLECTIVES_SETTINGS;
use crate::domain::nvcnn::PHOTO_SETTINGS;

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

/// A message of the lab for a screen, where a setting has a name rather than a flag. A command stands between backticks, and
/// stays as it is typed.
pub fn without_flags(message: &str) -> String {
    let parts = message.split('`').enumerate().map(|(place, part)| {
        let words: Vec<String> = part.split(' ').map(|word| if place % 2 == 0 { named(word) } else { word.to_owned() }).collect();
        words.join(" ")
    });
    parts.collect::<Vec<_>>().join("`")
}

/// `--train-images,` as `train images,`.
fn named(word: &str) -> String {
    let start = word.find(|c: char| c.is_alphanumeric() || c == '-').unwrap_or(word.len());
    let (before, rest) = word.split_at(start);
    let Some(flag) = rest.strip_prefix("--").filter(|flag| flag.starts_with(|c: char| c.is_ascii_lowercase())) else {
        return word.to_owned();
    };
    let (flag, after) = flag.split_at(flag.find(|c: char| !(c.is_alphanumeric() || "-_".contains(c))).unwrap_or(flag.len()));
    // Flags of other programs are left alone: torchrun's `--nproc-per-node` is no setting of ours.
    known(&flag.replace('_', "-")).map_or(word.to_owned(), |label| format!("{before}{label}{after}"))
}

/// Settings of the other workloads that no learner would guess from the flag or from the name in the record.
const LABELS: [(&str, &str); 15] = [
    ("bad-records", "bad images"),
    ("bind", "binding"),
    ("data-dir", "image folder"),
    ("fp16-allreduce", "float16 allreduce"),
    ("log-dir", "checkpoint folder"),
    ("max-bytes", "largest buffer"),
    ("mem-node", "NUMA node"),
    ("min-bytes", "smallest buffer"),
    ("no-cuda", "CPU only"),
    ("num-batches", "batches"),
    ("num-batches-per-iter", "batches per iteration"),
    ("num-epochs", "epochs"),
    ("num-intra-threads", "threads"),
    ("num-iters", "iterations"),
    ("num-warmup-batches", "warmup batches"),
];

/// Flags of verbs that are no settings, and that messages name.
const OF_THE_SCREEN: [&str; 4] = ["force", "steps", "preset", "name"];

/// The name of a setting on the screen, by its flag, or by its name in a run's record.
pub fn label(flag: &str) -> String {
    let flag = flag.replace('_', "-");
    known(&flag).unwrap_or_else(|| flag.replace('-', " "))
}

/// The name of a setting of ours, by its flag.
fn known(flag: &str) -> Option<String> {
    let of_training = || SETTINGS.iter().find(|setting| setting.flag == flag).map(|setting| setting.label);
    if let Some(label) = LABELS.iter().find(|(name, _)| *name == flag).map(|(_, label)| *label).or_else(of_training) {
        return Some(label.split(" (").next().unwrap_or(label).to_owned());
    }
    let is_ours = BENCHMARK_SETTINGS.iter().any(|setting| setting.flag == flag)
        || PHOTO_SETTINGS.iter().any(|setting| setting.flag == flag)
        || COLLECTIVES_SETTINGS.iter().any(|setting| setting.flag == flag)
        || OF_THE_SCREEN.contains(&flag);
    is_ours.then(|| flag.replace('-', " "))
}

#[cfg(test)]
mod tests {
    use super::{in_plain_words, without_flags};

    #[test]
    fn a_screen_says_settings_and_leaves_commands_as_they_are() {
        for (said, shown) in [
            ("use --np 8, or lower --train-images", "use np 8, or lower train images"),
            ("the same --log_dir, (--min-np) works", "the same checkpoint folder, (min np) works"),
            ("--batch-size: 5 - 3 -- x", "batch per rank: 5 - 3 -- x"),
            ("`hvd-lab run --np 2` starts one: --seed", "`hvd-lab run --np 2` starts one: seed"),
            ("--num-iters is 0, and --max_bytes", "iterations is 0, and largest buffer"),
            ("ambiguous option: --nproc could match --nproc-per-node", "ambiguous option: --nproc could match --nproc-per-node"),
        ] {
            assert_eq!(without_flags(said), shown);
        }
    }

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
