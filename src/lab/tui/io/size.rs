//! How large the terminal is, also where it does not say.

/// Columns and rows of the terminal; `None` where there is none.
pub fn size() -> Option<(u16, u16)> {
    Some(known(crossterm::terminal::size().ok()?, |name| std::env::var(name).ok()))
}

/// What a terminal says of its size. Serial consoles, some containers and `expect` say 0: then the variables of the shell
/// count, and else the size that all terminals began with.
fn known((columns, rows): (u16, u16), variable: impl Fn(&str) -> Option<String>) -> (u16, u16) {
    let or = |said: u16, name: &str, usual: u16| {
        let of_shell = || variable(name).and_then(|text| text.trim().parse().ok()).filter(|cells| *cells > 0);
        if said > 0 { said } else { of_shell().unwrap_or(usual) }
    };
    (or(columns, "COLUMNS", 80), or(rows, "LINES", 24))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_without_a_size_has_that_of_the_shell_or_the_usual_one() {
        let cases = [
            ((132, 50), "1", "1", (132, 50)),
            ((0, 0), "", "", (80, 24)),
            ((0, 0), "100", "30", (100, 30)),
            ((0, 0), "0", "-5", (80, 24)),
            ((0, 0), "99999999", "many", (80, 24)),
            ((120, 0), "100", "30", (120, 30)),
        ];
        for (said, columns, rows, expected) in cases {
            let variable = |name: &str| Some(if name == "COLUMNS" { columns } else { rows }.to_owned());
            assert_eq!(known(said, variable), expected, "{said:?}, COLUMNS={columns}, LINES={rows}");
        }
        assert_eq!(known((0, 0), |_| None), (80, 24));
    }
}
