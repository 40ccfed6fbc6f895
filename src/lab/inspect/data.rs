//! Each sample goes to one rank, once an epoch, in a new order.

use std::collections::BTreeSet;

use super::batches::{Reports, TOPIC, are_parts, have_subsets, made, sampler_made, sizes, unequal, uneven, weights, wrong};
use super::finding::{Cause, Finding, Outcome};
use super::inspection::{Inspection, differ, known, ranks as names};
use super::samples::{numbered_apart, same_order, shared_twice};
use crate::domain::event::PassReport;

/// A pass over so much of a data set is over all of it, and an overlap beyond chance.
const ALL: f64 = 0.98;
const OVERLAP: f64 = 0.1;
const MOSTLY: f64 = 0.9;
/// PyTorch's own, which know nothing of ranks.
const SAMPLERS: [&str; 5] =
    ["RandomSampler", "SequentialSampler", "SubsetRandomSampler", "BatchSampler", "WeightedRandomSampler"];
pub(super) const DIVIDE_STEPS: &str = "divide the steps of an epoch by the number of ranks: steps_per_epoch=steps // hvd.size()";
/// A rank that sees more than one in so many samples a second time has an iterator that begins anew.
const REPEATED: usize = 32;

pub(super) fn judge(seen: &Inspection) -> Vec<Finding> {
    if seen.size() < 2 {
        return vec![TOPIC.not_judged("one rank takes all samples")];
    }
    if let Some(by) = seen.split() {
        return vec![TOPIC.not_judged(format!("with {by} several ranks may work on the same samples on purpose"))];
    }
    let split_twice = || seen.finding("stream split twice");
    let passes = seen.passes(true);
    let Some((_, first)) = passes.iter().next() else {
        let unknown = || TOPIC.not_judged("no pass over training data has ended on all ranks");
        return vec![unequal(seen).or_else(split_twice).unwrap_or_else(unknown)];
    };
    if seen.has("batch cut") && first.values().all(|pass| pass.replicas.is_none()) {
        return vec![TOPIC.not_judged("each rank takes a part of every batch: whether it is another one was not seen")];
    }
    let checks: [fn(&Inspection, &Reports<'_>) -> Option<Finding>; 10] =
        [sampler, same, one_shuffle, whole, overlap, shared_twice, around, all_drawn, uneven, |_, reports| sizes(reports)];
    let of_passes = || passes.values().find_map(|reports| checks.into_iter().find_map(|check| check(seen, reports)));
    let of_batches = of_passes().or_else(|| unequal(seen)).or_else(|| weights(seen));
    let all = [of_batches, split_twice(), same_order(seen, &passes), numbered_apart(seen), seen.finding("rows apart")];
    let found: Vec<Finding> = all.into_iter().flatten().collect();
    if !found.is_empty() {
        return found;
    }
    let samples: usize = first.values().map(|pass| pass.samples).sum();
    let sets = || first.values().filter_map(|pass| pass.dataset);
    let is_split = |pass: &&PassReport| pass.replicas.is_some();
    let is_shared = first.values().any(is_split)
        || !differ(first.values().map(|pass| &pass.content)) && !differ(first.values().map(|pass| &pass.subset));
    let all: Option<usize> = if is_shared { sets().next() } else { Some(sets().sum()).filter(|sum| *sum > 0) };
    let of = all.map_or(String::new(), |all| format!(" of {all}"));
    let when = if first.values().all(|pass| pass.is_whole) { "in the first pass" } else { "in the batches that were seen" };
    // As in Horovod's examples for Keras.
    let draws = |pass: &PassReport| pass.replicas.is_none() && pass.picked.is_empty() && pass.first.is_empty() && pass.shuffles;
    if seen.is_keras() && is_shared && first.values().all(|pass| draws(pass)) {
        return TOPIC.ok(format!(
            "each rank draws from the whole data set{of} in an order of its own: {samples} samples in the first pass"
        ));
    }
    let size = |pass: &&PassReport| pass.batch_size.unwrap_or(pass.samples.div_ceil(pass.batches.max(1)));
    let slack = seen.size() * first.values().map(size).max().unwrap_or(1);
    if all.is_some_and(|all| samples > all + slack) {
        let what = format!(
            "the ranks trained on {samples} samples{of} {when}: some come several times, so their shares cannot be compared"
        );
        return vec![TOPIC.not_judged(what)];
    }
    let many = if samples > 0 { format!("{samples} samples{of}") } else { "samples of their own".to_owned() };
    let padding = if all.is_some_and(|all| samples > all) { " (the shares are filled up to the same size)" } else { "" };
    TOPIC.ok(format!("the ranks trained on {many} {when}{padding}, and not on the same ones"))
}

fn give_sampler(seen: &Inspection, pass: &PassReport) -> &'static str {
    if seen.is_keras() && pass.sampler == "steps" {
        "divide the steps of an epoch by the number of ranks, steps_per_epoch=steps // hvd.size(), or give each rank its part of the data"
    } else if seen.uses(&["transformers"]) {
        "return self.accelerator.prepare(loader), or leave the loader to the Trainer"
    } else if seen.is_keras() {
        "give each rank its part of the arrays, or write dataset.shard(hvd.size(), hvd.rank())"
    } else if seen.is_accelerate() && seen.wrappers().next().is_none() {
        seen.wrap()
    } else if seen.is_accelerate() {
        "pass the loader through accelerator.prepare(), which shares its batches out"
    } else if seen.is_fabric() {
        "pass the loader through fabric.setup_dataloaders(loader), which gives it a sampler"
    } else if seen.is_lightning() {
        "give the DataLoader sampler=DistributedSampler(dataset), or leave use_distributed_sampler of the Trainer on"
    } else if seen.is_horovod() {
        "give the DataLoader sampler=DistributedSampler(dataset, num_replicas=hvd.size(), rank=hvd.rank())"
    } else {
        "give the DataLoader sampler=DistributedSampler(dataset), and leave shuffle out"
    }
}

fn share_out(seen: &Inspection, pass: &PassReport) -> &'static str {
    if pass.sampler == "WeightedRandomSampler" {
        "give the sampler a generator with a seed of the rank, torch.Generator().manual_seed(seed + rank), and num_samples divided by the number of ranks"
    } else if pass.made.file.is_empty() {
        "let each rank take other samples: add the rank to the seed that draws them, or take samples[rank::world_size]"
    } else if pass.sampler.is_empty() {
        "let each rank skip what the others take: samples[rank::world_size], or itertools.islice(samples, rank, None, world_size)"
    } else {
        give_sampler(seen, pass)
    }
}

