//! Errors of PyTorch and Horovod that say what is wrong with the program, in its own words and with a line.

use super::finding::{Finding, Topic};
use super::inspection::{Inspection, known, ranks as names};
use crate::domain::event::{EndedReport, FailureReport};

/// What an error of this kind says of the program, and what to write instead.
struct Kind {
    name: &'static str,
    topic: Topic,
    says: &'static str,
    remedy: &'static str,
}

const COST: &str = "the training ends here";
const KINDS: [Kind; 12] = [
    Kind {
        name: "root ranks",
        topic: Topic::Weights,
        says: "the ranks name different roots for one broadcast",
        remedy: "give the same root on all ranks: root_rank=0",
    },
    Kind {
        name: "backward passes",
        topic: Topic::Gradients,
        says: "a gradient came again before the step: Horovod expects backward_passes_per_step backward passes",
        remedy: "give hvd.DistributedOptimizer backward_passes_per_step=n for n backward passes in front of each step(), or add the losses up and send the sum backward",
    },
    Kind {
        name: "zero_grad",
        topic: Topic::Gradients,
        says: "gradients are cleared while Horovod still averages them",
        remedy: "call optimizer.zero_grad() before backward(), or behind optimizer.step()",
    },
    Kind {
        name: "unnamed",
        topic: Topic::Gradients,
        says: "named_parameters does not name every parameter of the optimizer",
        remedy: "name all of them: named_parameters=model.named_parameters(), of several models itertools.chain of theirs, each with a prefix of its own",
    },
    Kind {
        name: "wrapped twice",
        topic: Topic::Gradients,
        says: "hvd.DistributedOptimizer was given an optimizer that it has made itself",
        remedy: "wrap the optimizer once",
    },
    Kind {
        name: "same name",
        topic: Topic::Gradients,
        says: "a tensor was sent under a name that another one on its way has",
        remedy: "give each call a name of its own, and each hvd.DistributedOptimizer the named_parameters of its model",
    },
    Kind {
        name: "types",
        topic: Topic::Hang,
        says: "the ranks brought tensors of different types to one call",
        remedy: "make the tensor of the same type on all ranks, as with dtype=torch.float32",
    },
    Kind {
        name: "operations",
        topic: Topic::Hang,
        says: "the ranks made different calls under one name",
        remedy: "make the same calls in the same order on all ranks, with the same op",
    },
    Kind {
        name: "unused",
        topic: Topic::Gradients,
        says: "some parameters got no gradient, and DistributedDataParallel waits for all of them",
        remedy: "use all parameters on every rank in every step, or give DistributedDataParallel find_unused_parameters=True",
    },
    Kind {
        name: "ready twice",
        topic: Topic::Gradients,
        says: "a parameter got its gradient twice before the step: two backward passes share it, or checkpointing runs a part again",
        remedy: "add the losses up and send the sum backward, give torch.utils.checkpoint use_reentrant=False, or DistributedDataParallel static_graph=True",
    },
    Kind {
        name: "other model",
        topic: Topic::Weights,
        says: "the models of the ranks have other parameters",
        remedy: "build the same model on all ranks: what it depends on, as the number of classes, is to be the same there",
    },
    Kind {
        name: "no group",
        topic: Topic::Ranks,
        says: "the ranks have no group yet",
        remedy: "call hvd.init(), in PyTorch dist.init_process_group(), before this line",
    },
];

/// Whether such an error has ended a rank.
pub(super) fn has_ended(seen: &Inspection) -> bool {
    let is_one = |failure: &FailureReport| KINDS.iter().any(|kind| kind.name == failure.kind);
    seen.reports::<EndedReport>().any(|end| end.failure.as_ref().is_some_and(is_one))
}

/// One finding for each kind of error that has ended a rank.
pub(super) fn judge(seen: &Inspection) -> Vec<Finding> {
    let failure = |kind: &Kind| {
        let failed = seen.of_all::<EndedReport>().filter_map(|(rank, end)| Some((rank, end.failure.as_ref()?)));
        let of_kind: Vec<_> = failed.filter(|(_, failure)| failure.kind == kind.name).collect();
        let (_, first) = of_kind.first()?;
        let said = format!("an error has ended {}: {}", names(of_kind.iter().map(|(rank, _)| rank)), kind.says);
        Some(kind.topic.wrong(said, known(&first.place), COST, kind.remedy))
    };
    KINDS.iter().filter_map(failure).collect()
}
