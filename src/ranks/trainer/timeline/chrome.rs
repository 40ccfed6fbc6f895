//! Lines of a Chrome trace (the "JSON array" form of the Trace Event Format), as Perfetto and chrome://tracing read it.
//!
//! Never writes a file. Times are nanoseconds here, and microseconds with three decimals in the trace.
//!
//! Viewers keep process and thread 0 for the system's idle task, and expect thread numbers to be unique: so rank r is
//! process r + 1, and its lanes are threads from 1000 (r + 1) on.

use std::fmt::Write as _;

/// Opens the array, with one entry: every other line starts with a comma, so a trace that was cut off after any whole
/// line lacks only the closing bracket, which the format allows.
pub(super) const OPENING: &str = "[\n{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":1,\"args\":{\"sort_index\":0}}";
pub(super) const CLOSING: &str = "\n]\n";

/// Before every entry but the first.
const SEPARATOR: &str = ",\n";

/// Bytes that the kernel writes to a file as a whole, or not at all where the writer is killed meanwhile.
const PAGE: usize = 4096;

/// This text with spaces between its entries, so that none lies across the end of a page of a file that already holds
/// `length` bytes: then whoever writes may be killed at any moment, and the file ends with a whole line.
pub(super) fn in_pages(text: &str, length: usize) -> String {
    let (first, entries) = text.split_once(SEPARATOR).map_or((text, None), |(first, rest)| (first, Some(rest)));
    let mut text = String::from(first);
    for entry in entries.into_iter().flat_map(|entries| entries.split(SEPARATOR)) {
        let left = PAGE - (length + text.len()) % PAGE;
        if SEPARATOR.len() + entry.len() > left {
            text.extend(std::iter::repeat_n(' ', left));
        }
        text.push_str(SEPARATOR);
        text.push_str(entry);
    }
    text
}

/// Entries of one rank.
pub(super) struct Lines {
    process: usize,
    pub text: String,
}

impl Lines {
    pub(super) fn of_rank(rank: usize) -> Lines {
        Lines { process: rank + 1, text: String::new() }
    }

    pub(super) fn name_process(&mut self, name: &str) {
        let (pid, name) = (self.process, quoted(name));
        self.line(format_args!(r#"{{"name":"process_name","ph":"M","pid":{pid},"args":{{"name":{name}}}}}"#));
        self.line(format_args!(r#"{{"name":"process_sort_index","ph":"M","pid":{pid},"args":{{"sort_index":{}}}}}"#, pid - 1));
    }

    pub(super) fn name_lane(&mut self, lane: usize, name: &str) {
        let (pid, tid, name) = (self.process, self.thread(lane), quoted(name));
        self.line(format_args!(r#"{{"name":"thread_name","ph":"M","pid":{pid},"tid":{tid},"args":{{"name":{name}}}}}"#));
        self.line(format_args!(
            r#"{{"name":"thread_sort_index","ph":"M","pid":{pid},"tid":{tid},"args":{{"sort_index":{lane}}}}}"#
        ));
    }

    /// One span. `args` are `"key":value` pairs of JSON, or nothing.
    pub(super) fn span(&mut self, lane: usize, name: &str, category: &str, began_ns: i64, ended_ns: i64, args: &str) {
        let (pid, tid) = (self.process, self.thread(lane));
        let (ts, dur) = (Micros(began_ns), Micros(ended_ns - began_ns));
        self.line(format_args!(
            r#"{{"name":"{name}","cat":"{category}","ph":"X","pid":{pid},"tid":{tid},"ts":{ts},"dur":{dur},"args":{{{args}}}}}"#
        ));
    }

    /// A number from this moment on, which viewers draw as a curve of its own.
    pub(super) fn count(&mut self, name: &str, at_ns: i64, value: usize) {
        let (pid, ts) = (self.process, Micros(at_ns));
        self.line(format_args!(r#"{{"name":"{name}","ph":"C","pid":{pid},"ts":{ts},"args":{{"{name}":{value}}}}}"#));
    }

    fn thread(&self, lane: usize) -> usize {
        1000 * self.process + lane
    }

    fn line(&mut self, entry: std::fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = write!(self.text, "{SEPARATOR}{entry}");
    }
}

/// Nanoseconds, printed as microseconds.
struct Micros(i64);

impl std::fmt::Display for Micros {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Viewers refuse negative times; the caller has put zero before all ranks, and a clock's error may pass it.
        let ns = self.0.max(0);
        write!(f, "{}.{:03}", ns / 1000, ns % 1000)
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_entries_of_one_array() {
        let mut lines = Lines::of_rank(1);
        lines.name_process("rank 1 (a \"host\", cpu)");
        lines.name_lane(0, "training");
        lines.span(2, "MPI_ALLREDUCE", "communication", 1_234_567, 2_000_000_000_001, r#""bytes":12"#);
        let whole = format!("{OPENING}{}{CLOSING}", lines.text);
        let parsed: Vec<serde_json::Value> = serde_json::from_str(&whole).unwrap();
        assert_eq!(parsed.len(), whole.lines().count() - 2, "one entry a line");
        assert_eq!(parsed[1]["args"]["name"], "rank 1 (a \"host\", cpu)");
        let span = parsed.last().unwrap();
        assert_eq!((&span["pid"], &span["tid"], &span["ph"]), (&2.into(), &2002.into(), &"X".into()));
        assert_eq!((span["ts"].as_f64(), span["dur"].as_f64()), (Some(1234.567), Some(1_999_998_765.434)));
        assert_eq!(span["args"]["bytes"], 12);
    }

    #[test]
    fn a_file_cut_off_at_the_end_of_any_page_lacks_only_the_closing_bracket() {
        let mut lines = Lines::of_rank(0);
        (0..200).for_each(|number| lines.count("batches ready", number * 1_000_000, 7));
        let half = lines.text.len() / 2;
        let (first, second) = lines.text.split_at(lines.text[..half].rfind(SEPARATOR).unwrap());
        let mut file = OPENING.to_owned();
        for lines in [first, second] {
            file.push_str(&in_pages(lines, file.len()));
        }
        let entries = |file: &str| serde_json::from_str::<Vec<serde_json::Value>>(&format!("{file}]")).unwrap().len();
        assert_eq!(entries(&file), 201);
        let cuts: Vec<usize> = (1..=file.len() / PAGE).map(|page| entries(&file[..page * PAGE])).collect();
        assert!(cuts.len() >= 3 && cuts.is_sorted() && cuts[0] > 40, "{cuts:?}");
    }
}
