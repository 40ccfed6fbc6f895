//! Figures by the words before them, as most programs print them: `loss: 0.3`, `'eval_accuracy': 0.8`, `val Loss 0.5 Acc 0.9`, `85 img/s`.
//!
//! A name with a word that is not known is of something else: `box loss`, `loss scale`. What is not sure is left out.

use regex::{Match, Regex};

use super::family::{compiled, figure};
use super::name::{Name, Scope, meaning, name};
use super::percents::Percents;
use super::phrase::{Kind, Phrase, Piece, heading, label};
use crate::domain::logged::Logged;

/// Who reads a line of no family.
pub(super) const ANY: &str = "words before numbers";

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
    /// Of libraries whose accuracies may be in per cent however small.
    percents: Regex,
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
        })
    }

    /// What a line of no family says.
    pub fn read_any(&self, line: &str, logged: Logged, percents: &Percents) -> Logged {
        if self.no_figures.is_match(line) { logged } else { self.read(line, logged, None, percents) }
    }

    /// What the line says beside what is known of it, such as that it is of validation.
    pub fn read(&self, line: &str, mut logged: Logged, of: Option<Scope>, percents: &Percents) -> Logged {
        let (known, pieces) = (logged.clone(), Piece::all(line));
        let is_result = line.trim_start().starts_with('*') || line.contains("Saving dict for global step");
        let all = of.or(is_result.then_some(Scope::Validation)).or_else(|| label(&pieces));
        let is_of_loss =
            pieces.iter().any(|piece| piece.kind == Kind::Word && meaning(&piece.found.as_str().to_lowercase()).0 == Name::Loss);
        // A word that one figure has may count for those behind it, or not.
        let (mut scope, mut is_unclear, mut rates) = (all, false, Vec::new());
        for at in 0..pieces.len() {
            if let Some(new) = heading(&pieces, at).filter(|_| all.is_none()) {
                (scope, is_unclear) = (Some(new), false);
            }
            if pieces[at].kind != Kind::Number {
                continue;
            }
            let number = pieces[at].found;
            let (phrase, after) = (Phrase::before(&pieces, at), &line[number.end()..]);
            let named = name(&phrase);
            if named.is_none_or(|(name, _)| name == Name::Rate) {
                let rate = self.rate(line, &pieces, at).map(|rate| Rate { scope: rate.scope.or(scope), ..rate });
                // `900 img/s (850 img/s)`: now, and the mean
                let is_second = !rates.is_empty() && line[..number.start()].ends_with('(');
                rates.extend(rate.filter(|rate| !is_second || rate.is_each));
            }
            // `from 0.5 -> 0.4` tells of two times.
            let Some((name, own)) = named.filter(|_| !self.change.is_match(after)) else { continue };
            if let Some(own) = own.filter(|_| phrase.is_loose() && all.is_none()) {
                is_unclear = scope.is_some_and(|scope| scope != own)
                    || logged.loss.or(logged.accuracy).is_some() && own == Scope::Validation;
                scope = Some(own);
            }
            let validates = own.or(scope) == Some(Scope::Validation);
            let of = || self.of.captures(after).and_then(|of| behind(line, number, of.get(1)));
            let value = figure(line, number);
            let mean = self.mean.captures(after).filter(|_| validates);
            let mean = mean.and_then(|mean| behind(line, number, mean.get(1)));
            let may = |there: Option<f64>| own.is_some() || !is_unclear || there.is_some();
            match name {
                // MMEngine's `Epoch(test) [3/79]`
                Name::Epoch if !phrase.behind.is_empty() && of().is_some() => {
                    (logged.step, logged.steps) = (value, of().filter(|_| value.is_some()));
                }
                Name::Epoch if logged.epoch.is_none() => {
                    logged.epoch = value;
                    logged.epochs = logged.epochs.or_else(of).filter(|_| value.is_some());
                }
                // `batch 64` by itself is its size.
                Name::Step if phrase.has(&["batch"]) && of().or(logged.epoch).is_none() && !is_of_loss => {}
                Name::Step if logged.step.is_none() && known.steps.is_none() => {
                    logged.step = value.filter(|step| step.fract() == 0.0 && *step >= 0.0);
                    logged.steps = of().filter(|_| logged.step.is_some());
                }
                Name::LearningRate => logged.learning_rate = logged.learning_rate.or(value),
                Name::Loss if of().is_none() => {
                    let may = may(if validates { logged.loss } else { logged.val_loss });
                    let slot = if validates { &mut logged.val_loss } else { &mut logged.loss };
                    *slot = slot.or(mean.or(value).filter(|_| may));
                }
                Name::Accuracy | Name::Top => {
                    let share = self.share.captures(after).and_then(|share| behind(line, number, share.get(1)));
                    let has_sign = share.is_some() || phrase.is_per_cent || self.per_cent.is_match(after);
                    let has_sign =
                        has_sign || name == Name::Top && (logged.by != ANY || phrase.words.iter().any(|word| word.contains('@')));
                    let value = share.or(mean).or(value.filter(|_| of().is_none()));
                    let is_unsure = name == Name::Top || self.percents.is_match(line);
                    let value =
                        value.and_then(|value| if has_sign { Some(value / 100.0) } else { percents.fraction(value, is_unsure) });
                    let may = may(if validates { logged.accuracy } else { logged.val_accuracy });
                    let slot = if validates { &mut logged.val_accuracy } else { &mut logged.accuracy };
                    *slot = slot.or(value.filter(|value| may && (0.0..=1.0).contains(value)));
                }
                _ => {}
            }
        }
        if logged.images_per_sec.or(logged.val_images_per_sec).is_none() {
            put_rate(&mut logged, &rates);
        }
        let seen = &line[..pieces.last().map_or(0, |piece| piece.found.end())];
        if logged.step.or(logged.steps).is_none() && !self.download.is_match(line) {
            (logged.step, logged.steps) = self.place(seen, &pieces).unwrap_or_default();
        }
        let losses = [logged.loss, logged.accuracy, logged.val_loss, logged.val_accuracy];
        let has_figures = losses.iter().any(Option::is_some);
        // How far a test is says nothing of the training.
        if scope == Some(Scope::Validation) && !has_figures {
            (logged.step, logged.steps) = (None, None);
        }
        // A rate of learning by itself is a setting, and so is an epoch or a step in a list of them.
        let has_rate = logged.images_per_sec.or(logged.val_images_per_sec).is_some();
        let is_setting = line.starts_with([' ', '\t']) && !line.contains(['|', '━']) || logged.epoch.or(logged.step).is_none();
        if is_setting && !has_figures && !has_rate { known } else { logged }
    }

    /// Images a second at this place, with their name before or their unit behind.
    fn rate(&self, line: &str, pieces: &[Piece<'_>], at: usize) -> Option<Rate> {
        let (number, phrase) = (pieces[at].found, Phrase::before(pieces, at));
        let unit = self.unit.captures(&line[number.end()..]);
        let is = |at: usize, kind: Kind| pieces.get(at).is_some_and(|piece| piece.kind == kind);
        // `0.1 samples/s 900`: which of the two?
        let is_unclear = match name(&phrase) {
            Some(_) => {
                at > 1 && is(at - 1, Kind::Word) && is(at - 2, Kind::Number) && Phrase::before(pieces, at - 2).words.is_empty()
            }
            None => unit.is_none() || is(at + 2, Kind::Number) || is(at + 3, Kind::Number) && pieces[at + 2].is_separator(),
        };
        let meanings: Vec<_> =
            phrase.words.iter().filter(|word| **word != "rate").map(|word| meaning(&word.to_lowercase())).collect();
        let is_mine = !is_unclear && meanings.iter().all(|(name, _)| matches!(name, Name::Rate | Name::Aside));
        is_mine.then(|| Rate {
            value: figure(line, number).filter(|_| !is_split(line, number)),
            is_total: phrase.has(&["total", "global", "aggregate"]),
            is_each: unit.is_some_and(|unit| unit.get(1).is_some()) || phrase.has(&["gpu", "device", "rank", "worker"]),
            scope: meanings.iter().find_map(|(_, scope)| *scope),
        })
    }

    /// How far it is, where no word says so. `epoch: [1/10]` counts epochs.
    fn place(&self, line: &str, pieces: &[Piece<'_>]) -> Option<(Option<f64>, Option<f64>)> {
        let is_of_epoch = |of: Match<'_>| {
            let at = pieces.iter().position(|piece| piece.found.start() == of.start());
            at.is_some_and(|at| {
                !Phrase::before(pieces, at).words.is_empty()
                    && name(&Phrase::before(pieces, at)).is_some_and(|(name, _)| name == Name::Epoch)
            })
        };
        let found = self
            .places
            .iter()
            .find_map(|place| place.captures_iter(line).find(|found| !found.get(1).is_some_and(is_of_epoch)))?;
        let step = figure(line, found.get(1)?);
        Some((step, found.get(2).and_then(|steps| figure(line, steps)).filter(|_| step.is_some())))
    }
}

/// A number in what follows another.
fn behind(line: &str, number: Match<'_>, found: Option<Match<'_>>) -> Option<f64> {
    figure(&line[number.end()..], found?)
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
