//! What the checks judge and what they say stand apart.

use std::fs;
use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};

use super::source::Source;

/// Literals with a blank in them: words of a sentence. Comments are none, and tests may quote.
fn sentences(tokens: TokenStream, found: &mut Vec<String>) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(mark) if mark.as_char() == '#' => {
                // `//!` is an attribute too.
                tokens.next_if(|next| matches!(next, TokenTree::Punct(mark) if mark.as_char() == '!'));
                let attribute = tokens.next_if(|next| matches!(next, TokenTree::Group(_))).map(|next| next.to_string());
                if attribute.is_some_and(|text| text.replace(' ', "") == "[cfg(test)]") {
                    return;
                }
            }
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                if text.starts_with('"') && text.contains(' ') {
                    found.push(text);
                }
            }
            TokenTree::Group(group) => sentences(group.stream(), found),
            _ => {}
        }
    }
}

fn sentences_of(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    sentences(text.parse().unwrap(), &mut found);
    found
}

#[test]
fn checks_judge_and_their_words_stand_apart() {
    let folder = Path::new(env!("HVD_LAB_CHECKOUT")).join("src/lab/course/check");
    let read = |folder: &Path| -> Vec<(String, String)> {
        let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
        let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
        files.map(|path| (path.display().to_string(), fs::read_to_string(&path).unwrap())).collect()
    };
    let (judging, words) = (read(&folder), read(&folder.join("words")));
    assert!(judging.len() > 8 && words.len() > 8, "{} and {}", judging.len(), words.len());
    for (path, text) in &judging {
        let found = sentences_of(text);
        assert!(found.is_empty(), "{path} judges and speaks: its words belong in words/: {found:?}");
    }
    for (path, text) in &words {
        let source = Source::new(path, text);
        for judgement in ["Outcome", "Objection", "Finding", "failed", "unclear", "Group"] {
            assert!(!source.names(judgement), "{path} judges: it names {judgement}");
        }
        assert!(!sentences_of(text).is_empty(), "{path} has no words");
    }
    // What the test finds, and what it does not mind.
    assert_eq!(
        sentences_of("//! A comment.\n/// A comment.\nfn f() { failed(format!(\"two words {x}\", 1)) }"),
        ["\"two words {x}\""]
    );
    assert!(sentences_of("fn f() { one(\"word\") }\n#[cfg(test)]\nmod tests { fn f() { one(\"two words\") } }").is_empty());
}
