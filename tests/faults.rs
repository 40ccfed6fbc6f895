//! A fault campaign against the real programs: processes are killed at random moments, disks fill up, files are damaged.
//!
//! Every case is drawn from a seed, and says how to repeat it alone when it fails. A short campaign runs with the other tests.
//! `HVD_LAB_FAULTS=5` tries five times as many cases, `HVD_LAB_FAULTS=10m` goes on for ten minutes a part, and
//! `HVD_LAB_FAULTS_SEED` chooses other cases (`random`: different ones each time). docs/reliability.md says what is tried.

mod campaign;
mod corpus;
mod elastic;
mod full;
mod home;
mod kills;
mod mutation;
mod outcome;
mod program;
mod screen;
mod strange;
mod victims;
