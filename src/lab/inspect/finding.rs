//! A finding: what the reports show of one topic, the line to change, and what to write there.

use serde::{Deserialize, Serialize};

use crate::domain::event::Place;
use crate::domain::step::Step;

/// What the reports show of one topic.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    pub topic: Topic,
    pub outcome: Outcome,
    /// One sentence: what was seen, on which ranks, at which updates.
    pub seen: String,
    /// The line of the program that is to be changed; `None` for `ok` and where no line can be named.
    pub place: Option<Place>,
    /// One sentence: what it costs. Empty for `ok` and `not judged`.
    pub cost: String,
    /// One sentence: what to write, in the program's own framework. Empty for `ok` and `not judged`.
    pub remedy: String,
}

impl Finding {
    pub(crate) fn new(topic: Topic, outcome: Outcome, seen: String) -> Finding {
        Finding { topic, outcome, seen, place: None, cost: String::new(), remedy: String::new() }
    }

    pub fn is_objection(&self) -> bool {
        matches!(self.outcome, Outcome::Wrong | Outcome::Look)
    }
}

/// Why something differs, the line to change, and what to write there.
pub(super) type Cause = (String, Option<Place>, String);

hvd_lab_core::named! {
    /// What is to be thought of it, the worst first.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
    #[serde(rename_all = "snake_case")]
    Outcome {
        /// It costs the training its sense: its result, its files or its end.
        Wrong = "wrong",
        /// It may be meant so, or costs only time.
        Look = "look at this",
        NotJudged = "not judged",
        Ok = "ok",
    }
}

hvd_lab_core::named! {
    /// What is judged, in the order in which it is shown.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    Topic {
        /// Every rank knows its group, has a device of its own, and no more threads than its share of the cores.
        Ranks = "ranks",
        /// One rank prints.
        Prints = "prints",
        /// Gradients are averaged.
        Gradients = "gradients",
        /// Weights are equal at the start and stay equal.
        Weights = "weights",
        /// Buffers and optimizer states are equal, where they should be.
        State = "buffers and state",
        /// Each sample goes to one rank, once an epoch, in a new order.
        Data = "data",
        /// Random augmentation differs between workers and ranks.
        Randomness = "random numbers",
        /// What is told of a validation is of all ranks, and what is decided by it is decided alike.
        Metrics = "metrics",
        /// One rank writes a file, and all ranks go on from the same state.
        Checkpoint = "checkpoints",
        /// The rate against the global batch, and its warm-up.
        Rate = "learning rate",
        /// Every rank comes to every collective.
        Hang = "standstill",
        /// What the ranks wait for, and whether memory grows.
        Speed = "speed",
    }
}

impl Topic {
    pub(super) fn ok(self, seen: impl Into<String>) -> Vec<Finding> {
        vec![Finding::new(self, Outcome::Ok, seen.into())]
    }

    pub(super) fn not_judged(self, why: impl Into<String>) -> Finding {
        Finding::new(self, Outcome::NotJudged, why.into())
    }

    /// What was seen, the line to change, what it costs, and what to write.
    pub(super) fn wrong(self, seen: impl Into<String>, place: Option<Place>, cost: &str, remedy: impl Into<String>) -> Finding {
        self.objection(Outcome::Wrong, seen, place, cost, remedy)
    }

    /// As [`Topic::wrong`], of what may be meant so.
    pub(super) fn look(self, seen: impl Into<String>, place: Option<Place>, cost: &str, remedy: impl Into<String>) -> Finding {
        self.objection(Outcome::Look, seen, place, cost, remedy)
    }

    /// `Wrong` or `Look`, with the line to change, what it costs, and what to write.
    pub(super) fn objection(
        self,
        outcome: Outcome,
        seen: impl Into<String>,
        place: Option<Place>,
        cost: &str,
        remedy: impl Into<String>,
    ) -> Finding {
        Finding { place, cost: cost.to_owned(), remedy: remedy.into(), ..Finding::new(self, outcome, seen.into()) }
    }

    /// The step of the course that is about it.
    pub fn step(self) -> Option<Step> {
        let number = match self {
            Topic::Ranks => 1,
            Topic::Prints => 2,
            Topic::Gradients => 3,
            Topic::Weights | Topic::State => 4,
            Topic::Data => 5,
            Topic::Metrics => 6,
            Topic::Checkpoint => 7,
            Topic::Rate => 8,
            Topic::Randomness | Topic::Hang | Topic::Speed => return None,
        };
        Step::from_number(number)
    }
}
