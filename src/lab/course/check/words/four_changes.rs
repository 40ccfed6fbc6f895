//! The four changes of the MNIST program in words.

use crate::domain::units;

pub fn change(number: usize) -> String {
    format!("change {number}")
}

/// Where another number of epochs comes from, as far as that shows.
#[derive(Clone, Copy)]
pub enum Cause {
    AsOneRank,
    RoundedDown,
    DividedTwice,
    Unknown,
}

/// The epochs that were asked for, and the share of each rank.
#[derive(Clone, Copy)]
pub struct Share {
    pub np: usize,
    pub asked: usize,
    pub wanted: usize,
}

pub fn other_epochs(who: &str, epochs: usize, cause: Cause, share: Share, strangers: &str) -> String {
    let cause = match cause {
        Cause::AsOneRank => ", as many as a single rank",
        Cause::RoundedDown => ", rounded down",
        Cause::DividedTwice => ", divided twice",
        Cause::Unknown => "",
    };
    let (Share { np, asked, wanted }, epochs) = (share, units::counted(epochs, "epoch"));
    format!("{who} trained {epochs}{cause}: {np} ranks share {asked}, and {asked} / {np} rounded up is {wanted}{strangers}")
}

pub fn scaled(rate: &str, share: Share) -> String {
    let Share { np, asked, wanted } = share;
    format!("{rate}, and every rank trained {asked} / {np} rounded up = {}", units::counted(wanted, "epoch"))
}

pub fn one_model(weights: &str, files: &str) -> String {
    format!("{weights}; {files}")
}
