//! What a check finds: a pass with its evidence, or an objection.

use serde::Serialize;

use super::terms::so_far;
use crate::domain::step::{Step, StepSet};

/// What a run shows of one of the ten steps, or of one place of a learner's program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Number of the step or place, from 1.
    #[serde(rename = "step")]
    pub number: usize,
    pub outcome: Outcome,
    /// One sentence that names ranks and numbers; of a failure also the remedy.
    pub evidence: String,
}

impl Verdict {
    pub fn has_passed(&self) -> bool {
        self.outcome == Outcome::Passed
    }

    /// Whether this is a verdict on one of these steps.
    pub fn is_of(&self, steps: StepSet) -> bool {
        Step::from_number(self.number).is_some_and(|step| steps.contains(step))
    }
}

hvd_lab_core::named! {
    /// What a run shows.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
    #[serde(rename_all = "snake_case")]
    Outcome {
        Passed = "passed",
        Failed = "failed",
        /// Too short, of one rank, not finished, or without what the step is about.
        CannotTell = "cannot tell",
    }
}

/// Why a check did not pass: the outcome, which is not `Passed`, with one sentence.
pub struct Objection(pub Outcome, pub String);

/// Evidence of a pass, or the first objection to it.
pub type Finding = Result<String, Objection>;

/// To return: what is wrong and what to do.
pub fn failed<T>(what: impl Into<String>) -> Result<T, Objection> {
    Err(Objection(Outcome::Failed, what.into()))
}

/// To return: why the check cannot tell.
pub fn unclear<T>(why: impl Into<String>) -> Result<T, Objection> {
    Err(Objection(Outcome::CannotTell, why.into()))
}

/// What a finding comes to while the process named `not_finished` still trains: a pass is certain only at the end.
pub fn concluded(finding: Finding, not_finished: Option<String>) -> (Outcome, String) {
    match (finding, not_finished) {
        (Ok(sentence), None) => (Outcome::Passed, sentence),
        (Ok(sentence), Some(who)) => (Outcome::CannotTell, so_far(&sentence, &who)),
        (Err(Objection(outcome, sentence)), _) => (outcome, sentence),
    }
}
