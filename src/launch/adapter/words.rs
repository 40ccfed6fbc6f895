//! Figures by the words before them, as most programs print them: `loss: 0.3`, `'eval_accuracy': 0.8`, `train_loss=0.5`, `85 img/s`.

use regex::Regex;

use super::family::compiled;
use crate::domain::logged::Logged;

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
}

impl Words {
    pub fn new() -> Result<Words, String> {
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
            download: compiled(r"(?i)[\d.]+\s*[kmg]?i?b(?:ytes)?/s\b")?,
            loss: compiled(
                r#"(?i)(?:^|[^\w])((?:val|eval|valid|validation|test|average|avg)[_ /.]|)((?:train|training|lm|total)[_ /.])?loss(?:['"]?\s*[:=]\s*['"]?|\s+)(NUM)"#,
            )?,
            accuracy: compiled(
                r#"(?i)(?:^|[^\w])((?:val|eval|valid|validation|test)[_ /.]|)(?:(?:sparse|categorical|binary|train|training)[_ /.])*((?:acc|prec)@1|acc1|top1|top-1|acc(?:uracy)?)(?:['"]?\s*[:=]\s*['"]?|\s+)(NUM)\s*(%?)"#,
            )?,
            rates: all(&[
                r"(?i)\b(total )?(?:images|img|imgs|samples|examples)\s*/\s*s(?:ec(?:ond)?)?(?: per (?:gpu|cpu|device))?(?: on \d+ \w+\(s\))?\s*[:=]\s*(NUM)",
                r"(?i)()(?:^|[\s:])(NUM)\s*(?:images|img|imgs|samples|examples)\s*/\s*s(?:ec)?\b",
                r"(?i)()(?:samples|images|examples)[_ ]per[_ ]sec(?:ond)?['\x22]?\s*[:=]\s*['\x22]?(NUM)",
            ])?,
            learning_rate: compiled(r#"(?i)(?:^|[^\w])(?:lr|learning[_ ]rate)(?:['"]?\s*[:=]\s*\[?['"]?|\s+)(NUM)"#)?,
            validation: compiled(r"(?i)^\s*\*|^\s*(?:test|validat(?:e|ion)|eval(?:uation)?)\b[^:]*:|\btest set:")?,
        })
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
        if let Some(found) = self.epoch.captures(line).filter(|_| logged.epoch.is_none()) {
            logged.epoch = number(&found[1]);
            logged.epochs = logged.epochs.or_else(|| number(found.get(2)?.as_str()));
        }
        let step = || self.steps.iter().find_map(|regex| regex.captures(line));
        if let Some(found) = step().filter(|_| logged.step.is_none() && !self.download.is_match(line)) {
            logged.step = number(&found[1]);
            logged.steps = found.get(2).and_then(|steps| number(steps.as_str()));
        }
        for found in self.loss.captures_iter(line) {
            // An average is of what the line is about.
            let is_plain = found[1].is_empty() || found[1].starts_with(['a', 'A']);
            let own = found.get(2).is_some() || is_plain && !is_validation;
            let slot = if own { &mut logged.loss } else { &mut logged.val_loss };
            *slot = slot.or_else(|| number(&found[3]));
        }
        for found in self.accuracy.captures_iter(line) {
            let own = found[1].is_empty() && !is_validation;
            let is_percent = &found[4] == "%" || found[2].ends_with('1');
            let slot = if own { &mut logged.accuracy } else { &mut logged.val_accuracy };
            *slot = slot.or_else(|| Some(number(&found[3])? / if is_percent { 100.0 } else { 1.0 }));
        }
        if logged.images_per_sec.is_none()
            && logged.val_images_per_sec.is_none()
            && let Some(found) = self.rates.iter().find_map(|regex| regex.captures(line))
        {
            logged.is_total = found.get(1).is_some_and(|total| !total.is_empty());
            let rate = number(&found[2]);
            if is_validation { logged.val_images_per_sec = rate } else { logged.images_per_sec = rate }
        }
        logged.learning_rate = logged.learning_rate.or_else(|| number(&self.learning_rate.captures(line)?[1]));
        logged
    }
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok()
}
