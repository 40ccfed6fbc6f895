//! Steps 5, 7 and 10 in words.

use crate::domain::units;

pub const NO_CHECKPOINTS: &str = "the run keeps no checkpoints: run it with --checkpointing";
pub const NOT_WRITTEN_YET: &str = "the first checkpoint is not written yet";

/// What all ranks share, and the part of each.
#[derive(Clone, Copy)]
pub struct Share {
    pub np: usize,
    pub whole: usize,
    pub wanted: usize,
}

/// Where another number of batches comes from, as far as that shows.
#[derive(Clone, Copy)]
pub enum Cause {
    Whole,
    RoundedUp,
    DividedTwice,
    /// Of the validation: not three times over.
    Once,
    Third,
    Unknown,
}

impl Cause {
    fn in_words(self) -> &'static str {
        match self {
            Cause::Whole => ", the whole epoch",
            Cause::RoundedUp => ", rounded up",
            Cause::DividedTwice => ", divided twice",
            Cause::Once => ", the whole set once",
            Cause::Third => ", a third of them",
            Cause::Unknown => "",
        }
    }
}

pub fn other_batches(who: &str, (trained, epoch): (usize, usize), cause: Cause, share: Share, strangers: &str) -> String {
    let (Share { np, whole, wanted }, cause) = (share, cause.in_words());
    format!(
        "{who} trained {trained} batches in epoch {epoch}{cause}: {np} ranks share {whole}, and {whole} / {np} rounded down is \
         {wanted}{strangers}"
    )
}

/// Of two ranks, the batches that they are going to train in an epoch.
pub fn other_plan(who: &str, batches: usize, root: &str, of_root: usize) -> String {
    format!(
        "{who} trains {batches} batches an epoch, and {root} {of_root}: divide by the number of all ranks, the same on each, not by that of \
         one host"
    )
}

pub fn fewer_epochs(who: &str, last: usize, wanted: usize) -> String {
    let last = units::counted(last, "epoch");
    format!("{who} ended after {last}, and {wanted} were asked for: ranks share the batches of an epoch, and train all epochs")
}

pub fn reported_more(who: &str, wanted: usize, epoch: usize, trained: usize) -> String {
    format!("{who} reports {wanted} batches in epoch {epoch}, and trained {trained}")
}

pub fn too_many_images(together: usize, epoch: usize, images: usize) -> String {
    format!("all ranks together trained {together} images in epoch {epoch}, of {images}")
}

pub fn same_losses(who: &str) -> String {
    format!("{who} had the same loss in every step: they trained on the same images, and nobody on the rest")
}

pub fn same_images(who: &str) -> String {
    format!(
        "{who} took the same images in every batch, and only their augmentation differs: give each rank its own share, by its rank among \
         all ranks"
    )
}

pub fn shared(share: Share, together: usize, images: usize) -> String {
    let Share { np, whole, wanted } = share;
    format!("every rank trained {whole} / {np} = {wanted} batches an epoch, together {together} of {images} images")
}

pub fn other_validation(who: &str, steps: usize, cause: Cause, share: Share) -> String {
    let (Share { np, whole, wanted }, cause) = (share, cause.in_words());
    format!(
        "{who} validates on {steps} batches after each epoch{cause}: {np} ranks share three times {whole}, and 3 * {whole} / {np} rounded \
         down is {wanted}"
    )
}

pub fn wrote(who: &str, file: &str, root_too: bool, strangers: &str) -> String {
    let too = if root_too { " too" } else { ", and rank 0 did not" };
    format!("{who} wrote {file}{too}: write on rank 0 only{strangers}")
}

pub fn wrote_in_secret(who: &str) -> String {
    format!("{who} wrote a checkpoint and did not report it: write on rank 0 only")
}

pub fn wrote_for_tensorboard(who: &str) -> String {
    format!(
        "{who} wrote a file for TensorBoard too, and TensorBoard would mix it with that of rank 0: append TensorBoard on rank 0 only"
    )
}

pub fn went_on_from_another(who: &str, epoch: usize, root: &str, of_root: usize) -> String {
    format!("{who} went on from epoch {epoch}, {root} from epoch {of_root}: broadcast the root's resume epoch")
}

pub fn looked_by_itself(who: &str, is_one: bool) -> String {
    let itself = if is_one { "itself" } else { "themselves" };
    format!("{who} looked for a checkpoint by {itself}: let rank 0 look, and broadcast what it found")
}

/// An epoch of 0 is the start.
pub fn went_on_elsewhere(root: &str, loaded: usize, resumed: usize) -> String {
    let from = match resumed {
        0 => "began from the start".to_owned(),
        epoch => format!("went on after epoch {epoch}"),
    };
    format!(
        "{root} loaded the checkpoint of epoch {loaded}, and training {from}: load it before training, let {root} broadcast its epoch to all (from \
         root 0), and begin with that (initial_epoch in Python)"
    )
}

pub fn never_looked(written: usize) -> String {
    format!(
        "there was a checkpoint of epoch {written}, and nobody loaded it before training: let rank 0 look for the newest one \
         (model.load_latest in Python, resume::load_latest in Rust), and go on after its epoch"
    )
}

pub fn nobody_wrote(epochs: usize) -> String {
    format!("nobody wrote a checkpoint in {epochs} epochs: rank 0 has to")
}

pub fn reported_and_not_written(root: &str, written: usize) -> String {
    let reported = units::counted(written, "checkpoint");
    format!("{root} reports {reported}, and the library wrote none: write with `resume::save`")
}

pub fn root_alone_wrote(written: usize, resumed: usize) -> String {
    let from = match resumed {
        0 => "began from the start".to_owned(),
        epoch => format!("went on after epoch {epoch}"),
    };
    format!("rank 0 alone wrote {}, and all ranks {from}", units::counted(written, "checkpoint"))
}

pub fn another_optimizer(who: &str, optimizer: &str) -> String {
    format!("{who} trains with {optimizer}, not NovoGrad")
}

pub fn all_with_novograd(np: usize) -> String {
    match np {
        1 => "the one rank trained with NovoGrad".into(),
        np => format!("all {np} ranks trained with NovoGrad"),
    }
}
