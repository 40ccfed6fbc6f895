//! A run over two hosts that are one machine: each a network and a host name of its own, joined by one cable.
//!
//! Never leaves a host behind: each lasts as long as the process that holds it, which ends with this test. Without root
//! or `ip`, `unshare` and `nsenter` the test is skipped by name; HVD_LAB_REQUIRE=netns turns the skip into a failure.

use std::collections::BTreeSet;
use std::time::Duration;

use hvd_lab::domain::event::{Event, EventLine, MARKER, TopologyReport};

use crate::support::hosts::{HOSTS, agent, joined_hosts};
use crate::support::images;
use crate::support::mpi;

const LIMIT: Duration = Duration::from_secs(240);

#[test]
fn every_host_of_a_run_tells_what_its_devices_do() {
    let (Some(mpirun), Some(hosts)) = (mpi::mpirun(), joined_hosts()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let agent = agent(&hosts, folder.path());
    let plain = mpi::command(&mpirun, 2);
    let mut command = hosts[0].enter();
    command.arg(plain.get_program()).args(plain.get_args());
    command.args(["-H", "hvd-one:1,hvd-two:1", "--mca", "btl", "tcp,self"]);
    command.env("PRTE_MCA_plm_ssh_agent", &agent).env("OMPI_MCA_plm_rsh_agent", &agent);
    command.args([env!("CARGO_BIN_EXE_hvd-train"), "--events", "--steps", "1-10", "--data-dir", images::few()]);
    command.args(["--model", "wrn-10-1", "--batch-size", "16", "--train-images", "640", "--validation-images", "64"]);
    command.args(["--epochs", "25", "--log-dir"]).arg(folder.path());
    let output = mpi::run_limited(command, LIMIT);
    assert!(output.status.success(), "{}", mpi::text(&output));
    let printed = String::from_utf8_lossy(&output.stdout);
    let events: Vec<EventLine> = printed.lines().filter_map(|line| EventLine::parse_line(line.strip_prefix(MARKER)?)).collect();

    let topology = |process: usize| -> TopologyReport {
        let of = |line: &EventLine| match &line.event {
            Event::Topology(report) if line.process == process => Some(report.clone()),
            _ => None,
        };
        events.iter().find_map(of).unwrap()
    };
    for (process, (name, ..)) in HOSTS.into_iter().enumerate() {
        let report = topology(process);
        assert_eq!((report.host.as_str(), report.topology.size.0, report.topology.local_size.0), (name, 2, 1));
        let samples: Vec<_> = events
            .iter()
            .filter(|line| line.process == process)
            .filter_map(|line| if let Event::Devices { sample } = &line.event { Some((line.time_s, sample)) } else { None })
            .collect();
        assert!(samples.iter().all(|(_, sample)| sample.host == name), "{samples:?}");
        let own = events.iter().filter(|line| line.process == process);
        let ended = own.clone().find(|line| matches!(line.event, Event::Finished { .. })).unwrap().time_s;
        let began = own.map(|line| line.time_s).next().unwrap();
        // At once, and then every second; a machine under load may miss some.
        let seconds = (ended - began) as usize;
        assert!(samples.len() > seconds / 3 && samples.len() <= seconds + 2, "{} in {seconds} s", samples.len());
        assert!(samples.len() > 1, "use is a difference of two samples, and the run was over in {seconds} s");

        let last = &samples.last().unwrap().1;
        assert!(last.gpu_missing.as_deref().is_some_and(|why| why.contains("lab's own host")), "{last:?}");
        let cpu = &last.devices[0];
        assert!(!cpu.core_percent.is_empty() && cpu.memory_used_bytes.value().is_some_and(|&bytes| bytes > 0), "{cpu:?}");
        let ranks: BTreeSet<_> = cpu.processes.iter().map(|found| (found.rank, found.pid)).collect();
        assert_eq!(ranks, BTreeSet::from([(Some(process), report.pid)]), "its own rank, by its pid");
        assert!(cpu.processes[0].utilization_percent.value().is_some_and(|&percent| percent > 0.0), "{cpu:?}");
    }
}