/// Distributed samplers of several ranks that ask for the same share.
pub(super) fn one_share(seen: &Inspection, reports: &Reports<'_>) -> Option<Cause> {
    let shares: Vec<usize> =
        reports.values().filter(|pass| pass.replicas == Some(seen.size())).filter_map(|pass| pass.replica).collect();
    let first = *shares.first()?;
    (shares.len() == reports.len() && shares.iter().collect::<BTreeSet<_>>().len() < shares.len()).then(|| {
        let remedy = seen.in_words(
            "write dataset.shard(hvd.size(), hvd.rank())",
            "give each its own rank: rank=hvd.rank()",
            "give each its own rank, or leave rank out",
        );
        let said = format!("the samplers of {} ask for the same share, number {first}", names(reports.keys()));
        (said, sampler_made(reports), remedy.to_owned())
    })
}

/// A distributed sampler that was told wrong numbers, or another seed on each rank.
fn sampler(seen: &Inspection, reports: &Reports<'_>) -> Option<Finding> {
    let own: Vec<(usize, usize, usize)> =
        reports.iter().filter_map(|(rank, pass)| Some((*rank, pass.replicas?, pass.replica?))).collect();
    if own.len() < reports.len() {
        return None;
    }
    let place = || sampler_made(reports);
    if let Some((rank, replicas, _)) = own.iter().find(|(_, replicas, _)| *replicas != seen.size()) {
        let said =
            format!("the sampler of rank {rank} shares the data out among {replicas}, and there are {} ranks", seen.size());
        return wrong(
            said,
            place(),
            "samples are left out, or trained on by several ranks",
            "give it the number of ranks, or leave num_replicas out",
        );
    }
    if let Some((said, place, remedy)) = one_share(seen, reports) {
        return wrong(said, place, "these ranks train on the same samples", remedy);
    }
    let has_seed = reports.values().any(|pass| pass.seed.is_some());
    let has_one_seed = has_seed && !differ(reports.values().map(|pass| pass.seed));
    if reports.values().all(|pass| pass.sampler == "shuffle before shard") && !has_one_seed {
        let said = "each rank shuffles the whole data set in its own way, and takes its share of that";
        let cost = "some samples go to several ranks, and others to none";
        return wrong(
            said,
            place(),
            cost,
            "shard first and shuffle behind it, or give shuffle a seed that is the same on all ranks",
        );
    }
    if differ(reports.values().map(|pass| pass.seed)) && reports.values().all(|pass| pass.shuffles) {
        let seeds: Vec<String> = reports.values().filter_map(|pass| Some(pass.seed?.to_string())).collect();
        let said = format!("the samplers have different seeds ({}), so each rank divides another shuffle", seeds.join(", "));
        return wrong(
            said,
            seen.told_at("seed of loaders").or_else(place),
            "some samples go to several ranks, and others to none",
            "give the sampler the same seed on all ranks",
        );
    }
    None
}

