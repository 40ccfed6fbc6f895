//! `hvd-lab simulate`: what more GPUs would give, before anybody asks for them.
//!
//! Never starts a run.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::output::{Usage, print, print_exact, print_json};
use crate::domain::bounds::{MAX_BATCH_SIZE, MAX_COUNT};
use crate::domain::model::ModelSpec;
use crate::host::read;
use crate::runs::{RunId, RunStore};
use crate::simulate::{Engine, Layers, MAX_RANKS, Method, Own, OwnError, Predicted, Scaling, Simulation, Validation, numbers};

mod table;

use table::Simulated;

const EXAMPLES: &str = "\
Examples:
  hvd-lab simulate                                           ResNet-50 on nodes of 8 V100 and InfiniBand
  hvd-lab simulate --model vgg16 --gpu p100 --within pcie3 --network 25gbe-tcp --per-node 4
  hvd-lab simulate --np 1,64,1024 --price 2.50 --json
  hvd-lab simulate --layers mine.csv --images-per-sec 400 --batch-size 64 --network 100gbe-roce
  hvd-lab simulate --from 1 2 3 --np 2,4,8                   your runs on 1 and 2 ranks (and of collectives) tell the numbers
  hvd-lab simulate --from 1 --network 25gbe-tcp              your model, on another machine
  hvd-lab simulate --validate                                published results beside what the simulation says of them
  hvd-lab simulate --list                                    the networks, the GPUs and their models, with sources

All figures are simulated. Each rank keeps its batch, so more ranks have a larger global batch.
`exposed` is the communication in a step that no computation hides. `bound by` names what would shorten the step most if it cost \
nothing. Beyond the knee, twice the ranks give less than 1.6 times the images per second.
With --from and without a network the prediction is for the host of these runs. Ranks that share a core share its time.";

/// Flags that say what is simulated.
const WHAT_IS_SIMULATED: &[&str] = &[
    "model",
    "layers",
    "gpu",
    "images_per_sec",
    "batch_size",
    "network",
    "within",
    "per_node",
    "nics",
    "np",
    "no_fusion",
    "no_overlap",
    "fp16_allreduce",
    "hierarchical",
    "images",
    "price",
];

/// Bytes of a table of layers.
const MOST_BYTES: u64 = 4 << 20;
/// GPUs, and network cards, of one node.
const MOST_IN_NODE: usize = 1024;
/// Sizes in one table.
const MOST_SIZES: usize = 100;
const USUAL_SIZES: [usize; 13] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096, 27_360];
const USUAL_SIZES_HERE: [usize; 5] = [1, 2, 3, 4, 8];
const USUAL_WITHIN: &str = "nvlink-v100";
const USUAL_NETWORK: &str = "infiniband-edr";

