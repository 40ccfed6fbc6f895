//! Training on photos as NVIDIA's `nvcnn_hvd_simplified.py` does it: its settings, and the rules that its rate, its loss and its
//! gradients follow.
//!
//! Never computes with a tensor and never reads an image: the program `hvd-measure nvcnn` does.

mod rules;
mod settings;
mod table;

pub use rules::{BURN_IN_STEPS, Larc, LarcMode, MOMENTUM, MovingAverage, PolynomialDecay, Schedule, WEIGHT_DECAY, default_rate};
pub use settings::{BadRecords, Dct, NvcnnSpec, PREFETCH};
pub use table::PHOTO_SETTINGS;
