//! The line that starts the ranks of a run, and how it is written for a shell.

use std::path::PathBuf;

/// The command that is started for a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    /// The launcher first.
    pub argv: Vec<String>,
    /// Set beside the variables that are there already.
    pub env: Vec<(String, String)>,
    /// What it does beyond the ordinary, and why; one sentence each.
    pub notes: Vec<String>,
    /// Where it works; `None` for the folder of the run.
    pub directory: Option<PathBuf>,
}

impl CommandLine {
    /// As it may be pasted into a shell.
    pub fn to_shell(&self) -> String {
        let env = self.env.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
        env.chain(self.argv.iter().map(|word| quoted(word))).collect::<Vec<_>>().join(" ")
    }
}

pub(super) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}
