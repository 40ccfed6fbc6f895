//! How near hvd-train comes to what its convolutions alone would allow: both of one model, one after the other.
//!
//! Never holds two runs far apart against each other: the convolutions are timed right before and right after the training run.

use std::process::Command;
use std::time::Duration;

use hvd_lab_terminal::domain::benchmark::NumberFormat;
use hvd_lab_terminal::launch::CommandLine;

use super::figures::Round;
use super::options::{Model, Scale};
use super::place::Place;
use super::process::{Flow, watch};
use super::training::{BATCH, Engine, Training, Work, numbers_after};

const LIMIT: Duration = Duration::from_secs(180);

/// One rank of hvd-train on real data, and the convolutions of its model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    pub model: Model,
    pub precision: NumberFormat,
}

/// Which side a figure is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Trainer,
    /// The convolutions as the trainer computes them.
    Own,
    /// The same convolutions by libtorch.
    Libtorch,
}

impl Bound {
    pub const PRECISIONS: [NumberFormat; 2] = [NumberFormat::Fp32, NumberFormat::Bf16];

    /// `images/s on real data, wrn-10-1, np 1, bf16`: names it in the figures, and begins its row.
    pub fn what(&self) -> String {
        format!("images/s on real data, {}, np 1, {}", self.model.name, self.precision)
    }

    pub fn figure(&self, side: Side) -> String {
        format!("{}: {side:?}", self.what())
    }

    /// The run of hvd-train.
    pub fn training(&self) -> Training {
        let engine = if self.precision == NumberFormat::Bf16 { Engine::Bf16 } else { Engine::HvdTrain };
        Training { engine, model: self.model, np: 1, work: Work::Pipeline }
    }

    /// What it is held against. In bfloat16 all convolutions are libtorch's.
    pub fn sides(&self) -> &'static [Side] {
        if self.precision == NumberFormat::Bf16 { &[Side::Libtorch] } else { &[Side::Libtorch, Side::Own] }
    }

    /// Measures the convolutions twice and hvd-train between.
    ///
    /// # Errors
    /// Why one of them did not run.
    pub fn run(&self, place: &Place, scale: &Scale) -> Result<Round, String> {
        let convolutions =
            || self.sides().iter().map(|&side| self.convolutions(side, place, scale)).collect::<Result<Vec<f64>, String>>();
        let before = convolutions()?;
        let trained = self.training().run(place, scale)?["images_per_sec"];
        let after = convolutions()?;
        let means = before.iter().zip(&after).map(|(before, after)| (before + after) / 2.0);
        let alone = self.sides().iter().zip(means).map(|(&side, mean)| (self.figure(side), mean));
        Ok(alone.chain([(self.figure(Side::Trainer), trained)]).collect())
    }

    /// The program that times the convolutions.
    pub fn line(&self, side: Side, place: &Place, scale: &Scale) -> CommandLine {
        let mut argv = vec![place.convolutions.display().to_string()];
        let mut add = |flag: &str, value: String| argv.extend([format!("--{flag}"), value]);
        add("model", self.model.name.into());
        add("batch-size", BATCH.to_string());
        add("precision", self.precision.to_string());
        add("rounds", scale.convolution_rounds.to_string());
        if side == Side::Libtorch {
            argv.push("--libtorch".into());
        }
        CommandLine { argv, env: Vec::new(), notes: Vec::new(), directory: None }
    }

    fn convolutions(&self, side: Side, place: &Place, scale: &Scale) -> Result<f64, String> {
        let line = self.line(side, place, scale);
        let mut command = Command::new(&line.argv[0]);
        command.args(&line.argv[1..]);
        let mut rate = None;
        watch(command, LIMIT, |_, text| {
            rate = numbers_after(text, "convolutions alone: ").next().or(rate);
            Flow::GoOn
        })?;
        rate.ok_or_else(|| format!("the convolutions of {}: they ended without a figure", self.model.name))
    }
}
