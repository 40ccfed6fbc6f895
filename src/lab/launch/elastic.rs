//! How a run continues after it has lost ranks: with the remaining ones, from the last checkpoint.

use std::path::Path;

use tokio::time::Instant;

use super::discovery::{Discovery, Wish, in_words, slots};
use super::host_name::HostName;
use super::hosts::{Host, listed};
use super::verdict::{Lost, Verdict};
use crate::domain::job::{RESET_LIMIT, Resources};
use crate::domain::units;
use crate::runs::RunRecord;

/// The resources of one launch after the other.
#[derive(Clone, Debug)]
pub(super) struct Elastic {
    /// Of the next launch.
    pub now: Resources,
    most: usize,
    resets: usize,
    /// When the first launch of this supervisor began.
    pub began: Instant,
    /// Finds the hosts, if the run does not name them.
    pub discovery: Option<Discovery>,
}

impl Elastic {
    /// As [`Elastic::new`], of a run whose discovered hosts are looked at before they get ranks.
    pub fn of(record: &RunRecord, folder: &Path) -> Elastic {
        let mut elastic = Elastic::new(&record.request.spec.resources);
        if let Some(discovery) = &mut elastic.discovery {
            discovery.run = Some((Box::new(record.clone()), folder.to_owned()));
        }
        elastic
    }

    fn new(resources: &Resources) -> Elastic {
        let most = resources.max_np.unwrap_or(resources.np);
        // Each launch gets the hosts that are found then.
        let now = Resources { max_np: None, host_discovery_script: None, elastic_timeout_s: None, ..resources.clone() };
        Elastic { now, most, resets: 0, began: Instant::now(), discovery: Discovery::of(resources) }
    }

    /// Hosts that are better than those of the next launch, as they come.
    pub fn wish(&self) -> Option<Wish> {
        let now = self.clone();
        Some(self.discovery.clone()?.watch(move |hosts| now.is_better(hosts)))
    }

    fn least(&self) -> usize {
        self.now.min_np.unwrap_or(1)
    }

    /// Ranks for these hosts; `None` for too few.
    fn ranks_on(&self, hosts: &[Host]) -> Option<usize> {
        Some(slots(hosts).min(self.most)).filter(|ranks| *ranks >= self.least())
    }

    /// Take these hosts for the next launch.
    ///
    /// # Errors
    /// They are too few, as the end of a sentence.
    pub fn choose(&mut self, hosts: &[Host]) -> Result<(), String> {
        let left_out = self.discovery.as_ref().map(Discovery::left_out).unwrap_or_default();
        let too_few = || format!("{} there, and --min-np is {}{left_out}", counted_are(slots(hosts), "slot"), self.least());
        self.now.np = self.ranks_on(hosts).ok_or_else(too_few)?;
        self.now.hosts = Some(in_words(hosts));
        Ok(())
    }

    /// Whether another launch on these hosts has more ranks, or is without a host that will go.
    pub fn is_better(&self, hosts: &[Host]) -> bool {
        let in_use = self.now.hosts.as_deref().and_then(|hosts| listed(hosts).ok()).unwrap_or_default();
        let stays = |used: &Host| hosts.iter().any(|host| host.name == used.name && host.slots >= used.slots);
        self.ranks_on(hosts).is_some_and(|ranks| ranks > self.now.np || !in_use.iter().all(stays))
    }

    /// Behind a reason for another launch.
    pub fn going_on(&self) -> String {
        format!("going on with {} from the last checkpoint", units::counted(self.now.np, "rank"))
    }

    /// Go on without the ranks that are gone. Returns why, and how often that was so.
    ///
    /// `None` where the run is not elastic, or where nothing would be better the next time. Where hosts are discovered, the next
    /// launch takes what there is then.
    ///
    /// # Errors
    /// Why it cannot go on although it is elastic, as the end of a sentence.
    pub fn reset(&mut self, verdict: &Verdict) -> Result<Option<String>, String> {
        let (Some(least), Some(lost)) = (self.now.min_np, &verdict.lost) else { return Ok(None) };
        let limit = self.now.reset_limit.unwrap_or(RESET_LIMIT);
        if self.resets == limit {
            return Err(format!("it had gone on {} before, which is the limit (--reset-limit)", times(limit)));
        }
        match &mut self.discovery {
            Some(discovery) => {
                let used = self.now.hosts.as_deref().and_then(|hosts| listed(hosts).ok()).unwrap_or_default();
                let lost = lost.host.as_deref().map(|host| as_listed(host, &used));
                lost.iter().for_each(|host| discovery.distrust(host, &verdict.message));
            }
            None => self.now = self.without(lost, least)?,
        }
        self.resets += 1;
        Ok(Some(format!("{} (reset {} of {limit})", verdict.message, self.resets)))
    }