/// Whether two ranks train on the same samples in the same order.
fn are_same(one: &PassReport, other: &PassReport) -> bool {
    let numbers = |pass: &PassReport| pass.picked.iter().copied().collect::<BTreeSet<u32>>();
    // A data set of one repeated sample has equal batches, and yet different numbers of samples.
    let have_different_numbers = one.every == other.every && !one.picked.is_empty() && numbers(one).is_disjoint(&numbers(other));
    let is_constant = one.first.len() > 1 && one.first.iter().all(|batch| *batch == one.first[0]);
    let is_same = !one.first.is_empty() && one.first == other.first;
    is_same && !have_different_numbers && !is_constant
}

/// The same batches on several ranks.
fn same(seen: &Inspection, reports: &Reports<'_>) -> Option<Finding> {
    let alike = |(rank, pass): (&usize, &&PassReport)| {
        let others: Vec<usize> = reports.iter().filter(|(_, other)| are_same(pass, other)).map(|(other, _)| *other).collect();
        (others.len() > 1).then_some((*rank, others))
    };
    let Some((rank, together)) = reports.iter().find_map(alike) else { return streams(reports) };
    let (who, one) = (names(&together), reports.get(&rank)?);
    let said = format!("{who} train on the same samples: their first {} batches are equal", one.first.len());
    let remedy = if seen.is_keras() && one.content.is_empty() {
        "let each rank draw other samples, as with the seed seed + hvd.rank(), or skip what the others take"
    } else {
        share_out(seen, one)
    };
    wrong(said, made(reports), "the ranks do the same work, and a pass takes as long as on one", remedy)
}

/// The whole data set on each rank, which a pipeline of tf.data shuffles with one seed.
fn one_shuffle(seen: &Inspection, reports: &Reports<'_>) -> Option<Finding> {
    let is_known = |pass: &&PassReport| pass.seed.is_some() && pass.replicas.is_none() && !pass.content.is_empty();
    let differs = differ(reports.values().map(|pass| (pass.seed, &pass.content)));
    let one =
        reports.values().next().filter(|_| seen.is_keras() && reports.values().all(|pass| is_known(&&**pass)) && !differs)?;
    let said =
        format!("{} shuffle the whole data set with the same seed, and so train on the same samples", names(reports.keys()));
    wrong(said, made(reports), "the ranks do the same work, and a pass takes as long as on one", give_sampler(seen, one))
}

