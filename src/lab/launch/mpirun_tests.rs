//! The exact lines for each launcher.

use super::*;
use crate::launch::{Machine, default_preset};

fn setup(flavour: Flavour) -> Setup {
    let machine = Machine { cores: 4, physical_cores: 4, ..Machine::default() };
    Setup {
        mpirun: "/opt/mpi/bin/mpirun".into(),
        flavour,
        mpirun_version: String::new(),
        program: "/opt/lab/hvd-train".into(),
        command: None,
        machine,
    }
}

fn spec(np: usize) -> RunSpec {
    default_preset(false).spec.with(|job| job.resources.np = np).into()
}

fn line(spec: &RunSpec, setup: &Setup) -> Result<CommandLine, LaunchError> {
    command_line(spec, "cpu", setup, "/data/fm", Path::new("/runs/0001/logs"), false)
}

/// The launcher's own words, before the trainer.
fn launcher_words(spec: &RunSpec, setup: &Setup) -> String {
    let argv = line(spec, setup).unwrap().argv;
    let trainer = argv.iter().position(|word| word == "/opt/lab/hvd-train").unwrap();
    argv[1..trainer].join(" ")
}

const TRAINER: &str = "/opt/lab/hvd-train --steps 1-10 --epochs 3 --batch-size 8 --base-lr 0.002 --momentum 0.9 --wd 0.000005 \
                       --target-accuracy 0.85 --patience 2 --warmup-epochs 1 --model wrn-10-1 --data-dir /data/fm \
                       --train-images 12000 --validation-images 1000 --seed 1 --log-dir /runs/0001/logs \
                       --use-checkpointing --events";

#[test]
fn the_whole_line_of_each_launcher() {
    for (flavour, words) in [
        (Flavour::OpenMpi4, "--bind-to none --tag-output --mca mpi_yield_when_idle 1 --mca pml ob1 --mca btl self,vader -np 2"),
        (Flavour::OpenMpi5, "--bind-to none --output tag --mca mpi_yield_when_idle 1 --mca pml ob1 --mca btl self,sm -np 2"),
        (Flavour::Mpich, "-prepend-rank -bind-to none -np 2"),
    ] {
        let line = line(&spec(2), &setup(flavour)).unwrap();
        assert_eq!(line.argv.join(" "), format!("/opt/mpi/bin/mpirun {words} {TRAINER}"), "{flavour}");
        let words: Vec<String> = line.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let without_ucx = if flavour == Flavour::Mpich { "" } else { " UCX_MEM_MMAP_HOOK_MODE=none" };
        assert_eq!(words.join(" "), format!("CUDA_DEVICE_ORDER=PCI_BUS_ID{without_ucx}"));
        assert_eq!(line.notes, [""; 0]);
    }
}

#[test]
fn root_and_oversubscription_are_handled_and_said() {
    for (flavour, words) in [
        (
            Flavour::OpenMpi4,
            "--allow-run-as-root --oversubscribe --bind-to none --tag-output --mca mpi_yield_when_idle 1 --mca pml ob1 --mca btl self,vader -np 5",
        ),
        (
            Flavour::OpenMpi5,
            "--allow-run-as-root --map-by :OVERSUBSCRIBE --bind-to none --output tag --mca mpi_yield_when_idle 1 --mca pml ob1 --mca btl self,sm -np 5",
        ),
        (Flavour::Mpich, "-prepend-rank -bind-to none -np 5"),
    ] {
        let mut setup = setup(flavour);
        setup.machine.is_root = true;
        assert_eq!(launcher_words(&spec(5), &setup), words);
        let said = line(&spec(5), &setup).unwrap().notes.join("\n");
        assert!(said.contains("4 physical cores"), "{said}");
        assert_eq!(said.contains("root"), flavour != Flavour::Mpich, "{said}");
    }
}

#[test]
fn hyperthreads_are_no_slots() {
    let mut setup = setup(Flavour::OpenMpi5);
    setup.machine.physical_cores = 2;
    assert!(launcher_words(&spec(4), &setup).contains(":OVERSUBSCRIBE"));
    assert!(!launcher_words(&spec(2), &setup).contains(":OVERSUBSCRIBE"));
}

