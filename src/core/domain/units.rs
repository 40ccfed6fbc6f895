//! Numbers as people read them: bytes, durations, rates, percentages.
//!
//! Never rounds what is stored, only what is shown.

/// `4.4 MiB`, `512 B`.
pub fn bytes(value: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut scaled = value as f64;
    let mut unit = 0;
    while scaled >= 1024.0 && unit < UNITS.len() - 1 {
        scaled /= 1024.0;
        unit += 1;
    }
    match unit {
        0 => format!("{value} B"),
        _ if scaled < 10.0 => format!("{scaled:.1} {}", UNITS[unit]),
        _ => format!("{scaled:.0} {}", UNITS[unit]),
    }
}

/// Bytes as nccl-tests takes them: `8`, `1K`, `16M`, `2G`, each step 1024 of the one below.
///
/// # Errors
/// What can be written instead.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let bytes = scaled(text, |unit| match unit.trim_end_matches("ib").trim_end_matches('b') {
        "" => Some(1),
        "k" => Some(1 << 10),
        "m" => Some(1 << 20),
        "g" => Some(1 << 30),
        _ => None,
    });
    bytes.ok_or_else(|| format!("`{text}` is not a size: expected a size such as 8, 1K or 16M"))
}

/// `8`, `1K`, `16M`: exactly, as [`parse_bytes`] takes it.
pub fn exact_bytes(bytes: u64) -> String {
    let unit = [(30, "G"), (20, "M"), (10, "K")].into_iter().find(|(shift, _)| bytes > 0 && bytes.trailing_zeros() >= *shift);
    unit.map_or(bytes.to_string(), |(shift, letter)| format!("{}{letter}", bytes >> shift))
}

/// Bits a second as `tc` takes them: `200mbit`, `1gbit`.
///
/// # Errors
/// What can be written instead.
pub fn parse_bits(text: &str) -> Result<u64, String> {
    let bits = scaled(text, |unit| match unit {
        "kbit" => Some(1_000),
        "mbit" => Some(1_000_000),
        "gbit" => Some(1_000_000_000),
        _ => None,
    });
    bits.ok_or_else(|| format!("`{text}` is not a speed: use mbit or gbit, such as 200mbit or 1gbit"))
}

/// A whole number times what its unit, in small letters, stands for.
fn scaled(text: &str, factor: fn(&str) -> Option<u64>) -> Option<u64> {
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    digits.parse::<u64>().ok()?.checked_mul(factor(&unit.to_ascii_lowercase())?)
}

/// `200mbit`, `1gbit`: as [`parse_bits`] takes it.
pub fn link_speed(bits: u64) -> String {
    match bits {
        bits if bits % 1_000_000_000 == 0 => format!("{}gbit", bits / 1_000_000_000),
        bits if bits % 1_000_000 == 0 => format!("{}mbit", bits / 1_000_000),
        bits => format!("{}kbit", bits / 1_000),
    }
}

/// `200 Mbit/s`, `1 Gbit/s`.
pub fn bits_per_second(bits: u64) -> String {
    let (unit, name) = if bits >= 1_000_000_000 { (1e9, "Gbit/s") } else { (1e6, "Mbit/s") };
    format!("{} {name}", bits as f64 / unit)
}

/// `850 ns`, `12.3 us`, `4.56 ms`, `7.89 s`: three digits of a time that is measured.
pub fn short_time(seconds: f64) -> String {
    let (value, unit) = match seconds.abs() {
        size if size < 1e-6 => (seconds * 1e9, "ns"),
        size if size < 1e-3 => (seconds * 1e6, "us"),
        size if size < 1.0 => (seconds * 1e3, "ms"),
        _ => (seconds, "s"),
    };
    let digits = if value.abs() < 10.0 { 2 } else { usize::from(value.abs() < 100.0) };
    format!("{value:.digits$} {unit}")
}

/// `1049`, `12.35`, `1.049`, `0.0250`, `1.25e-4`: as nccl-tests writes its figures, in seven columns, with three digits at least
/// however small.
pub fn figure(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if !value.is_finite() => "-".to_owned(),
        0.0 => "0".to_owned(),
        _ if size < 1e-3 => format!("{value:.*e}", if size < 1e-9 { 1 } else { 2 }),
        _ => {
            let digits = [0.01, 0.1, 10.0, 100.0, 1000.0].into_iter().zip([5, 4, 3, 2, 1]).find(|(most, _)| size < *most);
            format!("{value:.*}", digits.map_or(0, |(_, digits)| digits))
        }
    }
}

