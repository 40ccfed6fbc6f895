//! `hvd-lab bench`: how many images a second a model is trained on, in the lines of the benchmarks that people know.

use std::process::ExitCode;

use super::follow::{self, View};
use super::output::{Usage, print_done, print_json_text, say};
use super::settings::{Place, Starting};
use crate::domain::benchmark::style::{Data, Start};
use crate::domain::benchmark::{BenchmarkSpec, PlacementReport, Style};
use crate::domain::event::EventLine;
use crate::domain::history::{Attempt, History, Keep};
use crate::domain::job::Workload;
use crate::flags::{Benchmark, Flags};
use crate::runs::{RunRequest, RunStore};

mod flags;
mod translate;

pub(super) use translate::translated;

const EXAMPLES: &str = "\
Examples:
  hvd-lab bench --np 1 --model wrn-10-1
  hvd-lab bench --np 2 --model wrn-10-1             then `hvd-lab compare` for the speed-up
  hvd-lab bench --style tf-cnn --model wrn-16-4 --batch_size 64 --num_batches 100 --variable_update horovod
  hvd-lab bench --style nvcnn -m wrn-16-4 -b 48 --num_batches 50
  hvd-lab bench --np 2 --bind core --num-intra-threads 2
  hvd-lab bench --style json | jq .images_per_sec
  hvd-lab bench --flags                             what each flag of the other programs does here

The model trains on one fixed batch of noise. It reads no images and learns nothing useful. Each rank times itself, and \
the rates are added up. Batches of the warm-up do not count.
With --style tf-cnn and nvcnn you can write the flags of those programs as they are, with _ or -.
Ctrl-C stops the run. Press it again to leave at once. Exit code: 0 finished, 1 failed or stopped, 2 bad input.";

/// Measure how fast a model is trained, as Horovod's synthetic benchmark, tf_cnn_benchmarks and nvcnn do.
#[derive(Debug, clap::Args)]
// The last one counts where a flag is given twice, as with the others.
#[command(after_help = EXAMPLES, args_override_self = true)]
pub struct Args {
    #[command(flatten)]
    flags: Flags<Benchmark>,
    /// Batches that are timed one by one [default: 100 with tf-cnn; 50 with nvcnn, where the first 20 do not count].
    #[arg(long, value_name = "N", conflicts_with_all = ["num-iters", "num-batches-per-iter"])]
    num_batches: Option<usize>,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    starting: Starting,
    /// Event lines as they come, then the result; with --dry-run one JSON object.
    #[arg(long)]
    json: bool,
    /// Show what each flag and line of the other programs does here, and start nothing.
    #[arg(long = "flags")]
    shows_flags: bool,
    /// What the translation of another program's flags has to say.
    #[arg(long, hide = true)]
    note: Vec<String>,
    #[arg(long, hide = true)]
    refused: Option<String>,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    if args.shows_flags {
        return print_done(&flags::table());
    }
    let request = request(&args)?;
    args.note.iter().for_each(|note| say(note));
    let store = RunStore::open_default()?;
    let Some(spec) = request.spec.benchmark().cloned() else { return Ok(ExitCode::FAILURE) };
    args.starting.run_and(&store, request, args.json, |id, follower| {
        // The ranks print their object at the end, which a run that is stopped does not reach.
        if !args.json && spec.style != Style::Json {
            return follow::follow(&store, id, follower, View::new(false));
        }
        // Everything that the ranks report, for the result at the end.
        let mut history = History::new(Keep::Everything);
        let mut take = |line: &EventLine| {
            history.take(line);
            None
        };
        let code = follow::follow(&store, id, follower, View::of_lines(args.json, &mut take))?;
        let data = Data { label: store.record(id)?.data_label, images: None };
        let result = result(&spec, &data, &history);
        match (args.json, result) {
            (true, result) => print_json_text(&format!("{{\"benchmark\":{}}}\n", result.unwrap_or("null".into())))?,
            (false, Some(result)) => print_json_text(&format!("{result}\n"))?,
            (false, None) => true,
        };
        Ok(code)
    })
}

fn request(args: &Args) -> Result<RunRequest, Usage> {
    if let Some(reason) = &args.refused {
        return Err(Usage(reason.clone()));
    }
    let mut spec = args.flags.spec().map_err(Usage)?;
    if let Some(batches) = args.num_batches {
        let warmup = if spec.style == Style::Nvcnn { spec.warmup_batches } else { 0 };
        spec.batches_per_iteration = 1;
        spec.iterations = batches.checked_sub(warmup).filter(|rest| warmup == 0 || *rest > 0).ok_or_else(|| {
            Usage(format!("--num-batches {batches}: the first {warmup} warm up, and none is left to count; give more"))
        })?;
    }
    // tf_cnn_benchmarks lets the system choose with 0.
    spec.threads = spec.threads.filter(|threads| *threads > 0);
    args.starting.request(args.place.force, args.place.resources()?, Workload::Benchmark(spec), "bench")
}

