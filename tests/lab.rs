//! All tests of the lab from outside, as one program: `cargo test --test lab launch::` runs one part.

#![allow(clippy::unwrap_used)]

mod architecture;
mod batch;
mod bench;
mod benchmark;
mod course;
mod dataset;
mod doctor;
mod end_to_end;
mod faults;
mod fetch;
mod gpu_proof;
mod images;
mod inspect;
mod inspect_corpus;
mod installed;
mod launch;
mod lease;
mod screen;
mod setup;
mod several_hosts;
mod simulate;
mod slurm;
mod telemetry;
mod wrong;

mod support {
    use hvd_lab_terminal::{dataset, domain::markup};

    pub mod disk;
    pub mod fashion_mnist;
    pub mod hosts;
    pub mod images;
    pub mod lab;
    pub mod needs;
    pub mod nvml;
    pub mod pty;
    pub mod server;
    pub mod svg;
    pub mod trainer;
    pub mod wait;
    pub mod wrong_only;
}
