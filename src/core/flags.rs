//! Flags made from a table of settings, for the verbs of the lab and the programs of the ranks.

use std::fmt;

use clap::builder::ValueParser;
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};

use crate::domain::benchmark::{BENCHMARK_SETTINGS, BenchmarkSpec, Style};
use crate::domain::collective::{COLLECTIVES_SETTINGS, CollectivesSpec, Method};
use crate::domain::model::ModelSpec;
use crate::domain::nvcnn::{NvcnnSpec, PHOTO_SETTINGS};
use crate::domain::setting::Setting;

/// Which settings have a flag, and what they are without one.
pub trait Flagged: 'static {
    type Spec: Clone + 'static;

    /// Whether these are the flags of a program of the ranks, with the names and values that it is given.
    const IS_PROGRAM: bool = false;

    fn settings() -> impl Iterator<Item = &'static Setting<Self::Spec>>;

    fn default_spec() -> Self::Spec;

    /// Whether the help shows the values of [`Flagged::default_spec`].
    const SHOWS_DEFAULTS: bool = true;

    /// What the table cannot say of the flags.
    fn adjusted(command: Command) -> Command {
        command
    }
}

/// The settings that a flag was given for, with its value as text.
pub struct Flags<F: Flagged> {
    given: Vec<(&'static Setting<F::Spec>, String)>,
}

impl<F: Flagged> Flags<F> {
    /// The default with the flags over it.
    ///
    /// # Errors
    /// What is wrong with a value, after the name of its flag.
    pub fn spec(&self) -> Result<F::Spec, String> {
        let mut spec = F::default_spec();
        self.put_into(&mut spec, |_| true)?;
        Ok(spec)
    }

    /// Puts the given settings that `is_wanted` into `spec`.
    ///
    /// # Errors
    /// As [`Flags::spec`].
    pub fn put_into(&self, spec: &mut F::Spec, is_wanted: impl Fn(&str) -> bool) -> Result<(), String> {
        let mut wanted = self.given.iter().filter(|(setting, _)| is_wanted(setting.flag));
        wanted.try_for_each(|(setting, text)| {
            set::<F>(setting, spec, text).map_err(|error| format!("--{}: {error}", name::<F>(setting)))
        })
    }

    /// The flags that were given, in the order of the table.
    pub fn given(&self) -> impl Iterator<Item = &'static str> {
        self.given.iter().map(|(setting, _)| setting.flag)
    }

    /// What was given for this flag.
    pub fn text(&self, flag: &str) -> Option<&str> {
        self.given.iter().find(|(setting, _)| setting.flag == flag).map(|(_, text)| text.as_str())
    }
}

fn name<F: Flagged>(setting: &Setting<F::Spec>) -> &'static str {
    setting.program.filter(|_| F::IS_PROGRAM).unwrap_or(setting.flag)
}

fn set<F: Flagged>(setting: &Setting<F::Spec>, spec: &mut F::Spec, text: &str) -> Result<(), String> {
    if F::IS_PROGRAM { setting.set_stored(spec, text) } else { setting.set(spec, text) }
}

/// One or two flags of a setting, whose help shows its default if there are `defaults`.
///
/// What the table refuses is refused in its words, and clap names the flag.
fn args<F: Flagged>(setting: &'static Setting<F::Spec>, defaults: Option<&F::Spec>) -> Vec<Arg> {
    let defaults = defaults.filter(|_| !setting.is_switch() && !setting.help.contains("[default"));
    let default = defaults.and_then(|defaults| setting.text(defaults));
    let help = default.map_or(setting.help.to_owned(), |default| format!("{} [default: {default}]", setting.help));
    let mut arg = Arg::new(setting.flag).long(name::<F>(setting)).help(help);
    if let Some(short) = setting.short {
        arg = arg.short(short);
    }
    if !setting.is_switch() {
        let check = |text: &str| set::<F>(setting, &mut F::default_spec(), text).map(|()| text.to_owned());
        return vec![arg.value_name(setting.value_name).value_parser(ValueParser::new(check)).allow_negative_numbers(true)];
    }
    let arg = arg.action(ArgAction::SetTrue);
    match setting.off {
        Some((off, help)) => vec![arg.overrides_with(off), Arg::new(off).long(off).help(help).action(ArgAction::SetTrue)],
        None => vec![arg],
    }
}

impl<F: Flagged> clap::Args for Flags<F> {
    fn augment_args(command: Command) -> Command {
        let defaults = F::SHOWS_DEFAULTS.then(F::default_spec);
        F::adjusted(command.args(F::settings().flat_map(|setting| args::<F>(setting, defaults.as_ref()))))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Flags::<F>::augment_args(command)
    }
}

