//! When the figures of two runs can be compared: the one law of the table of runs, the comparison, the exports and the report.
//!
//! Never reads a file. It returns what a run gained, or the reason why that cannot be said.

use std::fmt;

use super::{RunRecord, RunSummary};
use crate::domain::benchmark::{BenchmarkSpec, Style, UpdateRule};
use crate::domain::images::InputShape;
use crate::domain::job::Workload;
use crate::domain::model::ModelSpec;
use crate::domain::nvcnn::{Dct, NvcnnSpec};
use crate::domain::speedup::{self, Comparison, Figures};
use crate::domain::step::Step;
use crate::domain::training::TrainingSpec;

/// Trainer flags that leave the work as it is: they say how it is computed, how gradients travel, and what is written down.
const SAME_WORK: [&str; 9] = [
    "--precision",
    "--fusion-threshold-mb",
    "--no-overlap",
    "--compression",
    "--timeline",
    "--stall-warning-secs",
    "--stall-shutdown-secs",
    "--log-dir",
    "--seed",
];

/// What has to be the same for throughput to be comparable: what every rank does for one image, and on which images.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// A benchmark trains nothing that could be used; what it says depends on how it is timed.
    timing: Option<Timing>,
    model: ModelSpec,
    input: InputShape,
    data: String,
    images: Option<usize>,
    batch_size: usize,
    /// In alphabetical order.
    flags: Vec<String>,
}

/// How a benchmark comes to its images a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Timing {
    style: Style,
    warmup_batches: usize,
    batches_per_iteration: usize,
}

impl Timing {
    fn of(benchmark: &BenchmarkSpec) -> Timing {
        let BenchmarkSpec { warmup_batches, batches_per_iteration, .. } = *benchmark;
        // They time alike, and only print something else.
        let style = if benchmark.style == Style::Json { Style::Horovod } else { benchmark.style };
        Timing { style, warmup_batches, batches_per_iteration }
    }
}

/// The work that the ranks of a run share, as far as its record tells.
///
/// # Errors
/// The reason why there is none, as a part of a sentence.
pub fn work(run: &RunSummary) -> Result<Work, &'static str> {
    let record = run.record.as_ref().ok_or("its record cannot be read")?;
    if record.training().is_some_and(|training| !shares_work(record, training)) {
        return Err("its ranks do not share work and gradients (steps 3 and 5)");
    }
    Work::of(record).ok_or(match record.spec.workload {
        Workload::Collectives(_) => "measures collectives and trains nothing",
        Workload::Nvcnn(_) => "tests a checkpoint and trains nothing",
        _ => "no training that this version knows",
    })
}

/// What `run` gained over `baseline`, or why that cannot be said.
///
/// # Errors
/// The reason, as a part of a sentence.
pub fn gained(run: &RunSummary, baseline: &RunSummary) -> Result<Comparison, &'static str> {
    gained_so_far(run, &run.figures, baseline)
}

/// [`gained`], by newer figures of the run than its summary has.
///
/// # Errors
/// The reason, as a part of a sentence.
pub fn gained_so_far(run: &RunSummary, figures: &Figures, baseline: &RunSummary) -> Result<Comparison, &'static str> {
    let record = run.record.as_ref().ok_or("its record cannot be read")?;
    let after = Work::of(record).ok_or_else(|| work(run).err().unwrap_or("no training that this version knows"))?;
    let with = baseline.record.as_ref().ok_or("the baseline's record cannot be read")?;
    let before = Work::of(with).ok_or(match with.spec.workload {
        Workload::Collectives(_) => "the baseline measures collectives and trains nothing",
        Workload::Nvcnn(_) => "the baseline tests a checkpoint and trains nothing",
        _ => "the baseline is not a training that this version knows",
    })?;
    if run.id != baseline.id {
        after.same_as(&before)?;
        work(run)?;
        work(baseline).map_err(|_| "the baseline's ranks do not share work and gradients (steps 3 and 5)")?;
        if baseline.figures.np > figures.np {
            return Err("the baseline has more ranks");
        }
    }
    let gained = speedup::compare(figures, &baseline.figures);
    // Sooner at another target is no gain.
    let same_target = with.target_accuracy() == record.target_accuracy();
    Ok(Comparison { speedup_to_target: gained.speedup_to_target.filter(|_| same_target), ..gained })
}

