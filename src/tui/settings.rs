//! The settings of the next run: how each is named, shown, stepped and typed.
//!
//! Never starts a run, and never leaves a field with a value that means nothing: text that does not parse is refused.

use crate::dataset::SplitKind;
use crate::domain::run::{DataSource, RunSpec};
use crate::launch::Preset;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    Preset,
    Np,
    Epochs,
    BatchSize,
    BaseLr,
    Warmup,
    Target,
    Model,
    Data,
    TrainImages,
    Checkpointing,
    Seed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Down,
    Up,
}

const BATCH_SIZES: [f64; 9] = [8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0];
const RATES: [f64; 12] = [0.000_1, 0.000_2, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5];
const IMAGES: [f64; 7] = [1_000.0, 3_000.0, 6_000.0, 12_000.0, 24_000.0, 48_000.0, ALL_IMAGES as f64];
const TARGETS: [f64; 9] = [0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95];
const MODELS: [&str; 5] = ["wrn-10-1", "wrn-16-1", "wrn-16-4", "wrn-16-10", "wrn-28-10"];
/// What `all` means.
const ALL_IMAGES: usize = SplitKind::Train.official_len();

impl Field {
    pub const ALL: [Field; 12] = [
        Field::Preset,
        Field::Np,
        Field::Epochs,
        Field::BatchSize,
        Field::BaseLr,
        Field::Warmup,
        Field::Target,
        Field::Model,
        Field::Data,
        Field::TrainImages,
        Field::Checkpointing,
        Field::Seed,
    ];

    pub fn label(self) -> &'static str {
        match self {
            Field::Preset => "preset",
            Field::Np => "np (ranks)",
            Field::Epochs => "epochs",
            Field::BatchSize => "batch per rank",
            Field::BaseLr => "base LR",
            Field::Warmup => "warmup epochs",
            Field::Target => "target accuracy",
            Field::Model => "model",
            Field::Data => "data",
            Field::TrainImages => "train images",
            Field::Checkpointing => "checkpoints",
            Field::Seed => "seed",
        }
    }

    /// What can be typed, shown while typing.
    pub fn hint(self) -> &'static str {
        match self {
            Field::Preset => "a preset's name",
            Field::Np => "1 to 4096 ranks",
            Field::Epochs => "at least 1",
            Field::BatchSize => "images per rank, from 1",
            Field::BaseLr => "above 0, such as 0.01",
            Field::Warmup => "0 for none, such as 5",
            Field::Target => "0 to 1, such as 0.85",
            Field::Model => "wrn-DEPTH-WIDTH",
            Field::Data => "auto, fashion-mnist, generated",
            Field::TrainImages => "a number, or all",
            Field::Checkpointing => "on or off",
            Field::Seed => "a whole number from 0",
        }
    }

    pub fn value(self, spec: &RunSpec, preset: &str) -> String {
        match self {
            Field::Preset => preset.to_owned(),
            Field::Np => spec.np.to_string(),
            Field::Epochs => spec.epochs.to_string(),
            Field::BatchSize => spec.batch_size.to_string(),
            Field::BaseLr => spec.base_lr.to_string(),
            Field::Warmup => spec.warmup_epochs.to_string(),
            Field::Target => spec.target_accuracy.to_string(),
            Field::Model => spec.model.to_string(),
            Field::Data => spec.data.to_string(),
            Field::TrainImages => spec.train_images.map_or("all".into(), |images| images.to_string()),
            Field::Checkpointing => if spec.checkpointing { "on" } else { "off" }.into(),
            Field::Seed => spec.seed.to_string(),
        }
    }

    /// The next value up or down; values at the end of a scale stay, lists and switches go round.
    pub fn step(self, spec: &mut RunSpec, preset: &mut String, presets: &[Preset], direction: Direction) {
        let up = direction == Direction::Up;
        match self {
            Field::Preset => {
                let names: Vec<&str> = presets.iter().map(|preset| preset.name.as_str()).collect();
                if let Some(name) = round(&names, preset, up) {
                    apply_preset(name, spec, preset, presets);
                }
            }
            Field::Np => spec.np = count(spec.np, up, 1, 4096),
            Field::Epochs => spec.epochs = count(spec.epochs, up, 1, 9999),
            Field::BatchSize => spec.batch_size = scale(&BATCH_SIZES, spec.batch_size as f64, up) as usize,
            Field::BaseLr => spec.base_lr = scale(&RATES, spec.base_lr, up),
            Field::Warmup => {
                spec.warmup_epochs =
                    if up { spec.warmup_epochs.floor() + 1.0 } else { (spec.warmup_epochs.ceil() - 1.0).max(0.0) };
            }
            Field::Target => spec.target_accuracy = scale(&TARGETS, spec.target_accuracy, up),
            Field::Model => {
                let model = spec.model.to_string();
                if let Some(Ok(model)) = round(&MODELS, &model, up).map(str::parse) {
                    spec.model = model;
                }
            }
            Field::Data => {
                spec.data = match (&spec.data, up) {
                    (DataSource::Auto, true) | (DataSource::Generated, false) => DataSource::FashionMnist,
                    (DataSource::FashionMnist, true) | (DataSource::Auto, false) => DataSource::Generated,
                    (DataSource::Generated, true) | (DataSource::FashionMnist, false) => DataSource::Auto,
                }
            }
            Field::TrainImages => {
                let next = scale(&IMAGES, spec.train_images.unwrap_or(ALL_IMAGES) as f64, up) as usize;
                spec.train_images = (next < ALL_IMAGES).then_some(next);
            }
            Field::Checkpointing => spec.checkpointing = !spec.checkpointing,
            Field::Seed => spec.seed = if up { spec.seed.saturating_add(1) } else { spec.seed.saturating_sub(1) },
        }
    }

    /// Takes over typed text.
    ///
    /// # Errors
    /// One line that says what is wrong with the text; `spec` is as it was.
    pub fn parse(self, text: &str, spec: &mut RunSpec, preset: &mut String, presets: &[Preset]) -> Result<(), String> {
        let text = text.trim();
        let mut next = spec.clone();
        match self {
            Field::Preset => {
                if !apply_preset(text, spec, preset, presets) {
                    let names: Vec<&str> = presets.iter().map(|preset| preset.name.as_str()).collect();
                    return Err(format!("no preset `{text}`: use {}", names.join(" or ")));
                }
                return Ok(());
            }
            Field::Np => next.np = number(text)?,
            Field::Epochs => next.epochs = number(text)?,
            Field::BatchSize => next.batch_size = number(text)?,
            Field::BaseLr => next.base_lr = number(text)?,
            Field::Warmup => next.warmup_epochs = number(text)?,
            Field::Target => {
                next.target_accuracy = number(text)?;
                if !(0.0..=1.0).contains(&next.target_accuracy) {
                    return Err(format!("{text} is not in 0 to 1"));
                }
            }
            Field::Model => next.model = text.parse()?,
            Field::Data => next.data = text.parse()?,
            Field::TrainImages => next.train_images = if text == "all" { None } else { Some(number(text)?) },
            Field::Checkpointing => {
                next.checkpointing = match text {
                    "on" | "yes" | "true" => true,
                    "off" | "no" | "false" => false,
                    _ => return Err(format!("`{text}` is neither on nor off")),
                }
            }
            Field::Seed => next.seed = number(text)?,
        }
        match next.problem() {
            Some(problem) => Err(problem),
            None => {
                *spec = next;
                Ok(())
            }
        }
    }
}

