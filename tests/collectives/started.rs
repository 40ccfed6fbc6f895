//! Laws of allreduces that are started and finished later: any sizes, several at once, in place or not, compressed.
//!
//! Never asks another rank what is right: all ranks' numbers follow from their rank, so each works the result out itself.

use hvd_lab::comm::{Communicator, Compression, ReduceOp, Region};

use super::on_threads;

const COMPRESSIONS: [Compression; 3] = [Compression::None, Compression::Fp16, Compression::Bf16];

/// One bucket of a step: the same on all ranks.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bucket {
    length: usize,
    compression: Compression,
    in_place: bool,
}

/// Numbers that look random, and are the same everywhere.
fn dice(state: &mut u64) -> usize {
    *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    (*state >> 33) as usize
}

/// Steps as training has them: the same buckets many times, then others.
fn steps() -> Vec<Vec<Bucket>> {
    let mut state = 7;
    let mut bucket = |_| {
        let length = match dice(&mut state) % 4 {
            0 => dice(&mut state) % 3,
            1 => dice(&mut state) % 100,
            _ => dice(&mut state) % 20_000,
        };
        Bucket { length, compression: COMPRESSIONS[dice(&mut state) % 3], in_place: dice(&mut state).is_multiple_of(2) }
    };
    let schedules: Vec<Vec<Bucket>> = (0..6).map(|buckets| (0..buckets * 2).map(&mut bucket).collect()).collect();
    let longer = [&schedules[2][..], &schedules[1][..]].concat();
    let shorter = schedules[2][..2].to_vec();
    [0, 1, 1, 2, 2, 2, 3, 4, 4, 5].iter().map(|&at| schedules[at].clone()).chain([longer, shorter]).collect()
}

/// Element `i` of bucket `at` on a rank: of many sizes, so that rounding and order would show.
fn value(rank: usize, at: usize, i: usize) -> f32 {
    ((i * 31 + rank * 17 + at * 5) as f32 + 0.1).sin() * 10f32.powi((i % 5) as i32 - 2)
}

/// Runs one step and returns the averages, bucket by bucket.
fn step(comm: &dyn Communicator, buckets: &[Bucket]) -> Vec<Vec<f32>> {
    let rank = comm.topology().rank.0;
    let numbers = |(at, bucket): (usize, &Bucket)| (0..bucket.length).map(|i| value(rank, at, i)).collect::<Vec<_>>();
    let mut sources: Vec<Vec<f32>> = buckets.iter().enumerate().map(numbers).collect();
    let mut targets: Vec<Vec<f32>> = sources.iter().map(|source| vec![f32::NAN; source.len()]).collect();
    for ((source, target), bucket) in sources.iter_mut().zip(&mut targets).zip(buckets) {
        // SAFETY: `sources` and `targets` are not touched before `finish_allreduces`.
        let [source, target] = [source, target].map(|numbers| unsafe { Region::new(numbers.as_mut_ptr(), numbers.len()) });
        comm.start_allreduce(source, if bucket.in_place { source } else { target }, bucket.compression).unwrap();
        comm.progress().unwrap();
    }
    comm.finish_allreduces().unwrap();
    for (at, ((source, target), bucket)) in sources.iter().zip(&mut targets).zip(buckets).enumerate() {
        match bucket.in_place {
            true => target.clone_from(source),
            false => assert!(source.iter().enumerate().all(|(i, number)| *number == value(rank, at, i)), "the source stays"),
        }
    }
    targets
}

/// Averages are what they should be within the format's rounding, and the same bits on all ranks.
pub fn check(comm: &dyn Communicator) {
    let size = comm.topology().size.0;
    comm.finish_allreduces().unwrap();
    for buckets in steps() {
        let averages = step(comm, &buckets);
        for (at, (averages, bucket)) in averages.iter().zip(&buckets).enumerate() {
            // Half the last place for the cast and for each sum, of terms no larger than `scale`.
            let rounding = match bucket.compression {
                Compression::None => 1e-6,
                Compression::Fp16 => 2f64.powi(-11) * (size + 1) as f64,
                Compression::Bf16 => 2f64.powi(-8) * (size + 1) as f64,
            };
            for (i, average) in averages.iter().enumerate() {
                let terms = (0..size).map(|rank| f64::from(value(rank, at, i)) / size as f64);
                let (exact, scale) = terms.fold((0.0, 0.0), |(sum, scale), term| (sum + term, scale + term.abs()));
                let error = (f64::from(*average) - exact).abs();
                // 2^-24 is the smallest float16.
                assert!(error <= rounding * scale + 2f64.powi(-24) * size as f64, "{bucket:?} {i}: {average} is not {exact}");
            }
        }
        let bits: Vec<u8> = averages.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
        assert!(comm.allgather(&bits).unwrap().iter().all(|other| *other == bits), "averages differ between ranks");
    }
}

