//! Figures by the words before them, as most programs print them: `loss: 0.3`, `'eval_accuracy': 0.8`, `val Loss 0.5 Acc 0.9`, `85 img/s`.
//!
//! A name with a word that is not known is of something else: `box loss`, `loss scale`. What is not sure is left out.

use regex::{Match, Regex};

use super::name::{Name, Scope, meaning};
use super::number::{Percents, compiled, figure};
use super::phrase::{Kind, Phrase, Piece, heading, label};
use crate::domain::user_metrics::{Logged, WORDS};

/// Finds figures by their words.
#[derive(Debug)]
pub(super) struct Words {
    /// How far it is, without a name.
    places: Vec<Regex>,
    /// Numbers of bytes go by like steps.
    download: Regex,
    /// What may follow a number: `images/s per GPU`, `/ 100`, `(its mean)`, `/ 100 (98%)`, `%`, `-> another`.
    unit: Regex,
    of: Regex,
    mean: Regex,
    share: Regex,
    per_cent: Regex,
    change: Regex,
    /// Settings, help, code and warnings have numbers too.
    no_figures: Regex,
    /// Parts of the names of all figures, and how far it is: most lines have none of them, and need no closer look.
    stems: Regex,
    /// Of libraries whose accuracies may be in per cent however small.
    percents: Regex,
}

/// A number in a line, and what is around it.
struct Here<'l> {
    line: &'l str,
    number: Match<'l>,
    name: Option<(Name, Option<Scope>)>,
    phrase: Phrase<'l>,
    value: Option<f64>,
    /// `3/10`
    of: Option<f64>,
    /// `0.5 (0.6)`
    mean: Option<f64>,
    /// `98/100 (98%)`
    share: Option<f64>,
    is_per_cent: bool,
    /// `0.5 -> 0.4` tells of two times.
    changes: bool,
}

/// Images a second, as one place of a line says it.
struct Rate {
    value: Option<f64>,
    is_total: bool,
    /// Of one GPU.
    is_each: bool,
    scope: Option<Scope>,
}

impl Words {
    pub fn new() -> Result<Words, String> {
        let places = [
            // [0][10/1307], [640/30000 (2%)]
            r"\]\[\s*(\d+)/\s*(\d+)\]",
            r"\[\s*(\d+)/\s*(\d+)(?:\s*\(\s*\d+\s*%\))?\]",
            // A bar of tqdm, of rich, and of Keras.
            r"\|\s*(\d+)/(\d+) \[",
            r"[━╸╺─]\s+(\d+)/(\d+)\b",
            r"^\s*(\d+)/(\d+) (?:\[|━|-)",
            // Behind the epoch: `epoch 001:    100 / 487`, `| epoch   1 |   200/ 2983 batches`, `Epoch[1](10/20)`
            r"(?i)\bepoch[ \[]+\d+\]?(?::\s+| \| +|\()(\d+)\s?/\s*(\d+)\b",
        ];
        Ok(Words {
            places: places.into_iter().map(compiled).collect::<Result<_, String>>()?,
            download: compiled(r"(?i)[\d.]+\s*[kmg]?i?b(?:ytes)?/s\b|^\s*class(?:es)?\s{2,}")?,
            unit: compiled(
                r"(?i)^\s?(?:images?|imgs?|samples?|examples?)\s?/\s?s(?:ec(?:ond)?s?)?\b(\s?(?:/|\(?per)\s?(?:gpu|device|rank|worker|process|core|chip))?",
            )?,
            of: compiled(r"^\s*(?:/|of\b)\s*(\d+)\b")?,
            mean: compiled(r"^\s?\(\s*(?:avg:?\s*)?(NUM)\s?%?\)")?,
            share: compiled(r"^\s?/\s?\d+\s?\(\s*(NUM)\s?%")?,
            per_cent: compiled(r"^\s?%")?,
            change: compiled(r"^\s*(?:[-=]+>|→)")?,
            no_figures: compiled(concat!(
                // A call, a command, its options, and what it was told.
                r#"\w\(\w+=[^()]*,\s*\w+=|^usage:|(?:^|\s)--[a-z]|^\s*[+$] |\bpython[\d.]* |\w(?:Warning|Error|Exception)\b: |"#,
                r#"\b(?:batch_size|num_workers|weight_decay|seed|data_dir|output_dir|num_epochs|max_epochs|max_steps|epochs)\b['"]?\s*[:=]|"#,
                r#"(?i:\b(?:hyper-?param\w*|hparams|config\w*|arguments|args|options|settings)\b)['"]?\s*[:=(]|"#,
                // Code
                r#"\bNCCL (?:INFO|WARN)|:\w*(?:val|eval|test)\w*:\d+(?: +-|\])|^\s*File "|^\s*(?:def|return|raise|assert|print|if|elif|while|class|from|import)\b.*[(:]|\b(?:self|args)\.|\bf['"]|"#,
                r#"^(?: {4,}|\t+)[\w.]+\s=\s|[❱┃]|^\s*│\s+\d+\s+│|^\s*-+>\s*\d+\s|[\w)]\s*(?:==\s*[\w"'(]|\+=|\*=|<=|>=| \*\* | // )|\d\s+#\s+[a-z]"#,
            ))?,
            percents: compiled(r" mm\w+ - |\bxent:")?,
            stems: compiled(r"(?i)loss|acc|prec|top|epoch|step|iter|batch|lr|learning|im(?:age|g)|sample|example|\d\s?/\s*\d")?,
        })
    }

