//! The table of collectives in the columns of nccl-tests, with the algorithm before them and the prediction behind them.

use crate::domain::collective::{Algorithm, AllreduceReport, CollectivesSpec};
use crate::domain::measured::{Measured, MeasuredRow, refusals};
use crate::domain::units;

/// The heading of the columns, as wide as [`row`] has them.
const COLUMNS: &str = "\
# algorithm                     size       count   type redop       time   algbw   busbw #wrong     median  predicted  error
#                                (B)   (numbers)                    (us)  (GB/s)  (GB/s)              (us)       (us)    (%)
";

/// Where and how it was measured, and the heading of the columns.
pub fn heading(np: usize, spec: &CollectivesSpec) -> String {
    let mut text = format!(
        "# {}, {} to {} by {}, {} after {} to warm up",
        units::counted(np, "rank"),
        units::bytes(spec.min_bytes),
        units::bytes(spec.max_bytes),
        spec.factor,
        units::counted(spec.iterations, "iteration"),
        spec.warmup,
    );
    if spec.uses(Algorithm::needs_servers) {
        text += &format!(", servers {}", spec.shape.servers);
    }
    if spec.uses(Algorithm::needs_ranks_per_host) {
        text += &format!(", ranks per host {}", spec.shape.ranks_per_host);
    }
    text += "\n";
    if np == 1 {
        text += "# one rank exchanges nothing: these times are what the call alone takes\n";
    }
    if let Some(rounding) = spec.rounding() {
        text += &format!("# {rounding}\n");
    }
    if let Some(link) = spec.link() {
        text += &format!("# {link}\n");
    }
    text + COLUMNS
}

pub fn row(row: &MeasuredRow, np: usize) -> String {
    let AllreduceReport { method, bytes, elements, .. } = &row.report;
    let dash = || "-".to_owned();
    let micro = |seconds: f64| units::figure(seconds * 1e6);
    let [mean, median] = [row.report.mean_s, row.report.median_s].map(micro);
    let [algbw, busbw] = [row.report.algbw(), row.report.busbw(np)].map(|rate| units::figure(rate / 1e9));
    let wrong = row.report.wrong.map_or("N/A".to_owned(), |wrong| wrong.to_string());
    let predicted = row.predicted_s.map_or_else(|_| dash(), micro);
    let error = row.error().map_or_else(dash, |error| format!("{:+.0}", error * 100.0));
    format!(
        "{method:<24} {bytes:>11} {elements:>11}  float   sum {mean:>10} {algbw:>7} {busbw:>7} {wrong:>6} {median:>10} \
         {predicted:>10} {error:>6}\n"
    )
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
        text += &format!("# Avg bus bandwidth {method:<22} : {}\n", units::figure(busbw / 1e9));
    }
    text
}

pub fn fit_in_words(fit: &crate::domain::collective::Fit) -> String {
    let rate =
        |seconds: f64| if seconds > 0.0 { format!("{} GB/s", units::figure(1e-9 / seconds)) } else { "no time".to_owned() };
    let (sent, added) = (rate(fit.beta_s), rate(fit.gamma_s));
    format!("alpha {} a message, beta {sent} sent, gamma {added} added", units::short_time(fit.alpha_s))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::collective::Refused;

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
        let measured = Measured { ranks: 2, rows: vec![good, bad], ..Measured::default() };
        let end = ending(&measured);
        assert!(end.contains("# no prediction for mpi: nothing was measured"), "{end}");
        assert!(end.contains("Median error of the predictions : 10 %"), "{end}");
        let last: Vec<&str> = end.lines().rev().take(2).collect();
        assert!(last.iter().all(|line| line.starts_with("# Avg bus bandwidth")), "{end}");
    }
}
