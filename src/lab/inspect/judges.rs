//! All judges, one a topic.

use super::finding::{Finding, Topic};
use super::inspection::Inspection;
use super::{batches, checkpoint, data, gradients, hang, metrics, prints, randomness, ranks, rate, speed, weights};

/// A judge gives the findings on one topic.
type Judge = fn(&Inspection) -> Vec<Finding>;

/// One row a topic, in their order.
const JUDGES: [(Topic, Judge); 12] = [
    (Topic::Ranks, ranks::judge),
    (Topic::Prints, prints::judge),
    (Topic::Gradients, gradients::judge),
    (Topic::Weights, weights::judge),
    (Topic::State, weights::judge_state),
    (Topic::Data, data::judge),
    (Topic::Randomness, randomness::judge),
    (Topic::Metrics, metrics::judge),
    (Topic::Checkpoint, checkpoint::judge),
    (Topic::Rate, rate::judge),
    (Topic::Hang, hang::judge),
    (Topic::Speed, speed::judge),
];

/// Of one rank alone there is nothing to say of these.
const OF_SEVERAL: [Topic; 4] = [Topic::Prints, Topic::Metrics, Topic::Checkpoint, Topic::Hang];

impl Inspection {
    /// A finding on every topic of which something can be said; `is_over` once no report can come any more.
    pub fn findings(&self, is_over: bool) -> Vec<Finding> {
        if self.is_empty() {
            return Vec::new();
        }
        let seen = self.so_far(is_over);
        let is_silent = |topic: Topic| seen.size() < 2 && OF_SEVERAL.contains(&topic);
        let judged = |(topic, judge): (Topic, Judge)| if is_silent(topic) { Vec::new() } else { judge(&seen) };
        let mut found: Vec<Finding> = JUDGES.into_iter().flat_map(|row| seen.or_blind(row.0, judged(row))).collect();
        if found.iter().any(|finding| finding.topic == Topic::Data && finding.cost == batches::WAITS) {
            let follows = |finding: &&mut Finding| finding.topic == Topic::Hang && finding.is_objection();
            for hang in found.iter_mut().filter(follows) {
                hang.remedy = "it follows from the different numbers of batches: see data".to_owned();
            }
        }
        for error in seen.errors() {
            let of_topic = |finding: &Finding| finding.topic == error.topic;
            if !found.iter().any(|finding| of_topic(finding) && finding.is_objection()) {
                let at = found.iter().position(of_topic);
                found.retain(|finding| !of_topic(finding));
                found.insert(at.unwrap_or(found.len()), error);
            }
        }
        found
    }

    /// Where the inspector has stopped looking, what is missing is not judged.
    fn or_blind(&self, topic: Topic, findings: Vec<Finding>) -> Vec<Finding> {
        let why = self.of_all::<String>().next();
        match why {
            Some((rank, why)) if findings.iter().all(|finding| !finding.is_objection()) => {
                vec![topic.not_judged(format!(
                    "the inspector itself failed on rank {rank}, which changes nothing in the training: {why}"
                ))]
            }
            _ => findings,
        }
    }
}
