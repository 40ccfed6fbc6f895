//! A question on the terminal, answered with y or N.
//!
//! Never takes silence for yes.

use std::io::{self, BufRead, IsTerminal};

use super::output::{Usage, ask, say};

/// Asks on standard error, where no pipe is in the way; whether the answer is yes. Any other is said to have changed nothing.
///
/// # Errors
/// Nobody can be asked, or the terminal is gone.
pub fn confirm(question: &str) -> anyhow::Result<bool> {
    if !io::stdin().is_terminal() {
        return Err(Usage(format!("cannot ask \"{question}\" without a terminal: add --yes to say yes")).into());
    }
    ask(&format!("{question} [y/N] "));
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    let yes = is_yes(&answer);
    if !yes {
        say("nothing was changed");
    }
    Ok(yes)
}

fn is_yes(answer: &str) -> bool {
    ["y", "yes"].iter().any(|yes| answer.trim().eq_ignore_ascii_case(yes))
}

#[cfg(test)]
mod tests {
    use super::is_yes;

    #[test]
    fn only_yes_is_yes() {
        for (answer, expected) in
            [("y\n", true), ("YES\n", true), (" Yes \n", true), ("\n", false), ("", false), ("n\n", false), ("yep\n", false)]
        {
            assert_eq!(is_yes(answer), expected, "{answer:?}");
        }
    }
}
