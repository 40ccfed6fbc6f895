//! Presets: settings to begin from, out of `assets/presets.toml`, fitted to this machine.
//!
//! Callers say which devices there are.

use serde::Deserialize;

use crate::domain::job::TrainingJob;

const TABLE: &str = include_str!("../../../assets/presets.toml");

/// What the number of ranks of a preset follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ranks {
    Cores,
    Gpus,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    pub name: String,
    pub description: String,
    pub ranks: Ranks,
    pub max_ranks: usize,
    pub spec: TrainingJob,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    preset: Vec<Preset>,
}

/// All presets, as the table has them.
pub fn presets() -> Vec<Preset> {
    // The table is part of the program, and a test reads it.
    toml::from_str::<Table>(TABLE).map(|table| table.preset).unwrap_or_default()
}

/// The preset for this machine: `gpu` where there is one, else `cpu`.
pub fn default_preset(has_gpu: bool) -> Preset {
    let wanted = if has_gpu { Ranks::Gpus } else { Ranks::Cores };
    let mut presets = presets();
    let index = presets.iter().position(|preset| preset.ranks == wanted).unwrap_or(0);
    presets.swap_remove(index)
}

impl Preset {
    /// With one rank for each core or GPU, at least 1 and at most `max_ranks`.
    #[must_use]
    pub fn fitted(mut self, cores: usize, gpus: usize) -> Preset {
        let there = if self.ranks == Ranks::Gpus { gpus } else { cores };
        self.spec.resources.np = there.clamp(1, self.max_ranks.max(1));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_reads_and_every_preset_can_run() {
        let presets = presets();
        assert_eq!(presets.iter().map(|preset| preset.name.as_str()).collect::<Vec<_>>(), ["cpu", "cpu-target", "gpu"]);
        for preset in presets {
            assert_eq!(preset.spec.problem(), None, "{}", preset.name);
        }
        assert_eq!([default_preset(false).name, default_preset(true).name], ["cpu", "gpu"], "what a run starts with");
    }

    #[test]
    fn presets_follow_the_hardware() {
        assert_eq!(default_preset(true).fitted(2, 8).spec.resources.np, 8);
        assert_eq!(default_preset(true).fitted(2, 0).spec.resources.np, 1);
        assert_eq!(default_preset(false).fitted(64, 8).spec.resources.np, 4);
        assert_eq!(default_preset(false).fitted(1, 0).spec.resources.np, 1);
    }
}
