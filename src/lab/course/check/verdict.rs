//! What a check finds: a pass with its evidence, or an objection.

use serde::Serialize;

use super::terms::so_far;
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
pub struct PlaceVerdict {
    /// Number of the place, from 1.
    pub number: usize,
    pub outcome: Outcome,
    /// One sentence, as in a [`Verdict`].
    pub evidence: String,
}

impl PlaceVerdict {
    pub fn has_passed(&self) -> bool {
        self.outcome == Outcome::Passed
    }
}

impl From<&Verdict> for PlaceVerdict {
    fn from(verdict: &Verdict) -> PlaceVerdict {
        PlaceVerdict { number: verdict.step.number(), outcome: verdict.outcome, evidence: verdict.evidence.clone() }
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
            Outcome::Passed => "passed",
            Outcome::Failed => "failed",
            Outcome::CannotTell => "cannot tell",
        }
    }
}

fn number<S: serde::Serializer>(step: &Step, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(step.number() as u64)
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