/// Why a run that gained something has no scaling efficiency. What stands in parentheses may be left out.
pub fn no_efficiency(run: &RunSummary, baseline: &RunSummary, gained: &Comparison) -> Option<&'static str> {
    /// How it was computed, whatever the work was.
    fn flags(run: &RunSummary) -> Option<Vec<String>> {
        let spec = &run.record.as_ref()?.spec;
        let of_training = || Some(spec.training()?.trainer_flags.clone());
        let of_benchmark = |spec: &BenchmarkSpec| {
            let threads = spec.threads.map_or("own".to_owned(), |threads| threads.to_string());
            vec![
                spec.precision.to_string(),
                threads,
                spec.bind.to_string(),
                spec.fp16_allreduce.to_string(),
                spec.no_cuda.to_string(),
            ]
        };
        let of_nvcnn =
            |spec: &NvcnnSpec| vec![spec.precision.to_string(), format!("{:?}", spec.threads), spec.no_cuda.to_string()];
        of_training().or_else(|| spec.benchmark().map(of_benchmark)).or_else(|| spec.nvcnn().map(of_nvcnn))
    }
    match gained.is_beyond_ideal() {
        false => None,
        true if baseline.disturbed().is_some() => Some("over 100 %: other programs slowed the baseline down"),
        true if flags(run) != flags(baseline) => Some("over 100 %: not computed as the baseline was (trainer flags)"),
        true => Some("over 100 %: the baseline was too slow (other programs, a busy machine)"),
    }
}

/// Ranks that share neither work nor gradients are several trainings, however many images they count.
fn shares_work(record: &RunRecord, training: &TrainingSpec) -> bool {
    let shared = [Step::DistributedOptimizer, Step::FewerSteps];
    record.np() == 1 || shared.iter().all(|step| training.steps.is_effective(*step))
}

impl Work {
    /// `None` of what trains no model.
    fn of(record: &RunRecord) -> Option<Work> {
        match &record.spec.workload {
            Workload::Training(training) => Some(Work {
                timing: None,
                model: training.model,
                input: training.model.input(),
                data: record.data_label.clone(),
                images: training.train_images,
                batch_size: training.batch_size,
                flags: flags(&training.trainer_flags),
            }),
            Workload::Benchmark(benchmark) => Some(Work {
                timing: Some(Timing::of(benchmark)),
                model: benchmark.model,
                input: benchmark.input(),
                data: benchmark.data_dir.clone().unwrap_or_else(|| "synthetic".into()),
                images: Some(benchmark.batch_size),
                batch_size: benchmark.batch_size,
                flags: match benchmark.optimizer {
                    UpdateRule::Sgd => Vec::new(),
                    UpdateRule::Momentum => vec![format!("--optimizer {}", benchmark.optimizer)],
                },
            }),
            Workload::Nvcnn(nvcnn) if !nvcnn.eval => Some(Work {
                timing: None,
                model: nvcnn.model,
                input: nvcnn.input(),
                data: record.data_label.clone(),
                images: None,
                batch_size: nvcnn.batch_size,
                flags: of_photos(nvcnn),
            }),
            Workload::Collectives(_) | Workload::Nvcnn(_) | Workload::Unknown(_) => None,
        }
    }

    fn same_as(&self, baseline: &Work) -> Result<(), &'static str> {
        let (own, of_baseline) = (self.timing, baseline.timing);
        let differs = |what: fn(Timing) -> usize| own.map(what) != of_baseline.map(what);
        let differences = [
            (own.is_some() && of_baseline.is_none(), "a benchmark, and the baseline is a training"),
            (own.is_none() && of_baseline.is_some(), "a training, and the baseline is a benchmark"),
            (self.model != baseline.model, "other model than the baseline"),
            (self.input != baseline.input, "other image size than the baseline"),
            (self.data != baseline.data, "other data than the baseline"),
            (self.batch_size != baseline.batch_size, "other batch size than the baseline"),
            (self.images != baseline.images, "other number of images than the baseline"),
            (self.flags != baseline.flags, "other trainer flags than the baseline"),
            (
                own.map(|timing| timing.style) != of_baseline.map(|timing| timing.style),
                "other style than the baseline, which times and averages in another way",
            ),
            (differs(|timing| timing.warmup_batches), "other number of warm-up batches than the baseline"),
            (differs(|timing| timing.batches_per_iteration), "other number of batches timed together than the baseline"),
        ];
        differences.into_iter().find(|(differs, _)| *differs).map_or(Ok(()), |(_, reason)| Err(reason))
    }
}

