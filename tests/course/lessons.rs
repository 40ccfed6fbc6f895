//! Lessons: what parses, what is refused with file and line, and what the proofreader finds.
//!
//! Never uses the program's own lessons but to proofread them.

use std::fs;

use hvd_lab_terminal::course::{Answer, Catalog, GuidedRun, Lesson, Prediction, problems, proofread};
use hvd_lab_terminal::domain::step::Step;

pub const GOOD: &str = r####"+++
title = "Start from the same weights"
step = 4
summary = "Rank 0's weights go to all"
hints = ["What differs?", "Look above the loop.", "broadcast_state(comm, ...)"]
[question]
text = "How many sets of weights are there?"
kind = "choice"
options = ["one", "as many as ranks"]
answer = 1
feedback = ["No: each draws its own.", "Yes."]
[run]
before = "1-3"
after = "1-4"
np = 2
epochs = 2
[[links]]
title = "Horovod"
url = "https://horovod.readthedocs.io/en/stable/"
+++

## The problem
Every rank draws weights of its own.
## The idea
```text
rank 0 --> rank 1
```
## How it is written
### Horovod with Keras
```python
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
```
### Horovod with PyTorch
```python
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
```
### Here in Rust
```rust
broadcast_state(comm, &mut *model, &mut *optimizer)?;
```
## Run it
See [the paper](https://arxiv.org/abs/1802.05799).
## What to look for
Digests.
## The trap
A broadcast inside `if rank == 0` hangs.
## The original's numbers
| run | accuracy |
|---|---|
| published | 0.7811 |
"####;

const NUMBER: &str = "text = \"?\"\nkind = \"number\"\nanswer = 29\ntolerance = 0.5\nfeedback = [\"right\", \"low\", \"high\"]\n";

#[test]
fn a_lesson_is_read_whole() {
    let lesson = Lesson::parse("somewhere/04_broadcast.md", GOOD).unwrap();
    assert_eq!((lesson.number, lesson.slug.as_str(), lesson.step), (4, "broadcast", Some(Step::Broadcast)));
    assert_eq!(lesson.hints.len(), 3);
    let run = GuidedRun { before: "1-3".parse().unwrap(), after: "1-4".parse().unwrap(), np: 2, epochs: 2 };
    assert_eq!(lesson.run, Some(run));
    assert_eq!(lesson.links[0].title, "Horovod");
    assert!(lesson.body.trim_start().starts_with("## The problem"));
    assert_eq!(GOOD.lines().nth(lesson.body_line).unwrap(), "## The problem", "the body begins with an empty line");
    assert_eq!(problems(&lesson), []);
    // As an editor of another system writes it.
    let foreign = Lesson::parse("04_broadcast.md", &format!("\u{feff}{}", GOOD.replace('\n', "\r\n"))).unwrap();
    assert_eq!((foreign.body, foreign.body_line), (lesson.body, lesson.body_line));

    let start = GOOD.find("text = \"How").unwrap();
    let end = GOOD.find("[run]").unwrap();
    let number = GOOD.replace(&GOOD[start..end], NUMBER);
    let question = Lesson::parse("04_broadcast.md", &number).unwrap().questions.remove(0);
    assert!(matches!(question.answer, Answer::Number { right: 29.0, tolerance: 0.5, .. }), "{question:?}");
}

#[test]
fn what_cannot_be_is_refused_with_file_and_line() {
    let cases = [
        ("+++\ntitle", "title", 1, "+++"),
        ("\n+++\n", "\n", 1, "not closed"),
        ("step = 4", "step = ", 3, ""),
        ("step = 4", "step = 5", 3, "step 5"),
        ("step = 4", "step = 11", 3, "step 11"),
        ("step = 4\n", "", 2, "step = 4"),
        ("step = 4", "setp = 4", 3, "setp"),
        ("summary =", "summry =", 4, "summry"),
        ("summary = \"Rank 0's weights go to all\"", "summary = \"\"", 4, "summary"),
        ("\"Look above the loop.\", ", "", 5, "three"),
        ("\"What differs?\"", "\"\"", 5, "three"),
        ("text = \"How many sets of weights are there?\"", "text = \" \"", 7, "no text"),
        ("kind = \"choice\"", "kind = \"essay\"", 8, "essay"),
        ("kind = \"choice\"", "kind = \"number\"", 9, "no options"),
        ("options = [\"one\", \"as many as ranks\"]", "options = [\"one\"]", 9, "two options"),
        ("answer = 1", "answer = 2", 10, "answer 2"),
        ("answer = 1", "answer = -1", 10, "answer -1"),
        ("answer = 1", "answer = 0.5", 10, "answer 0.5"),
        ("answer = 1", "answer = 1\ntolerance = 1", 11, "tolerance"),
        ("feedback = [\"No: each draws its own.\", \"Yes.\"]", "feedback = [\"Yes.\"]", 11, "one for each option"),
        ("before = \"1-3\"", "before = \"1-11\"", 13, "1-11"),
        ("np = 2", "np = 0", 15, "np 0"),
        ("epochs = 2", "epochs = two", 16, ""),
        ("url =", "href =", 19, "href"),
    ];
    for (good, bad, line, what) in cases {
        assert!(GOOD.contains(good), "{good}");
        // For the fence that closes, the last one.
        let text = match good {
            "\n+++\n" => GOOD.replacen("\n+++\n", bad, 1),
            _ => GOOD.replacen(good, bad, 1),
        };
        let error = Lesson::parse("dir/04_broadcast.md", &text).unwrap_err();
        assert!(error.to_string().starts_with(&format!("dir/04_broadcast.md:{line}: ")), "{bad:?}: {error}");
        assert!(error.what.contains(what), "{bad:?}: {error}");
    }
    let numbers = [
        ("tolerance = 0.5\n", "", "tolerance"),
        ("tolerance = 0.5", "tolerance = -1", "negative"),
        ("answer = 29", "answer = nan", "finite"),
        (", \"high\"", "", "three"),
    ];
    for (good, bad, what) in numbers {
        let question = NUMBER.replacen(good, bad, 1);
        let text = format!("+++\ntitle = \"t\"\nsummary = \"s\"\n[question]\n{question}+++\n");
        let error = Lesson::parse("00_introduction.md", &text).unwrap_err();
        assert!(error.what.contains(what), "{bad:?}: {error}");
    }
    for name in ["broadcast.md", "4_broadcast.md", "04.md", "04_.md", "04_broadcast.txt", "04_a b.md"] {
        let error = Lesson::parse(name, GOOD).unwrap_err();
        assert!(error.to_string().contains(name) && error.what.contains("NN_slug.md"), "{error}");
    }
}

#[test]
fn the_proofreader_finds_what_parses_and_is_wrong() {
    let long = format!("Every rank {}.", "draws weights ".repeat(8));
    let wide = format!("rank 0 {}> rank 1", "-".repeat(60));
    let cases = [
        ("Every rank draws weights of its own.", long.as_str(), 23, "columns"),
        ("rank 0 --> rank 1", &wide, 26, "diagram"),
        ("```text", "```", 25, "no language"),
        ("## Run it", "```text\n## Run it", 41, "not closed"),
        ("https://arxiv.org", "http://arxiv.org", 42, "http://arxiv.org"),
        ("https://horovod.readthedocs.io/en/stable/", "https://horovod", 1, "https://horovod"),
        ("## The trap", "## A trap", 45, "`The trap`"),
        ("## The original's numbers\n", "", 45, "original's numbers"),
        ("## What to look for\nDigests.\n## The trap", "## The trap\nDigests.\n## What to look for", 43, "What to look for"),
        ("### Here in Rust", "### Here", 37, "Here in Rust"),
        ("### Horovod with Keras", "### Horovod", 29, "Horovod with Keras"),
        ("```rust", "```python", 37, "no code fence in rust"),
        ("after = \"1-4\"", "after = \"1-3\"", 1, "on after"),
        ("hints = [\"What differs?\", \"Look above the loop.\", \"broadcast_state(comm, ...)\"]\n", "", 1, "needs hints"),
    ];
    for (good, bad, line, what) in cases {
        assert!(GOOD.contains(good), "{good}");
        let lesson = Lesson::parse("04_broadcast.md", &GOOD.replacen(good, bad, 1)).unwrap();
        let found = problems(&lesson);
        assert!(found.iter().any(|problem| problem.line == line && problem.what.contains(what)), "{bad:?}: {found:?}");
    }
    let rust = GOOD.find("### Here in Rust").unwrap();
    let pytorch = GOOD.find("### Horovod with PyTorch").unwrap();
    let python = "### Here in Python\n```python\nhvd.broadcast(0)\n```\n";
    for (without, with) in [(&GOOD[pytorch..rust], ""), ("### Here in Rust", &*format!("{python}### Here in Rust"))] {
        let lesson = Lesson::parse("04_broadcast.md", &GOOD.replacen(without, with, 1)).unwrap();
        assert_eq!(problems(&lesson), [], "PyTorch and our Python may be there or not");
    }
    let translated = GOOD.replace("## ", "## Abschnitt ").replace("### Abschnitt", "###");
    assert_eq!(problems(&Lesson::parse("04_verteilen.md", &translated).unwrap()), []);
}

#[test]
fn a_folder_takes_precedence_lesson_by_lesson() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    assert!(Catalog::open(Some(folder.path())).unwrap_err().to_string().contains("no lessons in "));
    assert!(Catalog::open(Some(&folder.path().join("gone"))).unwrap_err().to_string().contains("/gone"));
    write("04_own.md", &GOOD.replace("Start from", "Begin with"));
    write("notes.md", "not a lesson");
    write("12_extra.md", "+++\ntitle = \"Extra\"\nsummary = \"of the folder's own\"\n+++\nText.\n");
    let catalog = Catalog::open(Some(folder.path())).unwrap();
    let numbers = |catalog: &Catalog| catalog.lessons().map(|lesson| lesson.number).collect::<Vec<_>>();
    assert_eq!(catalog.of_step(Step::Broadcast).unwrap().title, "Begin with the same weights");
    let mut expected = numbers(&Catalog::embedded().unwrap());
    expected.extend([4, 12]);
    expected.sort_unstable();
    expected.dedup();
    assert_eq!(numbers(&catalog), expected);

    write("04_other.md", GOOD);
    let error = Catalog::open(Some(folder.path())).unwrap_err().to_string();
    assert!(error.contains("04_own.md:1: ") && error.contains("04_other.md"), "{error}");
    let proof = proofread(Some(folder.path())).unwrap();
    assert!(proof.problems.iter().any(|problem| problem.what.contains("another lesson 4")), "{proof:?}");
}

/// Two questions: the first of the two is asked until it is answered right, then the second.
#[test]
fn questions_are_asked_one_after_the_other() {
    let start = GOOD.find("[question]").unwrap();
    let end = GOOD.find("[run]").unwrap();
    let one = GOOD[start..end].replace("[question]", "[[questions]]");
    let lesson = Lesson::parse("04_broadcast.md", &GOOD.replace(&GOOD[start..end], &one.repeat(2))).unwrap();
    assert_eq!(lesson.questions.len(), 2);
    let right = (0..9).map(Prediction::Choice).find(|of| lesson.questions[0].judge(*of).unwrap().is_right).unwrap();
    let wrong = Prediction::Number(0.5);
    let asked = |first: Option<Prediction>, second: Option<Prediction>| {
        lesson.asked(|id| if id.question == 0 { first } else { second }).unwrap().0.question
    };
    assert_eq!(asked(None, None), 0);
    assert_eq!((asked(Some(wrong), None), asked(Some(right), None)), (0, 1));
    assert_eq!((asked(Some(right), Some(right)), asked(None, Some(right))), (1, 0), "the last one stays open");
}
