//! The parts that `src/ranks/bin/hvd-train.rs` puts together: data, model, optimizers, checkpoints, reports.
//!
//! Never names the launcher or the screen.

pub mod accumulation;
pub mod augment;
pub mod batches;
pub mod buckets;
pub mod build_info;
pub mod checkpoint;
pub mod commit;
pub mod config;
pub mod device;
pub mod digest;
pub mod distributed;
pub mod early_stop;
pub mod evaluate;
mod event_channel;
mod event_secret;
mod evidence;
mod gpu_marks;
pub mod gradients;
pub mod host_report;
pub mod launch;
mod mistake;
pub mod model;
pub mod nvcnn;
pub mod optimizer;
pub mod params;
pub mod pass;
pub mod pipeline;
pub mod random;
mod recorder;
pub mod report;
pub mod resume;
pub mod sampler;
pub mod shortage;
pub mod startup;
pub mod stop;
pub mod stopwatch;
pub mod tensorboard;
pub mod timeline;