#[test]
fn hosts_go_to_the_launcher_with_the_variables_that_they_need() {
    let spread = spec(8).with(|job| job.resources.hosts = Some("a:4,b:4".into()));
    let filed = spec(8).with(|job| job.resources.hostfile = Some("/tmp/hosts".into()));
    for (flavour, hosts, file) in [
        (
            Flavour::OpenMpi4,
            "--bind-to none --tag-output --mca mpi_yield_when_idle 1 -H a:4,b:4 --mca oob_tcp_keepalive_time 3 \
             --mca oob_tcp_keepalive_intvl 1 --mca oob_tcp_keepalive_probes 3 -x CUDA_DEVICE_ORDER -x NCCL_DEBUG \
             -x HVD_LAB_EVENT_SECRET -np 8",
            "--hostfile /tmp/hosts",
        ),
        (
            Flavour::OpenMpi5,
            "--bind-to none --output tag --mca mpi_yield_when_idle 1 -H a:4,b:4 --prtemca oob_tcp_keepalive_time 3 \
             --prtemca oob_tcp_keepalive_intvl 1 --prtemca oob_tcp_keepalive_probes 3 -x CUDA_DEVICE_ORDER -x NCCL_DEBUG \
             -x HVD_LAB_EVENT_SECRET -np 8",
            "--hostfile /tmp/hosts",
        ),
        (Flavour::Mpich, "-prepend-rank -bind-to none -hosts a:4,b:4 -np 8", "-f /tmp/hosts"),
    ] {
        let mut setup = setup(flavour);
        setup.machine.forwarded = vec!["NCCL_DEBUG".into()];
        assert_eq!(launcher_words(&spread, &setup), hosts);
        assert!(launcher_words(&filed, &setup).contains(file));
    }
}

#[test]
fn the_network_goes_to_everybody_who_opens_connections() {
    let spread = |networks: &str| {
        spec(2).with(|job| {
            job.resources.hosts = Some("a:1,b:1".into());
            job.resources.network_interface = Some(networks.into());
        })
    };
    let mut five = setup(Flavour::OpenMpi5);
    five.machine.forwarded = vec!["NCCL_SOCKET_IFNAME".into()];
    let words = launcher_words(&spread("eth0"), &five);
    assert!(words.contains("--mca btl_tcp_if_include eth0 --prtemca oob_tcp_if_include eth0"), "{words}");
    assert_eq!(words.matches("-x NCCL_SOCKET_IFNAME").count(), 1, "{words}");
    let set = |networks| line(&spread(networks), &five).unwrap().env.contains(&("NCCL_SOCKET_IFNAME".into(), "=eth0".into()));
    assert!(set("eth0") && !set("10.0.0.0/8"), "NCCL takes names only");
    let four = launcher_words(&spread("eth0"), &setup(Flavour::OpenMpi4));
    assert!(four.contains("--mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0"), "{four}");
    assert!(launcher_words(&spread("eth0"), &setup(Flavour::Mpich)).contains("-iface eth0"));
    for bad in ["", "-x", "eth0,", "eth0 --mca x y", "eth0;reboot"] {
        let error = line(&spread(bad), &five).unwrap_err().to_string();
        assert!(error.contains("names no network"), "{bad}: {error}");
    }
    let here = spec(2).with(|job| job.resources.network_interface = Some("eth0".into()));
    let here = line(&here, &five).unwrap();
    assert!(here.notes.iter().any(|note| note.contains("eth0 is not used")), "{:?}", here.notes);
    assert!(!here.argv.contains(&"btl_tcp_if_include".to_owned()));
}

#[test]
fn more_ranks_than_sensible_are_refused_with_advice_unless_forced() {
    let setup = setup(Flavour::OpenMpi5);
    assert!(line(&spec(16), &setup).is_ok());
    let refused = line(&spec(17), &setup).unwrap_err();
    assert!(refused.to_string().contains("np 17") && refused.to_string().contains("--np 4"), "{refused}");
    let forced = command_line(&spec(17), "cpu", &setup, "generated", Path::new("/l"), true).unwrap();
    assert!(forced.argv.join(" ").contains(":OVERSUBSCRIBE"));
    let few = spec(3).with(|job| job.resources.hosts = Some("a:1,b".into()));
    assert!(line(&few, &setup).unwrap_err().to_string().contains("2 slots"));
}

