//! What a row of the table of settings is, and how its value is shown, typed and stepped through.
//!
//! Never leaves a job with a value that cannot be read: a text that means nothing changes nothing.

use std::str::FromStr;

use crate::domain::job::TrainingJob;
use crate::domain::units;

/// What a setting is called in code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    Np,
    Steps,
    Epochs,
    BatchSize,
    BaseLr,
    Momentum,
    Wd,
    TargetAccuracy,
    Patience,
    WarmupEpochs,
    Model,
    Data,
    TrainImages,
    ValidationImages,
    Checkpointing,
    Seed,
    Hosts,
    Hostfile,
    NetworkInterface,
    StartTimeout,
    TimeLimit,
    MinNp,
    MaxNp,
    ResetLimit,
    HostDiscoveryScript,
    ElasticTimeout,
    CommitEvery,
    Slurm,
    Nodes,
    GpusPerNode,
    Partition,
    Link,
}

/// One setting: how it is named, explained, shown, changed and handed to the trainer.
pub struct Setting {
    pub key: Key,
    /// The flag of the verbs and of `hvd-train`, without its dashes.
    pub flag: &'static str,
    /// What the flag takes, for its help.
    pub value_name: &'static str,
    /// The help of the flag.
    pub help: &'static str,
    /// The name on the screen.
    pub label: &'static str,
    /// What can be typed, in a few words.
    pub hint: &'static str,
    pub values: Values,
    /// As it is shown and typed.
    pub get: fn(&TrainingJob) -> String,
    /// Takes a typed value. The error is one line about the text; the job is as it was then.
    pub set: fn(&mut TrainingJob, &str) -> Result<(), String>,
    /// Why its value cannot run, in one sentence.
    pub problem: fn(&TrainingJob) -> Option<String>,
    pub trainer: TrainerFlag,
}

/// The values that the arrow keys go through.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Values {
    /// Whole numbers, both ends included.
    Count(usize, usize),
    /// The next one above or below.
    Scale(&'static [f64]),
    /// As [`Values::Scale`]; the last one stands for all there are, which is no limit.
    UpToAll(&'static [f64]),
    /// Whole numbers from 0, also from between two of them.
    WholeFromZero,
    /// One after the other, and round again.
    Names(&'static [&'static str]),
    /// `on` or `off`; the verbs have a flag for each, and this is the one for off, with its help.
    Switch(&'static str, &'static str),
    /// Only typed.
    Free,
}

/// How a setting reaches `hvd-train`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrainerFlag {
    /// `--flag VALUE`.
    Value,
    /// `--flag VALUE`, left out where there is no limit.
    Limit,
    /// `--data-dir` with the folder that the launcher found for this source.
    DataDir,
    /// This flag where the setting is on.
    Switch(&'static str),
    /// The launcher's business.
    None,
}

impl Setting {
    /// The value above or below, as text; values at the end of a scale stay, names and switches go round.
    pub fn next(&self, job: &TrainingJob, up: bool) -> String {
        let text = (self.get)(job);
        let number = || text.parse::<f64>().unwrap_or(0.0);
        match self.values {
            Values::Count(least, most) => {
                let value = text.parse::<usize>().unwrap_or(least);
                if up { value.saturating_add(1).min(most) } else { value.saturating_sub(1).max(least) }.to_string()
            }
            Values::Scale(scale) => on_scale(scale, number(), up).to_string(),
            Values::UpToAll(scale) => {
                let all = scale.last().copied().unwrap_or(f64::INFINITY);
                let next = on_scale(scale, text.parse().unwrap_or(all), up);
                if next < all { next.to_string() } else { ALL.to_owned() }
            }
            Values::WholeFromZero => if up { number().floor() + 1.0 } else { (number().ceil() - 1.0).max(0.0) }.to_string(),
            Values::Names(names) => next_name(names, &text, up).to_owned(),
            Values::Switch(..) => if text == "on" { "off" } else { "on" }.to_owned(),
            Values::Free => text,
        }
    }

    /// Whether it is switched on.
    pub fn is_on(&self, job: &TrainingJob) -> bool {
        (self.get)(job) == "on"
    }

