//! What the inspector saw in one process of a program of the user's own that trains with PyTorch, or with Horovod on PyTorch or Keras.
//!
//! `python/hvd_lab/_inspect` sends it, `lab::inspect` judges. Of data and weights there are digests (equal ones: equal bits) and counts.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum InspectorReport {
    /// The inspector looks into this process: its first report, sent when the process joins a group or makes its first update.
    Looking(LookingReport),
    /// The process knows its group: `init_process_group` or `hvd.init` has returned. Once for each such call.
    Group(GroupReport),
    /// Something was put around a model or an optimizer that shares its work out to the ranks.
    Wrapped(WrappedReport),
    /// One optimizer step: the first three and those whose number is a power of two, each with what it is about to apply.
    Update(InspectedUpdate),
    /// One pass over a data loader, sent when it ends or is left.
    Pass(PassReport),
    /// Calls from one line: the first three, and the first behind a pass that did not train; none that a framework makes for itself.
    Collective(CollectiveReport),
    /// A file was written, or a state was loaded into a model or an optimizer.
    State(StateReport),
    /// A line of the program printed: the second and third print from it, powers of two, and a result. Digits in the text do not count.
    Printed(PrintedReport),
    /// A rate schedule was stepped with a value that the ranks may not share (`ReduceLROnPlateau`), or a callback decided by one.
    Decision(DecisionReport),
    /// A value that a pass has left, which the program prints or decides by.
    Result(ResultReport),
    /// Worker processes of a data loader with their random states at their first batch.
    Workers(WorkersReport),
    /// Times and memory since the report before: at updates whose number is a power of two and at the end of each pass.
    Phases(InspectedPhases),
    /// The process has made no update and fetched no batch for some seconds.
    Stalled(StalledReport),
    /// Something cannot be looked at, and why, in one sentence: the inspector itself failed, or the program does what it does not understand.
    Blind { why: String },
    /// The end of the process, where Python came to say so.
    Ended(EndedReport),
}

