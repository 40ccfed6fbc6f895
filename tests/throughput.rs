//! `hvd-measure bench` as it is run: the lines of each style by their fields, its events, where its ranks are, and what it refuses.
//!
//! Without mpirun its tests are skipped by name; `HVD_LAB_REQUIRE=mpi` turns the skip into a failure.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use hvd_lab::domain::benchmark::{IterationReport, PlacementReport};
use hvd_lab::domain::event::{Event, EventLine, MARKER};
use hvd_lab::domain::phase::Phase;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::mpi::{self, mpirun, run_limited, text};
use crate::support::needs::skip;
use crate::support::photos;

const PROGRAM: &str = env!("CARGO_BIN_EXE_hvd-measure");
const LIMIT: Duration = Duration::from_secs(60);
const SMALL: &str = "--model wrn-10-1 --batch-size 8 --num-warmup-batches 2 --num-iters 4";

fn run(mpirun: &Path, size: usize, flags: &str) -> Output {
    let mut command = mpi::command(mpirun, size);
    command.args([PROGRAM, "bench"]).args(SMALL.split_whitespace()).args(flags.split_whitespace());
    run_limited(command, LIMIT)
}

fn alone(flags: &str) -> Output {
    let mut command = Command::new(PROGRAM);
    command.arg("bench").args(flags.split_whitespace());
    run_limited(command, LIMIT)
}

fn events(output: &Output) -> Vec<EventLine> {
    let text = text(output);
    let lines = text.lines().filter_map(|line| line.strip_prefix(MARKER));
    lines.map(|line| EventLine::read(line).unwrap().unwrap_or_else(|| panic!("no event: {line}"))).collect()
}

fn iterations(output: &Output, process: usize) -> Vec<IterationReport> {
    let report = |line: EventLine| match line.event {
        Event::Iteration(report) if line.process == process => Some(report),
        _ => None,
    };
    events(output).into_iter().filter_map(report).collect()
}

fn placements(output: &Output) -> Vec<PlacementReport> {
    let report = |line: EventLine| match line.event {
        Event::Placement(report) => Some((line.process, report)),
        _ => None,
    };
    let mut all: Vec<_> = events(output).into_iter().filter_map(report).collect();
    all.sort_by_key(|(process, _)| *process);
    all.into_iter().map(|(_, report)| report).collect()
}

/// The numbers of a line that was printed with a format string of Python's; `None` if it was not. Fields are `%d`, `%.1f` and the like,
/// with or without a width.
fn scan(format: &str, line: &str) -> Option<Vec<f64>> {
    let (mut format, mut line, mut numbers) = (format, line, Vec::new());
    loop {
        let Some(field) = format.find('%') else { return (format == line).then_some(numbers) };
        line = line.strip_prefix(&format[..field])?;
        let kind = format[field..].find(['d', 'f'])? + field;
        let (spec, is_float) = (&format[field + 1..kind], format.as_bytes()[kind] == b'f');
        let (width, digits) = spec.split_once('.').unwrap_or((spec, ""));
        let padding = line.len() - line.trim_start_matches(' ').len();
        let of_number = |c: char| c.is_ascii_digit() || c == '.' || c == '-';
        let number: &str = line[padding..].split(|c| !of_number(c)).next()?;
        let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let wanted: usize = if is_float { digits.parse().ok()? } else { 0 };
        let is_right = decimals == wanted;
        let width: usize = width.parse().unwrap_or(0);
        if !is_right || (padding > 0 && padding + number.len() != width) {
            return None;
        }
        numbers.push(number.parse().ok()?);
        (format, line) = (&format[kind + 1..], &line[padding + number.len()..]);
    }
}

fn scanned(format: &str, text: &str) -> Vec<Vec<f64>> {
    text.lines().filter_map(|line| scan(format, line)).collect()
}

#[test]
fn formats_are_those_of_python() {
    assert_eq!(scan("Iter #%d: %.1f img/sec per CPU", "Iter #3: 12.5 img/sec per CPU"), Some(vec![3.0, 12.5]));
    assert_eq!(scan("%6i %d", "x"), None);
    assert_eq!(scan("%6d %7.1f", "     1    97.6"), Some(vec![1.0, 97.6]));
    for other in ["     1   97.6", "     1    97.62", "1    97.6"] {
        assert_eq!(scan("%6d %7.1f", other).filter(|_| other != "1    97.6"), None, "{other}");
    }
}

