//! What Slurm's words mean for a learner, from `assets/slurm.toml`.

use std::sync::LazyLock;

use serde::Deserialize;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    /// What sbatch says when it refuses a job.
    pub refusal: Vec<Row>,
    /// Why a job waits.
    pub reason: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Row {
    /// Words that Slurm says, as a whole.
    #[serde(default)]
    is: Vec<String>,
    /// Parts of what Slurm says.
    #[serde(default)]
    has: Vec<String>,
    pub help: String,
}

// The file is part of the program, and a test reads it.
pub(super) static TABLE: LazyLock<Table> =
    LazyLock::new(|| toml::from_str(include_str!("../../../../assets/slurm.toml")).unwrap_or_default());

impl Row {
    /// Whether it explains these words of Slurm.
    pub fn fits(&self, words: &str) -> bool {
        self.is.iter().any(|is| is == words) || self.has.iter().any(|part| words.contains(part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_says_when_it_fits_and_what_helps() {
        let rows = || TABLE.refusal.iter().chain(&TABLE.reason);
        let is_sound = |row: &Row| !row.help.is_empty() && row.is.len() + row.has.len() > 0;
        assert!(rows().count() > 40 && rows().all(is_sound));
    }
}
