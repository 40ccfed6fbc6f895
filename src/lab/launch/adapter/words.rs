//! Figures by the words before them, as most programs print them: `loss: 0.3`, `'eval_accuracy': 0.8`, `train_loss=0.5`, `85 img/s`.

use regex::{Captures, Match, Regex};

use super::family::{compiled, figure};
use crate::domain::logged::Logged;

/// Who reads a line of no family.
pub(super) const ANY: &str = "words before numbers";

/// Finds figures by their words.
#[derive(Debug)]
pub(super) struct Words {
    epoch: Regex,
    steps: Vec<Regex>,
    /// Numbers of bytes go by like steps.
    download: Regex,
    loss: Regex,
    accuracy: Regex,
    rates: Vec<Regex>,
    learning_rate: Regex,
    validation: Regex,
    /// Settings, help and warnings have numbers too.
    no_figures: Regex,
    /// Of libraries whose accuracies are in per cent, without saying so.
    percents: Regex,
}

/// Between a figure's name and its number.
const IS: &str = r#"(?:['"]?\s*[:=]\s*\[?(?:['"]|(?:(?:torch\.)?tensor|(?:np\.|jnp\.)?array|Array|np\.float\d+)\(\[?)?|\s+)"#;
/// Words that may stand before a figure's name and leave it what it is: `current loss`, but not `best loss` or `box loss`.
const ASIDE: &str = " train training lm total global batch step iter iteration optimizer current running final average avg mean info debug warning root \
    and with of in at for the throughput speed starting start finished end set s sec ms it nan inf epoch results accuracy acc ";

