//! The table of collectives in the columns of nccl-tests, with the algorithm before them and the prediction behind them.

use crate::domain::collective::CollectivesSpec;
use crate::domain::measured::{Measured, MeasuredRow, refusals};
use crate::domain::units;

/// Where and how it was measured, and the heading of the columns.
pub fn heading(np: usize, spec: &CollectivesSpec) -> String {
    let shape = spec.shape;
    let mut text = format!(
        "# np {np}, {} to {} by {}, {} iterations after {} to warm up, servers {}, ranks per host {}\n",
        units::bytes(spec.min_bytes),
        units::bytes(spec.max_bytes),
        spec.factor,
        spec.iterations,
        spec.warmup,
        shape.servers,
        shape.ranks_per_host
    );
    if let Some(link) = spec.link() {
        text += &format!("# {link}\n");
    }
    let columns = [
        ("size", "count", "time", "algbw", "busbw", "#wrong", "median", "predicted", "error"),
        ("(B)", "(numbers)", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(us)", "(%)"),
    ];
    for (place, (size, count, time, algbw, busbw, wrong, median, predicted, error)) in columns.into_iter().enumerate() {
        let [algorithm, kind, redop] = if place == 0 { ["# algorithm", "type", "redop"] } else { ["#", "", ""] };
        let line = format!(
            "{algorithm:<24} {size:>11} {count:>11} {kind:>6} {redop:>5} {time:>10} {algbw:>7} {busbw:>7} {wrong:>6} {median:>10} \
             {predicted:>10} {error:>6}"
        );
        text += &format!("{}\n", line.trim_end());
    }
    text
}

pub fn row(row: &MeasuredRow, np: usize) -> String {
    let report = &row.report;
    let dash = || "-".to_owned();
    let micro = |seconds: f64| digits(seconds * 1e6);
    let wrong = report.wrong.map_or("N/A".to_owned(), |wrong| wrong.to_string());
    let predicted = row.predicted_s.map_or_else(|_| dash(), micro);
    let error = row.error().map_or_else(dash, |error| format!("{:+.0}", error * 100.0));
    format!(
        "{:<24} {:>11} {:>11} {:>6} {:>5} {:>10} {:>7} {:>7} {wrong:>6} {:>10} {predicted:>10} {error:>6}\n",
        report.method,
        report.bytes,
        report.elements,
        "float",
        "sum",
        micro(report.mean_s),
        digits(report.algbw() / 1e9),
        digits(report.busbw(np) / 1e9),
        micro(report.median_s),
    )
}

/// As nccl-tests writes it: four digits, fewer behind the point where there are more before it.
fn digits(value: f64) -> String {
    let behind = match value.abs() {
        size if size < 10.0 => 3,
        size if size < 100.0 => 2,
        size if size < 1000.0 => 1,
        _ => 0,
    };
    format!("{value:.behind$}")
}

/// Why some rows have no prediction, how far the others are off, and the mean bus bandwidth of each algorithm.
pub fn ending(measured: &Measured) -> String {
    let mut text = String::new();
    for (reason, methods) in refusals(&measured.rows) {
        text += &format!("# no prediction for {}: {reason}\n", methods.join(", "));
    }
    if let Ok(fit) = measured.fit() {
        text += &format!("# between two ranks: {}\n", fit_in_words(&fit));
    }
    if let Some(error) = measured.median_error() {
        text += &format!("# Median error of the predictions : {:.0} %\n", error * 100.0);
    }
    for (method, busbw) in measured.mean_busbw() {
        text += &format!("# Avg bus bandwidth {method:<22} : {}\n", digits(busbw / 1e9));
    }
    text
}

pub fn fit_in_words(fit: &crate::domain::collective::Fit) -> String {
    let rate = |seconds: f64| match seconds > 0.0 {
        true => format!("{} GB/s", digits(1e-9 / seconds)),
        false => "no time".to_owned(),
    };
    let (sent, added) = (rate(fit.beta_s), rate(fit.gamma_s));
    format!("alpha {} a message, beta {sent} sent, gamma {added} added", units::short_time(fit.alpha_s))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::collective::{AllreduceReport, Machine, Refused};

    #[test]
    fn rows_stand_under_their_heading() {
        let text = heading(2, &CollectivesSpec::sample());
        let report = AllreduceReport { bytes: 1 << 20, elements: 1 << 18, ..AllreduceReport::sample() };
        let good = MeasuredRow { report: report.clone(), predicted_s: Ok(1.1e-3) };
        let bad = MeasuredRow { report: AllreduceReport { method: "mpi".into(), ..report }, predicted_s: Err(Refused::NoLink) };
        let [good_line, bad_line] = [&good, &bad].map(|one| row(one, 2));
        let names = text.lines().nth(1).unwrap();
        for (line, cells) in [
            (&good_line, "ring 1048576 262144 float sum 1000 1.049 1.049 0 1000 1100 +10"),
            (&bad_line, "mpi 1048576 262144 float sum 1000 1.049 1.049 0 1000 - -"),
        ] {
            assert_eq!(line.split_whitespace().collect::<Vec<_>>().join(" "), cells);
            assert_eq!(line.trim_end().len(), names.len(), "{names}\n{line}");
        }
        let measured = Measured { ranks: 2, machine: Machine::default(), rows: vec![good, bad], logs: vec![] };
        let end = ending(&measured);
        assert!(end.contains("# no prediction for mpi: nothing was measured"), "{end}");
        assert!(end.contains("Median error of the predictions : 10 %"), "{end}");
        let last: Vec<&str> = end.lines().rev().take(2).collect();
        assert!(last.iter().all(|line| line.starts_with("# Avg bus bandwidth")), "{end}");
    }

    #[test]
    fn numbers_keep_four_digits() {
        assert_eq!([0.1234, 12.345, 123.45, 12345.6].map(digits), ["0.123", "12.35", "123.5", "12346"].map(String::from));
    }
}
