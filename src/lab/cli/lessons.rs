//! `hvd-lab lessons`: list, read, answer and proofread the lessons.

use std::path::PathBuf;
use std::process::ExitCode;

use super::output::{Usage, print, print_done, say};
use super::table::render;
use crate::course::{
    Answer, Catalog, Lesson, Piece, Prediction, Progress, ProgressFile, Question, QuestionId, Reading, Role, fold, lay_out,
    proofread,
};
use crate::domain::step::Step;
use crate::exercise::{self, Language, TEN_STEPS};
use crate::runs::RunStore;

const EXAMPLES: &str = "\
Examples:
  hvd-lab lessons                          all lessons, and which steps are done
  hvd-lab lessons --json | jq -r '.[] | select(.is_done == false) | .title'
  hvd-lab lessons show 4 | less
  hvd-lab lessons show 4 --hints 1         with the first of three hints
  hvd-lab lessons show 4 --unfold          with the lines in PyTorch and in Rust too
  hvd-lab lessons answer 4 2               the second answer to the question of lesson 4
  hvd-lab lessons --lessons my-folder      with your own lessons (also HVD_LAB_LESSONS)
  hvd-lab lessons check my-folder          proofread before a class reads them";

/// List, read, answer and proofread the lessons.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A folder with your own lessons. They replace those of the program by number [default: HVD_LAB_LESSONS].
    #[arg(long, value_name = "DIR", global = true)]
    lessons: Option<PathBuf>,
    /// One JSON array of all lessons.
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// One lesson as plain text, 80 columns wide.
    Show {
        /// 0 is the introduction, 1 to 10 are the steps; `hvd-lab lessons` lists all.
        number: usize,
        /// Show this many of its hints.
        #[arg(long, value_name = "N", default_value_t = 0)]
        hints: usize,
        /// Also show the parts that are folded away: the same lines in PyTorch and in Rust.
        #[arg(long)]
        unfold: bool,
    },
    /// Answer the question of a lesson before you run anything. Several questions are asked one after the other.
    #[command(allow_negative_numbers = true)]
    Answer {
        /// Number of the lesson.
        number: usize,
        /// Your answer: a number, or for a list of answers the number of one, from 1.
        value: String,
    },
    /// Proofread all lessons of a folder, or those of the program, and the TODOs of the exercise.
    Check {
        #[arg(value_name = "DIR")]
        folder: Option<PathBuf>,
    },
}