impl Words {
    pub fn new() -> Result<Words, String> {
        let compiled = |text: &str| compiled(&text.replace("IS", IS));
        let all = |list: &[&str]| list.iter().map(|text| compiled(text)).collect::<Result<Vec<Regex>, String>>();
        Ok(Words {
            epoch: compiled(r#"(?i)(?:^|[^\w])epoch['"]?[ :=#\[]+['"]?\s*(NUM)(?:\s*/\s*(\d+)\b)?"#)?,
            steps: all(&[
                // [0][10/1307], [640/30000 (2%)]
                r"\]\[\s*(\d+)/\s*(\d+)\]",
                r"\[\s*(\d+)/\s*(\d+)(?:\s*\(\s*\d+\s*%\))?\]",
                // A bar of tqdm, or of rich.
                r"\|\s*(\d+)/(\d+) \[",
                r"[━╸╺]\s+(\d+)/(\d+)\b",
                r"\|\s*(\d+)/\s*(\d+) batches\b",
                r"(?i)(?:^|[\s,|(\[])(?:global_|train_)?(?:step|iter|iteration|batch)s?[ #:=]*\[?(\d+)(?:\s*(?:/|of)\s*(\d+))?\b",
                // Keras
                r"^\s*(\d+)/(\d+) (?:\[|━|-)",
            ])?,
            download: compiled(r"(?i)[\d.]+\s*[kmg]?i?b(?:ytes)?/s\b|^\s*class\s+images\b")?,
            loss: compiled(
                r#"(?i)(?:^|[^\w])((?:val|eval|valid|validation|test|average|avg)(?: set)?[-_ /.]|)((?:train|training|lm|total)[-_ /.])?lossIS(NUM)"#,
            )?,
            accuracy: compiled(
                r#"(?i)(?:^|[^\w])((?:val|eval|valid|validation|test)(?: set)?[-_ /.]|)(?:(?:sparse|categorical|binary|train|training)[-_ /.])*((?:acc|prec)@1|acc1|top1|top-1|acc(?:uracy)?)IS(NUM)\s*(%?)"#,
            )?,
            rates: all(&[
                r"(?i)\b(total)_ips\s*:\s*(NUM) img/s",
                r"(?i)\b(total )?(?:images|img|imgs|samples|examples)\s*/\s*s(?:ec(?:ond)?)?(?: per (?:gpu|cpu|device))?(?: on \d+ \w+\(s\))?\s*[:=]\s*(NUM)",
                r"(?i)()(?:^|[\s:])(NUM)\s*(?:images|img|imgs|samples|examples)\s*/\s*s(?:ec)?\b",
                r"(?i)()(?:samples|images|examples)[_ ]per[_ ]sec(?:ond)?['\x22]?\s*[:=]\s*['\x22]?(NUM)",
            ])?,
            learning_rate: compiled(r#"(?i)(?:^|[^\w])(?:lr|learning[_ ]rate)IS(NUM)"#)?,
            validation: compiled(
                r"(?i)^\s*\*|^\s*(?:test|validat(?:e|ion)|eval(?:uation)?)\b[^:]*:|\btest set:|[\[(](?:val|valid|validation|test|eval)[\])]|\b(?:validation|evaluation):|\bvalid on '|\bsaving dict for global step",
            )?,
            no_figures: compiled(
                r#"Namespace\(|^usage:|^\s*--\w|\w(?:Warning|Error): |\b(?:batch_size|num_workers|weight_decay|seed|data_dir|output_dir|num_epochs|max_epochs)\b['"]?\s*[:=]"#,
            )?,
            percents: compiled(r" mm\w+ - |\bxent:")?,
        })
    }

    /// What a line of no family says.
    pub fn read_any(&self, line: &str, logged: Logged) -> Logged {
        if self.no_figures.is_match(line) { logged } else { self.read(line, logged) }
    }

    /// What the line says beside what is known of it.
    pub fn read(&self, line: &str, logged: Logged) -> Logged {
        self.look(line, logged, self.validation.is_match(line))
    }

    /// The same of a line of validation.
    pub fn read_validation(&self, line: &str, logged: Logged) -> Logged {
        self.look(line, logged, true)
    }

    fn look(&self, line: &str, mut logged: Logged, is_validation: bool) -> Logged {
        let is_any = logged.by == ANY;
        let number = |group: Option<Match<'_>>| figure(line, group?);
        let first = |regex: &Regex| regex.captures_iter(line).find(|found| is_plain(line, found.get_match()));
        if let Some(found) = first(&self.epoch).filter(|_| logged.epoch.is_none()) {
            logged.epoch = number(found.get(1));
            logged.epochs = logged.epochs.or_else(|| number(found.get(2)).filter(|_| logged.epoch.is_some()));
        }
        // `epoch: [1/10]` counts epochs, not steps.
        let of_epoch = self.epoch.captures(line).and_then(|found| found.get(1)).map(|of| of.start());
        let is_step = |found: &Captures<'_>| found.get(1).map(|of| of.start()) != of_epoch && is_plain(line, found.get_match());
        let step = || self.steps.iter().find_map(|regex| regex.captures_iter(line).find(is_step));
        if let Some(found) = step().filter(|_| logged.step.or(logged.steps).is_none() && !self.download.is_match(line)) {
            logged.step = number(found.get(1));
            logged.steps = number(found.get(2)).filter(|_| logged.step.is_some());
        }
        let of_line = |regex: &'_ Regex| -> Vec<_> {
            regex.captures_iter(line).filter(|found| is_plain(line, found.get_match())).collect()
        };
        for found in of_line(&self.loss) {
            // An average is of what the line is about.
            let is_plain = found[1].is_empty() || found[1].starts_with(['a', 'A']);
            let own = found.get(2).is_some() || is_plain && !is_validation;
            let slot = if own { &mut logged.loss } else { &mut logged.val_loss };
            *slot = slot.or_else(|| number(found.get(3)));
        }
        for found in of_line(&self.accuracy) {
            let own = found[1].is_empty() && !is_validation;
            let (is_percent, is_top) = (&found[4] == "%", found[2].ends_with('1'));
            let value = number(found.get(3)).filter(|value| {
                let is_fraction = (0.0..=1.0).contains(value);
                // Without a sign, some mean per cent and some do not.
                let is_unclear = is_any && is_fraction && (is_top && !found[2].contains('@') || self.percents.is_match(line));
                is_percent || if is_top { !is_unclear } else { is_fraction && !is_unclear }
            });
            let slot = if own { &mut logged.accuracy } else { &mut logged.val_accuracy };
            *slot = slot.or_else(|| Some(value? / if is_percent || is_top { 100.0 } else { 1.0 }));
        }
        if logged.images_per_sec.is_none()
            && logged.val_images_per_sec.is_none()
            && let Some(found) = self.rates.iter().find_map(first)
        {
            logged.is_total = found.get(1).is_some_and(|total| !total.is_empty());
            let rate = found.get(2).filter(|of| !is_split(line, *of) && !is_between(line, found.get_match(), *of));
            let rate = rate.and_then(|of| figure(line, of));
            logged.is_total &= rate.is_some();
            if is_validation { logged.val_images_per_sec = rate } else { logged.images_per_sec = rate }
        }
        logged.learning_rate = logged.learning_rate.or_else(|| number(first(&self.learning_rate)?.get(1)));
        // How far a test is says nothing of the training.
        if is_validation && logged.val_loss.is_none() && logged.val_accuracy.is_none() {
            (logged.step, logged.steps) = (None, None);
        }
        logged
    }
}

/// Whether the name in what was found is not the end of a longer one.
fn is_plain(line: &str, found: Match<'_>) -> bool {
    let name = found.as_str().trim_start_matches(|c: char| !c.is_alphanumeric());
    let before = &line[..found.end() - name.len()];
    let Some(joined) = before.strip_suffix([' ', '-', '/']).filter(|_| name.starts_with(char::is_alphabetic)) else {
        return true;
    };
    let rest = joined.trim_end_matches(|c: char| c.is_alphanumeric());
    let word = &joined[rest.len()..];
    word.is_empty() || word.starts_with(|c: char| c.is_ascii_digit()) || ASIDE.contains(&format!(" {} ", word.to_lowercase()))
}

/// Whether another number follows the name, which may be the one that it means: `lr 0.1 samples/s 900`.
fn is_between(line: &str, found: Match<'_>, number: Match<'_>) -> bool {
    let after = line[found.end()..].trim_start();
    number.end() < found.end() && after.len() < line.len() - found.end() && after.starts_with(|c: char| c.is_ascii_digit())
}

/// Whether a space may stand between the thousands of a number: `12 345`.
fn is_split(line: &str, found: Match<'_>) -> bool {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let is_group = |text: &str| digits(text) == 3;
    let text = found.as_str();
    let follows = line[..found.start()].strip_suffix(' ').is_some_and(|before| before.ends_with(|c: char| c.is_ascii_digit()));
    let goes_on = line[found.end()..].strip_prefix(' ').is_some_and(is_group);
    follows && is_group(text) || goes_on && digits(text) == text.len()
}
