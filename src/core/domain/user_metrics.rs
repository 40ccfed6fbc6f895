//! What a program of the user's own logged of its training: as read from its output or from TensorBoard files, or logged with
//! `hvd_lab.log`.
//!
//! Never holds anything that the program did not say: what could not be read is left out.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::bounds::{Bounded, count, figure};
use super::speedup::median;
use super::units;

/// One line, one file's scalars of a step, or one call. Losses may be no numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Logged {
    /// As the program counts, from 0 or from 1, or a fraction where it prints one.
    #[serde(with = "any_number", skip_serializing_if = "Option::is_none")]
    pub epoch: Option<f64>,
    #[serde(with = "any_number", skip_serializing_if = "Option::is_none")]
    pub epochs: Option<f64>,
    /// Within the epoch or the run, as the program counts: batches, or images in some.
    #[serde(with = "any_number", skip_serializing_if = "Option::is_none")]
    pub step: Option<f64>,
    #[serde(with = "any_number", skip_serializing_if = "Option::is_none")]
    pub steps: Option<f64>,
    #[serde(with = "any_number", skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
    /// 0 to 1.
    #[serde(with = "any_number", skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
    #[serde(with = "any_number", skip_serializing_if = "Option::is_none")]
    pub val_loss: Option<f64>,
    /// 0 to 1, on validation or test images.
    #[serde(with = "any_number", skip_serializing_if = "Option::is_none")]
    pub val_accuracy: Option<f64>,
    #[serde(with = "any_number", skip_serializing_if = "Option::is_none")]
    pub learning_rate: Option<f64>,
    /// In training.
    #[serde(with = "any_number", skip_serializing_if = "Option::is_none")]
    pub images_per_sec: Option<f64>,
    /// The program says that this is the rate of all its ranks.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_total: bool,
    /// In validation or test.
    #[serde(with = "any_number", skip_serializing_if = "Option::is_none")]
    pub val_images_per_sec: Option<f64>,
    /// The reader: `Keras`, `TensorBoard`, `hvd_lab.log`.
    pub by: String,
}

/// The figures of a [`Logged`] by name, in the order in which people look for them.
pub const FIGURES: [Figure; 11] = [
    Figure { name: "epoch", get: |of| of.epoch, slot: |of| &mut of.epoch },
    Figure { name: "epochs", get: |of| of.epochs, slot: |of| &mut of.epochs },
    Figure { name: "step", get: |of| of.step, slot: |of| &mut of.step },
    Figure { name: "steps", get: |of| of.steps, slot: |of| &mut of.steps },
    Figure { name: "loss", get: |of| of.loss, slot: |of| &mut of.loss },
    Figure { name: "accuracy", get: |of| of.accuracy, slot: |of| &mut of.accuracy },
    Figure { name: "val_loss", get: |of| of.val_loss, slot: |of| &mut of.val_loss },
    Figure { name: "val_accuracy", get: |of| of.val_accuracy, slot: |of| &mut of.val_accuracy },
    Figure { name: "learning_rate", get: |of| of.learning_rate, slot: |of| &mut of.learning_rate },
    Figure { name: "images_per_sec", get: |of| of.images_per_sec, slot: |of| &mut of.images_per_sec },
    Figure { name: "val_images_per_sec", get: |of| of.val_images_per_sec, slot: |of| &mut of.val_images_per_sec },
];

/// One figure of a [`Logged`].
#[derive(Clone, Copy)]
pub struct Figure {
    pub name: &'static str,
    pub get: fn(&Logged) -> Option<f64>,
    pub slot: fn(&mut Logged) -> &mut Option<f64>,
}

impl std::fmt::Debug for Figure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl Figure {
    pub fn named(name: &str) -> Option<Figure> {
        FIGURES.into_iter().find(|field| field.name == name)
    }
}

impl Logged {
    /// Whether nothing was read.
    pub fn is_empty(&self) -> bool {
        FIGURES.iter().all(|field| (field.get)(self).is_none())
    }

    /// Whether it is a bar that only says how far something is.
    fn is_bare_step(&self) -> bool {
        let tells = |field: &&Figure| (field.get)(self).is_some();
        FIGURES.iter().filter(tells).all(|field| matches!(field.name, "step" | "steps"))
    }