/// Simulate how a model would train on up to 100,000 GPUs: efficiency, time and cost of an epoch, and what bounds it.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A model by name, such as resnet50, vgg16 or wrn-16-10 [default: resnet50].
    #[arg(long, value_name = "NAME", conflicts_with = "layers")]
    model: Option<String>,
    /// Your own table of layers: TOML with `[[layer]]`, or lines under `name,parameters,work`.
    #[arg(long, value_name = "FILE")]
    layers: Option<PathBuf>,
    /// The GPU whose published rate counts [default: v100].
    #[arg(long, value_name = "NAME")]
    gpu: Option<String>,
    /// Images per second of one GPU that trains alone, instead of a published rate.
    #[arg(long, value_name = "F", value_parser = positive)]
    images_per_sec: Option<f64>,
    /// Images per rank and batch [default: that of the rate].
    #[arg(short = 'b', long, value_name = "N", value_parser = |text: &str| whole(text, MAX_BATCH_SIZE))]
    batch_size: Option<usize>,
    /// Runs of yours that the numbers come from: training on one rank and on two, and one of collectives. Runs on more ranks are only
    /// set beside the prediction.
    #[arg(long, value_name = "ID", num_args = 1.., conflicts_with_all = ["model", "gpu", "images_per_sec", "batch_size"])]
    from: Vec<RunId>,
    /// Network between nodes [default: infiniband-edr]; --list shows them.
    #[arg(long, value_name = "NAME")]
    network: Option<String>,
    /// Network within a node [default: NVLink of the GPU].
    #[arg(long, value_name = "NAME")]
    within: Option<String>,
    /// GPUs of a node [default: 8].
    #[arg(long, value_name = "N", value_parser = |text: &str| whole(text, MOST_IN_NODE))]
    per_node: Option<usize>,
    /// Network cards of a node [default: 1].
    #[arg(long, value_name = "N", value_parser = |text: &str| whole(text, MOST_IN_NODE))]
    nics: Option<usize>,
    /// Numbers of ranks, with commas, up to 100000 [default: 1 to 27360].
    // By its whole path, for clap takes a plain `Vec` for a flag that is given several times.
    #[arg(long, value_name = "LIST", value_parser = sizes)]
    np: Option<std::vec::Vec<usize>>,
    /// Who sends the gradients: horovod, old-horovod (before 0.21), tree-horovod (as before 0.21, with a tree of ranks in
    /// place of the coordinator) or ddp.
    #[arg(long, value_name = "NAME", default_value = "horovod")]
    engine: Engine,
    /// Each gradient is a message of its own.
    #[arg(long)]
    no_fusion: bool,
    /// Gradients are sent after backward, not beside it.
    #[arg(long)]
    no_overlap: bool,
    /// Send gradients as float16.
    #[arg(long)]
    fp16_allreduce: bool,
    /// Reduce within each node first, then between nodes.
    #[arg(long)]
    hierarchical: bool,
    /// Images of an epoch [default: 1281167 (ImageNet), or 60000 for models of Fashion-MNIST].
    #[arg(long, value_name = "N", value_parser = |text: &str| whole(text, MAX_COUNT))]
    images: Option<usize>,
    /// Price of one GPU for one hour, for the cost of an epoch.
    #[arg(long, value_name = "PRICE", value_parser = price)]
    price: Option<f64>,
    /// Set published results beside the predictions, every one of them.
    #[arg(long, conflicts_with_all = [WHAT_IS_SIMULATED, &["from"]].concat())]
    validate: bool,
    /// Show the networks, the GPUs and the models with a published rate, with their sources.
    #[arg(long, conflicts_with_all = [WHAT_IS_SIMULATED, &["from", "validate"]].concat())]
    list: bool,
    /// One JSON object.
    #[arg(long)]
    json: bool,
    /// Lines with commas, for a spreadsheet.
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    if args.list {
        if args.csv {
            return Err(Usage("--list has no --csv: use --json, or neither".into()).into());
        }
        let numbers = numbers();
        let json = json!({ "constants": numbers.constants, "networks": numbers.networks, "rates": numbers.rates });
        return show(&args, &table::list(numbers), &json, "");
    }
    if args.validate {
        let validation = Validation::new(numbers()).map_err(Usage)?;
        let (json, csv) = (table::validation_json(&validation), table::validation_csv(&validation));
        return show(&args, &table::validation(&validation), &json, &csv);
    }
    if args.from.is_empty() || args.network.is_some() || args.within.is_some() {
        let simulated = simulated(&args)?;
        let (json, csv) = (table::scaling_json(&simulated), table::scaling_csv(&simulated.scaling));
        return show(&args, &table::scaling(&simulated), &json, &csv);
    }
    let own = own(&args)?;
    refuse_of_a_network(&args)?;
    let sizes = args.np.clone().unwrap_or(USUAL_SIZES_HERE.to_vec());
    if own.two.is_none() && own.fit.is_none() && sizes.iter().any(|ranks| *ranks > 1) {
        let missing = "--from tells nothing of messages yet: name a training run on two ranks too (`hvd-lab run --np 2`), or one of \
                       collectives (`hvd-lab collectives run --np 2`)";
        return Err(Usage(missing.into()).into());
    }
    let predicted: Vec<Predicted> = sizes.iter().map(|ranks| own.predict(*ranks)).collect();
    let (json, csv) = (table::own_json(&own, &predicted), table::own_csv(&predicted));
    show(&args, &table::own(&own, &predicted), &json, &csv)
}

