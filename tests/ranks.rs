//! All tests of the ranks from outside, as one program: `cargo test --test ranks golden::` runs one part.

#![allow(clippy::unwrap_used)]

mod collectives;
mod distributed;
mod golden;
mod hosts;
mod measured;
mod nccl;
mod numerics;
mod nvcnn;
mod schedules;
mod solutions;
mod steps;
mod throughput;
mod timeline;

mod support {
    use hvd_lab::dataset;

    pub mod blocks;
    pub mod hosts;
    pub mod images;
    pub mod mpi;
    pub mod needs;
    pub mod photos;
    pub mod wait;
}