impl<F: Flagged> FromArgMatches for Flags<F> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Flags<F>, clap::Error> {
        let text = |setting: &Setting<F::Spec>| match setting.off {
            Some((off, _)) if matches.get_flag(off) => Some("off".to_owned()),
            _ if setting.is_switch() => matches.get_flag(setting.flag).then(|| "on".to_owned()),
            _ => matches.get_one::<String>(setting.flag).cloned(),
        };
        Ok(Flags { given: F::settings().filter_map(|setting| Some((setting, text(setting)?))).collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Flags::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<F: Flagged> fmt::Debug for Flags<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.given.fmt(f)
    }
}

/// The flags of a benchmark.
pub enum Benchmark {}

impl Flagged for Benchmark {
    type Spec = BenchmarkSpec;

    fn settings() -> impl Iterator<Item = &'static Setting<BenchmarkSpec>> {
        BENCHMARK_SETTINGS.iter()
    }

    fn default_spec() -> BenchmarkSpec {
        BenchmarkSpec::of_style(Style::Horovod, ModelSpec::wrn(10, 1))
    }

    fn adjusted(command: Command) -> Command {
        command.mut_arg("cuda", |cuda| cuda.conflicts_with("no-cuda"))
    }
}

/// The flags of `hvd-lab collectives run`. Those of the shape are shared with other verbs, which have no spec.
pub enum Collectives {}

impl Flagged for Collectives {
    type Spec = CollectivesSpec;

    fn settings() -> impl Iterator<Item = &'static Setting<CollectivesSpec>> {
        COLLECTIVES_SETTINGS.iter().filter(|setting| !["servers", "ranks-per-host", "check"].contains(&setting.flag))
    }

    fn default_spec() -> CollectivesSpec {
        CollectivesSpec::usual(1)
    }

    fn adjusted(command: Command) -> Command {
        // Before the flags of the shape, which the verb has declared by now.
        command.mut_arg("algorithm", |algorithm| algorithm.display_order(0))
    }
}

/// The flags of `hvd-measure collectives`, which has the defaults of nccl-tests.
pub enum MeasuredCollectives {}

impl Flagged for MeasuredCollectives {
    type Spec = CollectivesSpec;

    const IS_PROGRAM: bool = true;

    fn settings() -> impl Iterator<Item = &'static Setting<CollectivesSpec>> {
        COLLECTIVES_SETTINGS.iter()
    }

    fn default_spec() -> CollectivesSpec {
        CollectivesSpec { methods: vec!["ring".into(), "mpi".into()], factor: 2, log_bytes: None, ..CollectivesSpec::usual(1) }
    }

    fn adjusted(command: Command) -> Command {
        let rows = Method::ALL.map(|method| format!("{:<23} {}", method.name(), method.description()));
        let what = "What to measure: names with commas between them, or `all` for everything that works here";
        let (help, long_help) =
            (format!("{what} [default: ring,mpi]"), format!("{what} [default: ring,mpi]\n\n{}", rows.join("\n")));
        command.mut_arg("algorithm", |algorithm| algorithm.help(help).long_help(long_help)).mut_arg("link", |link| {
            link.value_name("BITS").help("Bits a second of the network that each rank was given: said in the header")
        })
    }
}

/// As nvcnn writes its flags, and people expect ours.
const NVCNN_SPELLING: &str = "image_size data_dir batch_size num_batches num_epochs log_dir display_every save_interval loss_scale \
    larc_eta larc_mode learning_rate shuffle_buffer bad_records no_distortions distort_color";

/// The flags of a training on photos.
pub enum Photos {}

impl Flagged for Photos {
    type Spec = NvcnnSpec;

    fn settings() -> impl Iterator<Item = &'static Setting<NvcnnSpec>> {
        PHOTO_SETTINGS.iter()
    }

    fn default_spec() -> NvcnnSpec {
        NvcnnSpec::of_model("resnet50".parse().unwrap_or(ModelSpec::ALEXNET))
    }

    fn adjusted(command: Command) -> Command {
        NVCNN_SPELLING.split(' ').fold(command, |command, name| command.mut_arg(name.replace('_', "-"), |arg| arg.alias(name)))
    }
}

/// The flags of nvcnn, with `_` or `-`, and what is added to them here.
#[derive(Debug, clap::Args)]
pub struct NvcnnFlags {
    #[command(flatten)]
    flags: Flags<Photos>,
    /// Refused: use --precision bf16
    #[arg(long)]
    fp16: bool,
}