#[test]
fn the_gpu_preset_wants_a_gpu_for_each_rank() {
    let mut setup = setup(Flavour::OpenMpi5);
    let on_gpus = |setup: &Setup, np| command_line(&spec(np), "gpu", setup, "generated", Path::new("/l"), false);
    assert!(on_gpus(&setup, 1).unwrap_err().to_string().contains("no GPU"));
    setup.machine.room.gpus = 2;
    assert!(on_gpus(&setup, 2).is_ok());
    assert!(on_gpus(&setup, 3).unwrap_err().to_string().contains("2 GPUs"));
}

#[test]
fn settings_that_cannot_run_and_hosts_that_are_none_are_named() {
    let setup = setup(Flavour::OpenMpi5);
    assert!(line(&spec(0), &setup).unwrap_err().to_string().contains("np is 0"));
    for bad in ["", "a:0", "a:x", ":2", "a,,b", "--help:2"] {
        let spec = spec(1).with(|job| job.resources.hosts = Some(bad.into()));
        assert!(line(&spec, &setup).unwrap_err().to_string().contains("is not a host"), "{bad}");
    }
}

#[test]
fn a_pasted_line_survives_the_shell() {
    let line = CommandLine {
        argv: vec!["mpirun".into(), "--data-dir".into(), "/a b/it's".into(), String::new()],
        env: vec![("A".into(), "1 2".into())],
        notes: vec![],
        directory: None,
    };
    assert_eq!(line.to_shell(), r"A='1 2' mpirun --data-dir '/a b/it'\''s' ''");
}

#[test]
fn collectives_get_their_flags_and_the_variable_that_a_forced_algorithm_needs() {
    let resources = Resources::ranks(2);
    let measured = |methods: &[&str]| {
        let methods = methods.iter().map(|name| (*name).to_owned()).collect();
        let collectives = CollectivesSpec { methods, ..CollectivesSpec::sample() };
        RunSpec { resources: resources.clone(), workload: Workload::Collectives(collectives) }
    };
    let flags = "--servers 1 --ranks-per-host 1 --min-bytes 1024 --max-bytes 1048576 --factor 32 --iterations 20 --warmup 5 \
                 --check 1 --log-bytes 1024 --events";
    let mut setup = setup(Flavour::OpenMpi5);
    setup.program = "/opt/lab/hvd-measure".into();
    setup.command = Some("collectives");
    let line = line(&measured(&["ring", "mpi"]), &setup).unwrap();
    let words = "--bind-to none --output tag --mca mpi_yield_when_idle 1 --mca pml ob1 --mca btl self,sm -np 2";
    assert_eq!(
        line.argv.join(" "),
        format!("/opt/mpi/bin/mpirun {words} /opt/lab/hvd-measure collectives --algorithm ring,mpi {flags}")
    );
    assert!(!line.env.iter().any(|(name, _)| name.starts_with("OMPI_")), "the library chooses as it always does: {:?}", line.env);
    let forced =
        |setup: &Setup| super::command_line(&measured(&["mpi-ring"]), "", setup, "", Path::new("/l"), false).unwrap().env;
    assert!(forced(&setup).contains(&("OMPI_MCA_coll_tuned_use_dynamic_rules".to_owned(), "1".to_owned())));
    setup.flavour = Flavour::Mpich;
    assert_eq!(forced(&setup).len(), 1);
}