/// `0:07`, `12:34`, `1:02:03` for a number of seconds.
pub fn clock(seconds: f64) -> String {
    let whole = if seconds.is_finite() { seconds.max(0.0) as u64 } else { 0 };
    let (hours, minutes, seconds) = (whole / 3600, whole / 60 % 60, whole % 60);
    if hours == 0 { format!("{minutes}:{seconds:02}") } else { format!("{hours}:{minutes:02}:{seconds:02}") }
}

/// `now`, `7 min ago`, `3 h ago`, `2 days ago`, for a number of seconds.
pub fn ago(seconds: f64) -> String {
    match (seconds / 60.0) as u64 {
        0 => "now".into(),
        minutes @ 1..=119 => format!("{minutes} min ago"),
        minutes @ 120..=2879 => format!("{} h ago", minutes / 60),
        minutes => format!("{} days ago", minutes / 1440),
    }
}

/// The number of seconds of a text such as `90`, `12:34` or `1:02:03`.
///
/// # Errors
/// What it should look like, in one sentence.
pub fn parse_clock(text: &str) -> Result<f64, String> {
    let error = || format!("`{text}` is not a time: use H:MM:SS, such as 0:10:00, or seconds");
    let parts: Vec<u32> = text.split(':').map(str::parse).collect::<Result<_, _>>().map_err(|_| error())?;
    if parts.len() > 3 || parts.iter().skip(1).any(|part| *part > 59) {
        return Err(error());
    }
    Ok(parts.into_iter().fold(0.0, |seconds, part| seconds * 60.0 + f64::from(part)))
}

/// `19.6 s` below two minutes, a clock above, and `43.1 ms` where tenths of a second would say 0.
pub fn seconds(value: f64) -> String {
    match value {
        _ if value > 0.0 && value < 0.05 => short_time(value),
        _ if value < 120.0 => format!("{value:.1} s"),
        _ => clock(value),
    }
}

