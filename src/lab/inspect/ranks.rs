//! Every rank knows its group, has a device of its own, and takes no more threads than its share of the cores.

use std::collections::BTreeMap;

use super::finding::{Finding, Topic};
use super::inspection::{Inspection, differ, known, ranks as names};
use crate::domain::event::{EndedReport, GroupReport, InspectedUpdate, LookingReport, WrappedReport};

const TOPIC: Topic = Topic::Ranks;

pub(super) fn judge(seen: &Inspection) -> Vec<Finding> {
    let size = seen.size();
    if size < 2 {
        return vec![TOPIC.not_judged("one rank trains alone: start the program on two or more")];
    }
    let groups: BTreeMap<usize, &GroupReport> = seen.of_all().collect();
    let firsts = seen.of_all::<InspectedUpdate>().filter(|(_, update)| update.update == 0);
    let trained: Vec<usize> = firsts.map(|(rank, _)| rank).collect();
    // Equal gradients of different samples: something that the inspector does not know averages them.
    let gradients_differ = seen.updates().values().any(|ranks| differ(ranks.values().map(|update| &update.gradients)));
    let may_average = !gradients_differ && seen.trains_on_different_samples().unwrap_or(!seen.have_all_ended());
    if let Some(alone) = no_group(seen, size, &groups, &trained).filter(|_| !may_average && !seen.is_blind()) {
        return vec![alone];
    }
    if seen.is_over && !seen.ranks.is_empty() && seen.ranks.len() < size && groups.len() < size {
        let said = format!("{size} ranks were asked for, and {} came to PyTorch", seen.ranks.len());
        let how = "look at how the launcher was called, and at the log";
        if seen.reports::<EndedReport>().all(|end| end.failure.is_none())
            && seen.ended().len() == seen.ranks.len()
            && seen.ranks.len() == trained.len()
            && seen.reports::<LookingReport>().all(|report| report.launched < size)
        {
            let cost = "those that came train alone";
            let remedy = format!(
                "{how}: of some launchers --cpu starts one process, of torchrun --nproc-per-node starts as many as it says"
            );
            return vec![TOPIC.look(said, None, cost, remedy)];
        }
        return vec![TOPIC.not_judged(format!("{said}: {how}"))];
    }
    if groups.is_empty() || (!seen.is_over && groups.len() < size) {
        return vec![TOPIC.not_judged("not all ranks have come to their group yet")];
    }
    let found: Vec<Finding> =
        [numbers(&groups), devices(seen, &groups), cores(seen, &groups), threads(seen, &groups)].into_iter().flatten().collect();
    if found.is_empty() { TOPIC.ok(format!("{} are in one group of {size}", names(groups.keys()))) } else { found }
}

/// Ranks that were launched together and train each for itself.
fn no_group(seen: &Inspection, size: usize, groups: &BTreeMap<usize, &GroupReport>, trained: &[usize]) -> Option<Finding> {
    let alone: Vec<usize> = trained.iter().copied().filter(|rank| !groups.contains_key(rank)).collect();
    (!alone.is_empty()).then(|| {
        let init = seen.in_words("hvd.init()", "hvd.init()", "dist.init_process_group()");
        TOPIC.wrong(
            format!("{size} ranks were started, and {} trained without joining a group", names(&alone)),
            seen.optimizer_place(),
            "each rank is a training of its own: the work is done several times",
            format!("call {init} before the model is made"),
        )
    })
}

fn numbers(groups: &BTreeMap<usize, &GroupReport>) -> Option<Finding> {
    let size = groups.len();
    let wrong = groups.iter().find(|(_, group)| group.size < size);
    let (rank, group) = wrong.or_else(|| {
        groups.iter().find(|(rank, own)| {
            groups.iter().any(|(other, group)| other != *rank && group.rank == own.rank && group.size == own.size)
        })
    })?;
    Some(TOPIC.wrong(
        format!(
            "rank {rank} of the launch calls itself rank {} of {}, and {size} ranks have joined a group",
            group.rank, group.size
        ),
        known(&group.place),
        "ranks that do not know each other wait for ever, or share nothing",
        "take rank and size from the launcher's variables (RANK and WORLD_SIZE under torchrun)",
    ))
}

