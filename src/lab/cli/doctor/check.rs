//! One thing that a run needs of this host, and how it stands with it.

pub(super) use crate::launch::preflight::{Finding as Check, Weight};

impl Check {
    pub(super) fn ok(name: &'static str, found: impl Into<String>) -> Check {
        Check::here(name, Weight::Good, found, "")
    }

    pub(super) fn warn(name: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Check {
        Check::here(name, Weight::Doubt, found, remedy)
    }

    /// Good, or else a warning.
    pub(super) fn ok_if(is_good: bool, name: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Check {
        if is_good { Check::ok(name, found) } else { Check::warn(name, found, remedy) }
    }

    pub(super) fn fail(name: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Check {
        Check::here(name, Weight::Bad, found, remedy)
    }

    fn here(what: &'static str, weight: Weight, found: impl Into<String>, remedy: impl Into<String>) -> Check {
        Check { what, host: String::new(), weight, found: found.into(), remedy: remedy.into() }
    }
}
