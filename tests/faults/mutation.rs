//! Ways to damage a file, chosen by dice: in its bytes, in its text, in its values, or as a whole.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use super::campaign::Dice;

/// What a file holds, as far as damage depends on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Json,
    JsonLines,
    Text,
    Binary,
}

/// A way to damage a file.
type Way = fn(&mut Dice, &[u8]) -> Vec<u8>;

const BYTES: [(&str, Way); 6] = [
    ("flipped bits", flip),
    ("cut", cut),
    ("doubled", |_, bytes| [bytes, bytes].concat()),
    ("emptied", |_, _| Vec::new()),
    ("zeroed from the middle on", |dice, bytes| {
        let from = dice.below(bytes.len().max(1));
        [&bytes[..from], vec![0; bytes.len() - from].as_slice()].concat()
    }),
    ("noise", |dice, _| (0..dice.below(5000)).map(|_| dice.byte()).collect()),
];

const TEXT: [(&str, Way); 6] = [
    ("a NUL", |dice, bytes| insert(dice, bytes, b"\0")),
    ("invalid UTF-8", |dice, bytes| insert(dice, bytes, b"\xff\xfe\xc0\x80")),
    ("escape sequences", |dice, bytes| insert(dice, bytes, b"\x1b]0;title\x07\x1b[2J\x1b[31m\xe2\x80\xae")),
    ("a very long line", |dice, bytes| insert(dice, bytes, &vec![b'x'; 4 << 20])),
    ("many lines", |dice, bytes| insert(dice, bytes, "\n{}\n".repeat(100_000).as_bytes())),
    ("deep nesting", |dice, bytes| {
        let bracket = *dice.pick(b"[{");
        insert(dice, bytes, &vec![bracket; 200_000])
    }),
];

const VALUES: [(&str, Way); 5] = [
    ("a number out of all bounds", |dice, bytes| replace(dice, bytes, is_number, &NUMBERS)),
    ("another type", |dice, bytes| replace(dice, bytes, |_| true, &TYPES)),
    ("hostile text", hostile_text),
    ("deeply nested value", |dice, bytes| {
        let (open, close) = ("[".repeat(100_000), "]".repeat(100_000));
        replace(dice, bytes, |_| true, &[&(open + &close), &"{\"a\":".repeat(100_000)])
    }),
    ("a field twice", |dice, bytes| {
        let fields: Vec<_> =
            tokens(bytes).into_iter().filter(|(from, to)| bytes[*from] == b'"' && bytes.get(*to) == Some(&b':')).collect();
        let Some(&(from, to)) = (!fields.is_empty()).then(|| dice.pick(&fields)) else { return bytes.to_vec() };
        [&bytes[..from], &bytes[from..to], b":1,", &bytes[from..]].concat()
    }),
];

const LINES: [(&str, Way); 3] = [
    ("lines out of order", |dice, bytes| {
        let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        (1..lines.len()).for_each(|place| lines.swap(place, dice.below(place + 1)));
        lines.concat()
    }),
    ("a line many times", |dice, bytes| {
        let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        if lines.is_empty() { Vec::new() } else { [bytes, &dice.pick(&lines).repeat(20_000)].concat() }
    }),
    ("a line missing", |dice, bytes| {
        let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        if !lines.is_empty() {
            lines.remove(dice.below(lines.len()));
        }
        lines.concat()
    }),
];

const NUMBERS: [&str; 16] = [
    "0",
    "-1",
    "1e300",
    "-1e300",
    "1e-320",
    "1e999",
    "0.5",
    "65536",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1234567890123456789012345678901234567890",
    "253402300800",
];
const TYPES: [&str; 9] = ["null", "true", "\"\"", "[]", "{}", "-7", "\"18446744073709551615\"", "[[[]]]", "NaN"];
const TEXTS: [&str; 8] = [
    "../../../../../../tmp/x",
    "/etc/passwd",
    "\\u0000",
    "\\u001b[2J\\u001b]0;t\\u0007",
    "\\u202e\\u2066\\u200b",
    "\\ud800",
    "=1+1",
    "%s%n%x",
];

/// What became of a file, besides other content.
const WHOLE: [&str; 7] = [
    "a folder in its place",
    "gone",
    "a link to nowhere",
    "a link to itself",
    "a link to a pipe",
    "a link to a folder",
    "a large file of zeros",
];

/// Damage the file in one way; what was done to it.
pub fn damage(dice: &mut Dice, path: &Path, kind: Kind) -> &'static str {
    if dice.below(8) == 0 {
        return replace_whole(dice, path);
    }
    let mut ways: Vec<&(&str, Way)> = BYTES.iter().collect();
    if kind != Kind::Binary {
        ways.extend(&TEXT);
    }
    if matches!(kind, Kind::Json | Kind::JsonLines) {
        // Twice as likely: these reach furthest.
        ways.extend(VALUES.iter().chain(&VALUES));
    }
    if matches!(kind, Kind::JsonLines | Kind::Text) {
        ways.extend(&LINES);
    }
    let before = fs::read(path).unwrap();
    let (name, way) = dice.pick(&ways);
    fs::write(path, way(dice, &before)).unwrap();
    name
}

