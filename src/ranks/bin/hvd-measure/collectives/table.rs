//! The table of nccl-tests, with the algorithm as its first column.

use hvd_lab::domain::collective::{AllreduceReport, CollectivesSpec};
use hvd_lab::domain::event::Event;
use hvd_lab::domain::units;
use hvd_lab::trainer::report::Reporter;

use super::args::PROGRAM;

pub struct Table<'a> {
    pub report: &'a Reporter,
    pub spec: &'a CollectivesSpec,
    pub ranks: usize,
}

impl Table<'_> {
    /// What is measured, and the columns.
    pub fn begin(&self, library: &str) {
        let CollectivesSpec { min_bytes, max_bytes, factor, iterations, warmup, shape, link_bits, check, .. } = self.spec;
        let line = |text: &str| self.report.line(text);
        line(&format!("# {PROGRAM} {}, {library}", env!("CARGO_PKG_VERSION")));
        line(&format!(
            "# nranks {} minBytes {min_bytes} maxBytes {max_bytes} step: {factor}(factor) warmup iters: {warmup} iters: \
             {iterations} validation: {check} servers: {} ranks per host: {}",
            self.ranks, shape.servers, shape.ranks_per_host
        ));
        if let Some(bits) = link_bits {
            line(&format!("# each rank has a network of {} Mbit/s", *bits as f64 / 1e6));
        }
        if self.ranks == 1 {
            line("# one rank exchanges nothing: these times are what the call alone takes");
        }
        if let Some(rounding) = self.spec.rounding() {
            line(&format!("# {rounding}"));
        }
        line("#");
        let names = ["size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong"];
        let units = ["(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", ""];
        for (first, columns) in [("# algorithm", names), ("#", units)] {
            line(columns_of(first, columns.map(str::to_owned)).trim_end());
        }
    }

    /// One method at one size, for people and for the lab.
    pub fn row(&self, row: &AllreduceReport) {
        let AllreduceReport { method, bytes, elements, mean_s, wrong, .. } = row;
        let (algbw, busbw) = (row.algbw() / 1e9, row.busbw(self.ranks) / 1e9);
        let wrong = wrong.map_or("N/A".to_owned(), |wrong| wrong.to_string());
        self.report.line(&columns_of(
            &format!("  {method}"),
            [
                bytes.to_string(),
                elements.to_string(),
                "float".to_owned(),
                "sum".to_owned(),
                "-1".to_owned(),
                format!("{:.2}", mean_s * 1e6),
                units::figure(algbw),
                units::figure(busbw),
                wrong,
            ],
        ));
        self.report.event(Event::Allreduce(row.clone()));
    }

    /// What nccl-tests says below it.
    pub fn end(&self, rows: &[AllreduceReport]) {
        let wrong: u64 = rows.iter().filter_map(|row| row.wrong).sum();
        let mean = rows.iter().map(|row| row.busbw(self.ranks)).sum::<f64>() / rows.len().max(1) as f64;
        self.report.line(&format!("# Out of bounds values : {wrong} {}", if wrong == 0 { "OK" } else { "FAILED" }));
        self.report.line(&format!("# Avg bus bandwidth    : {:.6}", mean / 1e9));
    }
}

fn columns_of(first: &str, [size, count, kind, operation, root, time, algbw, busbw, wrong]: [String; 9]) -> String {
    format!("{first:<24} {size:>12} {count:>12} {kind:>8} {operation:>6} {root:>5} {time:>11} {algbw:>8} {busbw:>8} {wrong:>7}")
}
