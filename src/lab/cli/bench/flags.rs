//! Each flag and each line of the benchmarks that are retold: what does it here, or why nothing does.
//!
//! Never reads a command line: `translate` does, by this table.

use crate::cli::table::render;
use crate::domain::benchmark::Style;

/// A flag of another program.
pub(super) struct Flag {
    pub style: Style,
    /// As it is written there.
    pub name: &'static str,
    pub takes: Takes,
    /// What each value does; the empty one stands for all others.
    pub values: &'static [(&'static str, Here)],
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    Value,
    /// `--x`, `--nox`, `--x=False`.
    Bool,
    Switch,
}

#[derive(Clone, Copy)]
pub(super) enum Here {
    /// The same is done by a flag of the lab's; its value is handed on where it ends with a space.
    By(&'static str),
    /// It is so in any case.
    Already,
    /// Accepted, and said why it does nothing.
    Nothing(&'static str),
    Refused(&'static str),
}

use Here::{Already, By, Nothing, Refused};
use Takes::{Bool, Switch, Value};

const NO_OTHER_UPDATE: Here = Refused("gradients are averaged by an allreduce, as with `horovod`: leave it out");
const CHANNELS_LAST: Here = Nothing("images are NHWC (channels last) in memory, which is faster here");
const NO_CHOICE_OF_DISTORTIONS: Here =
    Nothing("a synthetic batch is not distorted; images of --data-dir are always shifted and flipped");
const NO_FP16: Here = Refused("hvd-lab does not compute in float16: use --precision bf16");
const NO_EVALUATION: Here = Refused("only training is measured");
const NO_PIPELINE: Here = Nothing("a synthetic batch has no input pipeline, and images of --data-dir stay in memory");
const NO_EPOCHS: Here = Refused("a benchmark is as long as its batches: use --num_batches");
const NO_FILES: Here = Nothing("the run folder keeps what is printed, and nothing else is written");
const NO_RESULT: Here = Nothing("it does not change the speed, and the result of this training is not used");
const NO_MKL: Here = Nothing("a setting of TensorFlow's build with MKL; --num-intra-threads and --bind do the same here");
const NO_SERVERS: Here = Refused("mpirun starts the ranks: use --np and -H");

const fn flag(style: Style, name: &'static str, takes: Takes, values: &'static [(&'static str, Here)]) -> Flag {
    Flag { style, name, takes, values }
}

const H: Style = Style::Horovod;
const T: Style = Style::TfCnn;
const N: Style = Style::Nvcnn;

pub(super) static FLAGS: &[Flag] = &[
    flag(H, "model", Value, &[("", By("--model "))]),
    flag(H, "batch-size", Value, &[("", By("--batch-size "))]),
    flag(H, "num-warmup-batches", Value, &[("", By("--num-warmup-batches "))]),
    flag(H, "num-batches-per-iter", Value, &[("", By("--num-batches-per-iter "))]),
    flag(H, "num-iters", Value, &[("", By("--num-iters "))]),
    flag(H, "fp16-allreduce", Switch, &[("", By("--fp16-allreduce"))]),
    flag(H, "no-cuda", Switch, &[("", By("--no-cuda"))]),
    flag(H, "use-adasum", Switch, &[("", Refused("gradients are averaged; Adasum is another sum"))]),
    flag(H, "eager", Switch, &[("", Nothing("there is no graph to build, so every step is eager"))]),
    flag(T, "model", Value, &[("", By("--model "))]),
    flag(T, "batch_size", Value, &[("", By("--batch-size "))]),
    flag(T, "num_batches", Value, &[("", By("--num-batches "))]),
    flag(T, "num_warmup_batches", Value, &[("", By("--num-warmup-batches "))]),
    flag(T, "display_every", Value, &[("", By("--display-every "))]),
    flag(T, "num_intra_threads", Value, &[("", By("--num-intra-threads "))]),
    flag(T, "num_inter_threads", Value, &[("", Nothing("a step is one operation after the other; libtorch has no second pool"))]),
    flag(T, "variable_update", Value, &[("horovod", Already), ("", NO_OTHER_UPDATE)]),
    flag(T, "data_format", Value, &[("NHWC", Already), ("NCHW", CHANNELS_LAST), ("", Refused("use NHWC"))]),
    flag(T, "distortions", Bool, &[("false", Already), ("", NO_CHOICE_OF_DISTORTIONS)]),
    flag(T, "device", Value, &[("cpu", By("--no-cuda")), ("gpu", By("--cuda")), ("", Refused("use cpu or gpu"))]),
    flag(T, "num_gpus", Value, &[("1", Already), ("", Refused("one rank has one device: use --np for more of them"))]),
    flag(T, "optimizer", Value, &[("", By("--optimizer "))]),
    flag(T, "use_fp16", Bool, &[("false", Already), ("", NO_FP16)]),
    flag(T, "use_numa_affinity", Bool, &[("false", Already), ("", By("--bind numa"))]),
    flag(T, "data_dir", Value, &[("", By("--data-dir "))]),
    flag(T, "data_name", Value, &[("", Nothing("--data-dir says which images, and without it the batch is synthetic"))]),
    flag(T, "num_epochs", Value, &[("", NO_EPOCHS)]),
    flag(T, "forward_only", Bool, &[("false", Already), ("", NO_EVALUATION)]),
    flag(T, "eval", Bool, &[("false", Already), ("", NO_EVALUATION)]),
    flag(T, "print_training_accuracy", Bool, &[("false", Already), ("", Nothing("only the speed is measured"))]),
    flag(T, "init_learning_rate", Value, &[("", NO_RESULT)]),
    flag(T, "momentum", Value, &[("", NO_RESULT)]),
    flag(T, "weight_decay", Value, &[("", NO_RESULT)]),
    flag(T, "horovod_device", Value, &[("", Nothing("gradients go over NCCL between GPUs, and over MPI otherwise"))]),
    flag(T, "local_parameter_device", Value, &[("", Nothing("there is no parameter server: each rank has all weights"))]),
    flag(T, "mkl", Bool, &[("", NO_MKL)]),
    flag(T, "kmp_blocktime", Value, &[("", NO_MKL)]),
    flag(T, "kmp_affinity", Value, &[("", NO_MKL)]),
    flag(T, "kmp_settings", Value, &[("", NO_MKL)]),
    flag(T, "batch_group_size", Value, &[("", NO_PIPELINE)]),
    flag(T, "use_datasets", Bool, &[("", NO_PIPELINE)]),
    flag(T, "datasets_num_private_threads", Value, &[("", NO_PIPELINE)]),
    flag(T, "train_dir", Value, &[("", NO_FILES)]),
    flag(T, "trace_file", Value, &[("", NO_FILES)]),
    flag(T, "summary_verbosity", Value, &[("", NO_FILES)]),
    flag(T, "save_summaries_steps", Value, &[("", NO_FILES)]),
    flag(T, "job_name", Value, &[("", NO_SERVERS)]),
    flag(T, "ps_hosts", Value, &[("", NO_SERVERS)]),
    flag(T, "worker_hosts", Value, &[("", NO_SERVERS)]),
    flag(T, "task_index", Value, &[("", NO_SERVERS)]),
    flag(N, "model", Value, &[("", By("--model "))]),
    flag(N, "batch_size", Value, &[("", By("--batch-size "))]),
    flag(N, "num_batches", Value, &[("", By("--num-batches "))]),
    flag(N, "display_every", Value, &[("", By("--display-every "))]),
    flag(N, "data_dir", Value, &[("", By("--data-dir "))]),
    flag(N, "num_epochs", Value, &[("", NO_EPOCHS)]),
    flag(N, "log_dir", Value, &[("", NO_FILES)]),
    flag(N, "save_interval", Value, &[("", NO_FILES)]),
    flag(N, "learning_rate", Value, &[("", NO_RESULT)]),
    flag(N, "loss_scale", Value, &[("", Nothing("bf16 has the range of float32, so that no loss needs scaling"))]),
    flag(N, "larc_eta", Value, &[("", NO_RESULT)]),
    flag(N, "larc_mode", Value, &[("", NO_RESULT)]),
    flag(N, "eval", Switch, &[("", NO_EVALUATION)]),
    flag(N, "fp16", Switch, &[("", NO_FP16)]),
];

/// How the programs are started in the notes and labs that they come from.
const LAUNCH: [[&str; 2]; 7] = [
    ["mpiexec -np 2, mpiexec.hydra -n 2", "--np 2"],
    ["mpiexec.hydra -ppn 1", "-H host1:1,host2:1: as many slots as a host should have ranks"],
    ["mpiexec.hydra -l", "always: the log of each rank is kept by itself"],
    ["mpiexec --allow-run-as-root", "added where you are root"],
    ["taskset -c 0-64,68-132", "`taskset -c LIST hvd-lab bench ...`: ranks share these cores; or --bind"],
    ["numactl -p 1", "--mem-node 1"],
    ["python3 PROGRAM.py", "hvd-lab bench --style NAME"],
];

/// Lines that the programs print: which of them are printed here, and from what.
const LINES: [[&str; 3]; 33] = [
    ["horovod", "Model: M", "the model"],
    ["horovod", "Batch size: B", "images of one rank and batch"],
    ["horovod", "Number of GPUs: N", "GPUs or CPUs: ranks"],
    ["horovod", "Running warmup..., Running benchmark...", "as there"],
    ["horovod", "Iter #K: R img/sec per GPU", "mean over the ranks; there it is rank 0's"],
    ["horovod", "Img/sec per GPU: M +-U", "mean and 1.96 standard deviations of these"],
    ["horovod", "Total img/sec on N GPU(s): M +-U", "the rates of all ranks added up; there N times rank 0's"],
    ["tf-cnn", "TensorFlow: V", "not printed: `hvd-measure --build-info` shows the versions"],
    ["tf-cnn", "Model, Batch size, Num batches", "as there"],
    ["tf-cnn", "Dataset", "imagenet (synthetic) for models with 1000 classes, synthetic for others, or the images' name"],
    ["tf-cnn", "Mode, SingleSess", "always training, False"],
    ["tf-cnn", "Num epochs", "what the batches would be of ImageNet or Fashion-MNIST"],
    ["tf-cnn", "Devices", "one for each rank"],
    ["tf-cnn", "NUMA bind", "True with --bind numa"],
    ["tf-cnn", "Data format", "always NHWC: channels last in memory"],
    ["tf-cnn", "Optimizer, Variables", "sgd or momentum; always horovod"],
    ["tf-cnn", "Running warm up, Done warm up", "as there"],
    ["tf-cnn", "Step Img/sec total_loss", "images over the mean time of one rank, +/- standard error, jitter; loss of rank 0"],
    ["tf-cnn", "total images/sec: T", "all images over all the time, of all ranks added up; there N times rank 0's"],
    ["nvcnn", "Cmd line args", "the flags of hvd-measure bench"],
    ["nvcnn", "Num ranks", "as there"],
    ["nvcnn", "Num images", "Synthetic, or how many there are with --data_dir"],
    ["nvcnn", "Model, Batch size", "as there: per device, and total"],
    ["nvcnn", "Data format", "always NHWC: channels last in memory"],
    ["nvcnn", "Data type", "fp32, tf32 or bf16"],
    ["nvcnn", "Building training graph ... Training", "as there, although there is no graph"],
    ["nvcnn", "Step Epoch Img/sec Loss LR", "rates of all ranks added up; without the L2 loss"],
    ["nvcnn", "Checkpoint written to, Writing summaries to", "not printed: nothing is written"],
    ["nvcnn", "Images/sec: M +/- U (jitter = J)", "without the first 20 steps; standard error with n-1, median deviation"],
    ["nvcnn", "ValueError: Invalid model type", "a line that names the models that there are"],
    ["all", "# ...", "what the others leave open: images, format, binding, cores and NUMA node of each rank"],
    ["json", "one object", "all of it, with every iteration and where each rank was"],
    ["all", "exit code", "0 finished, 1 failed or stopped, 2 bad input"],
];

/// The whole table, for `--flags`.
pub(super) fn table() -> String {
    let flags = render(&["style", "flag", "here"], FLAGS.iter().flat_map(rows));
    let launch = render(&["launched there with", "here"], LAUNCH.map(|row| row.map(str::to_owned).to_vec()));
    let lines = render(&["style", "prints", "here"], LINES.map(|row| row.map(str::to_owned).to_vec()));
    [flags, launch, lines].join("\n")
}

fn rows(flag: &Flag) -> Vec<Vec<String>> {
    let row = |(value, here): &(&str, Here)| {
        let value = match (flag.takes, *value) {
            (Takes::Switch, _) => String::new(),
            (Takes::Bool, "") if flag.values.len() == 1 => String::new(),
            (Takes::Bool, "") => "=True".into(),
            (Takes::Bool, value) => format!("={}", if value == "false" { "False" } else { value }),
            (Takes::Value, "") if flag.values.len() > 1 => " (any other)".into(),
            (Takes::Value, "") => " X".into(),
            (Takes::Value, value) => format!(" {value}"),
        };
        let here = match here {
            By(own) if own.ends_with(' ') => format!("{own}X"),
            By(own) => (*own).to_owned(),
            Already => "this is how it always is here".into(),
            Nothing(why) => format!("does nothing: {why}"),
            Refused(why) => format!("refused: {why}"),
        };
        vec![flag.style.to_string(), format!("--{}{value}", flag.name), here]
    };
    flag.values.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::documents_tests as documents;

    /// `lessons/programs.md` names some of them.
    #[test]
    fn flags_of_the_page_of_programs_are_in_the_table() {
        for (heading, style) in [("Notes on Horovod", Style::TfCnn), ("Multi-GPU training", Style::Nvcnn)] {
            let rows = documents::page_rows(heading);
            let of_program = |[there, ..]: &&[String; 3]| there.starts_with("`--");
            let names: Vec<&str> = rows.iter().filter(of_program).flat_map(|[there, ..]| documents::flags(there)).collect();
            assert!(names.len() >= 3, "{heading}: {names:?}");
            let is_known = |name: &&str| FLAGS.iter().any(|flag| flag.style == style && format!("--{}", flag.name) == **name);
            assert!(names.iter().all(is_known), "{heading}: {names:?}");
        }
    }

    #[test]
    fn every_flag_stands_there_once_and_says_what_it_does() {
        for (place, one) in FLAGS.iter().enumerate() {
            assert!(!one.values.is_empty() && !one.name.starts_with('-'), "{}", one.name);
            assert!(FLAGS[..place].iter().all(|other| (other.style, other.name) != (one.style, one.name)), "{}", one.name);
        }
        let table = table();
        for words in ["--use_numa_affinity=True", "--data-dir X", "numactl -p 1", "Total img/sec on N"] {
            assert!(table.contains(words), "{words}: {table}");
        }
    }
}
