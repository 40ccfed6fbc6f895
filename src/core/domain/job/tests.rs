//! How runs are stored, and what of them other versions can read.

use super::*;

fn stored(spec: &RunSpec) -> Value {
    serde_json::to_value(spec).unwrap()
}

fn read(value: &Value) -> RunSpec {
    serde_json::from_value(value.clone()).unwrap()
}

#[test]
fn a_training_run_is_stored_as_it_always_was() {
    let spec = RunSpec::from(TrainingJob::sample());
    let value = stored(&spec);
    let expected = serde_json::json!({
        "np": 2, "steps": "1-10", "epochs": 3, "batch_size": 64, "base_lr": 0.01, "momentum": 0.9, "wd": 5e-6,
        "target_accuracy": 0.85, "patience": 2, "warmup_epochs": 5.0, "model": "wrn-10-1", "data": "auto",
        "train_images": 12_000, "validation_images": 1_000, "checkpointing": true, "seed": 1, "hosts": null, "hostfile": null,
    });
    assert_eq!(value, expected);
    assert_eq!(read(&value), spec);
}

#[test]
fn what_a_newer_version_wrote_is_kept_as_it_came() {
    let mut value = stored(&TrainingJob::sample().into());
    value["mood"] = "good".into();
    value["time_limit_s"] = 60.0.into();
    let spec = read(&value);
    assert_eq!(spec.resources.time_limit_s, Some(60.0));
    assert_eq!(spec.training().map(|training| training.newer.len()), Some(1), "{spec:?}");
    assert_eq!(stored(&spec), value);
}

#[test]
fn an_unknown_workload_is_shown_as_what_it_is() {
    let value = serde_json::json!({ "np": 4, "hosts": null, "hostfile": null, "workload": "benchmark", "algorithms": ["ring"] });
    let spec = read(&value);
    assert_eq!((spec.resources.np, spec.workload.kind(), spec.workload.title().as_str()), (4, "benchmark", "benchmark"));
    assert_eq!((spec.training(), stored(&spec)), (None, value));
    assert!(spec.problem().is_some_and(|problem| problem.contains("`benchmark`")));
}

#[test]
fn collectives_are_stored_flat_and_under_their_name() {
    let spec = RunSpec { resources: Resources::ranks(2), workload: Workload::Collectives(CollectivesSpec::sample()) };
    let mut value = stored(&spec);
    let expected = serde_json::json!({
        "np": 2, "hosts": null, "hostfile": null, "workload": "collectives", "methods": ["ring", "mpi"], "servers": 1,
        "ranks_per_host": 1, "min_bytes": 1024, "max_bytes": 1_048_576, "factor": 32, "iterations": 20, "warmup": 5,
        "log_bytes": 1024, "link_bits": null,
    });
    assert_eq!(value, expected);
    assert_eq!((read(&value), spec.workload.kind(), spec.workload.title().as_str()), (spec.clone(), COLLECTIVES, COLLECTIVES));
    assert_eq!((spec.training(), spec.problem(), spec.out_of_bounds()), (None, None, None));
    value["mood"] = "good".into();
    assert_eq!(stored(&read(&value)), value, "what a newer version wrote is kept");
    value["link_bits"] = 200_000_000.into();
    assert_eq!((stored(&read(&value)), read(&value).link_bits()), (value.clone(), Some(200_000_000)), "where it always was");
    value["servers"] = 3.into();
    assert!(read(&value).problem().is_some_and(|problem| problem.contains("3 servers")));
    value["servers"] = 1_000_000.into();
    assert!(read(&value).out_of_bounds().is_some());
    value["servers"] = "many".into();
    assert!(matches!(read(&value).workload, Workload::Unknown(_)), "of another version");
    assert_eq!(stored(&read(&value)), value);
}

