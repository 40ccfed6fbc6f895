//! Filters the lines of a rank for the terminal: MPI's notice of an abort stays in the log, and so does a cause that the verdict repeats.
//!
//! Never changes a line.

/// How MPI's notice of an abort begins, behind a rule; another rule ends it.
const NOTICE: &str = "MPI_ABORT was invoked";

/// The lines of one rank.
#[derive(Debug, Default)]
pub(super) struct LastWords {
    /// A rule, which may be the first line of a notice, or an error of Python, which may be the last that it says.
    held: Vec<String>,
    /// In the middle of a notice.
    is_notice: bool,
    /// In the middle of an error of Python.
    is_error: bool,
}

impl LastWords {
    /// The lines to show after this one has come. `is_judged`: a verdict follows, and it says why the run failed.
    pub(super) fn take(&mut self, process: usize, line: &str, is_judged: bool) -> Vec<String> {
        let is_rule = line.len() >= 20 && line.bytes().all(|byte| byte == b'-');
        if self.is_notice {
            self.is_notice = !is_rule;
            return Vec::new();
        }
        if line.starts_with(NOTICE) {
            self.is_notice = true;
            // The rule before it.
            self.held.pop();
            return Vec::new();
        }
        if is_judged && line.contains(&format!(": process {process} failed during ")) {
            self.is_error = false;
            return Vec::new();
        }
        let begins = is_judged && line.starts_with("Traceback (most recent call last)");
        if self.is_error || begins || is_rule {
            // An error ends with a line that is not indented.
            self.is_error = begins || self.is_error && line.starts_with(' ');
            self.held.push(line.to_owned());
            return Vec::new();
        }
        let mut lines = std::mem::take(&mut self.held);
        lines.push(line.to_owned());
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_of_an_abort_is_left_out_and_a_rule_is_not() {
        let rule = "-".repeat(74);
        let notice = [&rule, "MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD", "", "  Errorcode: 1", &rule];
        let fatal = "mnist.py: process 0 failed during training: mnist.py:3: KeyError: 'a'";
        let all: Vec<&str> = ["begin", &rule, "a table", fatal].into_iter().chain(notice).chain(["end"]).collect();
        let shown = |is_judged| {
            let mut words = LastWords::default();
            all.iter().flat_map(|line| words.take(0, line, is_judged)).collect::<Vec<_>>()
        };
        assert_eq!(shown(false), ["begin", &rule, "a table", fatal, "end"]);
        assert_eq!(shown(true), ["begin", &rule, "a table", "end"]);
    }

    #[test]
    fn an_error_that_is_told_at_the_end_is_left_out_and_one_that_the_program_survives_is_not() {
        let error = ["Traceback (most recent call last):", "  File \"mnist.py\", line 3, in <module>", "KeyError: 'a'"];
        let shown = |after: &[&'static str]| {
            let mut words = LastWords::default();
            error.iter().chain(after).flat_map(|line| words.take(0, line, true)).collect::<Vec<_>>()
        };
        assert_eq!(shown(&[]), Vec::<String>::new());
        assert_eq!(shown(&["Epoch 2/2"]).len(), 4);
    }
}