impl NvcnnFlags {
    /// The settings that they ask for.
    ///
    /// # Errors
    /// What cannot run, in one sentence.
    pub fn spec(&self) -> Result<NvcnnSpec, String> {
        if self.fp16 {
            return Err("--fp16: hvd-lab does not compute in float16: use --precision bf16".into());
        }
        if self.flags.text("num-batches").and(self.flags.text("num-epochs")).is_some() {
            return Err("--num-batches and --num-epochs both say how long to train: leave one of them out".into());
        }
        let spec = self.flags.spec()?;
        spec.problem().map_or(Ok(spec), Err)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::domain::benchmark::NumberFormat;
    use crate::domain::nvcnn::{BadRecords, Dct, LarcMode};
    use crate::domain::setting::arguments;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        flags: NvcnnFlags,
    }

    fn read(words: impl IntoIterator<Item = String>) -> Result<NvcnnSpec, String> {
        let words = std::iter::once("nvcnn".to_owned()).chain(words);
        Line::try_parse_from(words).map_err(|error| error.to_string())?.flags.spec()
    }

    fn words(spec: &NvcnnSpec) -> Vec<String> {
        let (values, switches) = arguments(&PHOTO_SETTINGS, spec);
        values.into_iter().flatten().chain(switches).collect()
    }

    fn asked(line: &str) -> Result<NvcnnSpec, String> {
        read(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn words_of_settings_ask_for_these_settings() {
        let defaults = asked("").unwrap();
        assert_eq!(defaults, NvcnnSpec::of_model("resnet50".parse().unwrap()));
        let all = NvcnnSpec {
            image_size: Some(68),
            data_dir: Some("a folder".into()),
            batch_size: 3,
            num_epochs: Some(4),
            log_dir: Some("logs".into()),
            display_every: 5,
            save_interval_s: 0.1,
            loss_scale: 128.0,
            larc_eta: Some(0.003),
            larc_mode: Some(LarcMode::Scale),
            learning_rate: Some(1e-7),
            eval: true,
            precision: NumberFormat::Bf16,
            threads: Some(6),
            dct: Dct::Accurate,
            shuffle_buffer: Some(7),
            bad_records: BadRecords::Skip,
            no_distortions: true,
            seed: u64::MAX,
            no_cuda: true,
            ranks_per_host: Some(2),
            ..NvcnnSpec::of_model("alexnet".parse().unwrap())
        };
        let timeline = Some("trace.json".to_owned());
        for spec in [defaults.clone(), all, NvcnnSpec { num_batches: 9, distort_color: true, timeline, ..defaults }] {
            assert_eq!(read(words(&spec)), Ok(spec));
        }
    }

    /// As the exercises of nvcnn write it.
    #[test]
    fn a_line_of_nvcnn_is_taken_as_it_is_written() {
        let spec = asked("--model=resnet50 --data_dir=/dli/data/tfdata352p90per --batch_size=48").unwrap();
        assert_eq!((spec.batch_size, spec.data_dir.as_deref()), (48, Some("/dli/data/tfdata352p90per")));
        let spec = asked("-m alexnet -b 8 --num_batches 5 --display_every 2 --save_interval 60 --larc_mode clip --larc_eta .01");
        assert_eq!(spec.unwrap().larc(), Some(crate::domain::nvcnn::Larc { eta: 0.01, mode: LarcMode::Clip }));
        for (line, words) in [
            ("--fp16", "--fp16: hvd-lab does not compute in float16: use --precision bf16"),
            ("-m sneeze", "`sneeze` is not a model"),
            ("--larc-mode both", "`both` is not a mode of LARC: use clip, scale"),
            ("--bad-records maybe", "is not a choice for bad records: use stop, skip"),
            ("-b 0", "--batch-size is 0"),
            ("--num-epochs 2", "give --data-dir"),
            ("--num-epochs 2 --num-batches 5 --data-dir d", "both say how long to train: leave one of them out"),
        ] {
            let problem = asked(line).unwrap_err();
            assert!(problem.contains(words), "{line}: {problem}");
        }
    }
    fn check_round_trip<F: Flagged<Spec: PartialEq + fmt::Debug>>(settings: &'static [Setting<F::Spec>]) {
        for setting in settings {
            let mut spec = F::default_spec();
            setting.step(&mut spec, true);
            let (values, switches) = arguments(settings, &spec);
            let command = <Flags<F> as clap::Args>::augment_args(Command::new("hvd-lab")).no_binary_name(true);
            let matches = command.try_get_matches_from(values.into_iter().flatten().chain(switches)).unwrap();
            assert_eq!(Flags::<F>::from_arg_matches(&matches).unwrap().spec(), Ok(spec), "{setting:?}");
        }
    }

    /// The verb and the program have these flags, the form steps through these values, and the ranks are given these arguments.
    #[test]
    fn what_a_form_sets_is_what_the_flags_of_its_arguments_ask_for() {
        check_round_trip::<Benchmark>(&BENCHMARK_SETTINGS);
        check_round_trip::<Photos>(&PHOTO_SETTINGS);
        check_round_trip::<MeasuredCollectives>(&COLLECTIVES_SETTINGS);
    }
}
