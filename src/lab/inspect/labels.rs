//! A sample has the same label on all ranks.

use std::collections::{BTreeMap, BTreeSet};

use super::batches::{made, wrong};
use super::finding::Finding;
use super::inspection::{Inspection, known};
use crate::domain::event::PassReport;

/// Samples that two ranks must have had, before anything is said of their labels.
const FEWEST: usize = 16;

/// Ranks that number the classes in ways of their own, as by the order of a set: what one rank calls 3 is always 5 on another.
pub(super) fn numbered_apart(seen: &Inspection) -> Option<Finding> {
    let is_shared = |pass: &PassReport| pass.replicas == Some(seen.size());
    let mut labels: BTreeMap<usize, BTreeMap<usize, BTreeMap<u32, u32>>> = BTreeMap::new();
    for (rank, pass) in seen.of_all::<PassReport>().filter(|(_, pass)| is_shared(pass)) {
        let known = pass.picked.iter().zip(&pass.labels).filter(|(_, label)| **label != 0);
        labels.entry(pass.loader).or_default().entry(rank).or_default().extend(known);
    }
    labels.iter().find_map(|(loader, ranks)| {
        let (root, own) = ranks.first_key_value()?;
        let (other, differing, common) = ranks.iter().skip(1).find_map(|(rank, labels)| {
            let pairs: Vec<(u32, u32)> = own.iter().filter_map(|(sample, label)| Some((*label, *labels.get(sample)?))).collect();
            let names: BTreeSet<&(u32, u32)> = pairs.iter().collect();
            let differing = pairs.iter().filter(|(one, other)| one != other).count();
            // Labels that are drawn by chance, or differ for a few samples, follow no such rule.
            let is_rule = |side: fn(&(u32, u32)) -> u32| names.iter().map(|pair| side(pair)).collect::<BTreeSet<_>>().len() == names.len();
            (pairs.len() >= FEWEST && differing > 0 && is_rule(|pair| pair.0) && is_rule(|pair| pair.1))
                .then_some((*rank, differing, pairs.len()))
        })?;
        let reports = seen.of_all::<PassReport>().filter(|(_, pass)| pass.loader == *loader).collect();
        wrong(
            format!("{differing} of {common} samples that ranks {root} and {other} both had have another label on each: the ranks number the classes in different ways"),
            made(&reports),
            "what one rank teaches the model the other takes back",
            "number the classes alike on all ranks: by sorted(classes), and not by the order of a set, of a folder, or of a rank's own samples",
        )
    })
}

/// Samples and labels that are other rows of their arrays.
pub(super) fn rows_apart(seen: &Inspection) -> Option<Finding> {
    let ranks = seen.tellers("rows apart");
    let (rank, report) = ranks.iter().next()?;
    let [one, other] = &report.settings[..] else { return None };
    wrong(
        format!("the data set of rank {rank} puts rows {one} of one array beside rows {other} of another with as many rows"),
        known(&report.place),
        "the samples of this rank have the labels of others",
        "cut all arrays by the same rows of the rank",
    )
}
