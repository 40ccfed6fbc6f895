//! Libraries and parameters of others in the environment: the lab's own win, and what still breaks a run is named.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{RunId, SMALL, run};
use crate::support::lab::{Lab, stderr, stdout};
use crate::support::needs::skip;
use crate::support::trainer::with_trainer;

/// An empty library of each of these names in a folder; `None` without a C compiler.
fn foreign(folder: &Path, names: &[&str]) -> Option<PathBuf> {
    std::fs::create_dir_all(folder).unwrap();
    for name in names {
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-x", "c", "/dev/null", &format!("-Wl,-soname,{name}"), "-o"]).arg(folder.join(name));
        if !cc.status().is_ok_and(|status| status.success()) {
            skip("cc", "cc does not start");
            return None;
        }
    }
    Some(folder.to_owned())
}

const TRAINING: [&str; 6] = ["--data", "auto", "--epochs", "1", "--np", "2"];

#[test]
fn libraries_of_other_mpis_and_of_another_libtorch_do_not_hide_those_of_the_lab() {
    let Some(lab) = with_trainer() else { return };
    let all =
        ["libmpi.so.40", "libopen-pal.so.80", "libpmix.so.2", "libprrte.so.3", "libhwloc.so.15", "libtorch_cpu.so", "libc10.so"];
    let Some(folder) = foreign(&lab.home().join("module/lib"), &all) else { return };
    let lab = lab.env("LD_LIBRARY_PATH", &folder.display().to_string());
    let output = run(&lab, &TRAINING);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let line = &lab.store().record(RunId(1)).unwrap().attempts[0].env;
    let path = &line.iter().find(|(name, _)| name == "LD_LIBRARY_PATH").unwrap().1;
    assert!(path.ends_with(&format!(":{}", folder.display())), "what the user has stays behind: {path}");
    let doctor = lab.run(&["doctor"]);
    assert!(doctor.status.success(), "{}", stdout(&doctor));
    let said = stdout(&doctor);
    let of_libraries = said.lines().find(|line| line.starts_with("ok    libraries ")).unwrap_or_else(|| panic!("{said}"));
    assert!(of_libraries.contains(&folder.display().to_string()) && of_libraries.contains("own come first"), "{of_libraries}");
}

#[test]
fn a_library_or_a_parameter_that_keeps_ranks_from_starting_is_named_with_its_variable() {
    let Some(lab) = with_trainer() else { return };
    let Some(folder) = foreign(&lab.home().join("conda/lib"), &["libstdc++.so.6", "libpmix.so.2"]) else { return };
    let preloaded = folder.join("libpmix.so.2").display().to_string();
    std::fs::rename(&preloaded, lab.home().join("libpmix.so.2")).unwrap();
    let (folder, preloaded) = (folder.display().to_string(), lab.home().join("libpmix.so.2").display().to_string());
    for (variable, value, names) in [
        ("LD_LIBRARY_PATH", folder.as_str(), ["libstdc++.so.6", "`unset LD_LIBRARY_PATH`"]),
        ("LD_PRELOAD", &preloaded, ["libpmix.so.2", "`unset LD_PRELOAD`"]),
        ("PMIX_MCA_gds", "invented", ["`invented`", "`unset PMIX_MCA_gds`"]),
    ] {
        let with = |args: &[&str]| {
            let output = lab.command(args).env(variable, value).output().unwrap();
            (output.status.code(), format!("{}{}", stdout(&output), stderr(&output)))
        };
        for said in [with(&[["run"].as_slice(), &SMALL, &TRAINING].concat()), with(&["doctor"])] {
            assert!(said.0.is_some_and(|code| code != 0), "{variable}: {said:?}");
            assert!(names.iter().all(|name| said.1.contains(name)) && said.1.contains(value), "{variable}: {}", said.1);
        }
    }
}

#[test]
fn a_library_is_named_when_the_launcher_has_lost_the_last_words_of_the_loader() {
    let Some(lab) = Lab::with_mpirun() else { return };
    let folder = lab.home().join("conda/lib").display().to_string();
    let lab = lab.env("LD_LIBRARY_PATH", &folder).env("FOREIGN", &folder).env("STAND_IN", "remark");
    let output = run(&lab, &[]);
    let said = stderr(&output);
    assert!(output.status.code() == Some(1) && said.contains("exit code 127"), "{said}");
    assert!(
        said.contains(&format!("names {folder}, whose libstdc++.so.6")) && said.contains("`unset LD_LIBRARY_PATH`"),
        "{said}"
    );
}

#[test]
fn what_the_loader_passes_over_stops_no_run() {
    let Some(lab) = with_trainer() else { return };
    let lab = lab.env("LD_PRELOAD", "/proc/none/libinvented.so");
    let output = run(&lab, &TRAINING);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let doctor = stdout(&lab.run(&["doctor"]));
    assert!(doctor.contains("warn  libraries ") && doctor.contains("`unset LD_PRELOAD`"), "{doctor}");
}

#[test]
fn a_parameter_that_leaves_ranks_without_a_place_is_named() {
    let Some(lab) = with_trainer() else { return };
    let output = run(&lab.env("PRTE_MCA_rmaps_default_mapping_policy", "ppr:1:node"), &TRAINING);
    let said = stderr(&output);
    assert_ne!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("`unset PRTE_MCA_rmaps_default_mapping_policy`"), "{said}");
}
