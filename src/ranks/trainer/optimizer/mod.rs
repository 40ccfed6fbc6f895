//! Optimizers over flat parameters. Adding one is a file here, a name in `OptimizerKind` and a line in `build`.

mod adadelta;
mod chunks;
mod interface;
mod lamb;
mod nesterov;
mod novograd;
mod per_tensor;
mod sgd;

use std::str::FromStr;

pub use self::adadelta::Adadelta;
pub use self::interface::Optimizer;
pub use self::lamb::Lamb;
pub use self::nesterov::Nesterov;
pub use self::novograd::NovoGrad;
pub use self::sgd::Sgd;
use super::params::FlatTensors;
use clap::ValueEnum;

/// The optimizers, by the names that flags, events and checkpoints use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
pub enum OptimizerKind {
    Sgd,
    NovoGrad,
    Lamb,
    Adadelta,
}

/// An optimizer with fresh state. Only SGD has the flag's `momentum`; the others have their authors'.
pub fn build(kind: OptimizerKind, params: &FlatTensors, momentum: f64, wd: f64) -> Box<dyn Optimizer> {
    match kind {
        OptimizerKind::Sgd => Box::new(Sgd::new(params, momentum, wd)),
        OptimizerKind::NovoGrad => Box::new(NovoGrad::new(params, wd)),
        OptimizerKind::Lamb => Box::new(Lamb::new(params, wd)),
        OptimizerKind::Adadelta => Box::new(Adadelta::new(params, wd)),
    }
}

/// What `--optimizer` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptimizerChoice {
    /// Step 10 decides.
    Auto,
    Always(OptimizerKind),
}

impl OptimizerChoice {
    /// The optimizer to use: the one named, else the one that step 10 asks for.
    pub fn or(self, by_step: OptimizerKind) -> OptimizerKind {
        match self {
            OptimizerChoice::Auto => by_step,
            OptimizerChoice::Always(kind) => kind,
        }
    }
}

impl FromStr for OptimizerChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<OptimizerChoice, String> {
        if text == "auto" {
            return Ok(OptimizerChoice::Auto);
        }
        OptimizerKind::from_str(text, false).map(OptimizerChoice::Always).map_err(|_| {
            let names =
                OptimizerKind::value_variants().iter().filter_map(|kind| Some(kind.to_possible_value()?.get_name().to_owned()));
            format!("there is no such optimizer, choose one of auto, {}", names.collect::<Vec<_>>().join(", "))
        })
    }
}
