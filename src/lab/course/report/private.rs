//! Removes private details from a sentence: where the user's files are, and on which host.
//!
//! It removes the folders and hosts of a list, and shortens every path.

/// The texts to remove.
#[derive(Clone, Debug, Default)]
pub struct Private {
    /// Folders, such as the user's home, with what stands for them.
    pub folders: Vec<(String, &'static str)>,
    /// Host names; empty if they may be shown.
    pub hosts: Vec<String>,
}

impl Private {
    /// The text without them, and without control characters.
    pub fn clean(&self, text: &str) -> String {
        let mut text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        for (folder, stand_in) in self.folders.iter().filter(|(folder, _)| folder.len() > 1) {
            text = text.replace(folder.trim_end_matches('/'), stand_in);
        }
        for host in self.hosts.iter().filter(|host| !host.is_empty() && *host != "localhost") {
            text = without_word(&text, host);
        }
        without_paths(&text)
    }
}

/// The word is a host only where it stands alone.
fn without_word(text: &str, word: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    let (mut cleaned, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(word) {
        let (before, after) = (&rest[..at], &rest[at + word.len()..]);
        cleaned += before;
        let stands_alone = !cleaned.ends_with(is_part) && !after.starts_with(is_part);
        cleaned += if stands_alone { "this host" } else { word };
        rest = after;
    }
    cleaned + rest
}

/// `/srv/ada/lab/x.json` becomes `.../x.json`.
fn without_paths(text: &str) -> String {
    let ends = |c: char| c.is_whitespace() || "'\"`()[]<>,;:=".contains(c);
    let shortened = |word: &str| {
        let is_path = word.starts_with('/') || word.starts_with("~/");
        match word.trim_end_matches('/').rsplit_once('/') {
            Some((folder, name)) if is_path && !folder.is_empty() => format!(".../{name}"),
            _ => word.to_owned(),
        }
    };
    text.split_inclusive(ends)
        .map(|piece| {
            let word = piece.trim_end_matches(ends);
            shortened(word) + &piece[word.len()..]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_paths_and_hosts_are_taken_out_and_nothing_else() {
        let private = Private { folders: vec![("/home/ada l".into(), "~")], hosts: vec!["node1".into()] };
        let cases = [
            ("ranks 0 and 1 on node1 both have local rank 0", "ranks 0 and 1 on this host both have local rank 0"),
            ("node12, my-node1 and node1: three", "node12, my-node1 and this host: three"),
            ("/home/ada l/lab/runs/0007 is gone", ".../0007 is gone"),
            ("cannot open `/opt/x/libnvidia-ml.so.1`: no", "cannot open `.../libnvidia-ml.so.1`: no"),
            ("13 / 3 = 4 batches, images/s, 1/2", "13 / 3 = 4 batches, images/s, 1/2"),
            ("a\u{1b}[2Jb\nc", "a [2Jb c"),
        ];
        for (text, expected) in cases {
            assert_eq!(private.clean(text), expected);
        }
        assert_eq!(Private::default().clean("on node1"), "on node1", "asked for");
    }
}