#[test]
fn the_lines_of_horovod_s_benchmark_add_up_what_each_rank_measured() {
    let Some(mpirun) = mpirun() else { return };
    let output = run(&mpirun, 2, "--num-batches-per-iter 3 --events");
    let text = text(&output);
    assert!(output.status.success(), "{text}");
    for line in ["Model: wrn-10-1", "Batch size: 8", "Number of CPUs: 2", "Running warmup...", "Running benchmark..."] {
        assert_eq!(text.lines().filter(|found| *found == line).count(), 1, "{line}: {text}");
    }
    let rows = scanned("Iter #%d: %.1f img/sec per CPU", &text);
    assert_eq!(rows.iter().map(|row| row[0]).collect::<Vec<_>>(), [0.0, 1.0, 2.0, 3.0], "{text}");
    let (root, other) = (iterations(&output, 0), iterations(&output, 1));
    assert_eq!((root.len(), other.len()), (4, 4));
    let mut sums = Vec::new();
    for ((mine, theirs), row) in root.iter().zip(&other).zip(&rows) {
        assert_eq!((mine.images, mine.batches, mine.of), (24, 3, 4));
        let sum = 24.0 / mine.seconds + 24.0 / theirs.seconds;
        assert!((mine.images_per_sec - sum).abs() < 1e-6 * sum && mine.images_per_sec == theirs.images_per_sec, "{mine:?}");
        assert!((row[1] - sum / 2.0).abs() <= 0.0501, "{row:?} {sum}");
        assert!(mine.phases.exposed_communication().is_some_and(|part| (0.0..1.0).contains(&part)), "{mine:?}");
        sums.push(sum);
    }
    let mean = sums.iter().sum::<f64>() / 4.0;
    let deviation = (sums.iter().map(|sum| (sum - mean).powi(2)).sum::<f64>() / 4.0).sqrt();
    let total = scanned("Total img/sec on %d CPU(s): %.1f +-%.1f", &text);
    let expected = [2.0, mean, 1.96 * deviation];
    assert!(
        total.len() == 1 && total[0].iter().zip(expected).all(|(told, own)| (told - own).abs() <= 0.0501),
        "{total:?} {mean}"
    );
    let each = scanned("Img/sec per CPU: %.1f +-%.1f", &text);
    assert!((each[0][0] - mean / 2.0).abs() <= 0.0501, "{each:?}");
    assert!(text.contains("# each rank is timed by itself, and the rates are added up (Horovod"), "{text}");
}

#[test]
fn the_lines_of_tf_cnn_benchmarks() {
    let Some(mpirun) = mpirun() else { return };
    let output = run(&mpirun, 2, "--style tf-cnn --display-every 2");
    let text = text(&output);
    assert!(output.status.success(), "{text}");
    for line in [
        "Model:       wrn-10-1",
        "Batch size:  16 global",
        "             8 per device",
        "Num batches: 4",
        "Devices:     ['horovod/cpu:0', 'horovod/cpu:1']",
        "Data format: NHWC",
        "Optimizer:   sgd",
        "Variables:   horovod",
        "Done warm up",
        "Step\tImg/sec\ttotal_loss",
    ] {
        assert_eq!(text.lines().filter(|found| *found == line).count(), 1, "{line}: {text}");
    }
    let rows = scanned("%d\timages/sec: %.1f +/- %.1f (jitter = %.1f)\t%.3f", &text);
    assert_eq!(rows.iter().map(|row| row[0]).collect::<Vec<_>>(), [1.0, 2.0, 4.0], "{text}");
    let total = scanned("total images/sec: %.2f", &text);
    assert!((total[0][0] - 2.0 * rows[2][1]).abs() < 0.11, "the ranks' rows added up: {text}");
}