    /// What a line of no family says.
    pub fn read_any(&self, line: &str, logged: Logged, percents: &Percents) -> Logged {
        let may_have_figures = self.stems.is_match(line) && !self.no_figures.is_match(line);
        if may_have_figures { self.read(line, logged, None, percents) } else { logged }
    }

    /// What the line says beside what is known of it, such as that it is of validation.
    pub fn read(&self, line: &str, mut logged: Logged, of: Option<Scope>, percents: &Percents) -> Logged {
        let (known, pieces) = (logged.clone(), Piece::all(line));
        let is_result = line.trim_start().starts_with('*') || line.contains("Saving dict for global step");
        let all = of.or(is_result.then_some(Scope::Validation)).or_else(|| label(&pieces));
        let says =
            |name| pieces.iter().any(|piece| piece.kind == Kind::Word && meaning(&piece.found.as_str().to_lowercase()).0 == name);
        // What a figure says for itself may count for those behind it, or not.
        let (mut scope, mut is_unclear, mut rates) = (all, false, Vec::new());
        // A rate without a name takes its scope from the heading, not from the loss before it: `val loss 0.9 1234 img/s`.
        let mut headed = all;
        for at in 0..pieces.len() {
            if let Some(new) = heading(&pieces, at).filter(|_| all.is_none()) {
                (scope, headed, is_unclear) = (Some(new), Some(new), false);
            }
            if pieces[at].kind != Kind::Number {
                continue;
            }
            let here = self.here(line, &pieces, at);
            let is_loose = here.phrase.is_loose() && all.is_none();
            if here.name.is_none_or(|(name, _)| name == Name::Rate) {
                let rate = self.rate(&here, &pieces, at).map(|rate| Rate { scope: rate.scope.or(headed), ..rate });
                // `900 img/s (850 img/s)`: now, and the mean
                let is_second = !rates.is_empty() && line[..here.number.start()].ends_with('(');
                rates.extend(rate.filter(|rate| !is_second || rate.is_each));
            }
            let Some((name, own)) = here.name.filter(|_| !here.changes) else {
                // `train=0.5 val=0.4 accuracy=0.9`
                is_unclear |= is_loose && here.number.as_str().contains('.');
                continue;
            };
            if let Some(own) = own.filter(|_| is_loose) {
                let is_second = own == Scope::Validation && logged.loss.or(logged.accuracy).is_some();
                is_unclear = is_second || scope.is_some_and(|scope| scope != own);
                scope = Some(own);
            }
            let validates = own.or(scope) == Some(Scope::Validation);
            // `train loss 0.5 val loss 0.4 acc 0.9` could be either.
            let put = |training: &mut Option<f64>, validation: &mut Option<f64>, value: Option<f64>| {
                let (slot, other) = if validates { (validation, training) } else { (training, validation) };
                *slot = slot.or(value.filter(|_| own.is_some() || !is_unclear || other.is_some()));
            };
            match name {
                // MMEngine's `Epoch(test) [3/79]`
                Name::Epoch if !here.phrase.behind.is_empty() && here.of.is_some() => {
                    (logged.step, logged.steps) = (here.value, here.of);
                }
                Name::Epoch if logged.epoch.is_none() => {
                    logged.epoch = here.value;
                    logged.epochs = logged.epochs.or(here.of).filter(|_| here.value.is_some());
                }
                // `batch 64` by itself is its size.
                Name::Step if here.phrase.has(&["batch"]) && here.of.or(logged.epoch).is_none() && !says(Name::Loss) => {}
                Name::Step if logged.step.is_none() && known.steps.is_none() => {
                    logged.step = here.value.filter(|step| step.fract() == 0.0 && *step >= 0.0);
                    logged.steps = here.of.filter(|_| logged.step.is_some());
                }
                Name::LearningRate => logged.learning_rate = logged.learning_rate.or(here.value),
                Name::Loss if here.of.is_none() => {
                    put(&mut logged.loss, &mut logged.val_loss, here.mean.filter(|_| validates).or(here.value));
                }
                Name::Accuracy | Name::Top => {
                    let is_known = here.is_per_cent || name == Name::Top && (logged.by != WORDS || line.contains('@'));
                    let value = here.share.or(here.mean.filter(|_| validates)).or(here.value.filter(|_| here.of.is_none()));
                    let is_unsure = name == Name::Top || self.percents.is_match(line);
                    let value =
                        value.and_then(|value| if is_known { Some(value / 100.0) } else { percents.fraction(value, is_unsure) });
                    let value = value.filter(|value| (0.0..=1.0).contains(value));
                    put(&mut logged.accuracy, &mut logged.val_accuracy, value);
                }
                _ => {}
            }
        }
        if logged.images_per_sec.or(logged.val_images_per_sec).is_none() {
            put_rate(&mut logged, &rates);
        }
        if logged.step.or(logged.steps).is_none() && !self.download.is_match(line) {
            (logged.step, logged.steps) = self.place(line, &pieces).unwrap_or_default();
        }
        let has_figures = [logged.loss, logged.accuracy, logged.val_loss, logged.val_accuracy].iter().any(Option::is_some);
        // How far a test is says nothing of the training.
        if scope == Some(Scope::Validation) && !has_figures {
            (logged.step, logged.steps) = (None, None);
        }
        // A rate of learning by itself is a setting, and so is an epoch or a step in a list of them.
        let has_rate = logged.images_per_sec.or(logged.val_images_per_sec).is_some();
        let is_setting = line.starts_with([' ', '\t']) && !line.contains(['|', '━']) || logged.epoch.or(logged.step).is_none();
        if is_setting && !has_figures && !has_rate { known } else { logged }
    }

