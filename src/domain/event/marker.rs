//! How the line of an event begins, and how the lab knows that it comes from the library.
//!
//! The supervisor of a run makes a secret and hands it to the ranks. The library takes it out of the environment and puts it into
//! each event line. A program may print whatever it likes: a line without the secret stays a line of its log. A program that
//! nobody supervises has no secret, and its lines need none.

/// Starts every event line on a rank's standard output. No human line starts so.
pub const MARKER: &str = "@hvd ";

/// The variable by which ranks get the secret of their launch.
pub const SECRET_VARIABLE: &str = "HVD_LAB_EVENT_SECRET";

/// The line of an event, without its end. An empty secret is none.
pub fn marked(secret: &str, json: &str) -> String {
    let blank = if secret.is_empty() { "" } else { " " };
    format!("{MARKER}{secret}{blank}{json}")
}

/// The event in a line that a rank printed. `None` for all other lines, and for those without the secret.
pub fn unmarked<'a>(secret: &str, line: &'a str) -> Option<&'a str> {
    let rest = line.strip_prefix(MARKER)?;
    if secret.is_empty() { Some(rest) } else { rest.strip_prefix(secret)?.strip_prefix(' ') }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_line_with_the_secret_is_an_event() {
        for secret in ["", "5ec2e7"] {
            assert_eq!(unmarked(secret, &marked(secret, "{}")), Some("{}"));
            assert_eq!(unmarked(secret, "Epoch 1/3"), None);
        }
        for line in ["@hvd {}", "@hvd  {}", "@hvd 5ec2e {}", "@hvd 5ec2e7{}", "@hvd 0 5ec2e7 {}", "5ec2e7 {}"] {
            assert_eq!(unmarked("5ec2e7", line), None, "{line}");
        }
    }
}