/// `12,000`.
pub fn count(value: usize) -> String {
    let digits = value.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

/// `1 run`, `2 runs`: a count with a noun whose plural only adds an s.
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// `1900` images per second, without decimals above 100.
pub fn rate(value: f64) -> String {
    if value < 100.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}

/// `0.0001414` for 0.00014142: a learning rate, with four digits at most.
pub fn learning_rate(value: f64) -> String {
    let scale = 10f64.powf(3.0 - value.abs().log10().floor());
    if scale.is_finite() { ((value * scale).round() / scale).to_string() } else { value.to_string() }
}

/// `95 %` for 0.95.
pub fn percent(fraction: f64) -> String {
    format!("{:.0} %", fraction * 100.0)
}

/// `69.4 %` for 0.694: the accuracy of a run.
pub fn accuracy(fraction: f64) -> String {
    format!("{:.1} %", fraction * 100.0)
}

/// `69.40 %`: the accuracy of one rank, which differs from that of another one by a few images.
pub fn accuracy_of_rank(fraction: f64) -> String {
    format!("{:.2} %", fraction * 100.0)
}

/// `62.5 %` for 0.625: a share that was chosen, with all its digits.
pub fn share(fraction: f64) -> String {
    format!("{} %", (fraction * 1e6).round() / 1e4)
}

/// `2026-11-21 20:58 UTC` for a Unix time in seconds.
pub fn date(unix_s: f64) -> String {
    let whole = if unix_s.is_finite() { unix_s.max(0.0) as u64 } else { 0 };
    let (days, minutes) = (whole / 86_400, whole / 60 % 1440);
    // Eras of 400 years have 146,097 days each; a year that begins with March has its leap day last.
    let day = days + 719_468;
    let (era, of_era) = (day / 146_097, day % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = 400 * era + year_of_era + u64::from(month <= 2);
    format!("{year}-{month:02}-{:02} {:02}:{:02} UTC", day + 1, minutes / 60, minutes % 60)
}

/// `0-3,8`: as the system writes a set of cores.
pub fn ranges(numbers: &[usize]) -> String {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let runs = sorted.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [one] => one.to_string(),
        run => format!("{}-{}", run[0], run[run.len() - 1]),
    });
    runs.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(68_487_848), "65 MiB");
        assert_eq!(bytes(u64::MAX), "16777216 TiB");
        assert_eq!([0, 999, 1000, 12_345, 1_234_567].map(count), ["0", "999", "1,000", "12,345", "1,234,567"]);
        assert_eq!([0, 1, 12_345].map(|runs| counted(runs, "run")), ["0 runs", "1 run", "12345 runs"]);
        assert_eq!(clock(7.9), "0:07");
        assert_eq!(clock(3723.0), "1:02:03");
        assert_eq!(clock(f64::NAN), "0:00");
        assert_eq!(seconds(19.64), "19.6 s");
        assert_eq!(seconds(200.0), "3:20");
        assert_eq!(percent(0.954), "95 %");
        let rates = [0.0, 0.1, 0.00014142135623730954, 0.30000000000000004, 12_345.0, 1e-30];
        assert_eq!(rates.map(learning_rate), ["0", "0.1", "0.0001414", "0.3", "12350", "0.000000000000000000000000000001"]);
        assert_eq!([1e-9, 1.234e-5, 0.0123, 150.0].map(short_time), ["1.00 ns", "12.3 us", "12.3 ms", "150 s"]);
        assert_eq!([200_000_000, 1_000_000_000, 2_500_000_000].map(bits_per_second), ["200 Mbit/s", "1 Gbit/s", "2.5 Gbit/s"]);
    }

    #[test]
    fn sizes_and_speeds_are_read_as_other_tools_take_them() {
        for (text, bytes) in [("8", 8), ("1K", 1024), ("16M", 16 << 20), ("16MiB", 16 << 20), ("2g", 2 << 30), ("4KB", 4096)] {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        for bad in ["", "K", "1.5M", "-1", "1T", "99999999999G", "1 K"] {
            assert!(parse_bytes(bad).unwrap_err().contains("is not a size"), "{bad}");
        }
        assert_eq!((parse_bits("200mbit"), parse_bits("1Gbit")), (Ok(200_000_000), Ok(1_000_000_000)));
        for speed in ["1gbit", "200mbit", "2500mbit", "1500kbit"] {
            assert_eq!(parse_bits(speed).map(link_speed), Ok(speed.to_owned()));
        }
        for bad in ["", "200", "mbit", "200mb", "99999999999gbit"] {
            assert!(parse_bits(bad).unwrap_err().contains("is not a speed"), "{bad}");
        }
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        // date -u -d @SECONDS
        assert_eq!(date(0.0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_399.9), "2000-02-28 23:59 UTC");
        assert_eq!(date(951_868_799.0), "2000-02-29 23:59 UTC");
        assert_eq!(date(1_798_761_600.0), "2027-01-01 00:00 UTC");
        assert_eq!(date(1_772_323_199.0), "2026-02-28 23:59 UTC");
        assert_eq!(date(1_772_323_200.0), "2026-03-01 00:00 UTC");
        assert_eq!(date(4_107_542_400.0), "2100-03-01 00:00 UTC");
        assert_eq!(date(253_402_300_799.0), "9999-12-31 23:59 UTC");
    }

    #[test]
    fn a_figure_keeps_its_digits_however_small() {
        let cases = [
            (0.1234, "0.123"),
            (12.345, "12.35"),
            (123.45, "123.5"),
            (12345.6, "12346"),
            (0.025, "0.0250"),
            (0.00125, "0.00125"),
            (1.25e-4, "1.25e-4"),
            (3.4e-10, "3.4e-10"),
            (0.0, "0"),
            (f64::NAN, "-"),
            (f64::INFINITY, "-"),
        ];
        for (value, text) in cases {
            assert_eq!(figure(value), text);
        }
    }

    /// A loop over the years would go on for hours.
    #[test]
    fn a_date_beyond_all_calendars_is_written_at_once() {
        for seconds in [1e300, f64::MAX, u64::MAX as f64] {
            assert!(date(seconds).ends_with(" UTC"), "{}", date(seconds));
        }
        for seconds in [f64::NAN, f64::INFINITY, -1e300] {
            assert_eq!(date(seconds), "1970-01-01 00:00 UTC");
        }
    }

    #[test]
    fn times_are_told_as_people_do() {
        let told = [0.0, 59.0, 60.0, 7199.0, 7200.0, 172_800.0].map(ago);
        assert_eq!(told, ["now", "now", "1 min ago", "119 min ago", "2 h ago", "2 days ago"]);
    }
}