    /// Whether it is of validation or test alone: its step then is not one of the training.
    pub fn is_validation(&self) -> bool {
        let validates = self.val_loss.is_some() || self.val_accuracy.is_some();
        validates && self.loss.is_none() && self.accuracy.is_none()
    }
}

impl Bounded for Logged {
    fn out_of_bounds(&self) -> Option<String> {
        FIGURES
            .iter()
            .find_map(|field| figure(field.name, (field.get)(self).filter(|value| value.is_finite())?))
            .or_else(|| count("letters of a name", self.by.len(), LONGEST_NAME))
    }
}

/// The names of the readers of event files, of lines by the patterns of a run and by their words, and of what programs tell by our
/// module for Python. Any other reader is named for programs that print such lines.
pub const TENSORBOARD: &str = "TensorBoard";
pub const PATTERN: &str = "--pattern";
pub const WORDS: &str = "words before numbers";
const MODULE: &str = "hvd_lab.log";
/// Where in the training it is: files count otherwise than what is printed, so these are of one of the two.
const PLACE: [&str; 4] = ["epoch", "epochs", "step", "steps"];
/// Letters of [`Logged::by`].
const LONGEST_NAME: usize = 100;
/// Rates that are kept of a process: no run's median needs more.
const RATES: usize = 4096;

/// All that one process logged so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoggedSoFar {
    /// The newest of each figure.
    pub last: Logged,
    /// The reader of each figure, by the figure's name.
    pub by: BTreeMap<&'static str, String>,
    /// Steps of the epochs before, and whether the program counts its epochs from 1.
    steps_before: f64,
    counts_from_1: bool,
    rates: Vec<f64>,
    total_rate: Option<f64>,
}

/// Where in the training a [`Logged`] lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoggedPlace {
    /// Epochs since the start, if the program reports its epoch.
    pub epochs: Option<f64>,
    /// Steps since the start, if it reports its step.
    pub steps: Option<f64>,
}

impl LoggedSoFar {
    pub fn take(&mut self, logged: &Logged) {
        if logged.is_bare_step() && self.last.steps.is_some_and(|steps| logged.steps != Some(steps)) {
            // A bar of something else, such as of a validation.
            return;
        }
        let mut without_place = None;
        let is_of_files = logged.by == TENSORBOARD;
        let of_other = |name: &&str| self.by.get(name).is_some_and(|by| (by == TENSORBOARD) != is_of_files);
        if (logged.epoch.is_some() || logged.step.is_some()) && PLACE.iter().any(of_other) {
            let stale = if is_of_files { without_place.insert(logged.clone()) } else { &mut self.last };
            for field in PLACE.into_iter().filter_map(Figure::named) {
                *(field.slot)(stale) = None;
            }
            if !is_of_files {
                self.by.retain(|name, _| !PLACE.contains(name));
                self.steps_before = 0.0;
            }
        }
        let logged = without_place.as_ref().unwrap_or(logged);
        if logged.epoch.is_some() && self.last.epoch.is_none() {
            self.counts_from_1 = logged.epoch == Some(1.0);
        }
        let is_next_epoch = self.counts_within_epochs()
            && logged.epoch.is_some_and(|epoch| self.last.epoch.is_some_and(|before| epoch.floor() > before.floor()));
        let restarts = |step: f64| self.last.step.is_some_and(|before| step < before);
        if !logged.is_validation() && self.last.steps.is_some() && (is_next_epoch || logged.step.is_some_and(restarts)) {
            // The end of the epoch was not reported: count all its steps.
            self.steps_before += self.last.steps.or(self.last.step).unwrap_or(0.0);
            self.last.step = None;
        }
        for field in FIGURES {
            let is_step = matches!(field.name, "step" | "steps");
            if let Some(value) = (field.get)(logged).filter(|_| !(is_step && logged.is_validation())) {
                *(field.slot)(&mut self.last) = Some(value);
                self.by.insert(field.name, logged.by.clone());
            }
        }
        match logged.images_per_sec.filter(|rate| rate.is_finite() && *rate > 0.0) {
            Some(rate) if logged.is_total => self.total_rate = Some(rate),
            Some(rate) => {
                if self.rates.len() == RATES {
                    self.rates.drain(..RATES / 2);
                }
                self.rates.push(rate);
            }
            None => {}
        }
    }

