//! `make gpu-proof` without a GPU: its verdicts, limits and files, with stand-ins for all that it starts.
//!
//! Says nothing about GPUs. Where the real trainer is not built, the test that reads its lines is skipped by name.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use nix::sys::signal::Signal;
use place::{Place, assert_gone, cut_off, ended, root};

use crate::support::needs::skip;
use crate::support::trainer::turn;

mod place;

#[test]
fn every_part_has_a_verdict_and_a_finished_one_is_not_run_again() {
    let place = Place::new();
    let (code, said) = place.proof("", &[]);
    let results = place.json("results.json");
    let parts = results["parts"].as_array().unwrap();
    // The stand-in of the lab tells no figures of the card, and this NCCL does not let ranks share one.
    for part in parts {
        let wanted = match part["name"].as_str().unwrap() {
            "nvml" => "failed",
            "nccl-two" => "left out",
            _ => "ok",
        };
        assert_eq!(part["verdict"], wanted, "{}: {said}", part["name"]);
    }
    assert_eq!((code, parts.len()), (1, 18), "{said}");
    let table = fs::read_to_string(place.path("out/results.md")).unwrap();
    assert!(
        table.contains("| hvd-measure bench against PyTorch compiled, one fixed batch, bf16 | 2.00 |  | 1 | ok |"),
        "{table}"
    );
    // 1000 images/s at 11.08 GFLOP each, of 100 TFLOP/s.
    assert!(table.contains("| share of the measured bf16 matmul peak, one fixed batch | 11.1% |"), "{table}");
    assert!(table.contains("0.7349, one run, fp32 (published elsewhere"), "{table}");
    assert!(table.contains("| 15.0 s, after epoch 5 |"), "{table}");
    assert!(
        table.contains("without `done` the optimizer applies averages that have not arrived | it fails, as it must"),
        "{table}"
    );
    assert!(table.contains("`TREE/target/release/hvd-train --build-info`"), "{table}");
    assert!(place.path("out/gpu.hvdrun").is_file());
    for row in parts.iter().flat_map(|part| part["rows"].as_array().unwrap()) {
        let not_compared = row["figure"] == "not compared";
        assert!(not_compared || !row["command"].as_str().unwrap().is_empty(), "a figure without its command: {row}");
    }
    let outside: Vec<_> = fs::read_dir(place.0.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(outside.len(), 3, "it writes into its folder alone: {outside:?}");

    let (_, said) = place.proof("", &[]);
    assert_eq!(said.matches(": kept, ").count(), 16, "{said}");
    assert!(said.contains("gpu-proof: nvml: failed") && said.contains("gpu-proof: nccl-two: left out"), "{said}");
    // Another build of one program: the parts that run it are run again, and no other.
    let train = place.path("tree/target/release/hvd-train");
    fs::write(&train, fs::read_to_string(&train).unwrap() + "# another\n").unwrap();
    let (_, said) = place.proof("--only card,matmul", &[]);
    assert!(said.contains("gpu-proof: card: ok") && said.contains("gpu-proof: matmul: kept"), "{said}");
}

#[test]
fn a_proof_that_is_killed_goes_on_from_the_part_in_which_it_was() {
    let place = Place::new();
    let (.., open) = cut_off(&place, "--only card,nccl", "hvd-measure collectives", Signal::SIGKILL);
    assert!(place.path("out/parts/card.json").is_file() && !place.path("out/parts/nccl.json").is_file());
    let (code, said) = place.proof("--only card,nccl", &[]);
    assert!(code == 0 && said.contains("card: kept") && said.contains("nccl: ok"), "{code}: {said}");
    // What the killed one had started is ended by the next one.
    assert_gone(open);
}

#[test]
fn ctrl_c_leaves_no_process_and_keeps_what_is_finished() {
    let place = Place::new();
    let (code, said, open) = cut_off(&place, "--only card,nccl,matmul", "hvd-measure collectives", Signal::SIGINT);
    assert_gone(open);
    assert!(code == 130 && said.contains("interrupted: what is finished stays"), "{code}: {said}");
    assert_eq!(place.part("card").0, "ok");
    assert_eq!(["nccl", "matmul"].map(|name| place.part(name).1), ["interrupted"; 2]);
}

#[test]
fn a_program_that_hangs_is_ended_at_its_limit_and_named() {
    let place = Place::new();
    let (code, said) = place.proof("--only card,nccl --limit 0.18", &[("STAND_IN", "hang:hvd-train")]);
    assert!(code == 1 && said.contains("card: failed") && said.contains("hung: no end within 1"), "{code}: {said}");
    // What no longer fits is named.
    assert!(said.contains("nccl: left out: it takes about 55 s"), "{said}");
}

#[test]
fn a_program_that_fails_fails_its_part_alone() {
    let place = Place::new();
    let (code, said) = place.proof("--only nccl,order,matmul", &[("STAND_IN", "fail:hvd-measure collectives")]);
    assert!(
        code == 1 && said.contains("nccl: failed") && said.contains("hvd-measure collectives: error: it was asked to fail"),
        "{said}"
    );
    assert!(said.contains("order: ok") && said.contains("matmul: ok"), "{said}");
    fs::remove_file(place.path("tree/target/release/hvd-measure")).unwrap();
    let (code, said) = place.proof("--only speed-bf16,staged", &[]);
    assert!(
        code == 0
            && said.contains("speed-bf16: left out")
            && said.contains("hvd-measure is not in")
            && said.contains("staged: ok"),
        "{said}"
    );
}

#[test]
fn a_file_that_cannot_grow_is_told_and_the_other_parts_go_on() {
    let place = Place::new();
    let mut command =
        place.command(&place.flags("--only nccl,matmul"), &[("STAND_IN", "noise:hvd-measure collectives")], "ulimit -f 128;");
    let (code, said) = ended(command.spawn().unwrap());
    assert!(
        code == 1 && said.contains("nccl: failed") && said.contains("File too large") && said.contains("matmul: ok"),
        "{code}: {said}"
    );
    assert!(!said.contains("Traceback"), "{said}");
}

#[test]
fn events_whose_loss_shows_nothing_are_not_claimed() {
    let place = Place::new();
    let (code, said) = place.proof("--only order", &[("STAND_IN", "same")]);
    assert!(code == 1 && said.contains("order: not shown"), "{code}: {said}");
    let table = fs::read_to_string(place.path("out/results.md")).unwrap();
    assert_eq!(table.matches("not shown on this card: 2 runs each of 2 sizes gave the same results").count(), 2, "{table}");
    let (code, said) = place.proof("--only order", &[("STAND_IN", "old")]);
    assert!(code == 1 && said.contains("this hvd-train does not know HVD_LAB_PROOF_WITHOUT_EVENTS"), "{said}");
}

#[test]
fn two_ranks_share_a_card_where_nccl_lets_them() {
    let place = Place::new();
    let (code, said) = place.proof("--only nccl-two", &[("STAND_IN", "nccl-shares")]);
    assert!(code == 0 && said.contains("nccl-two: ok"), "{said}");
    assert!(fs::read_to_string(place.path("out/results.md")).unwrap().contains("NCCL 2.30.3 between 2 GPUs"));
}

#[test]
fn accuracy_on_drawn_images_is_not_compared() {
    let place = Place::new();
    let (code, said) = place.proof("--only epochs-3,epochs-20 --data-dir generated", &[("STAND_IN_DATA", "generated garments")]);
    let table = fs::read_to_string(place.path("out/results.md")).unwrap();
    assert!(
        code == 0 && table.contains("(generated garments: drawn images, not compared)") && !table.contains("0.7349"),
        "{said}\n{table}"
    );
}

/// NVML as the real lab reads it of its stand-in, beside a nvidia-smi that says the same, or one wrong word.
#[test]
fn nvml_stands_beside_nvidia_smi_field_by_field() {
    let Some(library) = crate::support::nvml::stand_in() else { return };
    let place = Place::new().with_the_real_lab();
    let failed = |wish: &str| -> Vec<String> {
        let (_, said) = place.proof("--only nvml", &[("HVD_LAB_NVML", library.to_str().unwrap()), ("STAND_IN", wish)]);
        let part = place.json("parts/nvml.json");
        let rows = part["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 2 * 17 + 3, "{said}\n{part:#}");
        let rows = rows.iter().filter(|row| row["verdict"] == "failed");
        rows.map(|row| row["what"].as_str().unwrap().to_owned()).collect()
    };
    // The stand-in of NVML lists the process that asks, which this nvidia-smi cannot know.
    assert_eq!(failed(""), ["processes, while it trains"]);
    let wrong = "smi:memory.used=1;smi:temperature.gpu=47;smi:fan.speed=30;smi:pstate=P8;smi:ecc.mode.current=Disabled";
    let fields = ["memory.used", "temperature.gpu", "fan.speed", "pstate", "ecc.mode.current"];
    let named = |when: &'static str| fields.iter().map(move |field| format!("{field}, {when}"));
    let processes = std::iter::once("processes, while it trains".to_owned());
    assert_eq!(failed(wrong), named("idle").chain(named("while it trains")).chain(processes).collect::<Vec<_>>());
}

#[test]
fn without_nvidia_smi_one_line_says_so_and_the_rest_goes_on() {
    let place = Place::new();
    fs::remove_file(place.path("bin/nvidia-smi")).unwrap();
    let (code, said) = place.proof("--only card,nvml", &[]);
    assert!(code == 1 && said.contains("nvidia-smi does not answer: the driver's version stays unknown"), "{said}");
    assert!(said.contains("nvml: failed") && said.contains("nvidia-smi is not on PATH") && said.contains("card: ok"), "{said}");
}

#[test]
fn what_is_wrong_with_a_call_stands_in_one_line() {
    let place = Place::new().with_the_real_lab();
    let gone = place.path("gone").display().to_string();
    let no_gpu = place.proof("", &[("HVD_LAB_NVML", &gone)]);
    let no_tree = ended(place.command("--tree bin", &[], "").spawn().unwrap());
    for ((code, said), what) in [
        (no_gpu, "no GPU here: no NVIDIA driver on this machine"),
        (no_tree, "bin is no built tree: it has neither target/release/hvd-lab nor bin/hvd-lab. Build it with `make build`"),
        (place.proof("--only nccl,speed", &[]), "there is no part `speed`: they are card, nccl,"),
        (place.proof("--list --only x", &[]), "there is no part `x`"),
        (place.proof("--limit soon", &[]), "invalid minutes value: 'soon'"),
        (place.proof(&format!("--data-dir {gone}"), &[]), "gone is no folder with images"),
    ] {
        assert!(code == 2 && said.contains(what) && said.trim().lines().count() == 1, "{code}: {said}");
    }
    let (code, said) = place.proof("--list", &[]);
    assert!(code == 0 && said.lines().count() == 18, "{said}");
    let (code, said) =
        ended(place.command(&format!("--tree {} --out never --dry-run", place.path("tree").display()), &[], "").spawn().unwrap());
    assert!(code == 0 && said.contains("HVD_LAB_PROOF_WITHOUT_EVENTS=ready") && !place.path("never").exists(), "{said}");
}

#[test]
fn an_unpacked_tarball_is_a_tree_as_well() {
    let place = Place::new();
    for folder in ["tar/bin", "tar/lib/hvd-lab/openmpi/bin"] {
        fs::create_dir_all(place.path(folder)).unwrap();
    }
    place.stand_in("tar/bin", "hvd-lab");
    place.stand_in("tar/lib/hvd-lab/openmpi/bin", "mpirun");
    let (code, said) = ended(place.command("--tree tar --dry-run --only staged", &[], "").spawn().unwrap());
    assert!(code == 0 && said.contains("tar/lib/hvd-lab/openmpi/bin/mpirun ") && said.contains("tar/bin/hvd-train "), "{said}");
}

#[test]
fn published_numbers_are_those_of_the_references() {
    let read = |name: &str| fs::read_to_string(root().join("assets").join(name)).unwrap();
    for number in ["0.7489", "0.7349", "1394", "1406", "325.14", "0.8776"] {
        assert!(read("gpu_proof/published.py").contains(number) && read("references.toml").contains(number), "{number}");
    }
}

/// Small enough for two cores.
const SMALLER: &str = "s/wrn-16-10/wrn-10-1/; s/size 512/size 16/; s/train-images [0-9]*/train-images 128/; s/validation-images 512/validation-images 32/; \
     s/--epochs 3/--epochs 1 --train-images 128 --validation-images 32/";

/// The lines of the real trainer, which trains on the CPU here: everything can be read, and no part claims a GPU.
#[test]
fn the_real_trainer_is_understood_and_a_cpu_is_not_taken_for_a_gpu() {
    let _turn = turn();
    let built = Path::new(env!("CARGO_BIN_EXE_hvd-lab")).parent().unwrap();
    if let Some(missing) = ["hvd-train", "hvd-measure"].into_iter().find(|name| !built.join(name).is_file()) {
        return skip("train", format_args!("{missing} is not built"));
    }
    let place = Place::new();
    for name in ["hvd-train", "hvd-measure"] {
        fs::remove_file(place.path("tree/target/release").join(name)).unwrap();
        let line = format!(
            "#!/bin/sh\nexec {} $(printf '%s ' \"$@\" | /usr/bin/env -i /bin/sed '{SMALLER}')\n",
            built.join(name).display()
        );
        fs::write(place.path("tree/target/release").join(name), line).unwrap();
        fs::set_permissions(place.path("tree/target/release").join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    // Its own libraries are found where it was built; mpirun is its own as well.
    fs::remove_file(place.path("tree/.deps/openmpi/bin/mpirun")).unwrap();
    if !Path::new(env!("HVD_LAB_BUILD_MPIRUN")).is_file() {
        return skip("mpi", concat!("no mpirun at ", env!("HVD_LAB_BUILD_MPIRUN")));
    }
    symlink(env!("HVD_LAB_BUILD_MPIRUN"), place.path("bin/mpirun")).unwrap();
    let (code, said) = place.proof("--only staged,timeline,epochs-3,nccl --data-dir generated", &[]);
    assert_eq!(code, 1, "{said}");
    let rows = |name: &str| {
        let part = place.json(&format!("parts/{name}.json"));
        let rows = part["rows"].as_array().unwrap().iter();
        rows.map(|row| (row["what"].as_str().unwrap().to_owned(), row["verdict"].as_str().unwrap().to_owned()))
            .collect::<Vec<_>>()
    };
    // Two ranks agree and average as they must; but no gradient was on a GPU.
    let staged = rows("staged");
    let failed = |rows: &[(String, String)]| -> Vec<String> {
        rows.iter().filter(|row| row.1 == "failed").map(|row| row.0.clone()).collect()
    };
    assert_eq!(failed(&staged), ["gradients of two ranks on one card travel by", "GPU of the ranks, np 2"], "{staged:?} {said}");
    assert_eq!(staged.len(), 6, "{staged:?}");
    assert_eq!(failed(&rows("timeline")), ["spans of NCCL"], "{said}");
    assert!(rows("epochs-3").iter().all(|row| row.0.contains("drawn images, not compared")), "{said}");
    assert!(said.contains("nccl: failed") && said.contains("--algorithm nccl cannot be measured"), "{said}");
}