fn replace_whole(dice: &mut Dice, path: &Path) -> &'static str {
    let way = *dice.pick(&WHOLE);
    fs::remove_file(path).unwrap();
    match way {
        "a folder in its place" => fs::create_dir(path).unwrap(),
        "gone" => {}
        "a link to nowhere" => symlink("nowhere/at/all", path).unwrap(),
        "a link to itself" => symlink(path, path).unwrap(),
        "a link to a pipe" => {
            // Not a device of the machine, which a fault of the lab must not reach.
            let pipe = path.with_extension("pipe");
            mkfifo(&pipe, Mode::S_IRWXU).unwrap();
            symlink(pipe, path).unwrap();
        }
        "a link to a folder" => symlink("..", path).unwrap(),
        // It takes no room, but is long to read.
        _ => fs::File::create(path).unwrap().set_len(64 << 20).unwrap(),
    }
    way
}

fn flip(dice: &mut Dice, bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=dice.below(8) {
        if !bytes.is_empty() {
            let place = dice.below(bytes.len());
            bytes[place] ^= 1 << dice.below(8);
        }
    }
    bytes
}

fn cut(dice: &mut Dice, bytes: &[u8]) -> Vec<u8> {
    bytes[..dice.below(bytes.len().max(1))].to_vec()
}

fn insert(dice: &mut Dice, bytes: &[u8], what: &[u8]) -> Vec<u8> {
    let place = dice.below(bytes.len() + 1);
    [&bytes[..place], what, &bytes[place..]].concat()
}

/// The values of JSON text that are no lists or objects, names of fields included: from where to where.
fn tokens(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let from = at;
        at += 1;
        if bytes[from] == b'"' {
            while at < bytes.len() && bytes[at] != b'"' {
                at += if bytes[at] == b'\\' { 2 } else { 1 };
            }
            at = (at + 1).min(bytes.len());
            found.push((from, at));
        } else if bytes[from].is_ascii_alphanumeric() || bytes[from] == b'-' {
            while at < bytes.len() && (bytes[at].is_ascii_alphanumeric() || b"+-.".contains(&bytes[at])) {
                at += 1;
            }
            found.push((from, at));
        }
    }
    found
}

fn is_number(token: &[u8]) -> bool {
    token[0].is_ascii_digit() || token[0] == b'-'
}

/// Another value in the place of one that fits.
fn replace(dice: &mut Dice, bytes: &[u8], fits: impl Fn(&[u8]) -> bool, values: &[&str]) -> Vec<u8> {
    let is_value = |(from, to): &(usize, usize)| bytes.get(*to) != Some(&b':') && fits(&bytes[*from..*to]);
    let places: Vec<_> = tokens(bytes).into_iter().filter(is_value).collect();
    if places.is_empty() {
        return bytes.to_vec();
    }
    let &(from, to) = dice.pick(&places);
    [&bytes[..from], dice.pick(values).as_bytes(), &bytes[to..]].concat()
}

fn hostile_text(dice: &mut Dice, bytes: &[u8]) -> Vec<u8> {
    let long = "x".repeat(1 << 20);
    let texts: Vec<String> = TEXTS.iter().copied().chain([long.as_str()]).map(|text| format!("\"{text}\"")).collect();
    replace(dice, bytes, |token| token[0] == b'"', &texts.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn values_are_replaced_and_names_are_not() {
    let text = br#"{"np": 2, "name": "a \" b", "list": [1.5e3, true]}"#;
    let parts: Vec<_> = tokens(text).into_iter().map(|(from, to)| std::str::from_utf8(&text[from..to]).unwrap()).collect();
    assert_eq!(parts, ["\"np\"", "2", "\"name\"", "\"a \\\" b\"", "\"list\"", "1.5e3", "true"]);
    let mut dice = Dice::of(1, "", 0);
    let replaced = String::from_utf8(replace(&mut dice, text, is_number, &["-1"])).unwrap();
    assert!(replaced.contains("\"np\": -1") || replaced.contains("[-1,"), "{replaced}");
}

#[test]
fn every_way_changes_the_file() {
    let text = b"{\"a\": 1, \"b\": \"text\"}\n{\"a\": 2, \"b\": \"more\"}\n{\"a\": 3, \"b\": \"most\"}\n";
    for (name, way) in BYTES.iter().chain(&TEXT).chain(&VALUES).chain(&LINES) {
        let changes = (0..20).filter(|number| way(&mut Dice::of(1, name, *number), text) != text).count();
        assert!(changes > 10, "{name}: {changes}");
    }
}