#[test]
fn the_lines_of_nvcnn_begin_with_the_warm_up() {
    let Some(mpirun) = mpirun() else { return };
    let output = run(&mpirun, 1, "--style nvcnn --precision bf16");
    let text = text(&output);
    assert!(output.status.success(), "{text}");
    for line in ["Num ranks:   1", "Num images:  Synthetic", "             8 total", "Data type:   bf16", "  --style=nvcnn"] {
        assert_eq!(text.lines().filter(|found| *found == line).count(), 1, "{line}: {text}");
    }
    let rows = scanned("%6d %5d %7.1f %7.3f %7.5f", &text);
    assert_eq!(rows.iter().map(|row| row[0]).collect::<Vec<_>>(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "{text}");
    assert!(rows.iter().all(|row| (row[1], row[4]) == (1.0, 0.01)), "{rows:?}");
    let result = scanned("Images/sec: %.1f +/- %.1f (jitter = %.1f)", &text);
    let counted: Vec<f64> = rows[2..].iter().map(|row| row[2]).collect();
    assert!((result[0][0] - counted.iter().sum::<f64>() / 4.0).abs() < 0.11, "without the warm-up: {text}");
}

#[test]
fn models_of_any_family_are_measured_at_any_size_that_they_take() {
    let Some(mpirun) = mpirun() else { return };
    // Without batch norm, with dropout, and of another size.
    for (flags, images) in [("--model mnist-cnn", "1x28x28"), ("--model trivial --image-size 8", "3x8x8")] {
        let output = run(&mpirun, 2, &format!("{flags} --batch-size 4 --num-batches-per-iter 1"));
        let text = text(&output);
        assert!(output.status.success() && text.contains(&format!("data: synthetic ({images})")), "{text}");
        assert_eq!(scanned("Total img/sec on %d CPU(s): %.1f +-%.1f", &text).len(), 1, "{text}");
    }
}

#[test]
fn real_images_pass_through_the_pipeline_and_are_counted() {
    let Some(mpirun) = mpirun() else { return };
    let output = run(&mpirun, 2, "--style nvcnn --data-dir generated --events");
    let text = text(&output);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("Num images:  96\n") && text.contains("data: generated garments (1x28x28), "), "{text}");
    let all = iterations(&output, 1);
    assert!(all.len() == 4 && all.iter().all(|report| report.phases[Phase::Data] > 0.0), "{all:?}");
    for (flags, words) in [
        ("--data-dir /proc/none", "/proc/none"),
        ("--data-dir generated --batch-size 40000", "has 60000 images, fewer than the 80000 of one batch of all ranks"),
    ] {
        let refused = run(&mpirun, 2, flags);
        assert_eq!(refused.status.code(), Some(2), "{}", mpi::text(&refused));
        assert!(mpi::text(&refused).contains(words), "{}", mpi::text(&refused));
    }
}

#[test]
fn photos_pass_through_the_image_pipeline() {
    let (Some(mpirun), Some(jpegs)) = (mpirun(), photos::jpegs()) else { return };
    let folder = photos::folder(&jpegs);
    let of = |batch: usize| {
        let flags = "--style nvcnn --model resnet50 --image-size 32 --events";
        format!("{flags} --batch-size {batch} --data-dir {}", folder.path().display())
    };
    let output = run(&mpirun, 2, &of(4));
    let said = text(&output);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("Num images:  16\n") && said.contains("# image pipeline of rank 0: "), "{said}");
    let report = |line: EventLine| match line.event {
        Event::Pipeline(report) => Some((line.process, report)),
        _ => None,
    };
    let reports: BTreeMap<_, _> = events(&output).into_iter().filter_map(report).collect();
    // Of what was prepared before the batches that count, some may be taken by them.
    assert!(reports.len() == 2 && reports.values().all(|report| report.images > 0 && report.threads > 0), "{reports:?}");

    let refused = run(&mpirun, 2, &of(16));
    assert!(refused.status.code() == Some(2) && text(&refused).contains("16 training images"), "{}", text(&refused));
    std::fs::write(folder.path().join("cat/00.jpg"), b"no JPEG at all").unwrap();
    let refused = run(&mpirun, 2, &of(4));
    assert!(refused.status.code() == Some(2) && text(&refused).contains("cat/00.jpg"), "{}", text(&refused));
}

