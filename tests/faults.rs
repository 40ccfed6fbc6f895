//! A fault campaign against the real programs: processes are killed at random moments, disks fill up, files are damaged.
//!
//! Every case is drawn from a seed, and says how to repeat it alone when it fails. A short campaign runs with the other tests.
//! `HVD_LAB_FAULTS=5` tries five times as many cases, `HVD_LAB_FAULTS=10m` goes on for ten minutes a part, and
//! `HVD_LAB_FAULTS_SEED` chooses other cases (`random`: different ones each time). docs/reliability.md says what is tried.

#![allow(clippy::unwrap_used)]

#[path = "faults/campaign.rs"]
mod campaign;
#[path = "faults/corpus.rs"]
mod corpus;
#[path = "faults/disk.rs"]
mod disk;
#[path = "faults/elastic.rs"]
mod elastic;
#[path = "faults/full.rs"]
mod full;
#[path = "faults/home.rs"]
mod home;
#[allow(dead_code)]
#[path = "support/hosts.rs"]
mod hosts;
#[path = "faults/kills.rs"]
mod kills;
// Shared with tests/launch.rs, which uses the other half of it.
#[allow(dead_code)]
#[path = "launch/lab.rs"]
mod lab;
#[path = "faults/mutation.rs"]
mod mutation;
#[path = "faults/outcome.rs"]
mod outcome;
#[path = "faults/program.rs"]
mod program;
#[path = "faults/screen.rs"]
mod screen;
#[path = "faults/strange.rs"]
mod strange;
#[path = "support/trainer.rs"]
mod trainer;
#[path = "faults/victims.rs"]
mod victims;
