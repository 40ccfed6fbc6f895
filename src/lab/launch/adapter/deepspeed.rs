//! DeepSpeed: the rates of its timer and of its pipelines are of all ranks.

use super::family::Family;

pub(super) const DEEPSPEED: Family = Family {
    name: "DeepSpeed",
    lines: &[
        r"\bepoch=(?P<epoch>\d+)/micro_step=\d+/global_step=(?P<step>\d+), RunningAvgSamplesPerSec=(?P<total_rate>NUM)",
        r"^steps: (?P<step>\d+) loss: (?P<loss>NUM) .*iter time \(s\): NUM samples/sec: (?P<total_rate>NUM)",
    ],
    has_words: false,
};
