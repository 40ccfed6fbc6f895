//! The lines of the programs that a benchmark speaks like, field by field as they print them.
//!
//! Lines that begin with `#` are the lab's own: what those programs leave open.

mod horovod;
mod json;
pub mod nvcnn;
mod start;
mod tf_cnn;

pub use self::start::{Data, Row, Start};
use super::{BenchmarkSpec, IterationReport, Iterations, Style};

impl Start<'_> {
    /// Up to the first batch.
    pub fn header(&self) -> Vec<String> {
        let mut lines = match self.spec.style {
            Style::Horovod => horovod::header(self),
            Style::TfCnn => tf_cnn::header(self),
            Style::Nvcnn => nvcnn::header(self),
            Style::Json => return Vec::new(),
        };
        let BenchmarkSpec { model, batch_size, precision, optimizer, bind, .. } = self.spec;
        let total = batch_size * self.ranks();
        lines.push(format!(
            "# {model}, data: {} ({}), {batch_size} images per device and {total} in total, {precision}, NHWC in memory, {optimizer}",
            self.data.label,
            self.spec.input()
        ));
        lines.push(format!("# binding: {bind}. What each rank really got:"));
        lines.extend(
            self.places.iter().enumerate().map(|(rank, place)| format!("# rank {rank} on {}: {}", place.host, place.in_words())),
        );
        let warming_up: &[&str] = match self.spec.style {
            Style::Horovod => &horovod::WARMING_UP,
            Style::TfCnn => &tf_cnn::WARMING_UP,
            Style::Nvcnn => &nvcnn::WARMING_UP,
            Style::Json => &[],
        };
        lines.extend(warming_up.iter().map(|line| (*line).to_owned()));
        lines
    }

    /// Between the warm-up and the first iteration.
    pub fn warmed_up(&self) -> &'static [&'static str] {
        match self.spec.style {
            Style::Horovod => &horovod::WARMED_UP,
            Style::TfCnn => &tf_cnn::WARMED_UP,
            Style::Nvcnn | Style::Json => &[],
        }
    }

    /// A batch of the warm-up, counted from 1.
    pub fn warm_up_row(&self, batch: usize, row: &Row) -> Option<String> {
        (self.spec.style == Style::Nvcnn).then(|| nvcnn::row(self, batch, row)).flatten()
    }

    /// An iteration that counts.
    pub fn row(&self, row: &Row) -> Option<String> {
        let iteration = row.iterations.seconds.len();
        match self.spec.style {
            Style::Horovod => Some(horovod::row(self, iteration, row)),
            Style::TfCnn => tf_cnn::row(self, iteration, row),
            Style::Nvcnn => nvcnn::row(self, self.spec.warmup_batches + iteration * self.spec.batches_per_iteration, row),
            Style::Json => None,
        }
    }

    /// The result. `reports` are the root's.
    pub fn ending(&self, iterations: &Iterations, reports: &[IterationReport]) -> Vec<String> {
        let (mut lines, others) = match self.spec.style {
            Style::Horovod => {
                (horovod::ending(self, iterations), "Horovod's benchmark multiplies rank 0's by the number of ranks")
            }
            Style::TfCnn => (
                tf_cnn::ending(iterations),
                "tf_cnn_benchmarks multiplies rank 0's by the number of ranks, and its rows are rank 0's",
            ),
            Style::Nvcnn => {
                (nvcnn::result(iterations, self.spec.warmup_batches), "nvcnn multiplies rank 0's by the number of ranks")
            }
            Style::Json => return vec![json::result(self, iterations, reports)],
        };
        if self.ranks() > 1 {
            lines.push(format!("# each rank is timed by itself, and the rates are added up ({others})"));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::benchmark::PlacementReport;
    use crate::domain::model::ModelSpec;

    fn spec(style: Style) -> BenchmarkSpec {
        BenchmarkSpec {
            batch_size: 64,
            warmup_batches: 1,
            iterations: 3,
            ..BenchmarkSpec::of_style(style, ModelSpec::wrn(10, 1))
        }
    }

    fn printed(spec: &BenchmarkSpec) -> Vec<String> {
        printed_of(spec, &Data::synthetic())
    }

    /// What is printed of two ranks whose iterations take a second, two and one.
    fn printed_of(spec: &BenchmarkSpec, data: &Data) -> Vec<String> {
        let place = |core| PlacementReport {
            host: "node".into(),
            cores: vec![core],
            threads: 1,
            device: "cpu".into(),
            ..PlacementReport::default()
        };
        let arguments = ["--model", "wrn-10-1"].map(str::to_owned);
        let places = [place(0), place(1)];
        let start = Start { spec, arguments: &arguments, data, is_gpu: false, learning_rate: 0.01, places: &places };
        let mut lines = start.header();
        let warm = Iterations::new(64);
        lines.extend(start.warm_up_row(1, &Row { iterations: &warm, rate: 32.0, loss: 2.5 }));
        lines.extend(start.warmed_up().iter().map(|line| (*line).to_owned()));
        let mut iterations = Iterations::new(64 * spec.batches_per_iteration);
        let mut reports = Vec::new();
        for seconds in [1.0, 2.0, 1.0] {
            iterations.seconds.push(vec![seconds, seconds]);
            let rate = iterations.rates()[iterations.seconds.len() - 1];
            lines.extend(start.row(&Row { iterations: &iterations, rate, loss: 2.3 }));
            reports.push(IterationReport { seconds, images_per_sec: rate, ..IterationReport::sample(iterations.seconds.len()) });
        }
        lines.extend(start.ending(&iterations, &reports));
        lines
    }

    fn theirs(spec: &BenchmarkSpec) -> Vec<String> {
        printed(spec).into_iter().filter(|line| !line.starts_with('#')).collect()
    }

    #[test]
    fn horovod_s_lines() {
        let spec = BenchmarkSpec { batches_per_iteration: 2, ..spec(Style::Horovod) };
        let expected = [
            "Model: wrn-10-1",
            "Batch size: 64",
            "Number of CPUs: 2",
            "Running warmup...",
            "Running benchmark...",
            "Iter #0: 128.0 img/sec per CPU",
            "Iter #1: 64.0 img/sec per CPU",
            "Iter #2: 128.0 img/sec per CPU",
            "Img/sec per CPU: 106.7 +-59.1",
            "Total img/sec on 2 CPU(s): 213.3 +-118.3",
        ];
        assert_eq!(theirs(&spec), expected);
    }

    #[test]
    fn tf_cnn_benchmarks_lines() {
        let spec = BenchmarkSpec { display_every: 2, ..spec(Style::TfCnn) };
        let rule = "-".repeat(64);
        let expected = [
            "Model:       wrn-10-1",
            "Dataset:     synthetic",
            "Mode:        training",
            "SingleSess:  False",
            "Batch size:  128 global",
            "             64 per device",
            "Num batches: 3",
            "Num epochs:  0.01",
            "Devices:     ['horovod/cpu:0', 'horovod/cpu:1']",
            "NUMA bind:   False",
            "Data format: NHWC",
            "Optimizer:   sgd",
            "Variables:   horovod",
            "==========",
            "Generating training model",
            "Initializing graph",
            "Running warm up",
            "Done warm up",
            "Step\tImg/sec\ttotal_loss",
            "1\timages/sec: 64.0 +/- 0.0 (jitter = 0.0)\t2.300",
            "2\timages/sec: 42.7 +/- 11.3 (jitter = 23.7)\t2.300",
            &rule,
            "total images/sec: 96.00",
            &rule,
        ];
        assert_eq!(theirs(&spec), expected);
    }

    #[test]
    fn nvcnn_s_lines() {
        let rule = "-".repeat(64);
        let expected = [
            "Cmd line args:",
            "  --model=wrn-10-1",
            "Num ranks:   2",
            "Num images:  Synthetic",
            "Model:       wrn-10-1",
            "Batch size:  64 per device",
            "             128 total",
            "Data format: NHWC",
            "Data type:   fp32",
            "Building training graph",
            "Creating session",
            "Initializing variables",
            "Pre-filling input pipeline",
            "Training",
            "  Step Epoch Img/sec   Loss   LR",
            "     1     1    32.0   2.500 0.01000",
            "     2     1   128.0   2.300 0.01000",
            "     3     1    64.0   2.300 0.01000",
            "     4     1   128.0   2.300 0.01000",
            &rule,
            "Images/sec: 106.7 +/- 21.3 (jitter = 0.0)",
            &rule,
        ];
        assert_eq!(theirs(&spec(Style::Nvcnn)), expected);
        let few = BenchmarkSpec { display_every: 3, ..spec(Style::Nvcnn) };
        let rows: Vec<String> = theirs(&few).into_iter().filter(|line| line.ends_with("0.01000")).collect();
        assert_eq!(rows.len(), 2, "the first one, and every third: {rows:?}");
    }

    #[test]
    fn too_few_batches_have_no_uncertainty_and_no_nan() {
        let spec = spec(Style::Nvcnn);
        let data = Data::synthetic();
        let start = Start { spec: &spec, arguments: &[], data: &data, is_gpu: false, learning_rate: 0.01, places: &[] };
        let lines = start.ending(&Iterations { images: 64, seconds: vec![vec![0.5]] }, &[]).join("\n");
        assert!(
            lines.contains("Images/sec: 128.0 +/- unknown (jitter = 0.0)") && lines.contains("# an uncertainty takes 3"),
            "{lines}"
        );
        let three = start.ending(&Iterations { images: 64, seconds: vec![vec![0.5]; 3] }, &[]).join("\n");
        assert!(three.contains("+/- 0.0 (jitter") && !three.contains("# an uncertainty"), "{three}");
    }

    #[test]
    fn real_images_are_named_and_counted_in_epochs() {
        let real = Data { label: "Fashion-MNIST".into(), images: Some(256) };
        let of = |style| printed_of(&spec(style), &real).join("\n");
        let nvcnn = of(Style::Nvcnn);
        assert!(nvcnn.contains("Num images:  256\n"), "{nvcnn}");
        let epochs: Vec<&str> = nvcnn.lines().filter(|line| line.ends_with("0.01000")).map(|line| line[6..12].trim()).collect();
        assert_eq!(epochs, ["1", "1", "2", "2"], "128 images a step");
        let tf_cnn = of(Style::TfCnn);
        assert!(tf_cnn.contains("Dataset:     Fashion-MNIST\n") && tf_cnn.contains("Num epochs:  1.50\n"), "{tf_cnn}");
        assert!(of(Style::Horovod).contains("# wrn-10-1, data: Fashion-MNIST (1x28x28), 64 images per device"));
        assert!(of(Style::Json).contains("\"data\":\"Fashion-MNIST\""));
    }

    #[test]
    fn json_is_one_object() {
        let lines = printed(&spec(Style::Json));
        let value: serde_json::Value = serde_json::from_str(&lines[0]).unwrap();
        assert_eq!((lines.len(), &value["ranks"], &value["batch_size"]["total"]), (1, &2.into(), &128.into()));
        assert_eq!(value["images_per_sec"]["mean"].as_f64().map(f64::round), Some(1067.0));
        assert_eq!(value["iterations"].as_array().unwrap().len(), 3);
        assert_eq!(value["placement"][1]["cores"][0], 1);
    }

    #[test]
    fn what_the_others_leave_open_is_said_behind_a_hash() {
        for style in [Style::Horovod, Style::TfCnn, Style::Nvcnn] {
            let text = printed(&spec(style)).join("\n");
            for words in [
                "# wrn-10-1, data: synthetic (1x28x28), 64 images per device and 128 in total, fp32, NHWC in memory",
                "# binding: share. What each rank really got:",
                "# rank 1 on node: cpu, 1 thread on core 1",
                "# each rank is timed by itself, and the rates are added up",
            ] {
                assert!(text.contains(words), "{style}: {words}: {text}");
            }
        }
    }
}
