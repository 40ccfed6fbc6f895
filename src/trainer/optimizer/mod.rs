//! Optimizers over flat parameters. Adding one is a file here, a name in `Rule` and a line in `build`.
//!
//! Never averages over ranks: `DistributedOptimizer` wraps any of them.

mod adadelta;
mod lamb;
mod novograd;
mod per_tensor;
mod pieces;
mod sgd;

use std::str::FromStr;

use clap::ValueEnum;
use tch::{Kind, Tensor};

pub use self::adadelta::Adadelta;
pub use self::lamb::Lamb;
pub use self::novograd::NovoGrad;
pub use self::sgd::Sgd;
use super::params::FlatTensors;
use crate::comm::CommError;

/// The update rules, by the names that flags, events and checkpoints use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
pub enum Rule {
    Sgd,
    NovoGrad,
    Lamb,
    Adadelta,
}

/// An optimizer with fresh state. Only SGD has the flag's `momentum`; the others have their authors'.
pub fn build(rule: Rule, params: &FlatTensors, momentum: f64, wd: f64) -> Box<dyn Optimizer> {
    match rule {
        Rule::Sgd => Box::new(Sgd::new(params, momentum, wd)),
        Rule::NovoGrad => Box::new(NovoGrad::new(params, wd)),
        Rule::Lamb => Box::new(Lamb::new(params, wd)),
        Rule::Adadelta => Box::new(Adadelta::new(params, wd)),
    }
}

/// What `--optimizer` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Step 10 decides.
    Auto,
    Always(Rule),
}

impl Choice {
    pub fn or(self, by_step: Rule) -> Rule {
        match self {
            Choice::Auto => by_step,
            Choice::Always(rule) => rule,
        }
    }
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Choice, String> {
        if text == "auto" {
            return Ok(Choice::Auto);
        }
        Rule::from_str(text, false).map(Choice::Always).map_err(|_| {
            let names = Rule::value_variants().iter().filter_map(|rule| Some(rule.to_possible_value()?.get_name().to_owned()));
            format!("there is no such optimizer, choose one of auto, {}", names.collect::<Vec<_>>().join(", "))
        })
    }
}

/// An update rule with visible state: resuming and broadcasting need it.
pub trait Optimizer {
    /// The next backward pass completes the gradients of a step: they may leave as they become ready.
    fn expect_gradients(&mut self) {}
    /// The gradients to apply: the rank's own, unless the optimizer is distributed.
    ///
    /// # Errors
    /// If the ranks cannot reach each other.
    fn synchronize(&mut self, params: &FlatTensors) -> Result<Tensor, CommError> {
        Ok(params.gradients.shallow_clone())
    }
    /// Apply one update in place.
    ///
    /// # Shapes
    /// `gradients`: flat, float32, as long and in the same order as `params.flat`; it is only read, so the caller keeps its
    /// buffer for the next step.
    fn step(&mut self, params: &mut FlatTensors, gradients: &Tensor, lr: f64);
    /// State by name, flat, created in `new`: broadcast and checkpoint walk it in this order.
    fn state(&mut self) -> Vec<(&'static str, &mut Tensor)>;
    /// As reported in events.
    fn name(&self) -> &'static str;
}

/// w -= lr * direction, in one pass and without a copy.
fn descend(weights: &mut Tensor, direction: &Tensor, lr: f64) {
    let minus_lr = Tensor::full([1], -lr, (Kind::Float, weights.device()));
    let _ = weights.addcmul_(direction, &minus_lr);
}