    /// Whether it names a limit at all.
    pub fn is_limited(&self, job: &TrainingJob) -> bool {
        ![ALL, NONE].contains(&(self.get)(job).as_str())
    }
}

/// The next value on a scale above or below; a value beyond the scale's end stays.
fn on_scale(values: &[f64], value: f64, up: bool) -> f64 {
    let next = if up {
        values.iter().find(|&&candidate| candidate > value * 1.000_001)
    } else {
        values.iter().rev().find(|&&candidate| candidate < value * 0.999_999)
    };
    next.copied().unwrap_or(value)
}

/// The name after or before this one, round the end; the first where it is none of them.
pub fn next_name<'a>(names: &[&'a str], name: &str, up: bool) -> &'a str {
    let len = names.len();
    match names.iter().position(|candidate| *candidate == name) {
        Some(place) => names[(place + if up { 1 } else { len - 1 }) % len],
        None => names.first().copied().unwrap_or_default(),
    }
}

/// No limit on images, in words.
pub(super) const ALL: &str = "all";
/// No host, host file or time limit, in words.
pub(super) const NONE: &str = "none";

pub(super) fn or_word<T: ToString>(value: Option<T>, word: &str) -> String {
    value.map_or_else(|| word.to_owned(), |value| value.to_string())
}

/// What can be typed as a number.
pub(super) trait Number: FromStr {
    /// With an example.
    const EXPECTED: &'static str;
}

impl Number for usize {
    const EXPECTED: &'static str = "a whole number, such as 2";
}

impl Number for u64 {
    const EXPECTED: &'static str = "a whole number, such as 1";
}

impl Number for f64 {
    const EXPECTED: &'static str = "a number, such as 0.5";
}

pub(super) fn put<T: Number>(place: &mut T, text: &str) -> Result<(), String> {
    *place = text.parse().map_err(|_| match text {
        "" => format!("empty: type {}", T::EXPECTED),
        _ => format!("`{text}` is not {}", T::EXPECTED),
    })?;
    Ok(())
}

/// A share of all images, 0 to 1.
pub(super) fn put_share(place: &mut f64, text: &str) -> Result<(), String> {
    let mut share = *place;
    put(&mut share, text)?;
    if !(0.0..=1.0).contains(&share) {
        let slip = (share > 1.0 && share <= 100.0).then(|| format!(": for {share} % write {}", share / 100.0));
        return Err(format!("{text} is not in 0 to 1{}", slip.unwrap_or_default()));
    }
    *place = share;
    Ok(())
}

/// A value that says itself what is wrong with a text.
pub(super) fn put_word<T: FromStr<Err: ToString>>(place: &mut T, text: &str) -> Result<(), String> {
    *place = text.parse().map_err(|error: T::Err| error.to_string())?;
    Ok(())
}

pub(super) fn put_limit(place: &mut Option<usize>, text: &str) -> Result<(), String> {
    *place = match text {
        ALL => None,
        _ => Some(text.parse().map_err(|_| format!("`{text}` is not a number of images: use a number, or all"))?),
    };
    Ok(())
}

/// A number, or none.
pub(super) fn put_count(place: &mut Option<usize>, text: &str) -> Result<(), String> {
    let mut count = 0;
    *place = if text == NONE { None } else { put(&mut count, text).map(|()| Some(count))? };
    Ok(())
}

pub(super) fn put_text(place: &mut Option<String>, text: &str) -> Result<(), String> {
    *place = (!text.is_empty() && text != NONE).then(|| text.to_owned());
    Ok(())
}

pub(super) fn put_switch(place: &mut bool, text: &str) -> Result<(), String> {
    *place = match text {
        "on" | "yes" | "true" => true,
        "off" | "no" | "false" => false,
        _ => return Err(format!("`{text}` is neither on nor off")),
    };
    Ok(())
}

/// Whole seconds, `M:SS` or `H:MM:SS`.
pub(super) fn put_time(place: &mut Option<f64>, text: &str) -> Result<(), String> {
    if text == NONE {
        *place = None;
        return Ok(());
    }
    *place = Some(units::parse_clock(text)?);
    Ok(())
}
