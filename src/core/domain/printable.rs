//! Text from files, ranks, launchers and names, as text that can do nothing but be read.
//!
//! Never lets through what moves a cursor, changes colours, is invisible, or reorders the text.

use std::borrow::Cow;

/// One line: escape sequences are gone with all that belongs to them, and breaks and tabs are spaces.
pub fn line(text: &str) -> Cow<'_, str> {
    if is_safe(text) { Cow::Borrowed(text) } else { Cow::Owned(cleaned(text, Within::Line)) }
}

/// Characters of an [`excerpt`].
const EXCERPT: usize = 300;

/// One line of an error that may quote a whole file: its beginning and its end.
pub fn excerpt(text: &str) -> Cow<'_, str> {
    let text = line(text);
    let count = text.chars().count();
    if count <= EXCERPT {
        return text;
    }
    let half = EXCERPT / 2;
    let part = |skip| text.chars().skip(skip).take(half).collect::<String>();
    Cow::Owned(format!("{} ... {}", part(0), part(count - half)))
}

/// Lines that are put together already: breaks stay. What may be part of the next field stays as well, so no escape sequence
/// takes text with it that it did not bring.
pub fn lines(text: &str) -> Cow<'_, str> {
    if text.split('\n').all(is_safe) { Cow::Borrowed(text) } else { Cow::Owned(cleaned(text, Within::Lines)) }
}

/// JSON as it was, with every character that is not safe to print written by its number.
pub fn json(text: &str) -> Cow<'_, str> {
    let is_safe = |c: char| c == '\n' || place(c) == Place::Shown;
    if text.chars().all(is_safe) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match is_safe(c) {
            true => escaped.push(c),
            // Only inside of strings is there anything else than ASCII.
            false => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| escaped.push_str(&format!("\\u{unit:04x}"))),
        }
    }
    Cow::Owned(escaped)
}

/// Nothing that [`line()`] would look at twice.
fn is_safe(text: &str) -> bool {
    is_plain(text) || text.chars().all(|c| place(c) == Place::Shown)
}

/// Nothing but ASCII that can be seen.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

#[derive(Clone, Copy, PartialEq)]
enum Within {
    Line,
    Lines,
}

fn cleaned(text: &str, within: Within) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(length) = sequence(rest, within) {
            rest = &rest[length..];
            continue;
        }
        rest = &rest[c.len_utf8()..];
        match place(c) {
            Place::Shown => clean.push(c),
            Place::Joiner if joins(&clean, rest) => clean.push(c),
            Place::Joiner | Place::Hidden => {}
            Place::Break if c == '\n' && within == Within::Lines => clean.push(c),
            Place::Break => clean.push(' '),
            Place::Tab => clean.push_str("    "),
        }
    }
    clean
}

/// What a character does on a terminal.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Shown,
    /// Joins pictures to one.
    Joiner,
    /// Steers, or takes no room, and could make a text read as another.
    Hidden,
    Break,
    Tab,
}

fn place(c: char) -> Place {
    match c {
        ' '..='~' => Place::Shown,
        '\t' => Place::Tab,
        '\n' | '\u{b}' | '\u{c}' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' => Place::Break,
        c if c.is_control() => Place::Hidden,
        '\u{200d}' => Place::Joiner,
        // Soft hyphen, Arabic letter mark, Mongolian vowel separator; zero width and direction marks; bidirectional
        // embeddings, overrides and isolates; invisible operators; blanks that are letters; byte order mark; annotations; tags.
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => {
            Place::Hidden
        }
        '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' => {
            Place::Hidden
        }
        _ => Place::Shown,
    }
}

/// Whether a picture stands on either side: anywhere else the joiner would be invisible.
fn joins(before: &str, after: &str) -> bool {
    let is_picture = |c: char| {
        matches!(c, '\u{a9}' | '\u{ae}' | '\u{2190}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}')
            || matches!(c, '\u{1f000}'..='\u{1faff}')
    };
    // Behind a picture may stand how it is to be drawn.
    let last = before.chars().rev().find(|c| *c != '\u{fe0f}');
    last.is_some_and(is_picture) && after.chars().next().is_some_and(is_picture)
}