#[test]
fn json_is_one_line_of_one_rank() {
    let Some(mpirun) = mpirun() else { return };
    let output = run(&mpirun, 2, "--style json --num-batches-per-iter 1 --fp16-allreduce --optimizer momentum");
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output)));
    assert_eq!((&value["ranks"], &value["fp16_allreduce"], &value["optimizer"]), (&2.into(), &true.into(), &"momentum".into()));
    assert!(value["images_per_sec"]["mean"].as_f64().unwrap() > 0.0);
}

#[test]
fn each_rank_tells_its_cores_its_node_and_its_memory() {
    let Some(mpirun) = mpirun() else { return };
    let cores = std::thread::available_parallelism().unwrap().get();
    let shared = placements(&run(&mpirun, 2, "--num-batches-per-iter 1 --events"));
    let free = placements(&run(&mpirun, 2, "--num-batches-per-iter 1 --bind none --num-intra-threads 64 --events"));
    assert_eq!((shared.len(), free.len()), (2, 2));
    if cores >= 2 {
        assert!(shared[0].cores.iter().all(|core| !shared[1].cores.contains(core)), "an equal share each: {shared:?}");
    }
    assert_eq!(free[0].cores, free[1].cores, "all that mpirun gave");
    // No more threads than cores, and it says so.
    assert_eq!((free[0].cores.len(), free[0].threads), (cores, cores.min(64)));
    let on_node = run(&mpirun, 1, "--num-batches-per-iter 1 --mem-node 0 --events");
    let said = text(&on_node);
    match on_node.status.success() {
        true => assert_eq!(placements(&on_node)[0].memory.as_deref(), Some("preferred on node 0")),
        false => assert!(said.contains("--mem-node 0: "), "{said}"),
    }
    let nowhere = run(&mpirun, 2, "--mem-node 900");
    assert_eq!(nowhere.status.code(), Some(2), "{}", text(&nowhere));
    assert!(text(&nowhere).contains("hvd-measure bench: process 0: --mem-node 900: "), "{}", text(&nowhere));
}

#[test]
fn ranks_exchange_gradients_in_the_way_that_is_asked_for_or_not_at_all() {
    let Some(mpirun) = mpirun() else { return };
    // The median of several batches: on a busy machine one of them may be stopped anywhere.
    let exposed = |flags: &str| {
        let output = run(&mpirun, 2, &format!("{flags} --num-iters 15 --num-batches-per-iter 1 --events"));
        let said = text(&output);
        assert!(output.status.success(), "{flags}: {said}");
        let is_alone = flags == "--no-exchange";
        assert_eq!(said.contains("# no gradients are exchanged: each rank trains alone"), is_alone, "{said}");
        let mut seconds: Vec<f64> = iterations(&output, 0).iter().map(|report| report.phases[Phase::AllreduceExposed]).collect();
        seconds.sort_by(f64::total_cmp);
        seconds[seconds.len() / 2]
    };
    let (alone, after, tensor_by_tensor) =
        (exposed("--no-exchange"), exposed("--no-overlap"), exposed("--fusion-threshold-mb 0"));
    assert!(alone < 1e-4, "{alone} s, and nothing is exchanged");
    assert!(after > 4.0 * alone, "without overlap {after} s, without exchange {alone} s");
    assert!(tensor_by_tensor > alone, "without fusion {tensor_by_tensor} s, without exchange {alone} s");
}

