//! The configuration file: its keys, the problems in a file, and the text of a new one.
//!
//! It is only written on request. A value that cannot be read is named with its line, and stays at its default.

use std::path::Path;
use std::{fmt, io};

use toml::de::{DeTable, DeValue};

use crate::host::read;
use crate::tui::widgets::Look;

/// Far more than all keys with a word on each.
const MOST_BYTES: u64 = 1 << 20;
/// Characters of a name that are shown.
const SHOWN: usize = 60;

/// What the user wants of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    pub theme: Look,
    /// `None`: ASCII if the terminal or the locale asks for it.
    pub ascii: Option<bool>,
    pub mouse: bool,
    /// The terminal's title says what is going on.
    pub title: bool,
    /// When a run ends: the terminal's bell.
    pub bell: bool,
    /// When a run ends: a notification of the desktop, where the terminal makes one.
    pub notify: bool,
    /// Borders and settings are as they were left.
    pub remember: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config { theme: Look::Auto, ascii: None, mouse: true, title: true, bell: false, notify: false, remember: true }
    }
}

/// A key of the file, and what it is for.
struct Key {
    name: &'static str,
    about: &'static str,
    kind: Kind,
}

/// What a key can be set to.
enum Kind {
    Theme,
    /// True, false or [`AUTO`].
    Ascii,
    Switch(fn(&mut Config) -> &mut bool),
}

const AUTO: &str = "auto";

const THEME: &str = "auto (by the terminal's background), dark, light, high-contrast, colour-blind or mono";
const ASCII: &str = "only ASCII characters on the screen: true, false or auto (where the terminal or the locale has no UTF-8)";

static KEYS: [Key; 7] = [
    Key { name: "theme", about: THEME, kind: Kind::Theme },
    Key { name: "ascii", about: ASCII, kind: Kind::Ascii },
    switch("mouse", "click, wheel and dragged borders; off leaves the mouse to the terminal", |config| &mut config.mouse),
    switch("title", "the terminal's title says how the run is going", |config| &mut config.title),
    switch("bell", "ring the terminal's bell when a run ends", |config| &mut config.bell),
    switch("notify", "notify the desktop when a run ends, where the terminal can (OSC 9 and 777)", |config| &mut config.notify),
    switch("remember", "start with the pane sizes and settings of last time", |config| &mut config.remember),
];

/// A key that is true or false.
const fn switch(name: &'static str, about: &'static str, field: fn(&mut Config) -> &mut bool) -> Key {
    Key { name, about, kind: Kind::Switch(field) }
}

impl Key {
    /// The value as the file has it.
    fn get(&self, mut config: Config) -> String {
        match self.kind {
            Kind::Switch(field) => field(&mut config).to_string(),
            Kind::Theme => format!("{:?}", config.theme.name()),
            Kind::Ascii => config.ascii.map_or_else(|| format!("{AUTO:?}"), |ascii| ascii.to_string()),
        }
    }

    /// Takes a value over, or says why it cannot.
    fn set(&self, config: &mut Config, value: &DeValue) -> Result<(), String> {
        match self.kind {
            Kind::Switch(field) => {
                *field(config) = value.as_bool().ok_or_else(|| format!("{} is neither true nor false", shown(value)))?;
            }
            Kind::Theme => {
                let names = || Look::ALL.map(Look::name).join(", ");
                let named = value.as_str().and_then(|name| Look::ALL.into_iter().find(|look| look.name() == name));
                config.theme = named.ok_or_else(|| format!("no theme is called {}: use one of {}", shown(value), names()))?;
            }
            Kind::Ascii => {
                let ascii = value.as_bool().map(Some).or_else(|| (value.as_str() == Some(AUTO)).then_some(None));
                config.ascii = ascii.ok_or_else(|| format!("{} is neither true nor false, nor {AUTO:?}", shown(value)))?;
            }
        }
        Ok(())
    }
}

fn shown(value: &DeValue) -> String {
    match value {
        DeValue::String(text) => format!("\"{}\"", short(text)),
        DeValue::Boolean(value) => value.to_string(),
        DeValue::Array(_) => "a list".into(),
        DeValue::Table(_) => "a table".into(),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Datetime(time) => time.to_string(),
    }
}

/// A problem in the file, with its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub line: usize,
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.text)
    }
}

impl Config {
    /// Reads a text. A wrong value stays at its default and is returned as a problem.
    pub fn parse(text: &str) -> (Config, Vec<Problem>) {
        // Counting the lines for each of many problems would take minutes.
        let ends: Vec<usize> = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect();
        let line = |at: usize| 1 + ends.partition_point(|end| *end < at);
        let mut config = Config::default();
        let table = match DeTable::parse(text) {
            Ok(table) => table,
            Err(error) => {
                let at = error.span().map_or(0, |span| span.start);
                let text = error.message().replace('\n', ", ");
                return (config, vec![Problem { line: line(at), text }]);
            }
        };
        let mut problems = Vec::new();
        for (name, value) in table.get_ref() {
            let said = match KEYS.iter().find(|key| key.name == name.get_ref().as_ref()) {
                Some(key) => key.set(&mut config, value.get_ref()).map_err(|why| format!("{}: {why}", key.name)),
                None => Err(unknown(name.get_ref())),
            };
            problems.extend(said.err().map(|text| Problem { line: line(name.span().start), text }));
        }
        problems.sort_by_key(|problem| problem.line);
        (config, problems)
    }

