//! The threads and the queue: the same batches for any number of threads, bad images, and an end at any moment.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::super::{Operations, Order, Pipeline, PipelineError, Settings, Stage, View, check_size, threads_for};
use super::{decoder, jpegs};
use crate::dataset::images::{self, BadRecords, ImageSource, Part};
use crate::dataset::testing;
use crate::trainer::pipeline::{Cropping, Dct, Decoding, compare_transforms};

/// Two classes of images, the first name's image damaged if asked: 24 in all.
fn photos(bad: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let jpegs = jpegs();
    for at in 0..24 {
        let class = folder.path().join(["cat", "dog"][at / 12]);
        std::fs::create_dir_all(&class).unwrap();
        std::fs::write(class.join(format!("{:02}.jpg", at % 12)), &jpegs[at % jpegs.len()].1).unwrap();
    }
    for (name, bytes) in bad {
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    folder
}

fn source(folder: &Path) -> Arc<dyn ImageSource> {
    images::open(folder, Part::Train, 1000, BadRecords::Stop).unwrap().source.into()
}

const ORDER: Order = Order { images: 24, rank: 0, ranks: 1, seed: 3, batch_size: 5, shuffle_buffer: 24 };

fn settings(threads: usize, bad: BadRecords) -> Settings {
    let view = View::Train { cropping: Cropping::default(), flip: 0.5, colour: true };
    let operations = Operations { side: 32, view, ..Operations::default() };
    Settings { operations, threads, prefetch: 2, seed: 3, process: 0, bad, once: false }
}

/// All batches: epoch, labels and the bits of the values.
type Seen = Vec<(usize, Vec<i64>, Vec<u32>)>;

fn run(folder: &Path, threads: usize, epochs: usize, bad: BadRecords) -> Result<(Seen, Vec<String>), PipelineError> {
    let mut pipeline = Pipeline::start(source(folder), ORDER.train(0, epochs), settings(threads, bad))?;
    let mut seen = Vec::new();
    while let Some(batch) = pipeline.next_batch()? {
        assert_eq!((batch.len(), batch.images.len()), (5, 5 * 3 * 32 * 32));
        assert!(batch.images.iter().all(|value| (-1.0001..=1.0001).contains(value)));
        seen.push((batch.epoch, batch.labels.clone(), batch.images.iter().map(|value| value.to_bits()).collect()));
    }
    let left_out = pipeline.left_out().iter().map(ToString::to_string).collect();
    Ok((seen, left_out))
}

#[test]
fn a_report_counts_what_was_mirrored_and_what_was_decoded_accurately() {
    if !can_decode() {
        return;
    }
    let folder = photos(&[]);
    let prepared = |flip, dct| {
        let view = View::Train { cropping: Cropping::default(), flip, colour: false };
        let decoding = Decoding { dct, ..Decoding::default() };
        let operations = Operations { side: 32, view, decoding, ..Operations::default() };
        let settings = Settings { operations, ..settings(2, BadRecords::Stop) };
        let mut pipeline = Pipeline::start(source(folder.path()), ORDER.train(0, 10), settings).unwrap();
        while pipeline.next_batch().unwrap().is_some() {}
        let report = pipeline.report();
        (report.images, report.mirrored, report.accurate)
    };
    assert_eq!(prepared(0.0, Dct::Fast), (200, 0, 0));
    assert_eq!(prepared(1.0, Dct::Accurate), (200, 200, 200));
    let (_, mirrored, _) = prepared(0.5, Dct::Fast);
    assert!((70..130).contains(&mirrored), "{mirrored}");
}

#[test]
fn the_two_transforms_give_nearly_the_same_pixels() {
    if !can_decode() {
        return;
    }
    let folder = photos(&[]);
    let report = compare_transforms(&*source(folder.path()), 5).unwrap();
    assert!(report.images == 5 && report.fast_us > 0.0 && report.accurate_us > 0.0, "{report:?}");
    assert!(report.differing > 0.0 && report.differing < 0.9 && (1..20).contains(&report.largest), "{report:?}");
    assert_eq!(compare_transforms(&*source(folder.path()), 1000).unwrap().images, 24, "as many as there are");
}

fn can_decode() -> bool {
    decoder(Decoding::default()).is_some()
}

#[test]
fn any_number_of_threads_makes_the_same_batches_bit_for_bit() {
    if !can_decode() {
        return;
    }
    let folder = photos(&[("cat/03.jpg", b"\xff\xd8 nothing")]);
    let (alone, left_out) = run(folder.path(), 1, 3, BadRecords::Skip).unwrap();
    assert_eq!(alone.iter().map(|batch| batch.0).collect::<Vec<_>>(), [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]);
    assert_ne!(alone[0].2, alone[4].2, "another epoch, another order");
    for threads in [2, 3, 7] {
        assert_eq!(
            run(folder.path(), threads, 3, BadRecords::Skip).unwrap(),
            (alone.clone(), left_out.clone()),
            "{threads} threads"
        );
    }
}

#[test]
fn bad_images_end_the_run_or_are_named_once_and_left_out() {
    if !can_decode() {
        return;
    }
    let cut_off = &jpegs()[0].1[..200];
    let bomb = testing::bomb(65_000, 65_000);
    let folder = photos(&[("dog/05.jpg", cut_off), ("dog/06.jpg", &bomb), ("cat/00.jpg", b"")]);
    for threads in [1, 4] {
        let error = run(folder.path(), threads, 2, BadRecords::Stop).unwrap_err().to_string();
        assert!(error.contains(".jpg: it ") && error.ends_with("--bad-records skip") && error.lines().count() == 1, "{error}");
        let (seen, left_out) = run(folder.path(), threads, 8, BadRecords::Skip).unwrap();
        assert_eq!((seen.len(), left_out.len()), (32, 3), "{left_out:?}");
        for (bad, expected) in
            left_out.iter().zip(["cat/00.jpg: it is empty", "dog/05.jpg: it is damaged: ", "dog/06.jpg: it claims 65000"])
        {
            assert!(bad.contains(expected), "{bad}");
        }
    }
}

#[test]
fn nothing_but_bad_images_ends_the_run() {
    if !can_decode() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("cat")).unwrap();
    (0..24).for_each(|at| std::fs::write(folder.path().join(format!("cat/{at}.jpg")), b"no").unwrap());
    let error = run(folder.path(), 2, 1, BadRecords::Skip).unwrap_err().to_string();
    assert!(error.contains("images in a row cannot be used") && error.contains("is not a JPEG"), "{error}");
}

