//! What ranks report while they train: one JSON object a line, the only channel from the trainer to the lab.
//!
//! `wire` says how they travel. Unknown events and fields are skipped, so that an older lab can follow a newer trainer.

mod inspected;
mod limits;
mod observation;
pub mod wire;

use serde::{Deserialize, Serialize};

use super::benchmark::{IterationReport, PlacementReport};
use super::bounds::Bounded;
use super::collective::{AllreduceReport, LinkReport, MessagesReport};
use super::device::{RankPlace, TelemetrySample};
use super::number::number;
use super::phase::PhaseSeconds;
use super::pipeline::{PipelineReport, TransformsReport};
use super::step::StepSet;
use super::topology::Topology;
use super::user_metrics::Logged;
pub use inspected::{
    CollectiveReport, DecisionReport, EndedReport, FailureReport, GroupReport, InspectedPhases, InspectedUpdate, InspectorReport,
    LookingReport, PassReport, Place, PrintedReport, ResultReport, StalledReport, StateAction, StateReport, WorkersReport,
    WrappedReport,
};
pub use observation::{Instead, Observation, ScheduleReport, UpdateReport, is_told};
pub use wire::{MARKER, SECRET_VARIABLE, SOCKET_VARIABLE};

/// One event with its sender and time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EventLine {
    /// Unix time in seconds.
    pub time_s: f64,
    /// Index of the sending process as it was launched: with step 1 off several processes call themselves rank 0.
    pub process: usize,
    #[serde(flatten)]
    pub event: Event,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The lab launches this many processes: a new attempt begins, and later events belong to it. The supervisor writes it, as
    /// it does [`Event::Lost`].
    /// Older labs wrote none.
    Launched { np: usize },
    /// First event of every process: who it is and where it computes.
    Topology(TopologyReport),
    /// What this process is going to do.
    Config(ConfigReport),
    /// Digest of all parameters or gradients at a moment: equal digests are equal bits.
    Digest {
        moment: DigestMoment,
        epoch: usize,
        digest: String,
        /// Some of the numbers, from places that are the same on every rank: how far apart what differs is. Older trainers
        /// give none.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        sample: Vec<f32>,
    },
    /// One optimizer step. `epoch` and `batch` count from 0. The loss is this rank's own, of this batch.
    Step {
        epoch: usize,
        batch: usize,
        #[serde(deserialize_with = "number")]
        lr: f64,
        #[serde(deserialize_with = "number")]
        loss: f64,
    },
    /// What the library saw of the training, whatever the program reports. Older libraries do not send it.
    #[serde(rename = "seen")]
    Observed(Observation),
    /// What the inspector saw in a program of the user's own.
    Inspected(Box<InspectorReport>),
    /// What a program of the user's own logged.
    Logged(Logged),
    /// End of one epoch on this rank. `epoch` counts from 1, as printed.
    Epoch(EpochReport),
    /// A checkpoint was written, read, refused or checked.
    Checkpoint(CheckpointReport),
    /// The last epoch of the checkpoint from which training continues, as each process had reported it. Ranks that were killed
    /// right after they wrote it may not have reported that epoch, or no supervisor was left to record it.
    Restored { epochs: Vec<ProcessEpoch> },
    /// Training stops early after this epoch (counted from 1).
    EarlyStop { epoch: usize },
    /// Progress of something long that reports nothing else meanwhile, such as the test at the end: images done, and images in
    /// all.
    Progress { what: String, done: usize, of: usize },
    /// Result on the test set.
    Test {
        #[serde(deserialize_with = "number")]
        loss: f64,
        #[serde(deserialize_with = "number")]
        accuracy: f64,
        images: usize,
        seconds: f64,
    },
    /// What the devices of a host are doing, by the first rank there, where a run spans hosts that the lab cannot look at.
    Devices { sample: TelemetrySample },
    /// A row of the table of collectives.
    Allreduce(AllreduceReport),
    /// The messages that this rank received in one allreduce.
    Messages(MessagesReport),
    /// What the way between two ranks can do.
    Link(LinkReport),
    /// Where this rank of a benchmark really runs.
    Placement(PlacementReport),
    /// An iteration of a benchmark that counts.
    Iteration(IterationReport),
    /// What the image pipeline of this rank spent its time on.
    Pipeline(PipelineReport),
    /// What the decoder's choice of a cosine transform changes.
    Transforms(TransformsReport),
    /// The root's weights and optimizer state went to all ranks.
    Broadcast(BroadcastReport),
    /// A problem that the reader should know about and that stops nothing.
    Warning { message: String },
    /// The number of events of this process that did not arrive, or do not count. Written by the supervisor.
    Lost { events: u64 },
    /// Last event of a process that ended well. `epochs` is the last epoch trained, counted from 1.
    Finished {
        epochs: usize,
        training_seconds: f64,
        total_seconds: f64,
        /// The most memory that this process ever had, if the system says.
        peak_rss_bytes: Option<u64>,
    },
    /// Last event of a process that failed; it then aborts the job.
    Fatal { during: String, cause: String },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TopologyReport {
    #[serde(flatten)]
    pub topology: Topology,
    pub host: String,
    pub pid: u32,
    /// `local`, `mpi` or `nccl`; of a program of the user's own, its launcher.
    pub communicator: String,
    /// `cpu` or `cuda:0`.
    pub device: String,
    /// NVML's name of the GPU, where the device is one.
    pub device_uuid: Option<String>,
    /// Logical cores that this process may use.
    pub cores: Vec<usize>,
    /// GPUs on this host, or else cores: what its ranks share out. Older trainers do not say.
    pub devices_found: Option<usize>,
    pub threads: usize,
    /// libtorch and MPI library versions.
    #[serde(deserialize_with = "limits::few_versions")]
    pub versions: Vec<String>,
    /// Whether the library reports what it sees of the training ([`Observation`]). Older ones do not.
    #[serde(default)]
    pub is_watched: bool,
}