/// What is done to photos beside reading them, and to gradients beside adding them up.
fn of_photos(nvcnn: &NvcnnSpec) -> Vec<String> {
    let flags = [
        (nvcnn.larc().is_some(), "--larc-mode"),
        (nvcnn.dct == Dct::Accurate, "--dct accurate"),
        (nvcnn.no_distortions, "--no-distortions"),
        (nvcnn.distort_color, "--distort-color"),
    ];
    flags.into_iter().filter(|(is_on, _)| *is_on).map(|(_, flag)| flag.to_owned()).collect()
}

/// Each flag with its values, without those that leave the work as it is.
fn flags(words: &[String]) -> Vec<String> {
    let mut flags: Vec<String> = Vec::new();
    for word in words.iter().flat_map(|word| word.split('=')) {
        match flags.last_mut() {
            Some(flag) if !word.starts_with("--") => *flag += &format!(" {word}"),
            _ => flags.push(word.to_owned()),
        }
    }
    flags.retain(|flag| !SAME_WORK.contains(&flag.split(' ').next().unwrap_or_default()));
    flags.sort_unstable();
    flags
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let images = self.images.map_or("all".to_owned(), |images| images.to_string());
        match self.timing.is_some() {
            true => write!(f, "benchmark of {} on images of {}, batch {} a rank", self.model, self.input, self.batch_size)?,
            false => write!(f, "{}, {images} images of {}, batch {} a rank", self.model, self.data, self.batch_size)?,
        }
        match self.flags.as_slice() {
            [] => Ok(()),
            flags => write!(f, ", {}", flags.join(" ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::run::RunState;
    use crate::domain::speedup::Figures;
    use crate::runs::tests::{record, status};
    use crate::runs::{RunId, Tally};

    fn run(id: u32, np: usize) -> RunSummary {
        let figures = Figures { np, images_per_sec: Some(1000.0 * np as f64), seconds_to_target: Some(60.0 / np as f64) };
        RunSummary {
            id: RunId(id),
            record: Some(RunRecord { id: RunId(id), ..record(np) }),
            status: status(RunState::Finished),
            elsewhere: None,
            tally: Tally { figures, ..Tally::default() },
        }
    }

    fn with(np: usize, change: impl FnOnce(&mut TrainingSpec)) -> RunSummary {
        let mut run = run(2, np);
        change(run.record.as_mut().unwrap().spec.workload.training_mut().unwrap());
        run
    }

    fn flagged(words: &str) -> RunSummary {
        with(2, |training| training.trainer_flags = words.split(' ').map(String::from).collect())
    }

    #[test]
    fn every_difference_in_the_work_is_a_reason() {
        let mut data = run(2, 2);
        data.record.as_mut().unwrap().data_label = "other".into();
        let cases = [
            (with(2, |training| training.model = "wrn-16-4".parse().unwrap()), "other model than the baseline"),
            (data, "other data than the baseline"),
            (with(2, |training| training.train_images = Some(77)), "other number of images than the baseline"),
            (with(2, |training| training.batch_size = 77), "other batch size than the baseline"),
            (flagged("--backward-passes-per-step 2"), "other trainer flags than the baseline"),
            (flagged("--optimizer=sgd --compression=fp16"), "other trainer flags than the baseline"),
            (RunSummary { record: None, ..run(2, 2) }, "its record cannot be read"),
        ];
        for (other, reason) in cases {
            assert_eq!(gained(&other, &run(1, 1)), Err(reason));
        }
        let gain = gained(&run(2, 2), &run(1, 1)).unwrap();
        assert_eq!((gain.speedup, gain.scaling_efficiency, gain.speedup_to_target), (Some(2.0), Some(1.0), Some(2.0)));
        assert!(gained(&flagged("--precision bf16 --no-overlap --fusion-threshold-mb=0"), &run(1, 1)).is_ok());
    }

    #[test]
    fn benchmarks_are_compared_with_benchmarks_of_the_same_work() {
        let benchmark = |id, np, change: fn(&mut BenchmarkSpec)| {
            let mut run = run(id, np);
            let mut spec = BenchmarkSpec::sample();
            change(&mut spec);
            run.record.as_mut().unwrap().spec.workload = Workload::Benchmark(spec);
            run
        };
        let one = benchmark(1, 1, |_| {});
        let gain = gained(&benchmark(2, 2, |_| {}), &one).unwrap();
        assert_eq!((gain.speedup, gain.scaling_efficiency), (Some(2.0), Some(1.0)));
        assert!(gained(&benchmark(2, 2, |spec| spec.iterations = 9), &one).is_ok(), "longer is no other work");
        assert!(gained(&benchmark(2, 2, |spec| spec.style = Style::Json), &one).is_ok(), "timed alike, printed otherwise");
        for (other, reason) in [
            (benchmark(2, 2, |spec| spec.batch_size = 7), "other batch size than the baseline"),
            (benchmark(2, 2, |spec| spec.model = "wrn-16-1".parse().unwrap()), "other model than the baseline"),
            (benchmark(2, 2, |spec| spec.optimizer = UpdateRule::Momentum), "other trainer flags than the baseline"),
            (
                benchmark(2, 2, |spec| spec.style = Style::TfCnn),
                "other style than the baseline, which times and averages in another way",
            ),
            (benchmark(2, 2, |spec| spec.warmup_batches = 0), "other number of warm-up batches than the baseline"),
            (benchmark(2, 2, |spec| spec.batches_per_iteration = 9), "other number of batches timed together than the baseline"),
            (run(2, 2), "a training, and the baseline is a benchmark"),
        ] {
            assert_eq!(gained(&other, &one), Err(reason));
        }
        assert_eq!(gained(&benchmark(2, 2, |_| {}), &run(1, 1)), Err("a benchmark, and the baseline is a training"));
        assert_eq!(work(&one).unwrap().to_string(), "benchmark of wrn-10-1 on images of 1x28x28, batch 64 a rank");
        let faster = |change: fn(&mut BenchmarkSpec)| {
            let mut run = benchmark(2, 2, change);
            run.tally.figures.images_per_sec = Some(2200.0);
            no_efficiency(&run, &one, &gained(&run, &one).unwrap()).unwrap()
        };
        assert!(faster(|spec| spec.precision = "bf16".parse().unwrap()).contains("not computed as the baseline"));
        assert!(faster(|_| {}).contains("the baseline was too slow"));
    }

    #[test]
    fn ranks_that_train_apart_are_no_faster() {
        for steps in ["1,2,4-10", "1-4,6-10", "2-10", "none"] {
            let apart = |np| with(np, |training| training.steps = steps.parse().unwrap());
            let reason = gained(&apart(2), &run(1, 1)).unwrap_err();
            assert!(reason.starts_with("its ranks do not share") && work(&apart(2)).is_err(), "{steps}: {reason}");
            let reason = gained(&run(3, 2), &apart(2)).unwrap_err();
            assert!(reason.starts_with("the baseline's ranks do not share"), "{steps}: {reason}");
            assert!(gained(&apart(1), &run(1, 1)).is_ok(), "one rank has nobody to share with");
        }
        let without_warmup = with(2, |training| training.steps = "1-8,10".parse().unwrap());
        assert!(gained(&without_warmup, &run(3, 2)).is_ok(), "other steps change no work");
    }

    #[test]
    fn a_baseline_has_no_more_ranks_than_what_is_compared_with_it() {
        assert_eq!(gained(&run(2, 1), &run(1, 2)), Err("the baseline has more ranks"));
        assert_eq!(gained(&run(1, 2), &run(1, 2)).unwrap().speedup, Some(1.0), "itself");
        let unreadable = RunSummary { record: None, ..run(1, 1) };
        assert_eq!(gained(&run(2, 2), &unreadable), Err("the baseline's record cannot be read"));
    }

    #[test]
    fn an_efficiency_over_100_percent_has_a_reason_in_its_place() {
        let faster = |mut run: RunSummary| {
            run.tally.figures.images_per_sec = Some(2200.0);
            run
        };
        let reason = |run: &RunSummary, baseline: &RunSummary| {
            let gained = gained(run, baseline).unwrap();
            assert_eq!((gained.speedup, gained.scaling_efficiency), (Some(2.2), None));
            no_efficiency(run, baseline, &gained).unwrap()
        };
        assert!(reason(&faster(run(2, 2)), &run(1, 1)).contains("the baseline was too slow"));
        assert!(reason(&faster(flagged("--precision bf16")), &run(1, 1)).contains("not computed as the baseline"));
        let mut busy = run(1, 1);
        busy.record.as_mut().unwrap().attempts = vec![crate::runs::Attempt { others_cpu: Some(0.6), ..Default::default() }];
        assert!(reason(&faster(run(2, 2)), &busy).contains("other programs slowed the baseline down"));
        assert_eq!(no_efficiency(&run(2, 2), &run(1, 1), &gained(&run(2, 2), &run(1, 1)).unwrap()), None);
    }

    #[test]
    fn sooner_at_another_target_is_no_gain() {
        let gain = gained(&with(2, |training| training.target_accuracy = 0.5), &run(1, 1)).unwrap();
        assert_eq!((gain.speedup, gain.speedup_to_target), (Some(2.0), None));
    }
}