#[test]
fn fewer_images_than_a_batch_are_refused_with_what_would_do() {
    let order = Order { ranks: 2, batch_size: 16, ..ORDER };
    let error = check_size(&order).unwrap_err().to_string();
    assert_eq!(
        error,
        "24 training images on 2 ranks are fewer than a batch of 16 on each: use a batch size of 12 or less, or more images"
    );
    assert_eq!(check_size(&Order { batch_size: 12, ..order }), Ok(()));
}

#[test]
fn validation_sees_the_middle_of_each_image_once() {
    if !can_decode() {
        return;
    }
    let folder = photos(&[]);
    let operations = Operations { view: View::Validation { part: 0.875 }, ..settings(3, BadRecords::Stop).operations };
    let settings = Settings { operations, ..settings(3, BadRecords::Stop) };
    let mut pipeline = Pipeline::start(source(folder.path()), ORDER.validate(), settings).unwrap();
    let mut labels = Vec::new();
    while let Some(batch) = pipeline.next_batch().unwrap() {
        labels.extend(batch.labels.clone());
    }
    assert_eq!(labels, [vec![0; 12], vec![1; 12]].concat());
}

#[test]
fn a_bad_photo_is_left_out_of_a_test_and_no_neighbour_counts_twice() {
    if !can_decode() {
        return;
    }
    let folder = photos(&[("cat/00.jpg", b""), ("cat/03.jpg", b"\xff\xd8 nothing"), ("dog/11.jpg", b"no")]);
    let whole = photos(&[]);
    let seen = |folder: &Path| {
        let operations = Operations { view: View::Validation { part: 0.875 }, ..settings(3, BadRecords::Skip).operations };
        let settings = Settings { operations, once: true, ..settings(3, BadRecords::Skip) };
        let mut pipeline = Pipeline::start(source(folder), ORDER.validate(), settings).unwrap();
        let mut seen = Vec::new();
        while let Some(batch) = pipeline.next_batch().unwrap() {
            assert_eq!(batch.images.len(), batch.len() * 3 * 32 * 32);
            seen.extend(batch.labels.iter().copied().zip(batch.images.chunks(3 * 32 * 32).map(<[f32]>::to_vec)));
        }
        (seen, pipeline.left_out().len())
    };
    let (mut all, (good, left_out)) = (seen(whole.path()).0, seen(folder.path()));
    for at in [23, 3, 0] {
        all.remove(at);
    }
    assert!(good == all && left_out == 3, "{} images, {left_out} left out", good.len());
}

#[test]
fn the_threads_run_two_batches_ahead_and_one_they_work_on_and_end_when_nobody_asks_any_more() {
    if !can_decode() {
        return;
    }
    let folder = photos(&[]);
    let source = source(folder.path());
    let begun = Arc::new(AtomicUsize::new(0));
    let count = begun.clone();
    let order = ORDER.train(0, usize::MAX / 2).inspect(move |_| _ = count.fetch_add(1, Ordering::SeqCst));
    let mut pipeline = Pipeline::start(source.clone(), order, settings(3, BadRecords::Stop)).unwrap();
    for taken in 0..30 {
        let since = Instant::now();
        while begun.load(Ordering::SeqCst) < taken + 3 {
            assert!(since.elapsed() < Duration::from_secs(60), "the threads stopped at batch {taken}");
            std::thread::yield_now();
        }
        assert_eq!(begun.load(Ordering::SeqCst), taken + 3);
        pipeline.next_batch().unwrap().unwrap();
    }
    let report = pipeline.report();
    assert!((145..=165).contains(&report.images) && report.queue_size == 3, "{report}");
    assert!(report.stages_us[Stage::Decode as usize] > 0.0, "{report}");
    drop(pipeline);
    assert_eq!(Arc::strong_count(&source), 1, "its threads are gone");
}

#[test]
fn ranks_of_a_host_share_its_cores() {
    assert_eq!([threads_for(8, 2, false), threads_for(8, 3, false), threads_for(2, 4, false)], [4, 2, 1]);
    assert_eq!(threads_for(4, 2, true), 4, "a bound rank has its cores to itself");
}