/// Bytes of the escape sequence that `text` begins with, if any.
fn sequence(text: &str, within: Within) -> Option<usize> {
    let mut characters = text.char_indices();
    let (_, first) = characters.next()?;
    let (kind, start) = match first {
        '\x1b' => {
            let (at, second) = characters.next().unwrap_or((1, '\0'));
            (second, at + second.len_utf8())
        }
        // The same in one character.
        '\u{90}'..='\u{9f}' => (char::from(first as u8 - 0x40), first.len_utf8()),
        _ => return None,
    };
    let alone = first.len_utf8();
    let parameters = |also: &[char]| text[start..].find(|c: char| !(('0'..='?').contains(&c) || also.contains(&c)));
    Some(match kind {
        '[' => {
            let intermediate: Vec<char> = (' '..='/').collect();
            let end = parameters(if within == Within::Line { &intermediate } else { &[] }).map(|length| start + length);
            match end.filter(|end| ('@'..='~').contains(&char::from(text.as_bytes()[*end]))) {
                Some(end) => end + 1,
                None if within == Within::Line => start,
                None => alone,
            }
        }
        // A title, a clipboard, a device control: all up to its end. One without an end takes nothing with it.
        ']' | 'P' | 'X' | '^' | '_' => {
            let end =
                text[start..].find(['\x07', '\u{9c}', '\x1b', '\n']).map(|length| (start + length, &text[start + length..]));
            match (within, end) {
                (Within::Line, Some((end, rest))) if rest.starts_with("\x1b\\") => end + 2,
                (Within::Line, Some((end, rest))) if rest.starts_with(['\x07', '\u{9c}']) => {
                    end + if rest.starts_with('\x07') { 1 } else { 2 }
                }
                (Within::Line, _) => start,
                (Within::Lines, _) => alone,
            }
        }
        // Two characters that set something, such as a reset, with or without one between.
        ' '..='/' if within == Within::Line && first == '\x1b' => {
            let end = text[start..].chars().next().filter(|c| ('0'..='~').contains(c));
            start + usize::from(end.is_some())
        }
        '0'..='~' if within == Within::Line && first == '\x1b' => start,
        _ => alone,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_one_line_that_can_be_read() {
        assert_eq!(excerpt("short\nand safe"), "short and safe");
        let long = format!("invalid value: string \"{}\", expected a model", "\u{fc}".repeat(100_000));
        let cut = excerpt(&long);
        assert!(cut.starts_with("invalid value: ") && cut.ends_with("expected a model") && cut.chars().count() < 310, "{cut}");
    }

    #[test]
    fn an_escape_sequence_is_gone_with_all_that_belongs_to_it() {
        for (text, expected) in [
            ("\x1b[31mred\x1b[0m\x1b[2J\x1b[H", "red"),
            ("\x1b]0;title\x07text\x1b]52;c;AAAA\x1b\\", "text"),
            ("\u{9b}31mred \u{9d}0;title\u{9c}text", "red text"),
            ("\x1bPdevice\x1b\\a\x1b_application\x1b\\b\x1b^private\x1b\\c", "abc"),
            ("\x1bcreset\x1b(Bset\x1b7\x1b8", "resetset"),
            ("\x1b[?1049h\x1b[>4;2m\x1b[1 qcursor", "cursor"),
            ("a\tb\0c\x08d\x7fe\u{80}f", "a    bcdef"),
            ("one\ntwo\r\nthree\u{2028}four\u{2029}five\u{85}six", "one two  three four five six"),
        ] {
            assert_eq!(line(text), expected, "{text:?}");
        }
    }

    #[test]
    fn what_has_no_end_takes_nothing_with_it() {
        for text in
            ["\x1b]0;words", "\x1b[12;", "\x1b", "\x1b[", "\x1b]", "\x1bP", "\u{9b}", "\u{9d}words", "\x1b\x1b\x1b[", "\x1bé"]
        {
            let clean = line(text);
            assert!(is_plain(&clean) || clean == "é", "{text:?}: {clean:?}");
            assert!(!text.contains("words") || clean.ends_with("words"), "{text:?}: {clean:?}");
            let (one, both) = (format!("{text} | 12 failed\n"), format!("{text} | 12 failed\nnext\x07"));
            assert!(lines(&one).ends_with(" | 12 failed\n"), "{:?}", lines(&one));
            assert!(lines(&both).ends_with(" | 12 failed\nnext"), "{:?}", lines(&both));
        }
    }

    #[test]
    fn what_cannot_be_seen_or_turns_text_around_is_gone() {
        let hidden = "\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}\u{200e}\u{200f}\u{200b}\u{200c}\u{200d}\
                      \u{feff}\u{2060}\u{ad}\u{61c}\u{180e}\u{3164}\u{e0041}\u{fffa}";
        for c in hidden.chars() {
            assert_eq!(line(&format!("a{c}b")), "ab", "{c:?}");
            assert_eq!(lines(&format!("a{c}b\n")), "ab\n", "{c:?}");
        }
    }

    #[test]
    fn writing_stays_as_it_is() {
        for text in ["plain words, 100 %", "日本語 実行 ü é", "e\u{301}", "👩‍👩‍👧‍👦 family", "🏳️‍🌈 👩🏽‍⚕️ ❤️‍🔥", "▶ ✓ ⠋ │", "שלום عربي"]
        {
            assert_eq!(line(text), text);
            assert_eq!(lines(&format!("{text}\n{text}\n")), format!("{text}\n{text}\n"));
        }
        assert_eq!(line("👩\u{200d}words"), "👩words", "a joiner that joins nothing");
    }

    #[test]
    fn clean_text_is_clean_already() {
        for text in ["\x1b\x1b[31m[31m", "\u{9b}\u{9b}31m31m", "\x1b]0;\x1b]0;a\x07\x07", "a\x1b\n[31mb", "\x1b\u{202e}[31m"] {
            let once = line(text).into_owned();
            assert_eq!(line(&once), once, "{text:?}");
            assert!(is_plain(&once), "{text:?}: {once:?}");
            assert!(lines(text).split('\n').all(is_plain), "{text:?}");
        }
    }

    #[test]
    fn json_means_the_same_and_holds_nothing_that_acts() {
        let value = serde_json::json!({ "name": "a\u{202e}b\u{9b}31mc\u{7f}\u{e0041}\u{1b}日本", "n": 1 });
        let text = serde_json::to_string_pretty(&value).unwrap();
        assert!(text.contains('\u{202e}') && text.contains('\u{9b}'), "serde_json leaves them as they are");
        let safe = json(&text);
        assert!(!safe.contains(['\u{202e}', '\u{9b}', '\u{7f}', '\u{e0041}']), "{safe}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).unwrap(), value);
    }
}
