//! Flags that a program of the ranks and a verb of the lab share: neither can have one that the other lacks.
//!
//! Never starts anything: words in, settings out, and back.

use crate::domain::benchmark::NumberFormat;
use crate::domain::model::ModelSpec;
use crate::domain::nvcnn::{BadRecords, Dct, LarcMode, NvcnnSpec};

/// The flags of nvcnn, with `_` or `-`, and what is added to them here.
#[derive(Clone, Debug, PartialEq, clap::Args)]
pub struct NvcnnFlags {
    /// The model: resnet50, alexnet, vgg16, inception3, ...; a wrong name lists them all
    #[arg(short = 'm', long, value_name = "NAME", default_value = "resnet50")]
    model: ModelSpec,
    /// Height and width of the images, where the model takes others than its own
    #[arg(long, alias = "image_size", value_name = "PIXELS", allow_negative_numbers = true)]
    image_size: Option<usize>,
    /// Folder with TFRecord files (train-*, validation-*) or with a folder of JPEGs for each class [default: synthetic images]
    #[arg(long, alias = "data_dir", value_name = "DIR")]
    pub data_dir: Option<String>,
    /// Images per batch on each rank
    #[arg(short = 'b', long, alias = "batch_size", value_name = "N", default_value = "64", allow_negative_numbers = true)]
    batch_size: usize,
    /// Steps to train [default: 50]
    #[arg(long, alias = "num_batches", value_name = "N", allow_negative_numbers = true)]
    num_batches: Option<usize>,
    /// Passes over the images to train, instead of --num-batches
    #[arg(long, alias = "num_epochs", value_name = "N", allow_negative_numbers = true)]
    num_epochs: Option<usize>,
    /// Folder for checkpoints; training goes on from the newest one in it
    #[arg(long, alias = "log_dir", value_name = "DIR")]
    pub log_dir: Option<String>,
    /// Write what every rank and its image pipeline did and when, on one clock, as a Chrome trace (opens in Perfetto)
    #[arg(long, value_name = "FILE")]
    pub timeline: Option<String>,
    /// Steps from one row of the table to the next
    #[arg(long, alias = "display_every", value_name = "N", default_value = "1", allow_negative_numbers = true)]
    display_every: usize,
    /// Seconds between checkpoints; there is one at the end in any case
    #[arg(long, alias = "save_interval", value_name = "SECONDS", default_value = "43200", allow_negative_numbers = true)]
    save_interval: f64,
    /// Multiply the loss by this before backward, and divide the gradients by it
    #[arg(long, alias = "loss_scale", value_name = "FACTOR", default_value = "1", allow_negative_numbers = true)]
    loss_scale: f64,
    /// Rates by layer (LARC): eta; without this and --larc-mode there are none [default with --larc-mode: 0.003]
    #[arg(long, alias = "larc_eta", value_name = "ETA", allow_negative_numbers = true)]
    larc_eta: Option<f64>,
    /// clip: the rate of a layer is never above the schedule's. scale: it multiplies the schedule's [default with --larc-eta: clip]
    #[arg(long, alias = "larc_mode", value_name = "MODE")]
    larc_mode: Option<LarcMode>,
    /// Learning rate of the first step, of all ranks together [default: 0.03 alexnet, batch x ranks / 1024 resnet50, ...]
    #[arg(long, alias = "learning_rate", value_name = "RATE", allow_negative_numbers = true)]
    learning_rate: Option<f64>,
    /// Test the newest checkpoint of --log-dir on the validation images, and train nothing
    #[arg(long)]
    eval: bool,
    /// Refused: use --precision bf16
    #[arg(long)]
    fp16: bool,
    /// What convolutions compute in: fp32, tf32 (GPUs) or bf16
    #[arg(long, value_name = "FORMAT", default_value = "fp32")]
    precision: NumberFormat,
    /// Threads that decode images in one rank [default: its share of the cores]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    threads: Option<usize>,
    /// The decoder's cosine transform: fast, or accurate
    #[arg(long, value_name = "HOW", default_value = "fast")]
    dct: Dct,
    /// Images that wait to be drawn from [default: 10000, or all]
    #[arg(long, alias = "shuffle_buffer", value_name = "N", allow_negative_numbers = true)]
    shuffle_buffer: Option<usize>,
    /// An image that cannot be used: stop, or skip (leave it out, and say at the end which)
    #[arg(long, alias = "bad_records", value_name = "WHAT", default_value = "stop")]
    bad_records: BadRecords,
    /// Train on the middle of each image, instead of a random part that is mirrored by chance
    #[arg(long, alias = "no_distortions")]
    no_distortions: bool,
    /// Change brightness, saturation, hue and contrast at random
    #[arg(long, alias = "distort_color")]
    distort_color: bool,
    /// Of weights, order and distortions
    #[arg(long, value_name = "N", default_value = "1", allow_negative_numbers = true)]
    seed: u64,
    /// Stay on the CPU also where there are GPUs
    #[arg(long)]
    no_cuda: bool,
    /// Act as if each host had so many ranks: local ranks begin again from 0 on each
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    ranks_per_host: Option<usize>,
}