fn devices(seen: &Inspection, groups: &BTreeMap<usize, &GroupReport>) -> Option<Finding> {
    let mut users: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    let is_one = |update: &InspectedUpdate| update.update == 0 && update.device.starts_with("cuda");
    for (rank, update) in seen.of_all::<InspectedUpdate>().filter(|(_, update)| is_one(update)) {
        let host = groups.get(&rank)?.host.as_str();
        users.entry((host, update.device.as_str())).or_default().push(rank);
    }
    let ((_, device), shared) = users.into_iter().find(|(_, ranks)| ranks.iter().any(|rank| *rank != ranks[0]))?;
    let place = groups.get(&shared[0]).and_then(|group| known(&group.place));
    let device = device.split(' ').next().unwrap_or_default();
    Some(TOPIC.wrong(
        format!("{} compute on {device} of the same host", names(&shared)),
        place,
        "they take turns on one GPU, and the others stand idle",
        "call torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"])) before anything is moved to a GPU (Horovod: hvd.local_rank())",
    ))
}

/// Ranks that the program itself binds to fewer cores than they are.
fn cores(seen: &Inspection, groups: &BTreeMap<usize, &GroupReport>) -> Option<Finding> {
    let bound = seen.of_all::<WrappedReport>().filter(|(_, report)| report.by == "bound to cores");
    let last: BTreeMap<usize, &WrappedReport> = bound.collect();
    let mut users: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    for (rank, report) in &last {
        users.entry((groups.get(rank)?.host.as_str(), report.settings.first()?)).or_default().push(*rank);
    }
    let ((_, bound), shared) = users.into_iter().find(|((_, bound), ranks)| ranks.len() > bound.split(',').count())?;
    let local_rank = if seen.is_horovod() { "hvd.local_rank()" } else { "int(os.environ[\"LOCAL_RANK\"])" };
    Some(TOPIC.look(
        format!("{} are bound to the same cores of a host ({bound})", names(&shared)),
        known(&last.get(&shared[0])?.place),
        "they take turns there, and other cores stand idle",
        format!("bind each to cores of its own, by {local_rank}"),
    ))
}

fn threads(seen: &Inspection, groups: &BTreeMap<usize, &GroupReport>) -> Option<Finding> {
    let too_many: Vec<(&usize, &GroupReport, usize)> = groups
        .iter()
        .filter_map(|(rank, group)| {
            // Before its first update a program may still set its threads, or go to a GPU.
            let first = seen.of_rank::<InspectedUpdate>(*rank).next()?;
            let on_cpu = first.device == "cpu";
            let threads = if first.threads > 0 { first.threads } else { group.threads };
            let is_too_many = group.local_size > 1 && threads * group.local_size > group.cores && threads > 1;
            (on_cpu && is_too_many).then_some((rank, *group, threads))
        })
        .collect();
    let (_, group, threads) = too_many.first().copied()?;
    let alike = too_many.iter().filter(|(.., other)| *other == threads).map(|(rank, ..)| *rank);
    let verb = if alike.clone().count() > 1 { "compute" } else { "computes" };
    let fair = (group.cores / group.local_size).max(1);
    let set = seen.told_at("set_num_threads");
    let remedy = match set {
        _ if seen.is_keras() => {
            "ask for a share of the cores, the number of them // hvd.local_size(), or leave the line out".to_owned()
        }
        Some(_) => format!("ask for {fair} there, or leave it out and set OMP_NUM_THREADS={fair}"),
        None => format!("set OMP_NUM_THREADS={fair} or call torch.set_num_threads({fair})"),
    };
    Some(TOPIC.look(
        format!("{} {verb} with {threads} threads, {} ranks share {} cores", names(alike), group.local_size, group.cores),
        set.or_else(|| known(&group.place)),
        "the threads of all ranks get into each other's way",
        remedy,
    ))
}
