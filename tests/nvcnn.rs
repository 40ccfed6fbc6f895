//! `hvd-measure nvcnn` as it is run: on photos in folders and in TFRecord files, alone and on two ranks, tested, resumed, and on bad data.
//!
//! Without mpirun or libjpeg its tests are skipped by name; `HVD_LAB_REQUIRE=mpi,jpeg` turns the skip into a failure.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use hvd_lab::dataset::example::Example;
use hvd_lab::dataset::tfrecord;
use hvd_lab::domain::event::{CheckpointAction, DigestMoment, EpochReport, Event, EventLine, MARKER};

use crate::support::mpi::{self, mpirun, run_limited, text};
use crate::support::photos::{self, jpegs};

mod ends;

const PROGRAM: &str = env!("CARGO_BIN_EXE_hvd-measure");
const LIMIT: Duration = Duration::from_secs(120);
/// Learns a handful of images by heart in seconds.
const SMALL: &str = "-m resnet50 --image-size 32 -b 4 --no-cuda --threads 1";

/// The same as TFRecord files, four images each: three to train on, and one to test with.
fn records(jpegs: &[Vec<u8>]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let shard = |name: &str| {
        let image = |at: usize| {
            let example = Example { jpeg: &jpegs[at % 2], label: Some(1 + at as i64 % 2), ..Example::default() };
            tfrecord::record(&example.to_bytes())
        };
        std::fs::write(folder.path().join(name), (0..4).flat_map(image).collect::<Vec<u8>>()).unwrap();
    };
    (0..3).for_each(|at| shard(&format!("train-{at:05}-of-00003")));
    shard("validation-00000-of-00001");
    folder
}

fn run(size: usize, flags: &str) -> Output {
    run_limited(command(size, flags), LIMIT)
}

fn command(size: usize, flags: &str) -> Command {
    let mut command = mpi::command(&mpirun().unwrap(), size);
    command.args([PROGRAM, "nvcnn"]).args(SMALL.split_whitespace()).args(flags.split_whitespace());
    command
}

fn events(output: &Output) -> Vec<EventLine> {
    let text = text(output);
    let lines = text.lines().filter_map(|line| line.strip_prefix(MARKER));
    lines.map(|line| EventLine::read(line).unwrap().unwrap_or_else(|| panic!("no event: {line}"))).collect()
}

fn epochs(output: &Output, process: usize) -> Vec<EpochReport> {
    let report = |line: EventLine| match line.event {
        Event::Epoch(report) if line.process == process => Some(report),
        _ => None,
    };
    events(output).into_iter().filter_map(report).collect()
}

/// By process: the digests of this moment, in their order.
fn digests(output: &Output, wanted: DigestMoment) -> [Vec<String>; 2] {
    let of = |process: usize| {
        let digest = |line: EventLine| match line.event {
            Event::Digest { moment, digest, .. } if moment == wanted && line.process == process => Some(digest),
            _ => None,
        };
        events(output).into_iter().filter_map(digest).collect()
    };
    [of(0), of(1)]
}

/// Of the table: step, epoch, images a second, loss and rate.
fn rows(said: &str) -> Vec<&str> {
    let is_row =
        |line: &&str| line.split_whitespace().count() == 5 && line.split_whitespace().all(|word| word.parse::<f64>().is_ok());
    said.lines().filter(is_row).collect()
}

fn warnings(output: &Output) -> Vec<String> {
    text(output).lines().filter_map(|line| line.strip_prefix("Warning: ").map(str::to_owned)).collect()
}

/// What a refused run says: one line of one process, and the code.
fn refusal(output: &Output) -> (Option<i32>, Vec<String>) {
    let lines = text(output).lines().filter(|line| line.starts_with("hvd-measure nvcnn: ")).map(str::to_owned).collect();
    (output.status.code(), lines)
}

