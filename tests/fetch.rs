//! Downloads from servers on 127.0.0.1 that behave and misbehave, and the verb `hvd-lab data` around them.
//!
//! Never asks the real addresses: where a test could get there, a closed port stands in as the proxy.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use assert_cmd::Command as Lab;
use flate2::Compression;
use flate2::write::GzEncoder;
use hvd_lab_terminal::dataset::OfficialFile;
use hvd_lab_terminal::download::{Fetcher, Progress};
use sha2::{Digest, Sha256};

use crate::support::server::{Manner, Server};

fn content() -> Vec<u8> {
    (0..200_000_u32).map(|index| (index.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

/// Something to fetch that is not 30 MB: `file.bin`.
fn small_file() -> OfficialFile {
    let digest: String = Sha256::digest(content()).iter().map(|byte| format!("{byte:02x}")).collect();
    OfficialFile {
        name: "file.bin",
        bytes: content().len() as u64,
        sha256: Box::leak(digest.into_boxed_str()),
        plain_bytes: u64::MAX,
        plain_sha256: "",
        plain_crc32c: 0,
    }
}

fn serve(content: Vec<u8>, manner: Manner) -> Server {
    Server::start(HashMap::from([("file.bin".to_owned(), content)]), manner)
}

/// Outcome, and what was told on the way.
fn fetch(addresses: &[&str], cache: &Path) -> (Result<(), String>, Vec<Progress>) {
    let addresses = addresses.iter().map(|address| (*address).to_owned()).collect();
    let fetcher = Fetcher { addresses, files: vec![small_file()] };
    let mut told = Vec::new();
    let outcome = fetcher.fetch(cache, &mut |progress| told.push(progress));
    (outcome.map_err(|error| error.to_string()), told)
}

fn is_whole(cache: &Path) -> bool {
    std::fs::read(cache.join("file.bin")).is_ok_and(|found| found == content()) && !cache.join("file.bin.part").exists()
}

#[test]
fn a_file_is_fetched_checked_and_told_and_a_second_call_asks_nobody() {
    let (home, server) = (tempfile::tempdir().unwrap(), serve(content(), Manner::Proper));
    let cache = home.path().join("not/there/yet");
    let (outcome, told) = fetch(&[&server.address], &cache);
    assert_eq!(outcome, Ok(()));
    assert!(is_whole(&cache));
    assert_eq!(told.last(), Some(&Progress::Bytes { done: 200_000, total: 200_000 }));
    assert_eq!(fetch(&[&server.address], &cache), (Ok(()), vec![]));
    assert_eq!(server.requests(), ["file.bin"]);
}

#[test]
fn a_packed_file_is_kept_unpacked_and_one_of_an_older_lab_is_good_as_it_is() {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&content()).unwrap();
    let packed = packed.finish().unwrap();
    let digest = |bytes: &[u8]| -> &'static str {
        let digest: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        Box::leak(digest.into_boxed_str())
    };
    let file = OfficialFile {
        name: "file.gz",
        bytes: packed.len() as u64,
        sha256: digest(&packed),
        plain_bytes: content().len() as u64,
        plain_sha256: digest(&content()),
        plain_crc32c: 0xd49a_5083,
    };
    let server = Server::start(HashMap::from([("file.gz".to_owned(), packed.clone())]), Manner::Proper);
    let fetcher = Fetcher { addresses: vec![server.address.clone()], files: vec![file] };
    let names = |cache: &Path| -> Vec<String> {
        let all = std::fs::read_dir(cache).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        all.filter(|name| name != ".lock").collect()
    };

    let older = tempfile::tempdir().unwrap();
    std::fs::write(older.path().join("file.gz"), &packed).unwrap();
    fetcher.fetch(older.path(), &mut |_| {}).unwrap();
    assert_eq!((names(older.path()), server.requests()), (vec!["file.gz".to_owned()], vec![]));

    // Nothing, a damaged one, and a download that was whole when it was killed.
    for there in [None, Some(("file.gz", b"damaged".to_vec())), Some(("file.gz.part", packed))] {
        let cache = tempfile::tempdir().unwrap();
        if let Some((name, bytes)) = there {
            std::fs::write(cache.path().join(name), bytes).unwrap();
        }
        fetcher.fetch(cache.path(), &mut |_| {}).unwrap();
        assert_eq!(names(cache.path()), ["file"]);
        assert_eq!(std::fs::read(cache.path().join("file")).unwrap(), content());
    }
    assert_eq!(server.requests(), ["file.gz", "file.gz"]);
}

#[test]
fn a_broken_connection_goes_on_where_it_stopped() {
    let (cache, server) = (tempfile::tempdir().unwrap(), serve(content(), Manner::Breaks(60_000)));
    let (outcome, told) = fetch(&[&server.address], cache.path());
    assert_eq!(outcome, Ok(()));
    assert!(is_whole(cache.path()));
    let expected = ["file.bin", "file.bin bytes=60000-", "file.bin bytes=120000-", "file.bin bytes=180000-"];
    assert_eq!(server.requests(), expected);
    assert_eq!(told.iter().filter(|progress| matches!(progress, Progress::Setback { .. })).count(), 3);
}

#[test]
fn what_an_earlier_run_left_is_used() {
    let (cache, server) = (tempfile::tempdir().unwrap(), serve(content(), Manner::Proper));
    std::fs::write(cache.path().join("file.bin.part"), &content()[..150_000]).unwrap();
    assert_eq!(fetch(&[&server.address], cache.path()).0, Ok(()));
    assert!(is_whole(cache.path()));
    assert_eq!(server.requests(), ["file.bin bytes=150000-"]);

    // A whole part needs no network at all.
    std::fs::rename(cache.path().join("file.bin"), cache.path().join("file.bin.part")).unwrap();
    assert_eq!(fetch(&["http://127.0.0.1:1"], cache.path()).0, Ok(()));
    assert!(is_whole(cache.path()));
}

#[test]
fn wrong_bytes_are_thrown_away_and_the_file_is_fetched_anew() {
    let (cache, server) = (tempfile::tempdir().unwrap(), serve(content(), Manner::Proper));
    for wrong in [vec![7; 150_000], vec![7; 200_000], vec![7; 300_000]] {
        let _ = std::fs::remove_file(cache.path().join("file.bin"));
        std::fs::write(cache.path().join("file.bin.part"), wrong).unwrap();
        assert_eq!(fetch(&[&server.address], cache.path()).0, Ok(()));
        assert!(is_whole(cache.path()));
    }
    // A damaged file under its final name is replaced.
    std::fs::write(cache.path().join("file.bin"), b"damaged").unwrap();
    assert_eq!(fetch(&[&server.address], cache.path()).0, Ok(()));
    assert!(is_whole(cache.path()));
}

#[test]
fn a_server_without_ranges_sends_the_whole() {
    let (cache, server) = (tempfile::tempdir().unwrap(), serve(content(), Manner::NoRanges));
    std::fs::write(cache.path().join("file.bin.part"), &content()[..150_000]).unwrap();
    assert_eq!(fetch(&[&server.address], cache.path()).0, Ok(()));
    assert!(is_whole(cache.path()));
}

#[test]
fn the_next_address_is_tried_and_every_failure_is_named() {
    let cache = tempfile::tempdir().unwrap();
    let missing = serve(content(), Manner::NotFound);
    let mut other = content();
    other[5] ^= 1;
    let wrong = serve(other, Manner::Proper);
    let longer = serve([content(), vec![1]].concat(), Manner::Proper);
    let bad = ["http://127.0.0.1:1", &missing.address, &wrong.address, &longer.address];

    let (outcome, _) = fetch(&bad, cache.path());
    let message = outcome.unwrap_err();
    for expected in ["cannot download file.bin", "127.0.0.1:1: ", "HTTP status 404", "SHA-256", "data import"] {
        assert!(message.contains(expected), "`{expected}` not in: {message}");
    }
    assert!(!message.contains('\n'));
    assert!(!cache.path().join("file.bin").exists(), "nothing wrong gets the file's name");

    let good = serve(content(), Manner::Proper);
    let addresses: Vec<&str> = bad.into_iter().chain([good.address.as_str()]).collect();
    assert_eq!(fetch(&addresses, cache.path()).0, Ok(()));
    assert!(is_whole(cache.path()));
}

#[test]
fn a_second_download_into_the_same_cache_waits_for_the_first() {
    let (cache, server) = (tempfile::tempdir().unwrap(), serve(content(), Manner::Proper));
    std::thread::scope(|scope| {
        let both: Vec<_> = (0..2).map(|_| scope.spawn(|| fetch(&[&server.address], cache.path()).0)).collect();
        both.into_iter().for_each(|thread| assert_eq!(thread.join().unwrap(), Ok(())));
    });
    assert!(is_whole(cache.path()));
    assert_eq!(server.requests(), ["file.bin"], "one of them found it there");
}

#[test]
fn a_cache_that_cannot_be_written_is_named() {
    let (home, server) = (tempfile::tempdir().unwrap(), serve(content(), Manner::Proper));
    std::fs::write(home.path().join("file"), b"no folder").unwrap();
    let cache = home.path().join("file/data");
    let message = fetch(&[&server.address], &cache).0.unwrap_err();
    assert!(message.contains("cannot write") && message.contains("file/data") && message.contains("HVD_LAB_HOME"), "{message}");
}

#[test]
fn a_full_disk_is_named_and_asks_no_other_address() {
    let (cache, server) = (tempfile::tempdir().unwrap(), serve(content(), Manner::Proper));
    std::os::unix::fs::symlink("/dev/full", cache.path().join("file.bin.part")).unwrap();
    let message = fetch(&[&server.address, &server.address], cache.path()).0.unwrap_err();
    assert!(
        message.contains("cannot write") && message.contains("No space left") && message.contains("HVD_LAB_HOME"),
        "{message}"
    );
    assert_eq!(server.requests(), ["file.bin"]);
}

/// `hvd-lab data ...` with a home of its own and a closed port where a network would be.
fn lab(home: &Path, arguments: &[&str]) -> Lab {
    let mut lab = Lab::cargo_bin("hvd-lab").unwrap();
    lab.arg("data").args(arguments).env("HVD_LAB_HOME", home).timeout(Duration::from_secs(120));
    for name in ["HVD_LAB_DATA", "HVD_LAB_DATA_URL", "HVD_LAB_OFFLINE", "NO_PROXY", "no_proxy"] {
        lab.env_remove(name);
    }
    for name in ["ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "http_proxy", "https_proxy"] {
        lab.env(name, "http://127.0.0.1:1");
    }
    lab
}

/// Exit code, standard output, standard error.
fn outcome(lab: &mut Lab) -> (i32, String, String) {
    let output = lab.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

#[test]
fn the_verb_says_what_is_here_and_what_a_run_would_use() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(home.path().join("data")).unwrap();
    std::fs::write(home.path().join("data/t10k-images-idx3-ubyte.gz.part"), vec![0; 2 << 20]).unwrap();
    std::fs::write(home.path().join("data/t10k-labels-idx1-ubyte.gz"), b"oops").unwrap();
    let (code, text, errors) = outcome(&mut lab(home.path(), &[]));
    assert_eq!((code, errors.as_str()), (0, ""), "{text}");
    for expected in [
        "not there",
        "2.0 MiB of 4.2 MiB fetched",
        "damaged (4 bytes instead of 5148)",
        "generated garments",
        "tries to fetch it",
    ] {
        assert!(text.contains(expected), "`{expected}` not in:\n{text}");
    }
    assert!(text.contains("(Fashion-MNIST is damaged in the cache: a run tries"), "{text}");
    assert!(text.contains("MNIST in ") && text.contains("not there: `hvd-lab data fetch mnist` gets it"), "{text}");
    std::fs::remove_file(home.path().join("data/t10k-labels-idx1-ubyte.gz")).unwrap();
    let (_, text, _) = outcome(&mut lab(home.path(), &["status", "--offline"]));
    assert!(text.contains("generated garments (Fashion-MNIST is not on this machine, and offline is set)"), "{text}");
}

#[test]
fn offline_refuses_to_fetch_and_says_what_else_to_do() {
    let home = tempfile::tempdir().unwrap();
    for (arguments, variable, name) in [
        (&["fetch", "--offline"][..], "", "Fashion-MNIST"),
        (&["fetch"][..], "1", "Fashion-MNIST"),
        (&["fetch", "mnist"][..], "1", "MNIST"),
    ] {
        let (code, _, errors) = outcome(lab(home.path(), arguments).env("HVD_LAB_OFFLINE", variable));
        assert_eq!(code, 2, "{errors}");
        assert!(errors.starts_with(&format!("hvd-lab: {name} is not in")) && errors.contains("data import DIR"), "{errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
    }
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0, "nothing was begun");
}

#[test]
fn without_a_network_fetching_fails_with_advice() {
    let home = tempfile::tempdir().unwrap();
    let (code, text, errors) = outcome(&mut lab(home.path(), &["fetch"]));
    assert_eq!((code, text.as_str()), (1, ""), "{errors}");
    let last = errors.lines().last().unwrap();
    for expected in ["hvd-lab: cannot download train-labels", "raw.githubusercontent.com: ", "amazonaws.com: ", "HTTPS_PROXY"] {
        assert!(last.contains(expected), "`{expected}` not in: {last}");
    }
}

#[test]
fn bad_input_is_one_line_and_code_2() {
    let home = tempfile::tempdir().unwrap();
    let gone = home.path().join("not/at/all").display().to_string();
    let cases: [(&[&str], &str); 4] = [
        (&["import", &gone], &format!("cannot read {gone}")),
        (&["import"], "<DIR>"),
        (&["fetsh"], "fetsh"),
        (&["fetch", "mnits"], "`mnits` is no data set: use fashion-mnist or mnist"),
    ];
    for (arguments, expected) in cases {
        let (code, _, errors) = outcome(&mut lab(home.path(), arguments));
        assert_eq!(code, 2, "{arguments:?}: {errors}");
        assert!(errors.contains(expected) && errors.lines().count() == 1, "{arguments:?}: {errors}");
    }
    let (code, _, errors) = outcome(lab(home.path(), &[]).env("HVD_LAB_DATA", &gone));
    assert_eq!((code, errors.lines().count()), (2, 1), "{errors}");
}

#[test]
fn the_real_files_come_from_a_mirror_or_a_folder() {
    let Some(real) = crate::support::fashion_mnist::folder() else { return };
    let files = std::fs::read_dir(&real)
        .unwrap()
        .flatten()
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path()).unwrap()));
    let server = Server::start(files.collect(), Manner::Proper);
    let home = tempfile::tempdir().unwrap();
    let (code, text, errors) = outcome(lab(home.path(), &["fetch"]).env("HVD_LAB_DATA_URL", &server.address));
    assert_eq!(code, 0, "{errors}");
    assert!(text.contains("Fashion-MNIST is in"), "{text}");
    assert!(errors.contains("train-images-idx3-ubyte.gz from http://127.0.0.1"), "{errors}");
    let (_, text, _) = outcome(&mut lab(home.path(), &["status"]));
    assert!(text.contains("a run trains on Fashion-MNIST (in "), "{text}");
    assert_eq!(text.matches("ok, ").count(), 4, "{text}");
    let (code, text, _) = outcome(&mut lab(home.path(), &["fetch", "--offline"]));
    assert!(code == 0 && text.contains("already"), "{text}");

    let other = tempfile::tempdir().unwrap();
    let (code, _, errors) = outcome(&mut lab(other.path(), &["import", real.to_str().unwrap()]));
    assert_eq!(code, 0, "{errors}");
    assert!(outcome(&mut lab(other.path(), &[])).1.contains("a run trains on Fashion-MNIST"));
}
