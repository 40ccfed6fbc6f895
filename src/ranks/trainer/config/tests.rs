//! Tests of the flags.

use super::*;
use crate::domain::settings::SETTINGS;
use crate::trainer::optimizer::OptimizerKind;
use clap::ValueEnum;

fn parse(flags: &str) -> Result<Config, Stop> {
    Config::from_args(std::iter::once("hvd-train").chain(flags.split_whitespace()))
}

#[test]
fn the_definition_is_sound() {
    use clap::CommandFactory;
    Config::command().debug_assert();
}

#[test]
fn defaults_are_the_original_scripts() {
    let config = parse("").unwrap();
    assert_eq!((config.epochs, config.batch_size, config.patience), (40, 32, 2));
    assert_eq!((config.base_lr, config.momentum, config.wd), (0.01, 0.9, 0.000005));
    assert_eq!((config.target_accuracy, config.warmup_epochs), (0.85, 5.0));
    assert_eq!((config.log_dir.as_path(), config.data_dir.clone()), (Path::new("./logs"), None));
    assert_eq!((config.steps, config.model), (StepSet::ALL, ModelSpec::wrn(16, 10)));
    assert!(!config.use_checkpointing && !config.events && !config.build_info && !config.synthetic);
    assert_eq!((config.train_images, config.validation_images), (None, None));
    let times = |limits: StallLimits| (limits.warning, limits.shutdown);
    assert_eq!(times(config.stall_limits()), times(StallLimits::default()));
}

#[test]
fn every_flag_of_the_lab_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let (logs, trace) = (folder.path().join("a/b"), folder.path().join("trace.json"));
    let flags = format!(
        "--steps 1,3,5-7 --epochs 3 --batch-size 64 --base-lr 0.02 --momentum 0.8 --wd 0.1 --target-accuracy 0.9 \
         --patience 1 --use-checkpointing --warmup-epochs 2.5 --log-dir {} --data-dir generated --model wrn-10-1 \
         --train-images 12000 --validation-images 500 --seed 18446744073709551615 --timeline {} --events \
         --stall-warning-secs 20 --stall-shutdown-secs 60",
        logs.display(),
        trace.display()
    );
    let config = parse(&flags).unwrap();
    assert_eq!(config.steps.to_string(), "1,3,5-7");
    assert_eq!((config.epochs, config.batch_size, config.patience, config.seed), (3, 64, 1, u64::MAX));
    assert_eq!((config.base_lr, config.momentum, config.wd), (0.02, 0.8, 0.1));
    assert_eq!((config.target_accuracy, config.warmup_epochs), (0.9, 2.5));
    assert_eq!(config.data_dir, Some("generated".into()));
    assert_eq!((config.stall_warning_secs, config.stall_shutdown_secs), (20, 60));
    assert_eq!((config.train_images, config.validation_images), (Some(12000), Some(500)));
    assert!(config.use_checkpointing && config.events && config.model.to_string() == "wrn-10-1");
    assert!(config.timeline.as_ref() == Some(&trace) && !trace.exists(), "tried, and not left empty");
    assert_eq!(std::fs::read_dir(&logs).unwrap().count(), 0, "the folder is made, and nothing is left in it");
}

/// The lab makes the argument vector from the table of settings: no row may name a flag that nobody reads.
#[test]
fn every_setting_of_the_lab_is_a_flag_here() {
    let job = launched_alone();
    for setting in &SETTINGS {
        let flag = match setting.program {
            Some("data-dir") => "--data-dir generated".to_owned(),
            Some(flag) if setting.is_switch() => format!("--{flag}"),
            Some(flag) => format!("--{flag} {}", setting.get(&job)),
            None => continue,
        };
        let logs = tempfile::tempdir().unwrap();
        let checkpoints = if flag.contains("--use-checkpointing") { "" } else { "--use-checkpointing" };
        let parsed = parse(&format!("{flag} {checkpoints} --log-dir {}", logs.path().display()));
        assert!(parsed.is_ok(), "{flag}: {parsed:?}");
    }
}

fn launched_alone() -> TrainingJob {
    TrainingJob::sample().with(|job| (job.resources.np, job.workload.commit_every) = (1, Some(50)))
}

#[test]
fn an_optimizer_by_name_wins_over_step_10() {
    let chosen = |flags: &str| {
        [OptimizerKind::NovoGrad, OptimizerKind::Sgd].map(|by_step| parse(flags).unwrap().optimizer.unwrap_or(by_step))
    };
    assert_eq!(chosen(""), [OptimizerKind::NovoGrad, OptimizerKind::Sgd]);
    assert_eq!(chosen("--optimizer auto"), [OptimizerKind::NovoGrad, OptimizerKind::Sgd]);
    for rule in OptimizerKind::value_variants() {
        let name = rule.to_possible_value().unwrap();
        assert_eq!(chosen(&format!("--optimizer {}", name.get_name())), [*rule, *rule]);
    }
}