#[test]
fn two_ranks_learn_from_records_start_equal_and_stay_equal() {
    let (Some(_), Some(jpegs)) = (mpirun(), jpegs()) else { return };
    let records = records(&jpegs);
    let logs = tempfile::tempdir().unwrap();
    let data = format!("--data_dir {} --log_dir {} --events", records.path().display(), logs.path().display());
    let trained = run(2, &format!("--num_batches 23 --learning_rate 0.003 {data}"));
    let said = text(&trained);
    assert!(trained.status.success(), "{said}");
    for line in
        ["Num ranks:   2", "Num images:  12", "Model:       resnet50", "             8 total", "  --num_batches=23", "Training"]
    {
        assert_eq!(said.lines().filter(|found| *found == line).count(), 1, "{line}: {said}");
    }
    let rows = rows(&said);
    assert_eq!(rows.len(), 23, "{said}");
    assert!(rows[0].ends_with(" 0.00300") && rows[22].trim_start().starts_with("23    23"), "{rows:?}");
    assert!(said.contains("Images/sec: ") && said.contains(" (jitter = "), "three steps after the first 20: {said}");

    for rank in 0..2 {
        let start = format!("# pipeline of rank {rank}: ");
        let told: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix(&start)).collect();
        assert!(told.len() == 1 && told[0].contains(" images/s on 1 threads, us an image: read "), "{said}");
        assert!(told[0].contains(" of 3 batches. ") && told[0].contains(" waited "), "who waits for whom: {told:?}");
        let events = events(&trained).into_iter().filter(|line| line.process == rank);
        let reports = events.filter_map(|line| if let Event::Pipeline(report) = line.event { Some(report) } else { None });
        assert_eq!(
            reports.collect::<Vec<_>>().last().map(|report| report.to_string()).as_deref(),
            Some(told[0]),
            "the lab is told the same at last"
        );
    }

    let [initial, start, epoch_ends] =
        [DigestMoment::InitialParameters, DigestMoment::StartParameters, DigestMoment::EpochParameters]
            .map(|at| digests(&trained, at));
    assert_ne!(initial[0], initial[1], "each rank draws its own weights");
    assert_eq!(start, [initial[0].clone(), initial[0].clone()], "the broadcast gives all the root's");
    assert_eq!((epoch_ends[0].len(), &epoch_ends[0]), (23, &epoch_ends[1]));
    let losses: Vec<f64> = epochs(&trained, 0).iter().map(|epoch| epoch.train.loss).collect();
    assert!(losses[22] < losses[0] / 2.0, "{losses:?}");

    // The root's checkpoint, tested by two ranks and by one: the same images, each once.
    let files: Vec<_> = std::fs::read_dir(logs.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(files, ["checkpoint-23.safetensors"]);
    let tests = [1, 2].map(|size| {
        let output = run(size, &format!("--eval {data}"));
        let said = text(&output);
        assert!(
            output.status.success() && said.contains("  Step  Top-1  Top-5") && said.contains("Validation Top-5: 100.000 %"),
            "{said}"
        );
        assert!(said.contains("Resuming after step 23: "), "{said}");
        let test = |line: EventLine| match line.event {
            Event::Test { loss, accuracy, images, .. } => Some((loss, accuracy, images)),
            _ => None,
        };
        events(&output).into_iter().find_map(test).unwrap()
    });
    let [(alone, accuracy, images), (shared, accuracy_shared, images_shared)] = tests;
    assert_eq!((accuracy, images), (accuracy_shared, images_shared));
    assert!(images == 4 && (alone - shared).abs() < 1e-4 * alone.abs(), "{alone} {shared}");
}

#[test]
fn a_training_that_goes_on_ends_where_one_without_a_break_does() {
    let (Some(_), Some(jpegs)) = (mpirun(), jpegs()) else { return };
    let photos = photos::folder(&jpegs);
    let (whole, parts) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let train = |flags: &str, logs: &Path| {
        let data = format!("--data-dir {} --log-dir {} --events", photos.path().display(), logs.display());
        let output = run(1, &format!("--num-epochs 2 --loss-scale 128 --larc-mode clip {flags} {data}"));
        assert!(output.status.success(), "{}", text(&output));
        output
    };
    let written = |output: &Output| {
        let report = |line: EventLine| match line.event {
            Event::Checkpoint(report) if report.action == CheckpointAction::Written => Some((report.epoch, report.digest)),
            _ => None,
        };
        events(output).into_iter().filter_map(report).collect::<Vec<_>>()
    };
    // With a checkpoint at each step, of which all after the sixth are lost.
    let all = written(&train("--save-interval 0", whole.path()));
    assert_eq!(all.iter().map(|(step, _)| *step).collect::<Vec<_>>(), (1..=8).collect::<Vec<_>>());
    std::fs::copy(whole.path().join("checkpoint-6.safetensors"), parts.path().join("checkpoint-6.safetensors")).unwrap();
    let output = train("", parts.path());
    assert_eq!(written(&output), all[7..], "the same weights, bit for bit");
    let last = epochs(&output, 0);
    assert_eq!((last.len(), last[0].epoch, last[0].batches, last[0].images), (1, 2, 2, 8));
}

