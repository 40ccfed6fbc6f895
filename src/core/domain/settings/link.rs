//! The row of the network that each rank is given on this host.

use super::setting::{Key, NONE, Setting, TrainerFlag, Values};
use crate::domain::job::TrainingJob;
use crate::domain::units;

const SPEEDS: &[&str] = &[NONE, "10gbit", "1gbit", "100mbit", "10mbit"];

pub(super) const LINK: Setting = Setting {
    key: Key::Link,
    flag: "link",
    value_name: "SPEED",
    help: "Give each rank a network of this speed, made on this machine without root, such as 200mbit or 1gbit",
    label: "link per rank",
    hint: "such as 1gbit, or none",
    values: Values::Names(SPEEDS),
    get: |job| job.resources.link.map_or_else(|| NONE.to_owned(), units::link_speed),
    set: put,
    // The resources say it themselves, for any workload.
    problem: |_| None,
    trainer: TrainerFlag::None,
};

fn put(job: &mut TrainingJob, text: &str) -> Result<(), String> {
    job.resources.link = if text == NONE { None } else { Some(units::parse_bits(text)?) };
    Ok(())
}
