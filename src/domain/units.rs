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

/// `0:07`, `12:34`, `1:02:03` for a number of seconds.
pub fn clock(seconds: f64) -> String {
    let whole = if seconds.is_finite() { seconds.max(0.0) as u64 } else { 0 };
    let (hours, minutes, seconds) = (whole / 3600, whole / 60 % 60, whole % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// `19.6 s` below two minutes, a clock above.
pub fn seconds(value: f64) -> String {
    if value < 120.0 { format!("{value:.1} s") } else { clock(value) }
}

/// `12,000`.
pub fn count(value: usize) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 run`, `2 runs`: so many of what is told apart by an s alone.
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// `1900` images per second, without decimals above 100.
pub fn rate(value: f64) -> String {
    if value < 100.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}

/// `95 %` for 0.95.
pub fn percent(fraction: f64) -> String {
    format!("{:.0} %", fraction * 100.0)
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
}