#[test]
fn without_a_data_folder_images_are_synthetic() {
    let Some(_) = mpirun() else { return };
    let output = run(2, "-m lenet --image-size 28 --num_batches 4 --display_every 2");
    let said = text(&output);
    assert!(output.status.success() && said.contains("Num images:  Synthetic"), "{said}");
    let rows = rows(&said);
    assert_eq!(rows.iter().map(|row| row.trim_start().split(' ').next().unwrap()).collect::<Vec<_>>(), ["1", "2", "4"], "{said}");
    assert!(said.contains("No results, did not get past burn-in phase (20 steps)"), "{said}");
    let broken = run(1, "-m lenet --image-size 28 --num_batches 40 --learning_rate 1e9");
    let (code, lines) = refusal(&broken);
    assert_eq!((code, lines.len()), (Some(1), 1), "{}", text(&broken));
    assert!(lines[0].contains("the loss is ") && lines[0].contains("lower --learning-rate"), "{lines:?}");
}

/// Each kind of damage ends the run with one line, or is left out and named.
#[test]
fn bad_images_end_the_run_or_are_left_out_and_named() {
    let (Some(_), Some(jpegs)) = (mpirun(), jpegs()) else { return };
    type Damage = fn(&Path, &[Vec<u8>]);
    let cases: [(Damage, &str); 4] = [
        (|folder, jpegs| std::fs::write(folder.join("cat/00.jpg"), &jpegs[0][..200]).unwrap(), "cat/00.jpg: it is damaged"),
        (|folder, _| std::fs::write(folder.join("cat/00.jpg"), b"").unwrap(), "cat/00.jpg: it is empty"),
        (|folder, _| std::fs::write(folder.join("cat/00.jpg"), b"GIF89a").unwrap(), "cat/00.jpg: it is "),
        (
            |folder, jpegs| {
                // Its size is in the frame's head: 65,000 by 65,000.
                let mut bomb = jpegs[0].clone();
                let at = bomb.windows(2).position(|pair| pair == [0xff, 0xc0]).unwrap();
                bomb[at + 5..at + 9].copy_from_slice(&[0xfd, 0xe8, 0xfd, 0xe8]);
                std::fs::write(folder.join("cat/00.jpg"), bomb).unwrap();
            },
            "cat/00.jpg: it claims 65000 x 65000 pixels",
        ),
    ];
    for (damage, words) in cases {
        let photos = photos::folder(&jpegs);
        damage(photos.path(), &jpegs);
        let flags = format!("-m trivial --num-epochs 1 --data-dir {}", photos.path().display());
        let stopped = run(2, &flags);
        let (code, lines) = refusal(&stopped);
        assert_eq!((code, lines.len()), (Some(2), 1), "{words}: {}", text(&stopped));
        assert!(lines[0].contains(words) && lines[0].ends_with("--bad-records skip"), "{words}: {lines:?}");
        let skipped = run(2, &format!("{flags} --bad-records skip"));
        let warned = warnings(&skipped);
        assert!(skipped.status.success() && warned.len() == 1, "{words}: {}", text(&skipped));
        assert!(warned[0].starts_with("1 bad image or file was left out: ") && warned[0].contains(words), "{warned:?}");
    }
}

