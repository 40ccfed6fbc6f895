//! Optimizers over flat parameters. Adding one is a file here, a name in `OptimizerKind` and a line in `build`.

mod adadelta;
mod chunks;
mod interface;
mod lamb;
mod nesterov;
mod novograd;
mod per_tensor;
mod sgd;

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

/// What `--optimizer` says: which optimizer, or `None` for `auto`, where step 10 decides.
pub type OptimizerChoice = Option<OptimizerKind>;

/// The choice of this name.
///
/// # Errors
/// The names that there are.
pub fn choice(name: &str) -> Result<OptimizerChoice, String> {
    if name == "auto" {
        return Ok(None);
    }
    OptimizerKind::from_str(name, false).map(Some).map_err(|_| {
        let names =
            OptimizerKind::value_variants().iter().filter_map(|kind| Some(kind.to_possible_value()?.get_name().to_owned()));
        format!("there is no such optimizer, choose one of auto, {}", names.collect::<Vec<_>>().join(", "))
    })
}