#[test]
fn bad_values_get_one_line_that_names_them_and_code_2() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let file = file.path().display();
    let bad = [
        ("--steps 0-3", "0-3"),
        ("--steps 11", "1-10"),
        ("--epochs 0", "epochs is 0"),
        ("--epochs -1", "-1"),
        ("--epochs three", "three"),
        ("--batch-size 0", "batch size is 0"),
        ("--batch-size -64", "-64"),
        ("--base-lr -0.1", "-0.1"),
        ("--base-lr nan", "NaN"),
        ("--base-lr 1e39", "use at most 1e30"),
        ("--base-lr inf", "inf"),
        ("--wd 1e39", "use at most 1e30"),
        ("--epochs 9223372036854775808", "epochs 9223372036854775808 is more than 1000000"),
        ("--batch-size 18446744073709551615", "is more than 1000000"),
        ("--patience 18446744073709551615", "is more than 1000000"),
        ("--momentum 1", "momentum 1"),
        ("--optimizer adam", "'adam'"),
        ("--optimizer Lamb", "auto, sgd, novograd, lamb, adadelta"),
        ("--wd -0.5", "-0.5"),
        ("--patience 0", "patience"),
        ("--target-accuracy nan", "target accuracy"),
        ("--warmup-epochs -1", "warmup"),
        ("--warmup-epochs inf", "warmup"),
        ("--model wrn-12-1", "6n+4"),
        ("--model resnet-50", "resnet-50"),
        ("--model resnet50", "takes images of 3x224x224 (channels, height, width), and those of Fashion-MNIST are 1x28x28"),
        ("--train-images 0", "0 images"),
        ("--seed -1", "-1"),
        ("--stall-warning-secs -1", "-1"),
        ("--stall-shutdown-secs 5", "--stall-shutdown-secs 5"),
        ("--stall-warning-secs 3 --stall-shutdown-secs 3", "--stall-warning-secs 3"),
        ("--shuffle mine", "mine"),
        ("--backward-passes-per-step 0", "per-step is 0"),
        ("--fusion-threshold-mb -1", "-1"),
        ("--compression zip", "zip"),
        ("--precision fp8", "fp8"),
        (&format!("--data-dir {file}/at/all"), "/at/all"),
        (&format!("--data-dir {file}"), "--data-dir"),
        (&format!("--use-checkpointing --log-dir {file}"), "--log-dir"),
        (&format!("--use-checkpointing --log-dir {file}/logs"), "--log-dir"),
        ("--synthetic --data-dir generated", "--synthetic"),
        (&format!("--timeline {file}/trace.json"), "--timeline"),
        ("--timeline /", "--timeline"),
        ("--epoch 3", "--epochs"),
        ("--epochs", "--epochs"),
        ("surplus", "surplus"),
    ];
    for (flags, named) in bad {
        let stop = parse(flags).expect_err(flags);
        assert_eq!((stop.code, stop.text.lines().count()), (2, 1), "{flags}: {}", stop.text);
        assert!(stop.text.starts_with("hvd-train: ") && stop.text.contains(named), "{flags}: {}", stop.text);
    }
}

#[test]
fn help_is_no_error_and_has_examples() {
    let stop = parse("--help").unwrap_err();
    assert!(stop.code == 0 && stop.text.contains("mpirun -np 2 hvd-train") && stop.text.contains("--warmup-epochs"));
    let version = parse("--version").unwrap_err();
    assert_eq!((version.code, version.text.trim()), (0, concat!("hvd-train ", env!("CARGO_PKG_VERSION"))));
}

#[test]
fn build_info_asks_for_nothing_else() {
    assert!(parse("--build-info --data-dir /dev/null").unwrap().build_info);
}

#[test]
fn a_program_has_defaults_of_its_own_which_flags_overrule() {
    let defaults = [["--epochs", "12"], ["--base-lr", "1"], ["--batch-size", "128"]];
    let with = |flags: &str| {
        let args = std::iter::once("mnist").chain(flags.split_whitespace()).map(OsString::from);
        Config::with_defaults(&defaults, args).map(|config| (config.epochs, config.base_lr, config.batch_size))
    };
    assert_eq!(with(""), Ok((12, 1.0, 128)));
    assert_eq!(with("--epochs 3 --batch-size=32"), Ok((3, 1.0, 32)));
    assert!(with("--base-lr none").is_err_and(|stop| stop.text.contains("--base-lr")));
}
