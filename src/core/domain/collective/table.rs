//! The settings of a run that measures collectives: its flags, its form and its argument vector, in this order.

use super::method::Method;
use super::settings::CollectivesSpec;
use crate::domain::bounds::MAX_RANKS;
use crate::domain::setting::Values::{Count, Scale};
use crate::domain::setting::{Setting, Unit};
use crate::domain::units;

/// Powers of two, from one number to 1 GiB.
const SIZES: &[f64] = &{
    let mut sizes = [4.0; 29];
    let mut place = 1;
    while place < sizes.len() {
        sizes[place] = 2.0 * sizes[place - 1];
        place += 1;
    }
    sizes
};
const FACTORS: &[f64] = &[2.0, 4.0, 8.0, 16.0, 32.0];
const ITERATIONS: &[f64] = &[1.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0];
const LINK_SPEEDS: &[f64] = &[1e8, 2e8, 1e9, 1e10];

/// Names of methods. `all` stands for all of them.
const METHODS: Unit = Unit {
    read: |text| Ok(Method::parse_list(text)?.into_iter().map(Method::name).collect::<Vec<_>>().join(",")),
    ..Unit::PLAIN
};

type Row = Setting<CollectivesSpec>;

pub static COLLECTIVES_SETTINGS: [Row; 11] = [
    Row::new("algorithm", "LIST", "Names of algorithms, separated by commas [default: all of the lab's, and mpi]", |spec| {
        &mut spec.methods
    })
    .written_in(METHODS),
    Row::new("servers", "N", "Servers of the parameter server: the first so many ranks", |spec| &mut spec.shape.servers)
        .labelled("parameter servers", "")
        .stepped(Count(1, MAX_RANKS)),
    Row::new(
        "ranks-per-host",
        "N",
        "Ranks of one host, for the hierarchical algorithm [default: as many as share a host]",
        |spec| &mut spec.shape.ranks_per_host,
    )
    .labelled("ranks per host", "")
    .stepped(Count(1, MAX_RANKS)),
    Row::new("min-bytes", "SIZE", "The smallest buffer of a rank, such as 8, 1K or 16M", |spec| &mut spec.min_bytes)
        .short('b')
        .labelled("smallest buffer", "")
        .stepped(Scale(SIZES))
        .written_in(Unit::BYTES)
        .on_screen(|spec| units::bytes(spec.min_bytes)),
    Row::new("max-bytes", "SIZE", "The largest", |spec| &mut spec.max_bytes)
        .short('e')
        .labelled("largest buffer", "")
        .stepped(Scale(SIZES))
        .written_in(Unit::BYTES)
        .on_screen(|spec| units::bytes(spec.max_bytes)),
    Row::new("factor", "N", "Each size is this many times the one before", |spec| &mut spec.factor)
        .short('f')
        .labelled("from size to size", "")
        .stepped(Scale(FACTORS))
        .on_screen(|spec| format!("×{}, {}", spec.factor, units::counted(spec.sizes().len(), "size"))),
    Row::new("iterations", "N", "Allreduces that are timed at each size", |spec| &mut spec.iterations)
        .short('n')
        .labelled("allreduces timed", "")
        .stepped(Scale(ITERATIONS)),
    Row::new("warmup", "N", "Allreduces before them that are not timed", |spec| &mut spec.warmup).short('w'),
    Row::new("check", "0|1", "1 to check every number of a result, 0 to leave it", |spec| &mut spec.check),
    Row::new(
        "log-bytes",
        "SIZE",
        "The buffer whose messages are logged, once for each of the lab's algorithms; 0 for no log",
        |spec| &mut spec.log_bytes,
    )
    .written_in(Unit::BYTES)
    .or("0"),
    Row::new(
        "link",
        "SPEED",
        "Give each rank a network of this speed, made on this machine without root, such as 200mbit or 1gbit",
        |spec| &mut spec.link_bits,
    )
    .labelled("network between ranks", "")
    .stepped(Scale(LINK_SPEEDS))
    .written_in(Unit::SPEED)
    .or("as it is")
    .on_screen(|spec| spec.link_bits.map_or("as it is".to_owned(), units::bits_per_second))
    .program("link-bits"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_nccl_tests_reads_them() {
        let row = COLLECTIVES_SETTINGS.iter().find(|row| row.flag == "min-bytes").unwrap();
        let mut spec = CollectivesSpec::sample();
        for (text, bytes) in [("8", 8), ("1K", 1024), ("16m", 16 << 20), ("1G", 1 << 30), ("0", 0)] {
            row.set(&mut spec, text).unwrap();
            assert_eq!(spec.min_bytes, bytes);
            assert_eq!(row.text(&spec), Some(text.to_uppercase()));
        }
        for bad in ["", "K", "x", "1X", "-1", "1.5M", "+3", "99999999999999999999", "99999999999G", "1é"] {
            assert!(row.set(&mut spec, bad).is_err(), "{bad}");
        }
    }
}