impl TopologyReport {
    /// Where the process computes. `process` is its index as it was launched: with step 1 off several call themselves rank 0.
    pub fn place(&self, process: usize) -> RankPlace {
        RankPlace { rank: process, pid: self.pid, device_uuid: self.device_uuid.clone() }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConfigReport {
    pub steps: StepSet,
    pub seed: u64,
    pub epochs: usize,
    /// Epochs already in the checkpoint from which training continues; 0 for a fresh start.
    pub resume_epoch: usize,
    /// Steps of the next epoch that are in it as well, where it is a commit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub resume_step: usize,
    pub local_batch_size: usize,
    pub global_batch_size: usize,
    pub steps_per_epoch: usize,
    pub validation_steps: usize,
    pub train_images: usize,
    pub optimizer: String,
    pub model: String,
    /// What convolutions compute in: `fp32`, `tf32` or `bf16`. Older trainers knew one only.
    #[serde(default = "fp32")]
    pub precision: String,
    pub parameters: usize,
    pub gradient_tensors: usize,
    pub data: String,
    pub base_lr: f64,
    pub warmup_epochs: f64,
    pub target_accuracy: f64,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

fn fp32() -> String {
    "fp32".to_owned()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DigestMoment {
    /// Parameters as drawn or loaded, before any broadcast.
    InitialParameters,
    /// Parameters when training starts (after the broadcast, with step 4).
    StartParameters,
    /// Gradients of this rank's own images in the first step, before they meet any other's.
    OwnGradients,
    /// Gradients that the optimizer applies in the first step (averaged, with step 3).
    FirstGradients,
    /// Parameters right after the library gave the root's to every rank.
    SharedParameters,
    /// Parameters at the end of an epoch.
    EpochParameters,
}

impl DigestMoment {
    /// The weights that a rank trains with, which should be equal on all ranks.
    pub fn is_of_weights(self) -> bool {
        matches!(self, DigestMoment::StartParameters | DigestMoment::EpochParameters)
    }
}

/// Loss is mean cross entropy per image; accuracy a fraction, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    #[serde(deserialize_with = "number")]
    pub loss: f64,
    #[serde(deserialize_with = "number")]
    pub accuracy: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpochReport {
    pub epoch: usize,
    pub train: Metrics,
    /// This rank's own validation result.
    pub validation: Metrics,
    /// Mean over the ranks, with step 6.
    pub averaged: Option<Metrics>,
    pub lr: f64,
    pub batches: usize,
    /// Images that this rank trained on in this epoch.
    pub images: usize,
    /// All ranks' images per second of training, as this rank knows it.
    pub images_per_sec: f64,
    /// Training time since the start of this run, validation included, as printed.
    pub cumulative_seconds: f64,
    pub phases: PhaseSeconds,
}

impl EpochReport {
    /// [`EpochReport::judged`], or `None` where no image was validated: such accuracies are no numbers.
    pub fn validated(&self) -> Option<Metrics> {
        Some(self.judged()).filter(|metrics| !metrics.accuracy.is_nan())
    }

    /// What decisions are taken on: the mean over ranks where there is one.
    pub fn judged(&self) -> Metrics {
        self.averaged.unwrap_or(self.validation)
    }
}

/// The end of an epoch as one process saw it, in the words of another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessEpoch {
    /// Index as it was launched.
    pub process: usize,
    /// The epoch from whose end the attempt went on that trained this one; 0 from the start. Older trainers do not say.
    pub since: Option<usize>,
    #[serde(flatten)]
    pub report: EpochReport,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckpointReport {
    pub action: CheckpointAction,
    pub path: String,
    pub epoch: usize,
    /// Of a commit: images of the next epoch that all ranks together have trained.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub images: usize,
    /// Size of the file, where it is known.
    pub bytes: Option<u64>,
    /// Digest of the parameters in the file, where it could be read.
    pub digest: Option<String>,
    /// Why it was refused, or what several writers did to it.
    pub note: Option<String>,
    /// Of a commit: for how long the root stopped for it, in seconds. The rest was done while the ranks trained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped_seconds: Option<f64>,
}

/// One broadcast of weights and optimizer state, as a rank saw it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BroadcastReport {
    pub bytes: u64,
    pub seconds: f64,
    /// The part of this rank's weights that it changed, as a sample of them shows.
    pub changed: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckpointAction {
    /// At the end of an epoch.
    Written,
    /// Within an epoch, while the ranks train on.
    Committed,
    Loaded,
    /// Not a usable checkpoint: the one before it is tried.
    Refused,
    /// Read back after all ranks wrote the same file (step 7 off).
    Inspected,
}

impl EventLine {
    /// The event as one line of JSON, without marker and line end.
    pub fn to_line(&self) -> String {
        // Only maps with non-string keys and failing writers can fail here, and there are none.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// `None` for a line that this version does not know as an event, or that no run can have sent.
    pub fn parse_line(line: &str) -> Option<EventLine> {
        EventLine::read(line).ok().flatten()
    }

    /// As [`EventLine::parse_line`].
    ///
    /// # Errors
    /// Why no run can have sent this line, in one sentence. Half a line is what a killed run leaves, and what has a name that
    /// is not known here comes from a newer one: both are `None`.
    pub fn read(line: &str) -> Result<Option<EventLine>, String> {
        match serde_json::from_str::<EventLine>(line.trim_end()) {
            Ok(event) => event.out_of_bounds().map_or(Ok(Some(event)), Err),
            Err(error) if error.is_eof() || error.to_string().starts_with("unknown variant") => Ok(None),
            Err(error) => Err(format!("a line is not an event: {error}")),
        }
    }
}

#[cfg(test)]
mod tests;
