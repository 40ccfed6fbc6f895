//! How a run goes on that has lost ranks: with those that are left, from the last checkpoint.
//!
//! Never starts anything: it says what the next launch is to be.

use super::preflight::listed;
use super::verdict::{Lost, Verdict};
use crate::domain::job::{RESET_LIMIT, Resources};
use crate::domain::units;

/// The resources of one launch after the other.
#[derive(Clone, Debug)]
pub(super) struct Elastic {
    now: Resources,
    resets: usize,
}

impl Elastic {
    pub fn new(resources: &Resources) -> Elastic {
        Elastic { now: resources.clone(), resets: 0 }
    }

    /// What the next launch asks for.
    pub fn resources(&self) -> &Resources {
        &self.now
    }

    /// What is told while the first ranks start.
    pub fn starting(&self) -> String {
        format!("starting {}", units::counted(self.now.np, "rank"))
    }

    /// Go on without the ranks that are gone. Returns what is to be told of it.
    ///
    /// `None` where the run is not elastic, or where nothing would be better the next time.
    ///
    /// # Errors
    /// Why it cannot go on although it is elastic, as the end of a sentence.
    pub fn reset(&mut self, verdict: &Verdict) -> Result<Option<String>, String> {
        let (Some(least), Some(lost)) = (self.now.min_np, &verdict.lost) else { return Ok(None) };
        let limit = self.now.reset_limit.unwrap_or(RESET_LIMIT);
        if self.resets == limit {
            return Err(format!("it had gone on {} before, which is the limit (--reset-limit)", times(limit)));
        }
        self.now = self.without(lost, least)?;
        self.resets += 1;
        let ranks = units::counted(self.now.np, "rank");
        Ok(Some(format!(
            "{}; going on with {ranks} from the last checkpoint (reset {} of {limit})",
            verdict.message, self.resets
        )))
    }

    fn without(&self, lost: &Lost, least: usize) -> Result<Resources, String> {
        let mut left = Resources { np: self.now.np.saturating_sub(lost.ranks.max(1)), ..self.now.clone() };
        let (Some(host), Some(hosts)) = (&lost.host, &self.now.hosts) else {
            // The place of a process that died is still there.
            left.np = left.np.max(least);
            return Ok(left);
        };
        let short = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
        let hosts = listed(hosts).map_err(|error| error.to_string())?;
        let hosts: Vec<_> = hosts.into_iter().filter(|listed| short(&listed.name) != short(host)).collect();
        let slots: usize = hosts.iter().filter_map(|host| host.slots).sum();
        left.np = left.np.min(slots);
        left.hosts =
            Some(hosts.iter().map(|host| format!("{}:{}", host.name, host.slots.unwrap_or(1))).collect::<Vec<_>>().join(","));
        match left.np < least {
            true => Err(format!("{} left, fewer than --min-np {least}", are(left.np))),
            false => Ok(left),
        }
    }

    /// Behind the end of a run, how often it went on.
    pub fn in_words(&self) -> String {
        match self.resets {
            0 => String::new(),
            resets => format!(" (it lost ranks {} and went on)", times(resets)),
        }
    }
}

fn times(count: usize) -> String {
    if count == 1 { "once".into() } else { format!("{count} times") }
}

fn are(ranks: usize) -> String {
    if ranks == 1 { "1 rank is".into() } else { format!("{ranks} ranks are") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::run::RunState;

    fn verdict(lost: Option<Lost>) -> Verdict {
        Verdict { state: RunState::Failed, message: "process 1 died".into(), failed_process: Some(1), last_lines: vec![], lost }
    }

    fn elastic(np: usize, min_np: Option<usize>, reset_limit: Option<usize>, hosts: Option<&str>) -> Elastic {
        Elastic::new(&Resources { min_np, reset_limit, hosts: hosts.map(String::from), ..Resources::ranks(np) })
    }

    const ONE: Option<Lost> = Some(Lost { ranks: 1, host: None });

    #[test]
    fn each_loss_takes_a_rank_down_to_the_least_and_no_more_often_than_allowed() {
        let mut run = elastic(3, Some(2), Some(2), None);
        let said = run.reset(&verdict(ONE)).unwrap().unwrap();
        assert_eq!(said, "process 1 died; going on with 2 ranks from the last checkpoint (reset 1 of 2)");
        assert_eq!(run.resources().np, 2);
        run.reset(&verdict(ONE)).unwrap();
        assert_eq!(run.resources().np, 2, "the place of a process that died is still there");
        assert!(run.reset(&verdict(ONE)).unwrap_err().contains("gone on 2 times before"));
        assert_eq!(run.in_words(), " (it lost ranks 2 times and went on)");
    }

    #[test]
    fn what_would_fail_again_and_what_is_not_elastic_ends() {
        assert_eq!(elastic(3, Some(1), None, None).reset(&verdict(None)), Ok(None));
        assert_eq!(elastic(3, None, None, None).reset(&verdict(ONE)), Ok(None));
        assert_eq!(elastic(3, Some(1), None, None).in_words(), "");
    }

    #[test]
    fn a_host_that_is_gone_is_left_out_with_its_slots() {
        let gone = |host: &str, ranks| verdict(Some(Lost { ranks, host: Some(host.into()) }));
        let mut run = elastic(5, Some(2), None, Some("a:2,b.lab:2,c"));
        run.reset(&gone("b", 2)).unwrap();
        assert_eq!((run.resources().np, run.resources().hosts.as_deref()), (3, Some("a:2,c:1")));
        assert!(run.reset(&gone("a.lab", 2)).unwrap_err().contains("1 rank is left, fewer than --min-np 2"));
        // It died before its ranks could report.
        let mut run = elastic(4, Some(1), None, Some("a:2,b:2"));
        run.reset(&gone("b", 0)).unwrap();
        assert_eq!((run.resources().np, run.resources().hosts.as_deref()), (2, Some("a:2")));
    }
}