#[test]
fn memory_lies_in_huge_pages_where_nothing_limits_addresses() {
    let is = |file: &str, word: &str| std::fs::read_to_string(file).is_ok_and(|mode| mode.trim().contains(word));
    let is_never = is("/sys/kernel/mm/transparent_hugepage/enabled", "[never]")
        || !Path::new("/sys/kernel/mm/transparent_hugepage").exists();
    if is_never || is("/proc/sys/vm/overcommit_memory", "2") {
        return skip("huge-pages", "this kernel gives no huge pages on request, or counts all addresses");
    }
    let advised_mib = |limit: &str| {
        let mut command = Command::new("sh");
        let line = format!("{limit} exec timeout --signal=KILL 60 \"$@\"");
        command.args(["-c", &line, "sh", PROGRAM, "bench", "--no-cuda", "--num-iters", "1000000"]).args(SMALL.split(' ').take(6));
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let trains = lines.any(|line| line.starts_with("Iter #"));
        let id = child.id();
        let program = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
        let maps = std::fs::read_to_string(format!("/proc/{}/smaps", program.trim())).unwrap_or_default();
        kill(Pid::from_raw(id as i32), Signal::SIGTERM).unwrap();
        child.wait().unwrap();
        assert!(trains && !maps.is_empty());
        let mut size_kib = 0;
        let advised = maps.lines().filter_map(|line| {
            let (name, value) = line.split_once(':')?;
            if name == "Size" {
                size_kib = value.trim().trim_end_matches(" kB").parse::<u64>().unwrap();
            }
            (name == "VmFlags" && value.split(' ').any(|flag| flag == "hg")).then_some(size_kib)
        });
        advised.sum::<u64>() >> 10
    };
    assert!((900..1100).contains(&advised_mib("")));
    assert_eq!(advised_mib("ulimit -v 8000000;"), 0);
}

/// libtorch says it in a hundred lines of its own inside.
#[test]
fn too_little_memory_is_one_line_with_what_to_lower() {
    let mut command = Command::new("sh");
    let flags = "--model vgg16 --batch-size 64 --num-warmup-batches 1 --no-cuda --events";
    // Its 138 million weights fit, and their gradients do not.
    command
        .args(["-c", "ulimit -v 2000000 && exec \"$@\"", "sh", PROGRAM, "bench"])
        .args(flags.split(' '))
        .env("RUST_BACKTRACE", "1");
    let output = run_limited(command, LIMIT);
    let (said, error) = (text(&output), String::from_utf8_lossy(&output.stderr).into_owned());
    assert!(!output.status.success(), "{said}");
    let words = "for a batch of 64 images of 3x224x224 with vgg16. Lower --batch-size or --image-size, or start fewer ranks";
    let ours: Vec<&str> =
        error.lines().filter(|line| line.starts_with("hvd-measure bench: process 0: not enough memory: ")).collect();
    assert!(ours.len() == 1 && ours[0].contains(words), "{error}");
    assert!(!error.contains("frame #") && !error.contains("panicked"), "{error}");
    let told = events(&output).into_iter().find_map(|line| match line.event {
        Event::Fatal { during, cause } => Some((during, cause)),
        _ => None,
    });
    let (during, cause) = told.unwrap();
    assert!(during == "the benchmark" && cause.contains(words), "{cause}");
}

#[test]
fn what_cannot_be_used_is_one_line() {
    for (flags, word) in [
        ("--sneeze", "--sneeze"),
        ("--model sneeze", "is not a model"),
        ("--style sneeze", "is not a style"),
        ("--batch-size 0", "--batch-size is 0"),
        ("--batch-size 1000000000", "beyond"),
        ("--num-iters 0", "0 iterations"),
        ("--precision fp16", "is not a precision"),
        ("--bind moon", "is not a binding"),
        ("--image-size 2", "--image-size: images of 2 pixels are too small for wrn-10-1"),
        ("--num-intra-threads 0", "0 threads"),
        ("--image-size 32 --data-dir generated", "real ones are photos (3 colours) or those of Fashion-MNIST"),
        ("--model alexnet --data-dir generated", "`hvd-lab data make-images`"),
    ] {
        let output = alone(flags);
        let text = text(&output);
        assert_eq!(output.status.code(), Some(2), "{flags}: {text}");
        assert!(text.starts_with("hvd-measure bench: ") && text.contains(word) && text.lines().count() == 1, "{flags}: {text}");
    }
    let Some(mpirun) = mpirun() else { return };
    let output = run(&mpirun, 2, "--bind moon");
    let said = text(&output);
    assert_eq!(
        said.lines().filter(|line| line.starts_with("hvd-measure bench: ")).count(),
        1,
        "one process speaks for all: {said}"
    );
    let tf32 = run(&mpirun, 1, "--precision tf32 --no-cuda");
    assert_eq!(tf32.status.code(), Some(2), "{}", text(&tf32));
    assert!(text(&tf32).contains("needs an NVIDIA GPU"), "{}", text(&tf32));
}
