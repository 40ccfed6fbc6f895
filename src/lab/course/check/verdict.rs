//! What a check finds: a pass with its evidence, or an objection.

use serde::Serialize;

use super::terms as words;
use crate::domain::step::Step;

/// What a run shows of one step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    #[serde(serialize_with = "number")]
    pub step: Step,
    pub outcome: Outcome,
    /// One sentence that names ranks and numbers; of a failure also the remedy.
    pub evidence: String,
}

/// What a run shows of one place of a learner's program, whatever its places are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shown {
    /// Of the place, from 1.
    pub number: usize,
    pub outcome: Outcome,
    /// As of a [`Verdict`].
    pub evidence: String,
}

impl Shown {
    pub fn has_passed(&self) -> bool {
        self.outcome == Outcome::Passed
    }
}

impl From<&Verdict> for Shown {
    fn from(verdict: &Verdict) -> Shown {
        Shown { number: verdict.step.number(), outcome: verdict.outcome, evidence: verdict.evidence.clone() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Passed,
    Failed,
    /// Too short, of one rank, not finished, or without what the step is about.
    CannotTell,
}

impl Outcome {
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Passed => words::PASSED,
            Outcome::Failed => words::FAILED,
            Outcome::CannotTell => words::CANNOT_TELL,
        }
    }
}

fn number<S: serde::Serializer>(step: &Step, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(step.number() as u64)
}

/// Why a check did not pass.
pub enum Objection {
    Failed(String),
    Unclear(String),
}

/// Evidence of a pass, or the first objection to it.
pub type Finding = Result<String, Objection>;

/// For `return`: what is wrong and what to do.
pub fn failed<T>(what: impl Into<String>) -> Result<T, Objection> {
    Err(Objection::Failed(what.into()))
}

/// For `return`: why nothing can be said.
pub fn unclear<T>(why: impl Into<String>) -> Result<T, Objection> {
    Err(Objection::Unclear(why.into()))
}
