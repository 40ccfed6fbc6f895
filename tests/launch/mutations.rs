//! Damage to a good file: flipped bits, cuts, numbers that nothing has, all drawn from a seed.
//!
//! Never reads or writes a file.

/// `HVD_LAB_HOSTILE_SEED=7 cargo test --test lab launch::hostile` draws others.
const SEED: u64 = 20_26;

/// Numbers that look drawn at random, and are the same for the same seed (xorshift).
pub struct Dice(u64);

impl Dice {
    pub fn new(kind: &str, case: usize) -> Dice {
        let seed = std::env::var("HVD_LAB_HOSTILE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(SEED);
        let kind = kind.bytes().fold(seed, |hash: u64, byte| hash.wrapping_mul(31).wrapping_add(u64::from(byte)));
        let mut dice = Dice(kind.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(case as u64) | 1);
        for _ in 0..8 {
            dice.next();
        }
        dice
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, most: usize) -> usize {
        (self.next() % most.max(1) as u64) as usize
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }
}

/// What a number of a file may become.
const NUMBERS: [&str; 16] = [
    "1e300",
    "-1e300",
    "1e999",
    "-1",
    "0",
    "null",
    "18446744073709551615",
    "9223372036854775808",
    "4000000000",
    "99999999999999999999999999",
    "1.5",
    "0.0000000000000000001",
    "\"7\"",
    "[]",
    "{}",
    "true",
];

/// Another content, from one that was good. What was done is said first.
pub fn mutated(dice: &mut Dice, case: usize, good: &[u8]) -> (String, Vec<u8>) {
    let mut bytes = good.to_vec();
    let at = dice.below(bytes.len());
    let said = match case % 16 {
        0 => {
            for _ in 0..1 + dice.below(8) {
                let at = dice.below(bytes.len());
                bytes[at] ^= 1 << dice.below(8);
            }
            "flipped bits".to_owned()
        }
        1 => {
            bytes.truncate(at);
            format!("cut to {at} bytes")
        }
        2 => {
            bytes.extend_from_slice(good);
            "doubled".to_owned()
        }
        3 => {
            bytes.clear();
            "emptied".to_owned()
        }
        4 => {
            bytes.splice(at..at, [0; 3]);
            format!("NUL at {at}")
        }
        5 => {
            bytes.splice(at..at, *b"\xff\xfe\xc3\x28");
            format!("no UTF-8 at {at}")
        }
        6 => {
            bytes = b"[".repeat(300_000);
            "deep lists".to_owned()
        }
        7 => {
            bytes = b"{\"a\":".repeat(100_000);
            "deep objects".to_owned()
        }
        8 => {
            bytes.splice(at..at, vec![b'7'; 2 << 20]);
            format!("a long line at {at}")
        }
        9 => {
            let list = format!("[{}]", vec!["\"x\""; 200_000].join(","));
            let list = replace_value(dice, &bytes, b'[', b']', &list);
            bytes = list;
            "a list of 200,000".to_owned()
        }
        10 => {
            let text = format!("\"{}\"", "y".repeat(300_000));
            bytes = replace_value(dice, &bytes, b'"', b'"', &text);
            "a long text".to_owned()
        }
        _ => {
            let number = dice.of(&NUMBERS);
            let mut said = format!("{number} for");
            // One of them, or several at once.
            for _ in 0..1 + dice.below(4) {
                let (replaced, what) = replace_number(dice, &bytes, number);
                bytes = replaced;
                said = format!("{said} {what}");
            }
            said
        }
    };
    (said, bytes)
}

/// Another value for one of the numbers of a text, and which one.
fn replace_number(dice: &mut Dice, bytes: &[u8], number: &str) -> (Vec<u8>, String) {
    let digit = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'-');
    let is_first = |at: usize| digit(&bytes[at]) && (at == 0 || matches!(bytes[at - 1], b':' | b' ' | b',' | b'[' | b'='));
    let starts: Vec<usize> = (0..bytes.len()).filter(|at| is_first(*at)).collect();
    let Some(&start) = starts.get(dice.below(starts.len())) else { return (bytes.to_vec(), "nothing".to_owned()) };
    let end = start + bytes[start..].iter().take_while(|byte| digit(byte)).count();
    let name = String::from_utf8_lossy(&bytes[start.saturating_sub(24)..start]).into_owned();
    ([&bytes[..start], number.as_bytes(), &bytes[end..]].concat(), name)
}

/// Another value for something between two marks.
fn replace_value(dice: &mut Dice, bytes: &[u8], open: u8, close: u8, value: &str) -> Vec<u8> {
    let starts: Vec<usize> = (1..bytes.len()).filter(|at| bytes[*at] == open && matches!(bytes[at - 1], b':' | b' ')).collect();
    let Some(&start) = starts.get(dice.below(starts.len())) else { return value.as_bytes().to_vec() };
    let Some(length) = bytes[start + 1..].iter().position(|byte| *byte == close) else { return value.as_bytes().to_vec() };
    [&bytes[..start], value.as_bytes(), &bytes[start + length + 2..]].concat()
}
