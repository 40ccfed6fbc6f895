//! Times and bandwidths as the window writes them, and under which letter it shows a method.

use ratatui::style::Style;

/// A method as the chart shows it.
pub struct Shown<'a> {
    pub method: &'a str,
    pub letter: char,
    pub style: Style,
    pub is_reference: bool,
}

/// `12.3 µs`, `4.50 ms`, `1.20 s`.
pub fn time(seconds: f64) -> String {
    match seconds {
        _ if !seconds.is_finite() => "–".to_owned(),
        s if s < 1e-3 => format!("{:.1} µs", s * 1e6),
        s if s < 1.0 => format!("{:.2} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

/// `1.25 GB/s` as nccl-tests counts them, in powers of ten.
pub fn bandwidth(bytes_a_second: f64) -> String {
    match bytes_a_second {
        _ if !bytes_a_second.is_finite() => "–".to_owned(),
        b if b < 1e6 => format!("{:.1} kB/s", b / 1e3),
        b if b < 1e9 => format!("{:.1} MB/s", b / 1e6),
        b => format!("{:.2} GB/s", b / 1e9),
    }
}