    fn without(&self, lost: &Lost, least: usize) -> Result<Resources, String> {
        let mut left = Resources { np: self.now.np.saturating_sub(lost.ranks.max(1)), ..self.now.clone() };
        let (Some(host), Some(hosts)) = (&lost.host, &self.now.hosts) else {
            // The place of a process that died is still there.
            left.np = left.np.max(least);
            return Ok(left);
        };
        let hosts = listed(hosts).map_err(|error| error.to_string())?;
        let gone = as_listed(host, &hosts).to_owned();
        let hosts: Vec<_> = hosts.into_iter().filter(|listed| listed.name != gone).collect();
        left.np = left.np.min(slots(&hosts));
        left.hosts = Some(in_words(&hosts));
        if left.np < least {
            Err(format!("{} left, fewer than --min-np {least}", counted_are(left.np, "rank")))
        } else {
            Ok(left)
        }
    }

    /// The end of a run's last message: how often it lost ranks and went on.
    pub fn in_words(&self) -> String {
        match self.resets {
            0 => String::new(),
            resets => format!(" (it lost ranks {} and went on)", times(resets)),
        }
    }
}

/// A host that the launcher names in its own way, as the run names it.
fn as_listed<'a>(lost: &'a str, hosts: &'a [Host]) -> &'a str {
    let names: Vec<&str> = hosts.iter().map(|host| host.name.as_str()).collect();
    HostName::of(lost).looked_up_among(&names).unwrap_or(lost)
}

fn times(count: usize) -> String {
    if count == 1 { "once".into() } else { format!("{count} times") }
}

/// `1 rank is`, `2 ranks are`.
fn counted_are(count: usize, noun: &str) -> String {
    format!("{} {}", units::counted(count, noun), if count == 1 { "is" } else { "are" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::run::RunState;

    fn verdict(lost: Option<Lost>) -> Verdict {
        Verdict { state: RunState::Failed, message: "rank 1 died".into(), failed_process: Some(1), last_lines: vec![], lost }
    }

    fn elastic(np: usize, min_np: Option<usize>, reset_limit: Option<usize>, hosts: Option<&str>) -> Elastic {
        Elastic::new(&Resources { min_np, reset_limit, hosts: hosts.map(String::from), ..Resources::ranks(np) })
    }

    const ONE: Option<Lost> = Some(Lost { ranks: 1, host: None });

    #[test]
    fn each_loss_takes_a_rank_down_to_the_least_and_no_more_often_than_allowed() {
        let mut run = elastic(3, Some(2), Some(2), None);
        let said = run.reset(&verdict(ONE)).unwrap().unwrap();
        assert_eq!(said, "rank 1 died (reset 1 of 2)");
        assert_eq!((run.now.np, run.going_on().as_str()), (2, "going on with 2 ranks from the last checkpoint"));
        run.reset(&verdict(ONE)).unwrap();
        assert_eq!(run.now.np, 2, "the place of a process that died is still there");
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
        assert_eq!((run.now.np, run.now.hosts.as_deref()), (3, Some("a:2,c:1")));
        assert!(run.reset(&gone("a.lab", 2)).unwrap_err().contains("1 rank is left, fewer than --min-np 2"));
        let mut run = elastic(2, Some(1), None, Some("10.0.0.1:1,10.0.0.2:1"));
        run.reset(&gone("10.0.0.2", 0)).unwrap();
        assert_eq!((run.now.np, run.now.hosts.as_deref()), (1, Some("10.0.0.1:1")));
        // It died before its ranks could report.
        let mut run = elastic(4, Some(1), None, Some("a:2,b:2"));
        run.reset(&gone("b", 0)).unwrap();
        assert_eq!((run.now.np, run.now.hosts.as_deref()), (2, Some("a:2")));
    }

    #[test]
    fn hosts_that_are_found_give_as_many_ranks_as_are_allowed() {
        let found = |hosts: &str| listed(hosts).unwrap();
        let resources = Resources {
            min_np: Some(2),
            max_np: Some(4),
            host_discovery_script: Some("hosts".into()),
            elastic_timeout_s: Some(60.0),
            ..Resources::ranks(2)
        };
        let mut run = Elastic::new(&resources);
        assert!(run.now.problem().is_none(), "each launch is a run with hosts");
        assert_eq!(run.choose(&found("a:1")).unwrap_err(), "1 slot is there, and --min-np is 2");
        run.choose(&found("a:1,b:2")).unwrap();
        assert_eq!((run.now.np, run.now.hosts.as_deref()), (3, Some("a:1,b:2")));
        for (hosts, is_better) in
            [("a:1,b:2", false), ("b:2,a:1", false), ("a:1,b:2,c:1", true), ("a:2,b:2", true), ("b:2", true), ("a:1", false)]
        {
            assert_eq!(run.is_better(&found(hosts)), is_better, "{hosts}");
        }
        run.choose(&found("a:9")).unwrap();
        assert_eq!(run.now.np, 4, "no more than --max-np");
        assert!(!run.is_better(&found("a:9,b:9")));
        // What is left is looked for again.
        assert!(run.reset(&verdict(ONE)).unwrap().is_some());
        assert_eq!(run.now.np, 4);
    }
}