#[test]
fn a_benchmark_is_stored_flat_and_under_its_name() {
    let spec = RunSpec { resources: Resources::ranks(2), workload: Workload::Benchmark(BenchmarkSpec::sample()) };
    let mut value = stored(&spec);
    let expected = serde_json::json!({
        "np": 2, "hosts": null, "hostfile": null, "workload": "benchmark", "model": "wrn-10-1", "image_size": null,
        "batch_size": 64, "warmup_batches": 1, "batches_per_iteration": 2, "iterations": 3, "display_every": 10,
        "style": "horovod", "precision": "fp32", "optimizer": "sgd", "fp16_allreduce": false, "no_cuda": false,
        "threads": null, "bind": "share", "mem_node": null,
    });
    assert_eq!((&value, read(&value)), (&expected, spec.clone()));
    assert_eq!((spec.workload.kind(), spec.workload.title().as_str()), (BENCHMARK, "benchmark wrn-10-1"));
    assert_eq!((spec.training(), spec.collectives(), spec.problem(), spec.out_of_bounds()), (None, None, None, None));
    value["mood"] = "good".into();
    assert_eq!(stored(&read(&value)), value, "what a newer version wrote is kept");
    value["iterations"] = 0.into();
    assert!(read(&value).problem().is_some_and(|problem| problem.contains("0 iterations")));
    value["batch_size"] = usize::MAX.into();
    assert!(read(&value).out_of_bounds().is_some());
    value["model"] = "sneeze".into();
    assert!(matches!(read(&value).workload, Workload::Unknown(_)), "of another version");
    assert_eq!((stored(&read(&value)), read(&value).workload.title().as_str()), (value, "sneeze"));
}

#[test]
fn a_training_has_a_link_only_if_it_was_asked_for() {
    let mut value = stored(&TrainingJob::sample().into());
    assert_eq!((value.get("link"), read(&value).link_bits()), (None, None));
    value["link"] = 1_000_000_000.into();
    assert_eq!((stored(&read(&value)), read(&value).link_bits()), (value.clone(), Some(1_000_000_000)));
    assert_eq!(read(&value).out_of_bounds(), None);
    value["link"] = u64::MAX.into();
    assert!(read(&value).out_of_bounds().is_some());
}

#[test]
fn an_unknown_model_is_a_training_run_all_the_same() {
    let mut value = stored(&TrainingJob::sample().into());
    value["model"] = "efficientnet-b0".into();
    let spec = read(&value);
    assert_eq!((spec.workload.kind(), spec.workload.title().as_str(), spec.training()), ("training", "efficientnet-b0", None));
    assert_eq!(stored(&spec), value);
}

#[test]
fn what_is_cut_short_is_no_newer_version() {
    let mut value = stored(&TrainingJob::sample().into());
    value.as_object_mut().unwrap().remove("epochs");
    assert!(serde_json::from_value::<RunSpec>(value).is_err());
    assert!(serde_json::from_value::<RunSpec>(serde_json::json!({ "steps": "none" })).is_err());
}

#[test]
fn training_on_photos_is_stored_flat_and_under_its_name() {
    let nvcnn = NvcnnSpec::of_model("resnet50".parse().unwrap());
    let of = |nvcnn: &NvcnnSpec| RunSpec { resources: Resources::ranks(2), workload: Workload::Nvcnn(nvcnn.clone()) };
    let spec = of(&nvcnn);
    let mut value = stored(&spec);
    assert_eq!((value["workload"].as_str(), value["save_interval_s"].as_f64()), (Some("nvcnn"), Some(43_200.0)));
    assert_eq!((read(&value), spec.workload.title().as_str()), (spec.clone(), "nvcnn resnet50"));
    assert_eq!((spec.training(), spec.workload.has_steps(), spec.problem(), spec.out_of_bounds()), (None, false, None, None));
    assert_eq!(of(&NvcnnSpec { eval: true, ..nvcnn }).workload.title(), "test of resnet50");
    value["mood"] = "good".into();
    assert_eq!(stored(&read(&value)), value, "what a newer version wrote is kept");
    value["batch_size"] = 0.into();
    assert!(read(&value).out_of_bounds().is_some());
}
