//! Limits for numbers that are read from a file: a larger one is damage, or was written to do harm.
//!
//! A record is checked once, where it is read: after that no sum overflows and no list grows with a number.

/// Something that is read from a file, possibly another user's.
pub trait Bounded {
    /// The first number in it that no run can have, in one sentence.
    fn out_of_bounds(&self) -> Option<String>;
}

/// The end of the year 9999, in Unix seconds. No moment is later, and nothing lasts longer.
pub const MAX_SECONDS: f64 = 253_402_300_799.0;
/// Ranks of a run: nothing that is done for each of them goes beyond this.
pub const MAX_RANKS: usize = 4096;
/// Epochs of a training.
pub const MAX_EPOCHS: usize = 1_000_000;
/// Images in a batch of one rank.
pub const MAX_BATCH_SIZE: usize = 1_000_000;
/// Images, batches, parameters, cores and whatever else is only counted: the product with the ranks still has 64 bits.
pub const MAX_COUNT: usize = 1 << 48;
/// Bits a second that a link may be given, and the message for any other value.
pub const LINK_BITS: std::ops::RangeInclusive<u64> = 1_000_000..=1_000_000_000_000;
pub const NO_LINK: &str = "a link has from 1 mbit to 1000 gbit a second";
/// Logical cores, threads of a rank, or NUMA nodes, of the largest host.
pub const MAX_CORES: usize = 65_536;
/// Attempts of one run.
pub const MAX_ATTEMPTS: usize = 10_000;
/// Versions of libraries that are kept of a rank, and of a run.
pub const MAX_VERSIONS: usize = 100;

/// A whole number of something.
pub fn count(what: &str, value: usize, most: usize) -> Option<String> {
    (value > most).then(|| format!("{what} {value} is beyond {most}"))
}

/// Like [`count`], for a number that is at least 1.
pub fn at_least_one(what: &str, value: usize, most: usize) -> Option<String> {
    if value == 0 { Some(format!("{what} is 0")) } else { count(what, value, most) }
}

/// The number of a process, which counts from 0.
pub fn process(what: &str, value: usize) -> Option<String> {
    count(what, value, MAX_RANKS - 1)
}

/// Unix time in seconds.
pub fn moment(what: &str, time_s: f64) -> Option<String> {
    match time_s {
        time_s if time_s.is_nan() => Some(format!("{what} {time_s} is not a time")),
        time_s if time_s < 0.0 => Some(format!("{what} {} is before 1970", plain(time_s))),
        time_s if time_s > MAX_SECONDS => Some(format!("{what} {} is after the year 9999", plain(time_s))),
        _ => None,
    }
}

/// Without a power of ten where it can be read so.
fn plain(value: f64) -> String {
    if value.abs() < 1e15 { value.to_string() } else { format!("{value:e}") }
}

/// A length of time. Clocks that are set back make some of them negative.
pub fn seconds(what: &str, seconds: f64) -> Option<String> {
    number(what, seconds, MAX_SECONDS)
}

/// A finite number whose size is at most `most`.
pub fn number(what: &str, value: f64, most: f64) -> Option<String> {
    let is_within = value.is_finite() && value.abs() <= most;
    (!is_within).then(|| format!("{what} {} is beyond {}", plain(value), plain(most)))
}

/// A figure of a training: NaN if the training has diverged, otherwise within 32 bits.
pub fn figure(what: &str, value: f64) -> Option<String> {
    if value.is_nan() { None } else { number(what, value, f64::from(f32::MAX)) }
}

/// The first of several problems.
pub fn first<const N: usize>(problems: [Option<String>; N]) -> Option<String> {
    problems.into_iter().flatten().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beyond_is_said_as_it_is() {
        assert_eq!(count("np", usize::MAX, 4096).unwrap(), "np 18446744073709551615 is beyond 4096");
        assert_eq!((count("np", 4096, 4096), process("rank", 4095), at_least_one("np", 1, 1)), (None, None, None));
        assert_eq!(at_least_one("np", 0, 4096).unwrap(), "np is 0");
        assert!(process("rank", 4096).is_some());
        for bad in [-1.0, 1e300, f64::NAN, f64::INFINITY] {
            assert!(moment("created", bad).unwrap().starts_with("created "), "{bad}");
        }
        assert_eq!((moment("created", 0.0), moment("created", 1.7e9), seconds("training", -0.5)), (None, None, None));
        assert!(seconds("training", f64::NAN).is_some() && number("rate", 2.0, 1.0).is_some());
        assert_eq!((figure("loss", f64::NAN), figure("loss", 3e38)), (None, None));
        assert!(figure("loss", f64::INFINITY).is_some() && figure("loss", -1e300).is_some());
    }
}