    /// Whether epoch and number of steps have the same reader: then steps count within the epoch. Otherwise a bar may be of the
    /// whole run.
    fn counts_within_epochs(&self) -> bool {
        self.by.get("epoch") == self.by.get("steps")
    }

    /// Where the training is.
    pub fn place(&self) -> LoggedPlace {
        let Logged { epoch, step, steps, .. } = self.last;
        let is_of_epoch = self.counts_within_epochs();
        let part = step.zip(steps).filter(|(_, steps)| is_of_epoch && *steps > 0.0).map(|(step, steps)| step / steps);
        let epochs = epoch.map(|epoch| match part {
            Some(part) if epoch.fract() == 0.0 => epoch - f64::from(u8::from(self.counts_from_1)) + part,
            _ => epoch,
        });
        LoggedPlace { epochs, steps: step.map(|step| self.steps_before + step) }
    }

    /// Images a second of this process: what it says itself, in the middle.
    pub fn own_rate(&self) -> Option<f64> {
        median(&self.rates)
    }

    /// Images a second of all processes, where the program says so itself.
    pub fn total_rate(&self) -> Option<f64> {
        self.total_rate
    }

    /// The newest loss and accuracy of validation, if there is an accuracy. A missing loss is NaN.
    pub fn validation(&self) -> Option<(f64, f64)> {
        Some((self.last.val_loss.unwrap_or(f64::NAN), self.last.val_accuracy?))
    }

    /// `epoch 2/9  loss 0.123  accuracy 45.2 %`: what there is of it.
    pub fn in_short(&self) -> String {
        let Logged { epoch, epochs, step, steps, loss, .. } = self.last;
        let of = |total: Option<f64>| total.map_or(String::new(), |total| format!("/{total}"));
        let accuracy = self.last.val_accuracy.or(self.last.accuracy);
        let parts = [
            epoch.map(|epoch| format!("epoch {epoch}{}", of(epochs))),
            step.filter(|_| epoch.is_none() || steps.is_some()).map(|step| format!("step {step}{}", of(steps))),
            loss.map(|loss| format!("loss {loss:.3}")),
            accuracy.map(|accuracy| format!("accuracy {}", units::accuracy(accuracy))),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join("  ")
    }

    /// `loss, accuracy (lines like those of Keras), images/s (TensorBoard)`; empty where nothing was read. The program
    /// need not use Keras: many print such lines.
    pub fn read_by(&self) -> String {
        let mut readers: Vec<&String> = self.by.values().collect();
        readers.sort_unstable();
        readers.dedup();
        let names = |reader: &String| {
            let of = FIGURES.iter().filter(|field| self.by.get(field.name) == Some(reader)).map(|field| in_words(field.name));
            let of = of.collect::<Vec<_>>().join(", ");
            match reader.as_str() {
                TENSORBOARD | PATTERN | WORDS | MODULE => format!("{of} ({reader})"),
                family => format!("{of} (lines like those of {family})"),
            }
        };
        readers.into_iter().map(names).collect::<Vec<_>>().join(", ")
    }
}

/// A field's name as people read it.
pub fn in_words(name: &str) -> &str {
    match name {
        "epochs" => "number of epochs",
        "steps" => "number of steps",
        "val_loss" => "validation loss",
        "val_accuracy" => "validation accuracy",
        "learning_rate" => "learning rate",
        "images_per_sec" => "images/s",
        "val_images_per_sec" => "images/s in validation",
        name => name,
    }
}

/// JSON has no NaN and no infinity: there they are words.
mod any_number {
    use serde::{Deserialize, Deserializer, Serializer};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Number {
        Number(f64),
        Word(String),
    }