#[test]
fn links_are_put_around_the_launcher_and_around_each_rank() {
    let collectives = CollectivesSpec { link_bits: Some(200_000_000), ..CollectivesSpec::sample() };
    let linked = RunSpec { resources: Resources::ranks(2), workload: Workload::Collectives(collectives) };
    let mut setup = setup(Flavour::OpenMpi5);
    let made = line(&linked, &setup).unwrap();
    let words: Vec<&str> = made.argv.iter().map(String::as_str).filter(|word| !word.contains("set -e")).collect();
    let words = words.join(" ");
    assert!(
        words.starts_with("unshare -Urnm sh -c links 2 200000000bit 100000 /opt/mpi/bin/mpirun --allow-run-as-root "),
        "{words}"
    );
    let ending = "--mca btl self,tcp --mca btl_tcp_if_include 10.213.0.0/16 -np 2 unshare --net sh -c link /opt/lab/hvd-train ";
    assert!(words.contains(ending), "{words}");
    assert!(made.env.contains(&("PMIX_MCA_ptl_base_if_include".to_owned(), "hub".to_owned())));
    assert!(made.notes.iter().any(|note| note.contains("200 Mbit/s")), "{:?}", made.notes);
    let spread = linked.clone().with(|job| job.resources.hosts = Some("a:2".into()));
    assert!(line(&spread, &setup).unwrap_err().to_string().contains("on one machine"));
    setup.flavour = Flavour::Mpich;
    assert!(line(&linked, &setup).unwrap_err().to_string().contains("Open MPI 5"));
}

#[test]
fn a_training_has_links_too_on_one_machine_without_gpus() {
    let linked = spec(2).with(|job| job.resources.link = Some(1_000_000_000));
    let refused = |spec: &RunSpec, setup: &Setup| line(spec, setup).unwrap_err().to_string();
    let plain = setup(Flavour::OpenMpi5);
    let argv = line(&linked, &plain).unwrap().argv;
    assert!(
        argv.starts_with(&["unshare".to_owned(), "-Urnm".to_owned()]) && argv.contains(&"1000000000bit".to_owned()),
        "{argv:?}"
    );
    let no_link = spec(2).with(|job| job.resources.link = Some(0));
    assert_eq!(refused(&no_link, &plain), "a link has from 1 mbit to 1000 gbit a second");
    for elsewhere in [
        linked.clone().with(|job| job.resources.hosts = Some("a:2".into())),
        linked.clone().with(|job| job.resources.hostfile = Some("hosts".into())),
        linked.clone().with(|job| job.resources.slurm = true),
        linked.clone().with(|job| {
            (job.resources.min_np, job.resources.host_discovery_script) = (Some(1), Some("hosts.sh".into()));
        }),
    ] {
        let said = refused(&elsewhere, &plain);
        assert!(said.contains("on one machine") && said.contains("out, or --link"), "{said}");
    }
    let mut allocation = setup(Flavour::OpenMpi5);
    allocation.machine.in_allocation = true;
    assert!(refused(&linked, &allocation).contains("on one machine"));
    let mut gpus = setup(Flavour::OpenMpi5);
    gpus.machine.room.gpus = 2;
    assert!(refused(&linked, &gpus).contains("ranks on CPUs"));
    for flavour in [Flavour::OpenMpi4, Flavour::Mpich] {
        assert!(refused(&linked, &setup(flavour)).contains("links need Open MPI 5"));
    }
}

#[test]
fn names_with_domains_are_not_cut_where_that_would_make_two_hosts_one() {
    const RESOLVE: &str = "--prtemca prte_do_not_resolve 0";
    const KEEP_4: &str = "--mca orte_keep_fqdn_hostnames 1";
    const KEEP_5: &str = "--prtemca prte_keep_fqdn_hostnames 1 --pmixmca pmix_keep_fqdn_hostnames 1";
    for (hosts, flavour, present) in [
        ("a:4,b:4", Flavour::OpenMpi5, [false, false, false]),
        ("10.0.0.1:4,10.0.0.2:4", Flavour::OpenMpi5, [false, false, false]),
        ("a.lab:4,b.lab:4", Flavour::OpenMpi5, [true, false, false]),
        ("w.1.lab:4,w.2.lab:4", Flavour::OpenMpi5, [true, false, true]),
        ("w.1.lab:4,w.2.lab:4", Flavour::OpenMpi4, [false, true, false]),
    ] {
        let words = launcher_words(&spec(8).with(|job| job.resources.hosts = Some(hosts.into())), &setup(flavour));
        assert_eq!([RESOLVE, KEEP_4, KEEP_5].map(|part| words.contains(part)), present, "{words}");
    }
}
