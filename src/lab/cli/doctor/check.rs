//! One thing that a run needs, and how it stands with it.

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    Ok,
    /// A run starts, but not as well as it could.
    Warn,
    /// No run can start.
    Fail,
}

/// One thing that a run needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Check {
    pub(super) name: &'static str,
    /// Whose thing it is, where that is not this host's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) host: Option<String>,
    pub(super) state: State,
    /// What was found, with the cause where it is not good.
    pub(super) found: String,
    /// What to do about it; empty where nothing is to be done.
    pub(super) remedy: String,
}

impl Check {
    pub(super) fn ok(name: &'static str, found: impl Into<String>) -> Check {
        Check { name, host: None, state: State::Ok, found: found.into(), remedy: String::new() }
    }

    pub(super) fn warn(name: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Check {
        Check { name, host: None, state: State::Warn, found: found.into(), remedy: remedy.into() }
    }

    /// Good, or else a warning.
    pub(super) fn ok_if(is_good: bool, name: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Check {
        if is_good { Check::ok(name, found) } else { Check::warn(name, found, remedy) }
    }

    pub(super) fn fail(name: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Check {
        Check { name, host: None, state: State::Fail, found: found.into(), remedy: remedy.into() }
    }
}