    pub fn serialize<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) if value.is_finite() => serializer.serialize_f64(*value),
            Some(value) => serializer.collect_str(value),
            None => serializer.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
        Ok(match Option::<Number>::deserialize(deserializer)? {
            Some(Number::Number(value)) => Some(value),
            Some(Number::Word(word)) => Some(word.parse().unwrap_or(f64::NAN)),
            None => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(epoch: f64, step: f64, steps: f64) -> Logged {
        Logged { epoch: Some(epoch), step: Some(step), steps: Some(steps), loss: Some(1.0), by: "x".into(), ..Logged::default() }
    }

    #[test]
    fn steps_add_up_over_epochs_however_they_are_counted() {
        for first in [0.0, 1.0] {
            let mut so_far = LoggedSoFar::default();
            so_far.take(&at(first, 50.0, 100.0));
            assert_eq!(so_far.place(), LoggedPlace { epochs: Some(0.5), steps: Some(50.0) });
            // Its last steps were not told.
            so_far.take(&at(first + 1.0, 10.0, 100.0));
            assert_eq!(so_far.place(), LoggedPlace { epochs: Some(1.1), steps: Some(110.0) });
            let test = Logged { step: Some(3.0), steps: Some(7.0), val_accuracy: Some(0.5), ..Logged::default() };
            so_far.take(&test);
            assert_eq!(so_far.place(), LoggedPlace { epochs: Some(1.1), steps: Some(110.0) }, "a test is no step");
            assert_eq!(so_far.validation().unwrap().1, 0.5);
        }
        let mut whole = LoggedSoFar::default();
        let fraction = |epoch| Logged { epoch: Some(epoch), loss: Some(1.0), ..Logged::default() };
        [0.5, 1.0, 1.5].into_iter().for_each(|epoch| whole.take(&fraction(epoch)));
        assert_eq!(whole.place(), LoggedPlace { epochs: Some(1.5), steps: None });
    }

    #[test]
    fn epochs_on_lines_of_their_own_belong_to_the_steps_behind_them() {
        let mut so_far = LoggedSoFar::default();
        for epoch in 1..=3 {
            so_far.take(&Logged { epoch: Some(f64::from(epoch)), epochs: Some(3.0), by: "Keras".into(), ..Logged::default() });
            let line = Logged { step: Some(10.0), steps: Some(10.0), loss: Some(0.5), by: "Keras".into(), ..Logged::default() };
            so_far.take(&line);
            let (epochs, steps) = (f64::from(epoch), f64::from(10 * epoch));
            assert_eq!(so_far.place(), LoggedPlace { epochs: Some(epochs), steps: Some(steps) });
        }
        assert_eq!(so_far.read_by(), "epoch, number of epochs, step, number of steps, loss (lines like those of Keras)");
    }

    #[test]
    fn what_files_count_is_not_mixed_with_what_is_printed() {
        let file = Logged { epoch: Some(1.0), loss: Some(0.25), by: TENSORBOARD.into(), ..Logged::default() };
        let printed = Logged { epoch: Some(2.0), epochs: Some(2.0), by: "Keras".into(), ..Logged::default() };
        for order in [[&file, &printed], [&printed, &file]] {
            let mut so_far = LoggedSoFar::default();
            order.into_iter().for_each(|logged| so_far.take(logged));
            assert_eq!((so_far.in_short(), so_far.last.loss), ("epoch 2/2  loss 0.250".into(), Some(0.25)));
        }
    }

    #[test]
    fn a_bar_of_something_else_is_no_step_of_the_training() {
        let bar = |step, steps| Logged { step: Some(step), steps: Some(steps), ..Logged::default() };
        let mut so_far = LoggedSoFar::default();
        [bar(40.0, 80.0), bar(8.0, 8.0), bar(41.0, 80.0)].iter().for_each(|bar| so_far.take(bar));
        assert_eq!(so_far.place().steps, Some(41.0));
    }

    #[test]
    fn what_is_no_number_survives_a_file() {
        let logged = Logged { loss: Some(f64::NAN), val_loss: Some(f64::INFINITY), epoch: Some(2.0), ..Logged::default() };
        let text = serde_json::to_string(&logged).unwrap();
        let back: Logged = serde_json::from_str(&text).unwrap();
        assert!(back.loss.unwrap().is_nan() && back.accuracy.is_none(), "{text}");
        assert_eq!((back.val_loss, back.epoch), (Some(f64::INFINITY), Some(2.0)));
    }
}