/// Workers of one rank that go through the same stream.
fn streams(reports: &Reports<'_>) -> Option<Finding> {
    let (rank, pass) = reports.iter().find(|(_, pass)| {
        let distinct: BTreeSet<&String> = pass.first.iter().collect();
        let comes_again = pass.first.len() > 1 && distinct.len() < pass.first.len();
        // Each worker has gone through all samples, in whatever order.
        let expected = pass.samples - pass.samples / pass.workers.max(1);
        let all_come_again = pass.repeated > 0 && pass.repeated.abs_diff(expected) * 20 < pass.samples;
        pass.sampler.is_empty() && pass.workers > 1 && (comes_again || all_come_again)
    })?;
    let said = format!("the {} workers of rank {rank} read the same stream: samples come several times", pass.workers);
    let remedy = "let each worker skip what the others take: torch.utils.data.get_worker_info() says which one it is";
    wrong(said, made(reports), "each sample is trained on once for each worker", remedy)
}

/// All of the data on each rank, if in another order.
fn whole(seen: &Inspection, reports: &Reports<'_>) -> Option<Finding> {
    let is_all =
        |pass: &PassReport| pass.is_whole && pass.dataset.is_some_and(|all| pass.samples as f64 > all as f64 * ALL && all > 0);
    let one = reports.values().next()?;
    let contents = || reports.values().map(|pass| pass.content.as_str());
    if !reports.values().all(|pass| is_all(pass)) || one.replicas.is_some() || differ(reports.values().map(|pass| pass.dataset)) {
        return None;
    }
    if are_parts(reports.values().copied()) || have_subsets(reports) {
        return None;
    }
    let (all, who) = (one.dataset.unwrap_or(0), names(reports.keys()));
    let is_known = contents().all(|content| !content.is_empty());
    if is_known && differ(contents()) {
        return None;
    }
    // Samples that are drawn by weight are no shares of a pass: more of them may be meant so.
    let how = if is_known && !one.sampler.contains("Weighted") { Outcome::Wrong } else { Outcome::Look };
    let said = if is_known {
        format!("each of {who} trains on all {all} samples")
    } else {
        format!("each of {who} goes through a whole data set of {all} samples: if it is the same one, nothing is shared out")
    };
    let cost = "the ranks together do the work several times";
    Some(TOPIC.objection(how, said, made(reports), cost, give_sampler(seen, one)))
}