/// Prints what was asked for: the text, unless --json or --csv was given.
fn show(args: &Args, text: &str, json: &Value, csv: &str) -> anyhow::Result<ExitCode> {
    if args.json {
        print_json(json)?;
    } else if args.csv {
        print_exact(csv)?;
    } else {
        print(text)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The host of one's own runs is as it is.
fn refuse_of_a_network(args: &Args) -> Result<(), Usage> {
    let given = [
        ("--no-fusion", args.no_fusion),
        ("--no-overlap", args.no_overlap),
        ("--fp16-allreduce", args.fp16_allreduce),
        ("--hierarchical", args.hierarchical),
        ("--per-node", args.per_node.is_some()),
        ("--nics", args.nics.is_some()),
        ("--images", args.images.is_some()),
        ("--price", args.price.is_some()),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) => Err(Usage(format!("{flag} is about another machine: name its network with --network beside --from"))),
        None => Ok(()),
    }
}

fn simulated(args: &Args) -> anyhow::Result<Simulated> {
    let numbers = numbers();
    let own = if args.from.is_empty() { None } else { Some(own(args)?) };
    let name = own.as_ref().map(|own| own.one.model.as_str()).or(args.model.as_deref()).unwrap_or("resnet50");
    let layers = match &args.layers {
        Some(file) => {
            let problem = |problem: &dyn std::fmt::Display| Usage(format!("--layers {}: {problem}", file.display()));
            let text = read::small_text(file, MOST_BYTES).map_err(|error| problem(&error))?;
            let name = file.file_stem().map_or_else(|| "layers".into(), |name| name.to_string_lossy());
            Layers::parse(&name, &text).map_err(|error| problem(&error))?
        }
        None => numbers.layers(name).map_err(Usage)?,
    };
    let mut constants = numbers.constants.clone();
    let gpu = args.gpu.as_deref().unwrap_or("v100");
    let gpus: BTreeSet<&str> = numbers.rates.iter().map(|rate| rate.gpu.as_str()).collect();
    if !gpus.contains(gpu) {
        let known = gpus.into_iter().collect::<Vec<_>>().join(", ");
        return Err(Usage(format!("`{gpu}` is not a GPU that is known here: use {known}")).into());
    }
    let (images_per_s, batch, rate_source) = match (&own, args.images_per_sec) {
        (Some(own), _) => {
            constants.jitter.value = own.one.jitter;
            constants.backward_share.value = own.one.backward_share.unwrap_or(constants.backward_share.value);
            (own.one.images_per_s, own.one.batch, format!("measured in run {}", own.one.id))
        }
        (None, Some(rate)) => (rate, args.batch_size.unwrap_or(64), "as you say".to_owned()),
        (None, None) if args.layers.is_some() => {
            return Err(Usage("--layers needs --images-per-sec: how fast one GPU trains it alone".into()).into());
        }
        (None, None) => {
            let rate = numbers.rate(gpu, name, args.batch_size).map_err(Usage)?;
            let of_another = args.batch_size.filter(|batch| *batch != rate.batch);
            let note = of_another.map_or(String::new(), |_| format!(", published for batches of {}", rate.batch));
            (rate.images_per_s, args.batch_size.unwrap_or(rate.batch), format!("{gpu}{note}; {}", rate.source))
        }
    };
    let of_gpu = format!("nvlink-{gpu}");
    let usual = if numbers.network(&of_gpu, true).is_ok() { &of_gpu } else { USUAL_WITHIN };
    let (within, network) = (args.within.as_deref().unwrap_or(usual), args.network.as_deref().unwrap_or(USUAL_NETWORK));
    let nics = args.nics.unwrap_or(1);
    let simulation = Simulation {
        cluster: numbers.cluster(within, (network, nics), args.per_node.unwrap_or(8)).map_err(Usage)?,
        method: Method {
            engine: args.engine,
            fusion: !args.no_fusion,
            overlap: !args.no_overlap,
            fp16: args.fp16_allreduce,
            hierarchical: args.hierarchical,
        },
        layers,
        batch,
        images_per_s,
        constants,
    };
    let is_small = args.layers.is_none() && name.parse::<ModelSpec>().is_ok_and(|model| model.input().height == 28);
    let epoch_images = args.images.unwrap_or(if is_small { 60_000 } else { 1_281_167 });
    let sizes = args.np.clone().unwrap_or(USUAL_SIZES.to_vec());
    let scaling = Scaling::new(&simulation, &sizes, epoch_images, args.price);
    let (within, network) = (within.to_owned(), network.to_owned());
    Ok(Simulated { simulation, rate_source, within, network, nics, epoch_images, scaling })
}

fn own(args: &Args) -> anyhow::Result<Own> {
    Own::open(&RunStore::open_default()?, &args.from).map_err(|error| match error {
        OwnError::Store(error) => error.into(),
        error => Usage(error.to_string()).into(),
    })
}

/// Numbers of ranks, smallest first, each once.
fn sizes(text: &str) -> Result<Vec<usize>, String> {
    let wanted = format!("`{text}` is not a list of ranks: use whole numbers from 1 to {MAX_RANKS} with commas, such as 1,8,64");
    let read = |word: &str| whole(word, MAX_RANKS).ok();
    let mut sizes: Vec<usize> = text.split(',').map(read).collect::<Option<_>>().ok_or(wanted)?;
    sizes.sort_unstable();
    sizes.dedup();
    match sizes.len() {
        many if many > MOST_SIZES => Err(format!("{many} numbers of ranks: use at most {MOST_SIZES}")),
        _ => Ok(sizes),
    }
}

fn whole(text: &str, most: usize) -> Result<usize, String> {
    let number = text.trim().parse().ok().filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| format!("`{text}` is not a whole number from 1 to {most}"))
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| (0.0..=1e9).contains(number))
}

fn positive(text: &str) -> Result<f64, String> {
    number(text)
        .filter(|number| *number >= 1e-6)
        .ok_or_else(|| format!("`{text}` is not a rate: use images per second, such as 400"))
}

fn price(text: &str) -> Result<f64, String> {
    number(text).ok_or_else(|| format!("`{text}` is not a price: use a number from 0, such as 2.50"))
}
