//! The command line as people write it: what mpirun and horovodrun take too is put in the lab's own words.
//!
//! Never reads a value.

use std::ffi::OsString;

/// Verbs with a number of ranks.
const VERBS: [&str; 6] = ["run", "inspect", "guided", "ablation", "collectives", "bench"];

/// `-np 2` as `--np 2`, where it is a flag of the lab: not behind `--`, where flags of the trainer stand.
pub fn arguments(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.into_iter().collect();
    let own = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let verb = words.iter().skip(1).find(|word| !word.as_encoded_bytes().starts_with(b"-"));
    if verb.is_some_and(|verb| VERBS.iter().any(|known| verb == known)) {
        for word in &mut words[..own] {
            match word.to_str() {
                Some("-np") => *word = "--np".into(),
                Some(text) if text.starts_with("-np=") => *word = format!("-{text}").into(),
                _ => {}
            }
        }
    }
    // Only right behind the name of the program: everything else of a line may be another verb's.
    if words.get(1).is_some_and(|verb| verb == "bench") { super::bench::translated(words) } else { words }
}

/// For `-n 2`, `-n2`, `-n=2` and `-np2`, which other launchers know and the lab does not: how it is written here.
/// Also for a program that was not written behind `--`.
pub fn tip(words: impl IntoIterator<Item = OsString>) -> Option<String> {
    let mut words = words.into_iter().map_while(|word| word.into_string().ok()).take_while(|word| word != "--");
    // The verb before was one that starts programs.
    let mut is_launched = false;
    while let Some(word) = words.next() {
        if let Some(value) = word.strip_prefix("-np").or_else(|| word.strip_prefix("-n")) {
            let value = if value.is_empty() { words.next()? } else { value.trim_start_matches('=').to_owned() };
            return value.parse::<usize>().ok().map(|ranks| format!("use `--np {ranks}`"));
        }
        if is_launched && !word.starts_with('-') {
            return Some(format!("write a program of your own behind --, as in `-- {word} ...`"));
        }
        is_launched = ["run", "inspect"].contains(&word.as_str());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn np_is_taken_as_mpirun_takes_it_where_it_is_a_flag() {
        for (line, expected) in [
            ("hvd-lab run -np 2 --epochs 3", "hvd-lab run --np 2 --epochs 3"),
            ("hvd-lab run -np=2", "hvd-lab run --np=2"),
            ("hvd-lab guided 4 -np 2", "hvd-lab guided 4 --np 2"),
            ("hvd-lab ablation -np 4", "hvd-lab ablation --np 4"),
            ("hvd-lab collectives run -np 4 -n 9", "hvd-lab collectives run --np 4 -n 9"),
            ("hvd-lab run --np 2 -- -np 3", "hvd-lab run --np 2 -- -np 3"),
            ("hvd-lab runs name 7 -np", "hvd-lab runs name 7 -np"),
            ("hvd-lab", "hvd-lab"),
        ] {
            let words = arguments(line.split(' ').map(OsString::from));
            assert_eq!(words.join(std::ffi::OsStr::new(" ")), OsString::from(expected));
        }
    }
}
