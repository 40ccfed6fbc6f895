//! The learner's editor, opened at a line.

use std::ffi::OsStr;
use std::path::Path;

use super::interpreter::on_path;

/// The command of the editor at a line of a file.
pub fn command(file: &Path, line: usize) -> Vec<String> {
    arguments(&named(), &file.display().to_string(), line)
}

/// Whether there is such a program.
pub fn is_there() -> bool {
    named().split_whitespace().next().is_some_and(|program| on_path(OsStr::new(program)).is_some())
}

/// VISUAL, EDITOR, or vi.
fn named() -> String {
    let set = ["VISUAL", "EDITOR"].into_iter().find_map(|name| std::env::var(name).ok().filter(|value| !value.trim().is_empty()));
    set.unwrap_or_else(|| "vi".to_owned())
}

/// Editors spell a line each in their way; one that is not known gets the file alone.
fn arguments(editor: &str, file: &str, line: usize) -> Vec<String> {
    let mut words: Vec<String> = editor.split_whitespace().map(String::from).collect();
    let name = words.first().and_then(|program| program.rsplit('/').next()).unwrap_or_default().to_owned();
    match name.as_str() {
        "vi" | "vim" | "nvim" | "view" | "nano" | "emacs" | "emacsclient" | "kak" | "micro" | "ne" | "joe" | "gvim" | "pico" => {
            words.extend([format!("+{line}"), file.to_owned()]);
        }
        "hx" | "helix" | "subl" | "zed" => words.push(format!("{file}:{line}")),
        "code" | "codium" | "code-insiders" | "cursor" => {
            // Without it the editor returns at once, and the screen with it.
            if !words.iter().any(|word| word == "--wait" || word == "-w") {
                words.push("--wait".into());
            }
            words.extend(["--goto".into(), format!("{file}:{line}")]);
        }
        _ => words.push(file.to_owned()),
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_editor_is_told_the_line_in_its_way() {
        let cases = [
            ("vi", "vi +7 f.rs"),
            ("/usr/bin/nvim", "/usr/bin/nvim +7 f.rs"),
            ("emacs -nw", "emacs -nw +7 f.rs"),
            ("hx", "hx f.rs:7"),
            ("code", "code --wait --goto f.rs:7"),
            ("code -w", "code -w --goto f.rs:7"),
            ("ed", "ed f.rs"),
        ];
        for (editor, expected) in cases {
            assert_eq!(arguments(editor, "f.rs", 7).join(" "), expected);
        }
    }
}