/// A line of the program: the innermost one that belongs neither to a library nor to the inspector.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    /// Absolute path.
    pub file: String,
    /// From 1; 0 where it is not known.
    pub line: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LookingReport {
    /// `torch` or `keras`.
    pub framework: String,
    /// `torch 2.11.0`, `horovod 0.28.1`.
    pub versions: Vec<String>,
    pub python: String,
    pub pid: u32,
    /// Ranks of this launch, as the launcher's variables say; 1 without any.
    pub launched: usize,
    /// The program as Python was given it: its script, or `-m` and a module.
    pub program: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupReport {
    /// `torch.distributed` or `horovod`.
    pub by: String,
    /// `gloo`, `nccl`, `mpi`; empty where it does not say.
    #[serde(default)]
    pub backend: String,
    pub rank: usize,
    pub size: usize,
    pub local_rank: usize,
    pub local_size: usize,
    pub host: String,
    /// `cpu` or `cuda:0`: the current device at the first update is in [`InspectedUpdate`].
    pub device: String,
    pub threads: usize,
    /// Logical cores that this process may use.
    pub cores: usize,
    pub place: Place,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WrappedReport {
    /// `DistributedDataParallel`, `DataParallel`, `horovod.DistributedOptimizer`, `FSDP`, `ZeroRedundancyOptimizer`, `DeepSpeed`,
    /// `parallelize_module`, `Pipeline`, `torch.compile`, `join`, `kept graphs` (of many losses), and others.
    pub by: String,
    pub place: Place,
    /// Digest of the parameters before and after, where there are any: a broadcast inside makes the second one equal on all ranks.
    #[serde(default)]
    pub before: String,
    #[serde(default)]
    pub after: String,
    /// Parameter tensors that take part in averaging.
    #[serde(default)]
    pub tensors: usize,
    /// `broadcast_buffers` of a `DistributedDataParallel`.
    #[serde(default)]
    pub shares_buffers: bool,
    /// Settings that change what is averaged, in the framework's words: `find_unused_parameters=True`, `op=Sum`.
    #[serde(default)]
    pub settings: Vec<String>,
}

/// One optimizer step. Optimizers count their own steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct InspectedUpdate {
    /// From 0.
    pub update: usize,
    /// Its class, and its number among the optimizers of the process in the order of their first steps, from 0.
    pub optimizer: String,
    pub index: usize,
    /// The line that calls `step`, and the one that made the optimizer.
    pub place: Place,
    pub made: Place,
    /// Rates of its groups.
    pub rates: Vec<f64>,
    /// Of this optimizer's parameters, before the update.
    pub weights: String,
    /// As they are about to be applied. Empty where no parameter has one.
    pub gradients: String,
    /// Of the buffers of the wrapped model, or of all modules whose parameters these are. Empty where there are none.
    pub buffers: String,
    /// Of the optimizer's own tensors, such as momentum. Empty before the first update.
    pub state: String,
    /// Parameter tensors, and those of them without a gradient.
    pub tensors: usize,
    pub without_gradient: usize,
    /// Of one without a gradient: its name, if a module has one.
    pub unused_name: String,
    /// Tensors that no wrapper averages: in none of the wrapped models or optimizers.
    pub unwrapped: usize,
    /// Of one such tensor: its name, if a module has one.
    pub unwrapped_name: String,
    /// Since this optimizer's update before: forward passes through the wrapper, those that went past it to the module inside, and
    /// backward passes within `no_sync` (or without `synchronize`).
    pub forwards: usize,
    pub past_wrapper: usize,
    pub past_wrapper_place: Place,
    pub without_sync: usize,
    pub without_sync_place: Place,
    /// Tensors that the program itself has put through an averaging collective (`all_reduce` of gradients) since the update before,
    /// and whether it divided by the number of ranks.
    pub averaged_by_hand: usize,
    pub summed_by_hand: bool,
    /// Where the parameters are: `cpu`, or `cuda:0` and the UUID of that GPU, because two ranks may number their GPUs alike.
    pub device: String,
    /// Threads of an operation on the CPU; 0 where that is not known.
    pub threads: usize,
    /// Training samples that went through data loaders in training passes since the update before.
    pub samples: usize,
    /// Backward passes of the process so far.
    pub backwards: usize,
    /// Batches that the loader says to have over which the last pass began, 0 where it does not; and where it was made.
    pub batches: usize,
    pub loader_made: Place,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PassReport {
    /// Number of the loader among those of the process, in the order of their first passes, and number of the pass over it, from 0.
    pub loader: usize,
    pub pass: usize,
    /// Where the loader was made, and the loop over it.
    pub made: Place,
    pub place: Place,
    /// Whether updates were made in it.
    pub trains: bool,
    /// Updates of the process so far.
    pub updates: usize,
    /// Whether it came to its end, rather than being left early.
    pub is_whole: bool,
    /// Where its distributed sampler was made.
    pub sampler_made: Place,
    /// Where the data set was made, if it is a subset of another one. Numbers of samples are those of the other one.
    pub split_made: Place,
    /// Digest of the numbers of that subset's samples, or of the slices and file names that the data set holds. Empty if there are none.
    pub subset: String,
    /// Digest of the data set itself: equal on all ranks if they have the same one. Empty if it cannot be told without reading samples.
    pub content: String,
    /// Class of the sampler; empty for an iterable data set or a Keras `fit`.
    pub sampler: String,
    /// Ranks, rank, seed and epoch of a distributed sampler.
    pub replicas: Option<usize>,
    pub replica: Option<usize>,
    pub seed: Option<i64>,
    pub epoch: Option<i64>,
    pub shuffles: bool,
    /// Samples in the data set, where it says so.
    pub dataset: Option<usize>,
    pub batch_size: Option<usize>,
    pub drops_last: bool,
    pub batches: usize,
    pub samples: usize,
    /// Digests of its first batches, at most 4.
    pub first: Vec<String>,
    /// Digest of the order of its samples, by their numbers or else by the first batches: random augmentation does not change it.
    pub order: String,
    /// The numbers of its samples that are 0 under a hash modulo `every`, a power of two, at most 256: they show what ranks have in
    /// common. If the sampler has no numbers, the smallest digests of the samples themselves, if enough were seen.
    pub picked: Vec<u32>,
    pub every: usize,
    /// Digests of the labels of the samples in `picked`, 0 where one did not come to the program; empty where no batch has labels.
    pub labels: Vec<u32>,
    /// Of the first pass: the smallest digests of the samples, where ranks may have data sets of their own, to which numbers do not apply.
    pub rows: Vec<u32>,
    /// Samples without numbers that came again in the same pass.
    pub repeated: usize,
    pub workers: usize,
    /// Collectives within the pass by which results may have come together.
    pub met: usize,
    /// Seconds of the pass, and those that it waited for batches.
    pub seconds: f64,
    pub waited: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CollectiveReport {
    /// `all_reduce`, `broadcast`, `barrier`, ... in PyTorch's names; `hvd.allreduce`, ... in Horovod's.
    pub name: String,
    pub place: Place,
    /// Numbers in the tensor; `None` for objects and barriers.
    pub numbers: Option<usize>,
    /// It sums the numbers of samples of a validation, and nothing else.
    pub is_count: bool,
    /// Made in a loop that trains, behind a batch that came after the last validation; or of values that were there before that.
    pub trains: bool,
    /// Number of the call among all of the process, from 0, and updates before it.
    pub call: usize,
    pub updates: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StateAction {
    Written,
    /// A file was read: `torch.load`.
    Read,
    /// Into a model.
    LoadedModel,
    /// Into an optimizer.
    LoadedOptimizer,
    /// Horovod's `broadcast_parameters` and its callback, `broadcast_optimizer_state`; `broadcast` of a model's tensors by hand.
    BroadcastModel,
    BroadcastOptimizer,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StateReport {
    pub action: StateAction,
    /// Of a file that was written: `torch.save`, `safetensors`, `ModelCheckpoint`; `open` or `append` where the program itself opens it.
    #[serde(default)]
    pub by: String,
    /// Absolute path of a file. Empty otherwise.
    #[serde(default)]
    pub path: String,
    pub place: Place,
    /// Of the state that was loaded.
    #[serde(default)]
    pub digest: String,
    pub updates: usize,
    /// Updates of all optimizers and collective calls of the process so far: at each the ranks meet.
    #[serde(default)]
    pub meetings: (usize, usize),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrintedReport {
    pub place: Place,
    /// Prints from this place so far.
    pub times: usize,
    /// Of the text without its digits.
    pub text: String,
    /// The text names its own rank, such as `rank 1` or `[1]`.
    pub names_rank: bool,
    /// It has a number behind a word such as loss, acc or epoch.
    pub has_figures: bool,
    /// Of them a loss or another result, rather than the number of an epoch.
    #[serde(default)]
    pub has_results: bool,
    pub updates: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecisionReport {
    /// `ReduceLROnPlateau`, `EarlyStopping`.
    pub by: String,
    pub place: Place,
    /// Digest of the value that it was given.
    pub value: String,
    /// Number of the decision by this object, from 0.
    pub number: usize,
    pub updates: usize,
}

/// A value that is new since the pass began. None of a decision behind which the ranks have exchanged anything: they may have decided together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResultReport {
    /// As the program calls it: `acc`, `self.best`.
    pub name: String,
    /// The line that prints it or compares it.
    pub place: Place,
    pub decides: bool,
    /// It comes from a training pass rather than a validation.
    #[serde(default)]
    pub trains: bool,
    /// Digest of the value as it was behind that line.
    pub value: String,
    pub updates: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkersReport {
    pub loader: usize,
    pub made: Place,
    /// Digests of NumPy's, Python's and PyTorch's random states of each worker, before its first sample. Empty where it is not loaded.
    pub numpy: Vec<String>,
    pub python: Vec<String>,
    pub torch: Vec<String>,
    /// The data set drew random numbers of this kind for its first sample.
    pub draws_numpy: bool,
    pub draws_python: bool,
    pub draws_torch: bool,
    /// They are drawn from a generator of the data set's own, which is made in the line `made`.
    #[serde(default)]
    pub is_own: bool,
}

/// Seconds since the report before. What could not be measured is 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct InspectedPhases {
    pub updates: usize,
    pub data: f64,
    pub forward: f64,
    /// With what of the exchange overlaps it.
    pub backward: f64,
    pub optimizer: f64,
    /// In collectives that the program calls itself. What a wrapper waits for is part of `backward`.
    pub exchange: f64,
    /// In other lines of the program, between updates of one pass.
    pub others: f64,
    /// The line in which the program has spent most, apart from waiting for other ranks.
    pub busiest: Place,
    pub all: f64,
    pub memory_bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StalledReport {
    /// Where the main thread is.
    pub place: Place,
    /// The collective that it is in, or the library function; empty in the program's own code.
    pub within: String,
    /// Collective calls of the process so far.
    pub calls: usize,
    pub updates: usize,
    pub seconds: f64,
    /// Of the pass over a loader that is under way.
    #[serde(default)]
    pub batches: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EndedReport {
    pub updates: usize,
    /// Seconds that the inspector itself took.
    pub inspector_seconds: f64,
    /// The highest rate of all updates of the first optimizer, and that of the last update of any; 0 if they are unknown.
    pub highest_rate: f64,
    /// The update that was the first to have it.
    pub highest_at: usize,
    pub last_rate: f64,
    /// An error of Python's ended it.
    pub failure: Option<FailureReport>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FailureReport {
    /// The line of the program that the error left.
    pub place: Place,
    /// The collective that raised it; empty where it was no collective.
    pub within: String,
    /// What its text says is wrong with the program, where that is known, as in `root ranks`.
    #[serde(default)]
    pub kind: String,
}
