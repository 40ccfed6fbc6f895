//! The floors of the house, and what each may name.

/// Floors of the library, with the floors that each may name. What is not listed here is no floor.
pub const FLOORS: [(&str, &[&str]); 16] = [
    ("domain", &[]),
    ("flags", &["domain"]),
    ("columns", &["domain"]),
    ("host", &["domain"]),
    ("dataset", &["domain", "host"]),
    ("comm", &["domain"]),
    ("trainer", &["domain", "flags", "host", "dataset", "comm"]),
    ("telemetry", &["domain", "host"]),
    ("lease", &["domain", "host"]),
    ("runs", &["domain", "host"]),
    ("simulate", &["domain", "runs"]),
    ("launch", &["domain", "flags", "host", "dataset", "lease", "runs", "telemetry"]),
    ("course", &["domain", "columns", "host", "runs"]),
    ("exercise", &["domain", "columns", "host", "runs", "launch", "course"]),
    ("tui", &["domain", "columns", "host", "dataset", "lease", "runs", "launch", "telemetry", "course", "exercise", "simulate"]),
    (
        "cli",
        &[
            "domain",
            "flags",
            "columns",
            "host",
            "dataset",
            "lease",
            "runs",
            "launch",
            "telemetry",
            "course",
            "exercise",
            "simulate",
            "tui",
        ],
    ),
];