/// As `--style json` prints it, of the iterations that all ranks have ended; `None` where there is none.
fn result(spec: &BenchmarkSpec, data: &Data, history: &History) -> Option<String> {
    let processes: Vec<_> = history.attempt().into_iter().flat_map(|attempt| attempt.processes.values()).collect();
    let places: Vec<PlacementReport> = processes.iter().map(|process| process.placement.clone().unwrap_or_default()).collect();
    let iterations = history.attempt().map(Attempt::iterations).filter(|iterations| !iterations.seconds.is_empty())?;
    let reports = processes.first().map(|root| &root.iterations[..iterations.seconds.len()]).unwrap_or_default();
    let is_gpu = places.iter().any(|place| place.device.starts_with("cuda"));
    let spec = BenchmarkSpec { style: Style::Json, ..spec.clone() };
    let start = Start { spec: &spec, arguments: &[], data, is_gpu, learning_rate: 0.0, places: &places };
    Some(start.ending(&iterations, reports).concat())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::domain::benchmark::{Binding, UpdateRule};

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    /// What is asked for, or why not, and what is said beside it.
    fn asked(line: &str) -> (Result<BenchmarkSpec, String>, Vec<String>) {
        let words = ["hvd-lab", "bench", "--np", "2"].into_iter().chain(line.split_whitespace()).map(Into::into);
        let words = translated(words.collect()).into_iter().skip(1);
        match Line::try_parse_from(words) {
            Err(error) => (Err(error.to_string()), Vec::new()),
            Ok(Line { args }) => {
                let spec = request(&args).map(|request| request.spec.benchmark().unwrap().clone());
                (spec.map_err(|error| error.to_string()), args.note)
            }
        }
    }

    #[test]
    fn each_style_has_its_defaults() {
        for (line, expected) in [
            ("", [32, 10, 10, 10, 10]),
            ("--style json", [32, 10, 10, 10, 10]),
            ("--style tf-cnn", [64, 10, 1, 100, 10]),
            ("--style nvcnn", [64, 20, 1, 30, 1]),
            ("--style nvcnn --num_batches 25 -b 48", [48, 20, 1, 5, 1]),
            ("--style tf-cnn --num-batches=7 --num_warmup_batches 2", [64, 2, 1, 7, 10]),
            ("--num-iters 3 --num-batches-per-iter 2 --num-warmup-batches 1 --batch-size 8", [8, 1, 2, 3, 10]),
        ] {
            let spec = asked(line).0.unwrap();
            let numbers = [spec.batch_size, spec.warmup_batches, spec.batches_per_iteration, spec.iterations, spec.display_every];
            assert_eq!(numbers, expected, "{line}");
        }
        assert!(asked("--style nvcnn --num_batches 20").0.unwrap_err().contains("none is left to count"));
    }

    #[test]
    fn the_line_of_the_tacc_notes_is_taken_as_it_is_written() {
        let line = "--style tf-cnn --model wrn-10-1 --batch_size 128 --variable_update horovod --data_format NCHW \
                    --num_intra_threads 64 --num_inter_threads 3 --distortions=False --num_batches 200";
        let (spec, notes) = asked(line);
        let spec = spec.unwrap();
        assert_eq!((spec.batch_size, spec.threads, spec.iterations, spec.style), (128, Some(64), 200, Style::TfCnn));
        assert_eq!(notes.len(), 2, "{notes:?}");
        assert!(notes[0].starts_with("--data_format NCHW: ") && notes[1].starts_with("--num_inter_threads 3: "), "{notes:?}");
    }

    #[test]
    fn what_means_nothing_here_is_said_and_what_would_mislead_is_refused() {
        for (line, reason) in [
            ("--style tf-cnn --variable_update parameter_server", "--variable_update parameter_server: "),
            ("--style tf-cnn --model wrn-10-1 --image-size 32 --data_dir /data", "those of Fashion-MNIST (1x28x28)"),
            ("--style tf-cnn --use_fp16", "--precision bf16"),
            ("--style tf-cnn --num_gpus 4", "use --np"),
            ("--style nvcnn --fp16", "--precision bf16"),
            ("--style nvcnn --eval", "only training is measured"),
            ("--use-adasum", "--use-adasum: "),
            ("--distortions=False", "tf_cnn_benchmarks: add --style tf-cnn"),
            ("--sneeze", "--sneeze"),
            ("--style sneeze", "is not a style"),
            ("--model sneeze", "is not a model"),
            ("--batch-size 0", "--batch-size is 0"),
            ("--style tf-cnn --batch_size", "--batch-size"),
            ("--num-batches 5 --num-iters 5", "cannot be used with"),
            ("--mem-node -1", "-1"),
        ] {
            let error = asked(line).0.unwrap_err();
            assert!(error.contains(reason), "{line}: {error}");
        }
        for line in ["--nodistortions", "--use_fp16=false", "--num_gpus=1", "--device gpu", "--data_format=NHWC"] {
            let (spec, notes) = asked(&format!("--style tf-cnn {line}"));
            assert!(spec.is_ok() && notes.is_empty(), "{line}: {spec:?} {notes:?}");
        }
        let (spec, notes) = asked("--style tf-cnn --device=cpu --use_numa_affinity --optimizer momentum --kmp_blocktime=0");
        let spec = spec.unwrap();
        assert_eq!((spec.no_cuda, spec.bind, spec.optimizer), (true, Binding::Numa, UpdateRule::Momentum));
        assert_eq!(notes.len(), 1, "{notes:?}");
    }
}
