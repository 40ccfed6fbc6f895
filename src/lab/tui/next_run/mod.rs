//! The next run: its steps and settings.

pub mod confirm_start;
pub mod edit;
pub mod fields;
pub mod keys;
pub mod settings;
pub mod steps;
pub mod update;