fn apply_preset(name: &str, spec: &mut RunSpec, current: &mut String, presets: &[Preset]) -> bool {
    let Some(preset) = presets.iter().find(|preset| preset.name == name) else { return false };
    // Steps are the learner's own choice, and hosts belong to the place: a preset changes neither.
    let (hosts, hostfile, trainer_flags) = (spec.hosts.take(), spec.hostfile.take(), std::mem::take(&mut spec.trainer_flags));
    *spec = RunSpec { steps: spec.steps, hosts, hostfile, trainer_flags, ..preset.spec.clone() };
    *current = preset.name.clone();
    true
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| if text.is_empty() { "empty: type a number".into() } else { format!("`{text}` is no such number") })
}

fn count(value: usize, up: bool, least: usize, most: usize) -> usize {
    if up { value.saturating_add(1).min(most) } else { value.saturating_sub(1).max(least) }
}

/// The next value on a scale above or below; a value beyond the scale's end stays.
fn scale(values: &[f64], value: f64, up: bool) -> f64 {
    let next = if up {
        values.iter().find(|&&candidate| candidate > value * 1.000_001)
    } else {
        values.iter().rev().find(|&&candidate| candidate < value * 0.999_999)
    };
    next.copied().unwrap_or(value)
}

fn round<'a>(values: &[&'a str], value: &str, up: bool) -> Option<&'a str> {
    let len = values.len();
    let next = match values.iter().position(|candidate| *candidate == value) {
        Some(place) if up => (place + 1) % len,
        Some(place) => (place + len - 1) % len,
        None => 0,
    };
    values.get(next).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::samples;

    #[test]
    fn every_field_steps_both_ways_and_shows_what_it_parses() {
        for field in Field::ALL {
            let presets = samples::presets();
            let (mut spec, mut preset) = (presets[0].spec.clone(), presets[0].name.clone());
            for direction in [Direction::Up, Direction::Down] {
                for _ in 0..40 {
                    let before = field.value(&spec, &preset);
                    field.step(&mut spec, &mut preset, &presets, direction);
                    assert_eq!(spec.problem(), None, "{field:?}");
                    let shown = field.value(&spec, &preset);
                    field.parse(&shown, &mut spec, &mut preset, &presets).unwrap();
                    assert_eq!(field.value(&spec, &preset), shown, "{field:?} after {before}");
                }
            }
        }
    }

    #[test]
    fn text_that_means_nothing_changes_nothing() {
        let presets = samples::presets();
        let (mut spec, mut preset) = (presets[0].spec.clone(), presets[0].name.clone());
        let bad = [
            (Field::Np, "0"),
            (Field::Np, "-1"),
            (Field::Np, ""),
            (Field::Epochs, "0"),
            (Field::BaseLr, "nan"),
            (Field::BaseLr, "0"),
            (Field::Target, "85"),
            (Field::Model, "wrn-12-1"),
            (Field::Data, "mnist"),
            (Field::TrainImages, "0"),
            (Field::Checkpointing, "maybe"),
            (Field::Preset, "tpu"),
            (Field::Warmup, "-1"),
        ];
        for (field, text) in bad {
            let error = field.parse(text, &mut spec, &mut preset, &presets).unwrap_err();
            assert!(!error.is_empty() && !error.contains('\n'), "{error}");
            assert_eq!(spec, presets[0].spec, "{field:?} {text}");
        }
    }

    #[test]
    fn a_preset_leaves_the_chosen_steps_alone() {
        let presets = samples::presets();
        let (mut spec, mut preset) = (presets[0].spec.clone(), presets[0].name.clone());
        spec.steps = "1,3".parse().unwrap();
        Field::Preset.step(&mut spec, &mut preset, &presets, Direction::Up);
        assert_eq!((preset.as_str(), spec.steps), ("gpu", "1,3".parse().unwrap()));
    }
}
