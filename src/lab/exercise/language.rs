//! The languages that a learner may write in, and what differs between them.

use std::str::FromStr;

hvd_lab_core::named! {
    /// Named as `--language` spells it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    Language {
        Python = "python",
        Rust = "rust",
    }
}

impl Language {
    /// How a comment begins.
    pub(super) fn comment(self) -> &'static str {
        if self == Language::Python { "#" } else { "//" }
    }

    /// A condition that only the root fulfils.
    pub(super) fn root_only(self) -> &'static str {
        if self == Language::Python { "if hvd.rank() == 0:" } else { "if topology.is_root()" }
    }

    /// The program that reads the learner's program first.
    pub(super) fn builder(self) -> &'static str {
        if self == Language::Python { "Python" } else { "cargo" }
    }
}

impl FromStr for Language {
    type Err = String;

    fn from_str(name: &str) -> Result<Language, String> {
        Language::ALL.into_iter().find(|language| language.name() == name).ok_or_else(|| "use python or rust".to_owned())
    }
}
