//! The settings of the next run: how each is named, shown, stepped and typed, and which one the cursor is on.
//!
//! Never starts a run, and never leaves a field with a value that means nothing: text that does not parse is refused.

use crate::domain::job::{Resources, TrainingJob};
use crate::domain::setting::next_name;
use crate::domain::settings::setting;
use crate::launch::Preset;
use crate::tui::actions::Move;

/// A line of the settings: the preset, or one row of the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Field {
    #[default]
    Preset,
    /// By its flag.
    Of(&'static str),
}

impl Field {
    /// Those that the screen has room for, in its order; the verbs have all.
    pub const ALL: [Field; 12] = [
        Field::Preset,
        Field::Of("np"),
        Field::Of("epochs"),
        Field::Of("batch-size"),
        Field::Of("base-lr"),
        Field::Of("warmup-epochs"),
        Field::Of("target-accuracy"),
        Field::Of("model"),
        Field::Of("data"),
        Field::Of("train-images"),
        Field::Of("checkpointing"),
        Field::Of("seed"),
    ];

    pub fn label(self) -> &'static str {
        match self {
            Field::Preset => "preset",
            Field::Of(flag) => setting(flag).label,
        }
    }

    /// What can be typed, shown while typing.
    pub fn hint(self) -> &'static str {
        match self {
            Field::Preset => "a preset's name",
            Field::Of(flag) => setting(flag).hint,
        }
    }

    pub fn value(self, spec: &TrainingJob, preset: &str) -> String {
        match self {
            Field::Preset => preset.to_owned(),
            Field::Of(flag) => setting(flag).shown(spec),
        }
    }

    /// Whether Enter goes to the next value, rather than to typing one: there are only a few.
    pub fn is_choice(self) -> bool {
        match self {
            Field::Preset => true,
            Field::Of(flag) => flag == "data" || setting(flag).is_switch(),
        }
    }

    /// The next value up or down; values at the end of a scale stay, lists and switches go round.
    pub fn step(self, spec: &mut TrainingJob, preset: &mut String, presets: &[Preset], up: bool) {
        match self {
            Field::Preset => {
                let names: Vec<&str> = presets.iter().map(|preset| preset.name.as_str()).collect();
                let name = next_name(&names, preset, up).to_owned();
                apply_preset(&name, spec, preset, presets);
            }
            Field::Of(flag) => setting(flag).step(spec, up),
        }
    }

    /// Takes over typed text.
    ///
    /// # Errors
    /// One line that says what is wrong with the text; `spec` is as it was.
    pub fn parse(self, text: &str, spec: &mut TrainingJob, preset: &mut String, presets: &[Preset]) -> Result<(), String> {
        let text = text.trim();
        let Field::Of(flag) = self else {
            if apply_preset(text, spec, preset, presets) {
                return Ok(());
            }
            let names: Vec<&str> = presets.iter().map(|preset| preset.name.as_str()).collect();
            return Err(format!("no preset `{text}`: use {}", names.join(" or ")));
        };
        let mut next = spec.clone();
        setting(flag).set(&mut next, text)?;
        if let Some(problem) = next.problem() {
            return Err(problem);
        }
        *spec = next;
        Ok(())
    }
}

#[derive(Clone, Debug, Default)]
pub struct NextRun {
    /// The setting under the cursor.
    pub field: Field,
}

impl NextRun {
    pub fn choose(&mut self, by: Move) {
        let place = Field::ALL.iter().position(|other| *other == self.field).unwrap_or(0);
        self.field = Field::ALL[by.within(place, Field::ALL.len())];
    }
}

fn apply_preset(name: &str, spec: &mut TrainingJob, current: &mut String, presets: &[Preset]) -> bool {
    let Some(preset) = presets.iter().find(|preset| preset.name == name) else { return false };
    let before = std::mem::replace(spec, preset.spec.clone());
    // Steps are the learner's own choice, and hosts and limits belong to the place: a preset changes neither.
    spec.workload.steps = before.workload.steps;
    spec.workload.trainer_flags = before.workload.trainer_flags;
    spec.resources = Resources { np: spec.resources.np, ..before.resources };
    *current = preset.name.clone();
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::testing::samples;

    #[test]
    fn every_field_steps_both_ways_and_shows_what_it_parses() {
        for field in Field::ALL {
            let presets = samples::presets();
            let (mut spec, mut preset) = (presets[0].spec.clone(), presets[0].name.clone());
            for up in [true, false] {
                for _ in 0..40 {
                    let before = field.value(&spec, &preset);
                    field.step(&mut spec, &mut preset, &presets, up);
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
            (Field::Of("np"), "0"),
            (Field::Of("np"), "-1"),
            (Field::Of("np"), ""),
            (Field::Of("epochs"), "0"),
            (Field::Of("base-lr"), "nan"),
            (Field::Of("base-lr"), "0"),
            (Field::Of("target-accuracy"), "85"),
            (Field::Of("model"), "wrn-12-1"),
            (Field::Of("data"), "fashion"),
            (Field::Of("train-images"), "0"),
            (Field::Of("checkpointing"), "maybe"),
            (Field::Preset, "tpu"),
            (Field::Of("warmup-epochs"), "-1"),
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
        spec.workload.steps = "1,3".parse().unwrap();
        Field::Preset.step(&mut spec, &mut preset, &presets, true);
        assert_eq!((preset.as_str(), spec.workload.steps), ("gpu", "1,3".parse().unwrap()));
    }
}