    /// Reads a file. A missing file gives the defaults.
    ///
    /// # Errors
    /// The file exists and cannot be read.
    pub fn read(path: &Path) -> io::Result<(Config, Vec<Problem>)> {
        match read::small_text(path, MOST_BYTES) {
            Ok(text) => Ok(Config::parse(&text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok((Config::default(), Vec::new())),
            Err(error) => Err(error),
        }
    }

    /// The text of a file with all keys and their explanations.
    pub fn to_toml(self) -> String {
        let mut text = String::from("# The screen of hvd-lab. `hvd-lab config check` says what is wrong in here.\n");
        for key in &KEYS {
            text.push_str(&format!("\n# {}\n{} = {}\n", key.about, key.name, key.get(self)));
        }
        text
    }
}

/// Escapes control characters, and cuts a long text.
fn short(text: &str) -> String {
    let shown: String = text.chars().take(SHOWN).collect();
    format!("{}{}", shown.escape_debug(), if shown.len() < text.len() { "..." } else { "" })
}

fn unknown(name: &str) -> String {
    let whole = name;
    // A misspelt key is not longer than this.
    let name: &str = name.char_indices().nth(SHOWN).map_or(name, |(end, _)| &name[..end]);
    let near = KEYS.iter().map(|key| (strsim::jaro_winkler(name, key.name), key.name)).max_by(|a, b| a.0.total_cmp(&b.0));
    let name = short(whole);
    match near {
        Some((likeness, nearest)) if likeness > 0.7 => format!("unknown key `{name}`: did you mean `{nearest}`?"),
        _ => {
            let names: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
            format!("unknown key `{name}`: there are {}", names.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fresh_file_says_what_is_so_without_one() {
        let text = Config::default().to_toml();
        assert_eq!(Config::parse(&text), (Config::default(), Vec::new()), "{text}");
        let other = Config {
            theme: Look::ColourBlind,
            ascii: Some(true),
            mouse: false,
            title: false,
            bell: true,
            notify: true,
            remember: false,
        };
        assert_eq!(Config::parse(&other.to_toml()), (other, Vec::new()));
        assert_eq!(Config::parse(""), (Config::default(), Vec::new()));
    }

    #[test]
    fn each_bad_file_is_named_with_its_line() {
        let bad = [
            ("theme = \"drak\"\n", 1, "no theme is called \"drak\""),
            ("\n\ntheme = true\n", 3, "no theme is called true"),
            ("theme = [\"dark\"]\n", 1, "a list"),
            ("ascii = \"yes\"\n", 1, "neither true nor false"),
            ("mouse = 1\n", 1, "1 is neither"),
            ("# fine\nbel = true\n", 2, "did you mean `bell`"),
            ("Theme = \"dark\"\n", 1, "did you mean `theme`"),
            ("ascii = true\nnotfy = true\n", 2, "did you mean `notify`"),
            ("zzz = 1\n", 1, "there are theme, ascii, mouse"),
            ("[screen]\ntheme = \"dark\"\n", 1, "unknown key `screen`"),
            ("theme = dark\n", 1, ""),
            ("theme = \"dark\n", 1, ""),
            ("ascii true\n", 1, ""),
            ("ascii = true\nascii = false\n", 2, "duplicate"),
            ("ascii = true\n\nbell = \n", 3, ""),
            ("= true\n", 1, ""),
            ("bell = 2026-01-01\n", 1, "neither true nor false"),
            ("mouse = { on = true }\n", 1, "a table"),
            ("mouse.on = true\n", 1, "a table"),
            ("theme = \"\\q\"\n", 1, ""),
            ("notify = 1e3\n", 1, "neither"),
            ("ascii = TRUE\n", 1, ""),
            ("\u{1b}[31m = 1\n", 1, ""),
            ("\"\\u001b[2J\" = 1\n", 1, "unknown key `\\u{1b}[2J`"),
        ];
        for (text, line, said) in bad {
            let (config, problems) = Config::parse(text);
            assert!(!problems.is_empty(), "{text:?} is taken for good");
            assert_eq!(problems[0].line, line, "{text:?}: {problems:?}");
            let all = problems[0].to_string();
            assert!(all.contains(said) && !all.contains(['\n', '\u{1b}']), "{text:?}: {all}");
            assert_eq!(config.theme, Look::Auto, "{text:?}");
        }
    }

    #[test]
    fn a_file_full_of_unknown_keys_is_read_at_once() {
        let text: String = (0..60_000).map(|key| format!("key_{key} = 1\n")).collect();
        let began = std::time::Instant::now();
        let (_, problems) = Config::parse(&text);
        assert_eq!((problems.len(), problems[59_999].line), (60_000, 60_000));
        assert!(began.elapsed() < std::time::Duration::from_secs(60), "{:?}", began.elapsed());
        let (_, problems) = Config::parse(&format!("{} = 1\n", "x".repeat(1 << 19)));
        assert!(problems[0].text.len() < 200, "{}", problems[0].text.len());
        let deep = format!("theme = {}", "[".repeat(1 << 18));
        assert_eq!(Config::parse(&deep).1.len(), 1);
    }

    #[test]
    fn what_is_no_small_file_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let large = folder.path().join("config.toml");
        std::fs::write(&large, "#".repeat((1 << 20) + 1)).unwrap();
        let said = |path: &Path| Config::read(path).unwrap_err().to_string();
        assert_eq!(said(&large), "it has more than 1.0 MiB");
        assert!(said(Path::new("/dev/zero")).contains("not a file"));
        assert_eq!(Config::read(&folder.path().join("none")).unwrap(), (Config::default(), Vec::new()));
    }

    #[test]
    fn all_problems_are_told_and_the_rest_counts() {
        let (config, problems) = Config::parse("bell = true\ntheme = 1\n\nmice = true\n");
        assert!(config.bell);
        assert_eq!(problems.iter().map(|problem| problem.line).collect::<Vec<_>>(), [2, 4]);
    }
}