impl NvcnnFlags {
    /// The settings that they ask for.
    ///
    /// # Errors
    /// What cannot run, in one sentence.
    pub fn spec(&self) -> Result<NvcnnSpec, String> {
        if self.fp16 {
            return Err("--fp16: hvd-lab does not compute in float16: use --precision bf16".into());
        }
        if self.num_batches.is_some() && self.num_epochs.is_some() {
            return Err("--num-batches and --num-epochs both say how long to train: leave one of them out".into());
        }
        let defaults = NvcnnSpec::of_model(self.model);
        let spec = NvcnnSpec {
            image_size: self.image_size,
            data_dir: self.data_dir.clone(),
            batch_size: self.batch_size,
            num_batches: self.num_batches.unwrap_or(defaults.num_batches),
            num_epochs: self.num_epochs,
            log_dir: self.log_dir.clone(),
            timeline: self.timeline.clone(),
            display_every: self.display_every,
            save_interval_s: self.save_interval,
            loss_scale: self.loss_scale,
            larc_eta: self.larc_eta,
            larc_mode: self.larc_mode,
            learning_rate: self.learning_rate,
            eval: self.eval,
            precision: self.precision,
            threads: self.threads,
            dct: self.dct,
            shuffle_buffer: self.shuffle_buffer,
            bad_records: self.bad_records,
            no_distortions: self.no_distortions,
            distort_color: self.distort_color,
            seed: self.seed,
            no_cuda: self.no_cuda,
            ranks_per_host: self.ranks_per_host,
            ..defaults
        };
        spec.problem().map_or(Ok(spec), Err)
    }

    /// The words that ask for these settings.
    pub fn words(spec: &NvcnnSpec) -> Vec<String> {
        let values = [
            ("model", Some(spec.model.to_string())),
            ("image-size", spec.image_size.map(|pixels| pixels.to_string())),
            ("data-dir", spec.data_dir.clone()),
            ("batch-size", Some(spec.batch_size.to_string())),
            ("num-batches", spec.num_epochs.is_none().then(|| spec.num_batches.to_string())),
            ("num-epochs", spec.num_epochs.map(|epochs| epochs.to_string())),
            ("log-dir", spec.log_dir.clone()),
            ("timeline", spec.timeline.clone()),
            ("display-every", Some(spec.display_every.to_string())),
            ("save-interval", Some(spec.save_interval_s.to_string())),
            ("loss-scale", Some(spec.loss_scale.to_string())),
            ("larc-eta", spec.larc_eta.map(|eta| eta.to_string())),
            ("larc-mode", spec.larc_mode.map(|mode| mode.to_string())),
            ("learning-rate", spec.learning_rate.map(|rate| rate.to_string())),
            ("precision", Some(spec.precision.to_string())),
            ("threads", spec.threads.map(|threads| threads.to_string())),
            ("dct", Some(spec.dct.to_string())),
            ("shuffle-buffer", spec.shuffle_buffer.map(|images| images.to_string())),
            ("bad-records", Some(spec.bad_records.to_string())),
            ("seed", Some(spec.seed.to_string())),
            ("ranks-per-host", spec.ranks_per_host.map(|ranks| ranks.to_string())),
        ];
        let switches = [
            ("eval", spec.eval),
            ("no-distortions", spec.no_distortions),
            ("distort-color", spec.distort_color),
            ("no-cuda", spec.no_cuda),
        ];
        let values = values.into_iter().filter_map(|(name, value)| Some([format!("--{name}"), value?])).flatten();
        let switches = switches.into_iter().filter(|(_, is_on)| *is_on).map(|(name, _)| format!("--{name}"));
        values.chain(switches).collect()
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        flags: NvcnnFlags,
    }