#[test]
fn bad_records_end_the_run_or_are_left_out_of_the_count() {
    let (Some(_), Some(jpegs)) = (mpirun(), jpegs()) else { return };
    let records = records(&jpegs);
    let logs = tempfile::tempdir().unwrap();
    let flags = format!("-m trivial --data-dir {} --log-dir {} --events", records.path().display(), logs.path().display());
    let trained = run(1, &format!("--num-epochs 1 {flags}"));
    assert!(trained.status.success(), "{}", text(&trained));

    // One bit of the second validation record: its CRC no longer holds.
    let file = records.path().join("validation-00000-of-00001");
    let whole = std::fs::read(&file).unwrap();
    let mut bytes = whole.clone();
    let second = 16 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    bytes[second + 40] ^= 1;
    std::fs::write(&file, &bytes).unwrap();
    let stopped = run(2, &format!("--eval {flags}"));
    let (code, lines) = refusal(&stopped);
    assert_eq!((code, lines.len()), (Some(2), 1), "{}", text(&stopped));
    assert!(lines[0].contains("validation-00000-of-00001, record 2: "), "{lines:?}");
    let skipped = run(2, &format!("--eval {flags} --bad-records skip"));
    let said = text(&skipped);
    assert!(skipped.status.success() && said.contains("over 3 images"), "none counts twice: {said}");
    assert!(warnings(&skipped)[0].contains("record 2: "), "{said}");

    let label = |label| tfrecord::record(&Example { jpeg: &jpegs[0], label: Some(label), ..Example::default() }.to_bytes());
    for (bytes, words) in [
        (Vec::new(), "it holds no records"),
        (label(1001), "its label is 1001, out of the range 1 to 1000"),
        (label(0), "its label is 0"),
    ] {
        std::fs::write(&file, &bytes).unwrap();
        let stopped = run(2, &format!("--eval {flags}"));
        let (code, lines) = refusal(&stopped);
        assert_eq!((code, lines.len()), (Some(2), 1), "{words}: {}", text(&stopped));
        assert!(lines[0].contains(words), "{words}: {lines:?}");
    }
}

#[test]
fn what_cannot_run_is_one_line_of_one_rank() {
    let Some(_) = mpirun() else { return };
    let (empty, file) = (tempfile::tempdir().unwrap(), tempfile::NamedTempFile::new().unwrap());
    let data = |flags: &str| format!("-m trivial --data-dir {} {flags}", empty.path().display());
    let mut cases = vec![
        ("--data-dir /proc/none".to_owned(), "cannot read /proc/none"),
        (data(""), "holds no train images"),
        (data("--eval"), "--eval tests a checkpoint: give its folder with --log-dir"),
        ("--fp16".into(), "use --precision bf16"),
        ("--precision tf32".into(), "needs an NVIDIA GPU"),
        ("-b 1000000 --image-size 4000".into(), "lower it"),
        ("--sneeze".into(), "--sneeze"),
        (format!("--num-batches 1 --log-dir {}/x", file.path().display()), "cannot be written"),
    ];
    if let Some(jpegs) = jpegs() {
        let photos = photos::folder(&jpegs).keep();
        cases
            .push((format!("-b 9 --data-dir {}", photos.display()), "16 training images on 2 ranks are fewer than a batch of 9"));
        let logs = empty.path().join("none");
        std::fs::create_dir(photos.join("train")).unwrap();
        ["cat", "dog"].iter().for_each(|class| std::fs::rename(photos.join(class), photos.join("train").join(class)).unwrap());
        std::fs::create_dir_all(photos.join("val/cat")).unwrap();
        std::fs::write(photos.join("val/cat/1.jpg"), &jpegs[0]).unwrap();
        let eval = format!("--eval --data-dir {} --log-dir {}", photos.display(), logs.display());
        cases.push((eval, "none holds no checkpoint of resnet50: train it first"));
    }
    for (flags, words) in cases {
        let output = run(2, &flags);
        let (code, lines) = refusal(&output);
        assert_eq!((code, lines.len()), (Some(2), 1), "{flags}: {}", text(&output));
        assert!(lines[0].contains(words), "{flags}: {lines:?}");
    }
}

/// mpirun ends the others and says which rank it was.
#[test]
fn a_rank_that_is_killed_ends_the_job_with_its_number() {
    let Some(_) = mpirun() else { return };
    let mut command = command(2, "-m lenet --image-size 28 --num-batches 1000000 --events");
    let scratch = tempfile::tempdir().unwrap();
    let mut job = command.env("TMPDIR", scratch.path()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(job.stdout.take().unwrap()).lines();
    let mut pid = None;
    for line in lines.by_ref() {
        let line = line.unwrap();
        let Some(event) = line.strip_prefix(MARKER).and_then(EventLine::parse_line) else { continue };
        match event.event {
            Event::Topology(report) if event.process == 1 => pid = Some(report.pid),
            Event::Step { batch: 3, .. } if pid.is_some() => break,
            _ => {}
        }
    }
    let pid = nix::unistd::Pid::from_raw(pid.unwrap() as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
    let rest = std::thread::spawn(move || lines.count());
    let output = job.wait_with_output().unwrap();
    rest.join().unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr).to_lowercase();
    assert!(said.contains("rank 1") || said.contains(",1]"), "{said}");
    assert!(said.contains("killed") || said.contains("signal 9"), "{said}");
}
