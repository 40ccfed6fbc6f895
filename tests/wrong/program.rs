//! All wrong trainers and all solutions in one program: one link instead of sixty. tests/wrong_trainers.rs writes and builds it.
//!
//! Never a trainer by itself.

#![allow(unexpected_cfgs)]

#[cfg(wrong_trainers)]
include!(env!("HVD_LAB_WRONG_TRAINERS"));

#[cfg(not(wrong_trainers))]
fn main() {
    eprintln!("`cargo test --test lab wrong::` builds this program with what it is to hold");
}