    /// What is around the number at this place.
    fn here<'l>(&self, line: &'l str, pieces: &[Piece<'l>], at: usize) -> Here<'l> {
        let (number, phrase) = (pieces[at].found, Phrase::before(pieces, at));
        let (value, after) = (figure(line, number), &line[number.end()..]);
        let behind = |regex: &Regex| regex.captures(after).and_then(|found| figure(after, found.get(1)?));
        let (of, mean, share) = (behind(&self.of).filter(|_| value.is_some()), behind(&self.mean), behind(&self.share));
        Here {
            line,
            number,
            value,
            of,
            mean,
            share,
            is_per_cent: share.is_some() || phrase.is_per_cent || self.per_cent.is_match(after),
            changes: self.change.is_match(after),
            name: phrase.name(),
            phrase,
        }
    }

    /// Images a second at this place, with their name before or their unit behind.
    fn rate(&self, here: &Here<'_>, pieces: &[Piece<'_>], at: usize) -> Option<Rate> {
        let unit = self.unit.captures(&here.line[here.number.end()..]);
        let is = |at: usize, kind: Kind| pieces.get(at).is_some_and(|piece| piece.kind == kind);
        // `0.1 samples/s 900`: which of the two?
        let is_unclear = match here.name {
            Some(_) if at < 2 || !is(at - 1, Kind::Word) || !is(at - 2, Kind::Number) => false,
            Some(_) => Phrase::before(pieces, at - 2).words.is_empty(),
            None => unit.is_none() || is(at + 2, Kind::Number) || is(at + 3, Kind::Number) && pieces[at + 2].is_separator(),
        };
        let words = here.phrase.words.iter().filter(|word| **word != "rate");
        let meanings: Vec<_> = words.map(|word| meaning(&word.to_lowercase())).collect();
        let is_mine = !is_unclear && meanings.iter().all(|(name, _)| matches!(name, Name::Rate | Name::Aside));
        is_mine.then(|| Rate {
            value: here.value.filter(|_| !is_split(here.line, here.number)),
            is_total: here.phrase.has(&["total", "global", "aggregate"]),
            is_each: unit.is_some_and(|unit| unit.get(1).is_some()) || here.phrase.has(&["gpu", "device", "rank", "worker"]),
            scope: meanings.iter().find_map(|(_, scope)| *scope),
        })
    }

    /// How far it is, where no word says so. `epoch: [1/10]` counts epochs.
    fn place(&self, line: &str, pieces: &[Piece<'_>]) -> Option<(Option<f64>, Option<f64>)> {
        let line = &line[..pieces.last()?.found.end()];
        let is_of_epoch = |of: Match<'_>| {
            let at = pieces.iter().position(|piece| piece.found.start() == of.start());
            at.and_then(|at| Phrase::before(pieces, at).name()).is_some_and(|(name, _)| name == Name::Epoch)
        };
        let steps = |place: &Regex| place.captures_iter(line).find(|found| !found.get(1).is_some_and(is_of_epoch));
        let found = self.places.iter().find_map(steps)?;
        let step = figure(line, found.get(1)?);
        Some((step, found.get(2).and_then(|steps| figure(line, steps)).filter(|_| step.is_some())))
    }
}

/// One rate of all that a line says: that of all ranks, if it is there.
fn put_rate(logged: &mut Logged, rates: &[Rate]) {
    // Of several GPUs, or of several things.
    let plain = || rates.iter().filter(|rate| !rate.is_total && !rate.is_each);
    let differ = plain().any(|rate| plain().any(|other| rate.scope == other.scope && rate.value != other.value));
    if differ && !rates.iter().any(|rate| rate.is_total) {
        return;
    }
    let best = rates.iter().find(|rate| rate.is_total).or_else(|| rates.iter().find(|rate| !rate.is_each)).or(rates.first());
    let Some(best) = best.filter(|best| best.value.is_some()) else { return };
    if best.scope == Some(Scope::Validation) {
        logged.val_images_per_sec = best.value;
        return;
    }
    logged.images_per_sec = best.value;
    logged.is_total = best.is_total || !best.is_each && rates.iter().any(|rate| rate.is_each);
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