    fn read(words: impl IntoIterator<Item = String>) -> Result<NvcnnSpec, String> {
        let words = std::iter::once("nvcnn".to_owned()).chain(words);
        Line::try_parse_from(words).map_err(|error| error.to_string())?.flags.spec()
    }

    fn asked(line: &str) -> Result<NvcnnSpec, String> {
        read(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn words_of_settings_ask_for_these_settings() {
        let defaults = asked("").unwrap();
        assert_eq!(defaults, NvcnnSpec::of_model("resnet50".parse().unwrap()));
        let all = NvcnnSpec {
            image_size: Some(68),
            data_dir: Some("a folder".into()),
            batch_size: 3,
            num_epochs: Some(4),
            log_dir: Some("logs".into()),
            display_every: 5,
            save_interval_s: 0.1,
            loss_scale: 128.0,
            larc_eta: Some(0.003),
            larc_mode: Some(LarcMode::Scale),
            learning_rate: Some(1e-7),
            eval: true,
            precision: NumberFormat::Bf16,
            threads: Some(6),
            dct: Dct::Accurate,
            shuffle_buffer: Some(7),
            bad_records: BadRecords::Skip,
            no_distortions: true,
            seed: u64::MAX,
            no_cuda: true,
            ranks_per_host: Some(2),
            ..NvcnnSpec::of_model("alexnet".parse().unwrap())
        };
        let timeline = Some("trace.json".to_owned());
        for spec in [defaults.clone(), all, NvcnnSpec { num_batches: 9, distort_color: true, timeline, ..defaults }] {
            assert_eq!(read(NvcnnFlags::words(&spec)), Ok(spec));
        }
    }

    /// As the exercises of nvcnn write it.
    #[test]
    fn a_line_of_nvcnn_is_taken_as_it_is_written() {
        let spec = asked("--model=resnet50 --data_dir=/dli/data/tfdata352p90per --batch_size=48").unwrap();
        assert_eq!((spec.batch_size, spec.data_dir.as_deref()), (48, Some("/dli/data/tfdata352p90per")));
        let spec = asked("-m alexnet -b 8 --num_batches 5 --display_every 2 --save_interval 60 --larc_mode clip --larc_eta .01");
        assert_eq!(spec.unwrap().larc(), Some(crate::domain::nvcnn::Larc { eta: 0.01, mode: LarcMode::Clip }));
        for (line, words) in [
            ("--fp16", "--fp16: hvd-lab does not compute in float16: use --precision bf16"),
            ("-m sneeze", "`sneeze` is not a model"),
            ("--larc-mode both", "`both` is not a mode of LARC: use clip, scale"),
            ("--bad-records maybe", "is not a choice for bad records: use stop, skip"),
            ("-b 0", "--batch-size is 0"),
            ("--num-epochs 2", "give --data-dir"),
            ("--num-epochs 2 --num-batches 5 --data-dir d", "both say how long to train: leave one of them out"),
        ] {
            let problem = asked(line).unwrap_err();
            assert!(problem.contains(words), "{line}: {problem}");
        }
    }
}