/// Samples that go to several ranks.
fn overlap(seen: &Inspection, reports: &Reports<'_>) -> Option<Finding> {
    let one = reports.values().next()?;
    let contents = || reports.values().map(|pass| pass.content.as_str());
    // Where each rank has its own data set, or may have one, sample 5 of one rank is not sample 5 of another, so their values are
    // compared.
    let is_unknown = one.replicas.is_none() && contents().all(str::is_empty);
    let have_own = is_unknown || differ(contents()) && contents().all(|content| !content.is_empty());
    let is_alike = |pass: &PassReport| have_own || pass.every == one.every && pass.dataset == one.dataset;
    let is_comparable = reports.values().all(|pass| is_alike(pass) && known_samples(pass, have_own).len() > 8);
    // If an iterator begins anew by itself, its end is not the end of a pass, and ranks have samples in common.
    let goes_round = |pass: &PassReport| {
        let samples = known_samples(pass, have_own);
        let distinct: BTreeSet<&u32> = samples.iter().collect();
        samples.len() - distinct.len() > samples.len() / REPEATED
    };
    // Ranks that are in different epochs are another mistake.
    // A generator may draw from all of the data on each rank, for a part of an epoch.
    if !is_comparable
        || one.sampler == "steps"
        || reports.values().all(|pass| goes_round(pass))
        || differ(reports.values().map(|pass| pass.epoch))
        || !have_own && (differ(contents()) || contents().any(str::is_empty) && one.replicas.is_none())
    {
        return None;
    }
    let all: Vec<(usize, BTreeSet<u32>)> =
        reports.iter().map(|(rank, pass)| (*rank, known_samples(pass, have_own).iter().copied().collect())).collect();
    let (first, own) = all.first()?;
    let (other, common) =
        all.iter().skip(1).map(|(rank, picked)| (rank, picked.intersection(own).count())).max_by_key(|(_, common)| *common)?;
    let part = common as f64 / own.len().max(1) as f64;
    // A DistributedSampler repeats fewer samples than there are ranks.
    let is_drawn = one.sampler.contains("Weighted");
    (part > OVERLAP && common >= reports.len() && !is_drawn).then(|| {
        let said = format!("{:.0} % of the samples of rank {first} go to rank {other} as well", part * 100.0);
        if let Some(split) = known(&one.split_made).filter(|_| one.replicas.is_some()) {
            return wrong(
                format!("{said}: each rank divides another part of the data set"),
                Some(split),
                "samples count several times, and what one rank trains on another may validate with",
                "draw the split with one seed on all ranks, as by random_split(..., generator=torch.Generator().manual_seed(0))",
            );
        }
        let are_arrays = seen.is_keras() && have_own && one.dataset.is_some() && one.sampler.is_empty();
        if (have_subsets(reports) || are_arrays) && one.replicas.is_none() {
            return wrong(
                format!("{said}: the parts that the ranks take of the data set overlap"),
                known(&one.split_made).or_else(|| made(reports)),
                "these samples count several times, and others are never seen",
                if seen.is_keras() {
                    "cut one order of the samples, drawn with a seed that is the same on all ranks: order[hvd.rank()::hvd.size()]"
                } else {
                    "cut the parts so that each sample goes to one rank: Subset(dataset, range(rank, len(dataset), world_size))"
                },
            );
        }
        if have_own && one.replicas == Some(seen.size()) {
            return wrong(
                format!("{said}: the ranks have different data sets, and the sampler shares each of them out"),
                made(reports),
                "samples count several times, and what one rank trains on another may validate with",
                "make the same data set on all ranks: what shuffles or splits it needs a seed that is the same on all of them",
            );
        }
        let cost = "these samples count several times, and the pass takes longer than it should";
        let is_own = !one.sampler.is_empty() && !SAMPLERS.contains(&one.sampler.as_str());
        let order = &one.sampler;
        let remedy = if is_own {
            format!("let {order} order the samples alike on all ranks, with one seed, and give each rank its part of that")
        } else {
            share_out(seen, one).to_owned()
        };
        wrong(said, sampler_made(reports), cost, remedy)
    })?
}

/// `steps_per_epoch` of all ranks on each rank: an epoch goes over the share of a rank several times, for it repeats.
fn around(seen: &Inspection, reports: &Reports<'_>) -> Option<Finding> {
    let times = |pass: &&PassReport| {
        let all = pass.dataset.filter(|all| *all > 0 && pass.replicas == Some(seen.size()) && pass.sampler == "steps")?;
        Some((pass.samples * seen.size()) as f64 / all as f64)
    };
    let fewest = reports.values().map(times).collect::<Option<Vec<f64>>>()?.into_iter().min_by(f64::total_cmp)?;
    let one = reports.values().next().filter(|_| fewest > seen.size() as f64 * ALL)?;
    Some(TOPIC.look(
        format!("an epoch of {} steps takes each rank {fewest:.1} times through its share of the samples", one.batches),
        known(&one.place),
        "the ranks together do the work several times, and no epoch is faster",
        DIVIDE_STEPS,
    ))
}

/// Generators that give each rank all samples in an epoch.
fn all_drawn(seen: &Inspection, reports: &Reports<'_>) -> Option<Finding> {
    let rows = |pass: &PassReport| pass.rows.iter().copied().collect::<BTreeSet<u32>>();
    let first = reports.values().next().filter(|pass| seen.is_keras() && pass.sampler == "steps" && !pass.rows.is_empty())?;
    let own = rows(first);
    let share = |pass: &PassReport| rows(pass).intersection(&own).count() as f64 / own.len() as f64;
    reports.values().all(|pass| share(pass) > MOSTLY).then(|| {
        TOPIC.look(
            format!("an epoch of {} steps takes each of {} through the same samples", first.batches, names(reports.keys())),
            known(&first.place),
            "the ranks together do the work several times, and no epoch is faster",
            DIVIDE_STEPS,
        )
    })
}

/// Samples of a pass: by their values, or by their numbers.
fn known_samples(pass: &PassReport, by_value: bool) -> &[u32] {
    if by_value { &pass.rows } else { &pass.picked }
}
