//! ScriptedProbe: plays samples that a test wrote, in order, and then repeats the last one.
//!
//! Never measures anything. Its cheat: processes and ranks are as scripted, whatever ranks are watched.

use super::probe::DeviceProbe;
use crate::domain::device::{RankPlace, TelemetrySample};
use crate::host;

pub struct ScriptedProbe {
    samples: Vec<TelemetrySample>,
    next: usize,
}

impl ScriptedProbe {
    pub fn new(samples: Vec<TelemetrySample>) -> ScriptedProbe {
        ScriptedProbe { samples, next: 0 }
    }
}

impl DeviceProbe for ScriptedProbe {
    fn sample(&mut self, _ranks: &[RankPlace]) -> TelemetrySample {
        let sample = self.samples.get(self.next).or(self.samples.last()).cloned();
        self.next += 1;
        sample.unwrap_or_else(|| TelemetrySample {
            time_s: host::now_s(),
            host: host::name(),
            devices: Vec::new(),
            gpu_missing: Some("the script is empty".into()),
        })
    }
}