/// One or two ranks have one order of a sum, so threads and processes must come to the same bits.
pub fn check_against_threads(comm: &dyn Communicator) {
    let (rank, size) = (comm.topology().rank.0, comm.topology().size.0);
    assert!(size <= 2);
    for buckets in steps() {
        let expected = on_threads(size, |comm| step(&comm, &buckets)).swap_remove(rank);
        let bits = |averages: Vec<Vec<f32>>| averages.iter().flatten().map(|average| average.to_bits()).collect::<Vec<_>>();
        assert!(bits(step(comm, &buckets)) == bits(expected), "threads and {} differ", comm.name());
    }
}

/// More than one message's worth, with a rest.
pub fn check_large(comm: &dyn Communicator) {
    let (rank, size, length) = (comm.topology().rank.0, comm.topology().size.0, (4 << 20) + 3);
    for compression in COMPRESSIONS {
        let mut numbers: Vec<f32> = (0..length).map(|i| (i % 100 + rank * size) as f32).collect();
        // SAFETY: `numbers` are not touched before `finish_allreduces`.
        let region = unsafe { Region::new(numbers.as_mut_ptr(), length) };
        comm.start_allreduce(region, region, compression).unwrap();
        comm.finish_allreduces().unwrap();
        let exact = |i: usize| (i % 100) as f32 + (size * (size - 1)) as f32 / 2.0;
        let rounding = if compression == Compression::None { 0.0 } else { 0.02 };
        let wrong = (0..length).find(|&i| (numbers[i] - exact(i)).abs() > rounding * exact(i));
        assert_eq!(wrong.map(|i| numbers[i]), None, "first wrong element, {compression:?}");
    }
}

/// Buckets of these lengths, started and left alone. They are leaked, as a communicator that failed may still use them.
pub fn start(comm: &dyn Communicator, lengths: &[usize], compression: Compression) {
    for &length in lengths {
        let numbers = vec![1.0; length].leak();
        // SAFETY: nobody else knows of the memory.
        let region = unsafe { Region::new(numbers.as_mut_ptr(), length) };
        comm.start_allreduce(region, region, compression).unwrap();
    }
}

#[test]
fn started_allreduces_average_on_threads() {
    for size in [1, 2, 3, 5] {
        on_threads(size, |comm| check(&comm));
    }
}

#[test]
fn alone_started_allreduces_round_as_one_thread_does() {
    check(&hvd_lab::comm::LocalComm);
    check_against_threads(&hvd_lab::comm::LocalComm);
}

#[test]
fn a_bucket_of_another_length_or_format_is_reported_on_threads() {
    let odd = |length: usize, compression| {
        on_threads(2, |comm| {
            let root = comm.topology().is_root();
            let mut numbers = vec![0.0; if root { 4 } else { length }];
            // SAFETY: `numbers` outlive the call, and ThreadComm is done when it returns.
            let region = unsafe { Region::new(numbers.as_mut_ptr(), numbers.len()) };
            let compression = if root { Compression::None } else { compression };
            comm.start_allreduce(region, region, compression).unwrap_err().to_string()
        })
    };
    assert!(odd(5, Compression::None)[0].contains("started allreduce of 4 f32, rank 1 started allreduce of 5 f32"));
    assert!(odd(4, Compression::Bf16)[1].contains("rank 1 started allreduce of 4 f32 as bf16"));
}

#[test]
fn a_sum_beyond_the_range_is_averaged_before_it_overflows() {
    let averages = on_threads(4, |comm| {
        let mut numbers = [60_000.0];
        // SAFETY: `numbers` outlive the call, and ThreadComm is done when it returns.
        let region = unsafe { Region::new(numbers.as_mut_ptr(), 1) };
        comm.start_allreduce(region, region, Compression::Fp16).unwrap();
        comm.allreduce(&mut [0.0], ReduceOp::Sum).unwrap();
        numbers
    });
    assert_eq!(averages, [[60_000.0]; 4]);
}