/// For clap: a step by its number.
pub(super) fn step(text: &str) -> Result<Step, String> {
    text.parse().ok().and_then(Step::from_number).ok_or_else(|| "steps are numbered from 1 to 10".into())
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.what {
        None => list(&Catalog::open(args.lessons.as_deref())?, args.json),
        Some(_) if args.json => Err(Usage("--json lists all lessons: leave out what follows it".into()).into()),
        Some(What::Show { number, hints, unfold }) => {
            // Without progress that can be read nothing is answered, and the lesson is shown all the same.
            let reading = RunStore::default_home().ok().map(|home| ProgressFile::of(&home).read());
            let reading =
                reading.map(|read| read.unwrap_or_else(|error| Reading { note: Some(error.to_string()), ..Reading::default() }));
            let Reading { progress, note } = reading.unwrap_or_default();
            note.iter().for_each(|note| say(note));
            let catalog = Catalog::open(args.lessons.as_deref())?;
            print_done(&text(find(&catalog, number)?, hints, (!unfold).then(writes_rust), &progress))
        }
        Some(What::Answer { number, value }) => answer(find(&Catalog::open(args.lessons.as_deref())?, number)?, value.trim()),
        Some(What::Check { folder }) => {
            let proof = proofread(folder.or(args.lessons).as_deref())?;
            let of_lessons = proof.problems.iter().map(ToString::to_string);
            let problems: Vec<String> = of_lessons.chain(exercise::proofread()).collect();
            for problem in &problems {
                print(&format!("{problem}\n"))?;
            }
            say(&format!("{} lessons, the exercise and its solutions, {} to fix", proof.lessons, problems.len()));
            Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
    }
}

fn find(catalog: &Catalog, number: usize) -> Result<&Lesson, Usage> {
    let numbers: Vec<String> = catalog.lessons().map(|lesson| lesson.number.to_string()).collect();
    catalog.lesson(number).ok_or_else(|| Usage(format!("there is no lesson {number}: there are {}", numbers.join(", "))))
}

fn list(catalog: &Catalog, json: bool) -> anyhow::Result<ExitCode> {
    let reading = ProgressFile::of(&RunStore::default_home()?).read()?;
    reading.note.iter().for_each(|note| say(note));
    if json {
        let row = |lesson: &Lesson| {
            let (number, is_done) = (lesson.step.map(Step::number), lesson.step.map(|step| reading.progress.is_done(step)));
            serde_json::json!({
                "lesson": lesson.number, "title": lesson.title, "summary": lesson.summary, "step": number, "is_done": is_done,
            })
        };
        return super::output::print_json_done(&catalog.lessons().map(row).collect::<Vec<_>>());
    }
    let mark = |step: Step| if reading.progress.is_done(step) { "[x]" } else { "[ ]" };
    let row = |lesson: &Lesson| {
        let mark = lesson.step.map_or("", mark);
        vec![lesson.number.to_string(), mark.to_owned(), lesson.title.clone(), lesson.summary.clone()]
    };
    print_done(&render(&["lesson", "", "title", "summary"], catalog.lessons().map(row)))
}

fn in_markdown(question: &Question) -> String {
    let options = match &question.answer {
        Answer::Choice { options, .. } => options.iter().map(|option| format!("\n1. {option}")).collect(),
        Answer::Number { .. } => String::new(),
    };
    format!("{}\n{options}", question.text)
}

/// Note an answer to the question of a lesson that is open, and say what it is worth.
fn answer(lesson: &Lesson, value: &str) -> anyhow::Result<ExitCode> {
    let number = lesson.number;
    let file = ProgressFile::of(&RunStore::default_home()?);
    let known = file.read()?.progress;
    let Some((asked, question)) = lesson.asked(|id| known.tries(id).last().map(|answered| answered.prediction)) else {
        return Err(Usage(format!("lesson {number} asks no question: see `hvd-lab lessons show {number}`")).into());
    };
    let which = match lesson.questions.len() {
        1 => String::new(),
        all => format!("question {} of {all} (`{}`): ", asked.question + 1, question.text),
    };
    let prediction = prediction(&question.answer, value).map_err(|why| Usage(format!("{which}{why}")))?;
    let Some(judged) = question.judge(prediction) else {
        return Err(Usage(format!("`{value}` is not an answer to this question")).into());
    };
    let ((), reading) = file.update(|progress| progress.predict(asked, prediction, judged.is_right))?;
    reading.note.iter().for_each(|note| say(note));
    print(&plain_text(&format!("{}\n\n{}\n", question.text, judged.in_words())))?;
    if let Some(next) = lesson.questions.get(asked.question + 1).filter(|_| judged.is_right) {
        let (place, of) = (asked.question + 2, lesson.questions.len());
        print(&format!("\n{}", plain_text(&format!("Question {place} of {of}: {}\n", in_markdown(next)))))?;
    }
    Ok(if judged.is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// An answer as it is typed: the number of an option, from 1, or a number.
fn prediction(answer: &Answer, value: &str) -> Result<Prediction, String> {
    match answer {
        Answer::Choice { options, .. } => match value.parse::<usize>() {
            Ok(chosen) if (1..=options.len()).contains(&chosen) => Ok(Prediction::Choice(chosen - 1)),
            _ => Err(format!("`{value}` is not one of the answers: give a number from 1 to {}", options.len())),
        },
        Answer::Number { .. } => match value.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Prediction::Number(number)),
            _ => Err(format!("`{value}` is not a number: this question asks for one")),
        },
    }
}

/// Columns of a terminal that is as narrow as they come.
const COLUMNS: usize = 80;

/// The language of the learner's own program.
fn writes_rust() -> bool {
    RunStore::default_home().is_ok_and(|home| Language::known(&home, &TEN_STEPS) == Some(Language::Rust))
}

/// A lesson as one reads it in a terminal. `fold_for_rust`: folded for a learner who writes Rust, or else Python; `None` unfolds all.
fn text(lesson: &Lesson, hints: usize, fold_for_rust: Option<bool>, progress: &Progress) -> String {
    let title = lesson.step.map_or(lesson.title.clone(), |step| format!("Step {}/10: {}", step.number(), lesson.title));
    let is_answered = |id: QuestionId| progress.tries(id).next().is_some();
    let body = lesson.text(is_answered);
    let body = match fold_for_rust {
        None => body.into(),
        Some(writes_rust) => fold(body, writes_rust, &format!("`hvd-lab lessons show {} --unfold` shows them.", lesson.number)),
    };
    // The questions come first, because the text gives away the answers.
    let mut markdown = format!("# {title}\n\n{}\n{}\n{body}\n", lesson.summary, questions(lesson, progress));
    if lesson.keeps_back(is_answered) {
        let number = lesson.number;
        markdown += &format!(
            "\n## The rest of this lesson\n\nThe rest gives away the answers. First answer with `hvd-lab lessons answer {number} \
             VALUE`. Then `hvd-lab lessons show {number}` shows all of the lesson.\n"
        );
    }
    let mut section = |title: &str, text: String| markdown.push_str(&format!("\n## {title}\n\n{text}\n"));
    if let Some(run) = &lesson.run {
        let line = |steps| format!("hvd-lab run --np {} --steps {steps} --epochs {}\n", run.np, run.epochs);
        section("The two runs", format!("```sh\n{}{}hvd-lab check\n```", line(run.before), line(run.after)));
    }
    if hints > 0 && !lesson.hints.is_empty() {
        section("Hints", lesson.hints.iter().take(hints).map(|hint| format!("1. {hint}\n")).collect());
    }
    let mut text = plain_text(&markdown);
    if !lesson.links.is_empty() {
        text.push_str(&format!("\n{}", underlined("Links")));
        // An address is not wrapped: it would not be one any more.
        lesson.links.iter().for_each(|link| text.push_str(&format!("{}\n  {}\n", link.title, link.url)));
    }
    text
}

/// The questions of a lesson, with what was answered to them last.
fn questions(lesson: &Lesson, progress: &Progress) -> String {
    let number = lesson.number;
    let one = |(place, question): (usize, &Question)| {
        let last = progress.tries(QuestionId { lesson: number, question: place }).last();
        let judged = last.and_then(|last| question.judge(last.prediction));
        let said = judged.map(|judged| format!("\n\n{}", judged.in_words())).unwrap_or_default();
        let which = match lesson.questions.len() {
            1 => String::new(),
            all => format!("Question {} of {all}: ", place + 1),
        };
        format!("{which}{}{said}", in_markdown(question))
    };
    if lesson.questions.is_empty() {
        String::new()
    } else {
        let all = lesson.questions.iter().enumerate().map(one).collect::<Vec<_>>().join("\n\n");
        let how = format!("`hvd-lab lessons answer {number} VALUE` notes your answer and tells you whether it is right.");
        format!("\n## Predict before you run\n\n{all}\n\n{how}\n")
    }
}

/// Markdown as one reads it in a terminal.
pub(super) fn plain_text(markdown: &str) -> String {
    lay_out(&with_ticks(markdown), COLUMNS).iter().map(|row| plain(row)).collect()
}

/// Without colours only its back-ticks tell code from words: `if` becomes code with back-ticks in it.
fn with_ticks(markdown: &str) -> String {
    let mut in_fence = false;
    let mut text = String::with_capacity(markdown.len() + markdown.len() / 8);
    for line in markdown.lines() {
        let is_fence = line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~");
        in_fence ^= is_fence;
        let parts: Vec<&str> = line.split('`').collect();
        // An even number of single ticks, that is pairs of them.
        if in_fence || is_fence || parts.len().is_multiple_of(2) || line.contains("``") {
            text.push_str(line)
        } else {
            parts.iter().enumerate().for_each(|(index, part)| match index % 2 {
                0 => text.push_str(part),
                _ => text.push_str(&format!("`` `{part}` ``")),
            })
        }
        text.push('\n');
    }
    text
}

/// A row as text; a heading is underlined.
fn plain(row: &[Piece]) -> String {
    let text: String = row.iter().map(|piece| piece.text.as_str()).collect();
    if row.iter().any(|piece| piece.role == Role::Heading) { underlined(&text) } else { format!("{}\n", text.trim_end()) }
}

fn underlined(text: &str) -> String {
    format!("{text}\n{}\n", "-".repeat(text.chars().count()))
}
