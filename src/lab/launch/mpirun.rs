//! From a run's settings to the exact argument vector and environment of `mpirun`.
//!
//! It reads nothing but a host file: the same settings and setup always give the same line.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::host_name::HostName;
use super::hosts::{hosts_of, listed};
use super::setup::Setup;
use super::{Flavour, LaunchError, Ranks, binding, libraries, presets, rank_networks, user_program};
use crate::domain::benchmark::BENCHMARK_SETTINGS;
use crate::domain::collective::{COLLECTIVES_SETTINGS, CollectivesSpec};
use crate::domain::event::SECRET_VARIABLE;
use crate::domain::job::{Resources, RunSpec, TrainingJob, Workload};
use crate::domain::nvcnn::PHOTO_SETTINGS;
use crate::domain::setting::{Setting, arguments};
use crate::domain::settings::SETTINGS;
use crate::domain::units;

/// The command that is started for a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    /// The launcher first.
    pub argv: Vec<String>,
    /// Set beside the variables that are there already.
    pub env: Vec<(String, String)>,
    /// What it does beyond the ordinary, and why; one sentence each.
    pub notes: Vec<String>,
    /// Where it works; `None` for the folder of the run.
    pub directory: Option<PathBuf>,
}

impl CommandLine {
    /// As it may be pasted into a shell.
    pub fn to_shell(&self) -> String {
        let env = self.env.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
        env.chain(self.argv.iter().map(|word| quoted(word))).collect::<Vec<_>>().join(" ")
    }
}

pub(super) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// Ranks per logical core above which a request is taken for a slip of the finger.
pub(super) const SENSIBLE_RANKS_PER_CORE: usize = 4;

/// The command line of a run. `data` is a folder with the four files, or `generated`.
///
/// `force` lets more ranks through than the machine has room for.
///
/// # Errors
/// [`LaunchError::Spec`] where the settings cannot run or ask for more than is there.
pub fn command_line(
    spec: &RunSpec,
    preset: &str,
    setup: &Setup,
    data: &str,
    log_dir: &Path,
    force: bool,
) -> Result<CommandLine, LaunchError> {
    LaunchError::refuse_if(spec.problem())?;
    let resources = &spec.resources;
    if let Some(command) = spec.command().filter(|command| command.own_launcher().is_some() || spec.starts_alone()) {
        let (argv, notes) = user_program::words(command, setup)?;
        return Ok(CommandLine {
            argv: user_program::with_inspector(command, argv, log_dir),
            env: user_program::environment(command, log_dir),
            notes,
            directory: Some(PathBuf::from(&command.directory)),
        });
    }
    let oversubscribe = placement(resources, preset, setup, force)?;
    let benchmark = spec.benchmark();
    let is_here = !is_spread(resources, setup);
    let unbound = binding::problem(benchmark, resources.np, setup.machine.physical_cores, oversubscribe);
    let misfit = || match &spec.workload {
        Workload::Benchmark(benchmark) => benchmark.misfit(&setup.machine.room, resources.np),
        Workload::Nvcnn(nvcnn) => nvcnn.misfit(&setup.machine.room, resources.np),
        Workload::Training(training) => training.precision.misfit(setup.machine.room.gpus),
        Workload::Collectives(_) | Workload::Command(_) | Workload::Unknown(_) => None,
    };
    // Of other hosts nothing is known here: there the ranks find out.
    LaunchError::refuse_if(unbound.or_else(misfit).filter(|_| is_here))?;
    let binding = binding::words(benchmark, setup.flavour, oversubscribe);
    let mut env = vec![("CUDA_DEVICE_ORDER".to_owned(), "PCI_BUS_ID".to_owned())];
    if spec.collectives().is_some_and(CollectivesSpec::forces_mpi) && setup.flavour != Flavour::Mpich {
        // Only then may the program choose among the library's algorithms; it must be known before MPI starts.
        env.push(("OMPI_MCA_coll_tuned_use_dynamic_rules".to_owned(), "1".to_owned()));
    }
    if is_here && spec.command().is_none() && setup.flavour != Flavour::Mpich {
        // UCX carries nothing of ours on one host. Open MPI loads it all the same, and it would take 40 ms to patch the C library.
        env.push(("UCX_MEM_MMAP_HOOK_MODE".to_owned(), "none".to_owned()));
    }
    let libraries = setup.machine.libraries.as_ref();
    env.extend(libraries.map(|own| (libraries::PATH.to_owned(), own.path.clone())));
    let mut notes: Vec<String> = libraries.map(|own| own.note.clone()).into_iter().collect();
    if let Some(command) = spec.command() {
        env.extend(user_program::environment(command, log_dir));
    }
    if let Some(networks) = &resources.network_interface {
        match is_spread(resources, setup) {
            // NCCL takes names only; a network such as 10.0.0.0/8 is for MPI.
            true if !networks.contains('/') => env.push(("NCCL_SOCKET_IFNAME".to_owned(), format!("={networks}"))),
            true => {}
            false => notes.push(format!("the network {networks} is not used: all ranks are on this host")),
        }
    }
    // --force may be about GPUs or slots, and only the cores of this host are known.
    if oversubscribe && is_here && resources.np > setup.machine.physical_cores {
        let cores = units::counted(setup.machine.physical_cores, "physical core");
        let why = format!("np {} is more than the {cores} that this run may use", resources.np);
        notes.push(format!("{why}: ranks share cores, so speed-up ends there"));
    }
    let link_bits = spec.link_bits();
    let mut argv = Vec::new();
    if let Some(bits) = link_bits {
        LaunchError::refuse_if(no_links(spec, setup))?;
        env.push(("PMIX_MCA_ptl_base_if_include".to_owned(), rank_networks::HUB.to_owned()));
        notes.push(format!("every rank has a link of {}, made on this machine", units::bits_per_second(bits)));
        argv = rank_networks::around_launcher(resources.np, bits);
    }
    argv.push(LaunchError::text(&setup.mpirun)?);
    match setup.flavour {
        Flavour::OpenMpi4 | Flavour::OpenMpi5 => {
            if setup.machine.is_root {
                notes.insert(0, "you are root: --allow-run-as-root is added, since Open MPI would refuse otherwise".to_owned());
            }
            argv.extend(open_mpi(resources, setup, &binding, &env, link_bits.is_some()));
        }
        Flavour::Mpich => argv.extend(mpich(resources, &binding)),
    }
    argv.extend(["-np".to_owned(), resources.np.to_string()]);
    if link_bits.is_some() {
        argv.extend(rank_networks::around_rank());
    }
    argv.extend(program(spec, setup, data, log_dir)?);
    Ok(CommandLine { argv, env, notes, directory: spec.command().map(|command| PathBuf::from(&command.directory)) })
}

/// Where Open MPI 5 and 4 read which cores ranks may be bound to, if not to all of the machine.
pub(super) const CORES_OF_LAUNCHER: [&str; 2] = ["PRTE_MCA_hwloc_default_cpu_list", "OMPI_MCA_hwloc_base_cpu_list"];

/// Ranks that wait would otherwise spin on the core that the others need.
pub(super) const YIELD: [&str; 3] = ["--mca", "mpi_yield_when_idle", "1"];

/// The first words for Open MPI: whether root starts it, and which cores ranks get.
pub(super) fn first_words(is_root: bool, binding: &[String]) -> Vec<String> {
    let root = is_root.then(|| "--allow-run-as-root".to_owned());
    root.into_iter().chain(binding.iter().cloned()).collect()
}

/// Whether ranks may run on other hosts.
fn is_spread(resources: &Resources, setup: &Setup) -> bool {
    resources.names_hosts() || setup.machine.in_allocation
}

/// How mpirun notices that another host is gone: after 3 quiet seconds it asks once a second, three times.
const KEEPALIVE: [(&str, &str); 3] =
    [("oob_tcp_keepalive_time", "3"), ("oob_tcp_keepalive_intvl", "1"), ("oob_tcp_keepalive_probes", "3")];

/// The words of Open MPI 4 and 5 before the number of ranks.
fn open_mpi(
    resources: &Resources,
    setup: &Setup,
    binding: &[String],
    env: &[(String, String)],
    has_made_links: bool,
) -> Vec<String> {
    let is_4 = setup.flavour == Flavour::OpenMpi4;
    let is_spread = is_spread(resources, setup);
    let mut argv = Vec::new();
    let mut add = |words: &[&str]| argv.extend(words.iter().map(|word| (*word).to_owned()));
    // Inside of a namespace of one's own everybody is root.
    first_words(setup.machine.is_root || has_made_links, binding).iter().for_each(|word| add(&[word]));
    add(if is_4 { &["--tag-output"] } else { &["--output", "tag"] });
    add(&YIELD);
    if has_made_links {
        // Past memory, which all ranks still share.
        add(&["--mca", "pml", "ob1", "--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", rank_networks::NETWORK]);
    } else if !is_spread {
        // On one host memory is all it takes; looking for networks would cost a second at every start.
        add(&["--mca", "pml", "ob1", "--mca", "btl", if is_4 { "self,vader" } else { "self,sm" }]);
    }
    if let Some(hosts) = &resources.hosts {
        // mpirun would take blanks around a name for a part of it.
        add(&["-H", &hosts.replace(char::is_whitespace, "")]);
    }
    if let Some(hostfile) = &resources.hostfile {
        add(&["--hostfile", hostfile]);
    }
    if is_spread {
        // A host that is cut off does not say so: mpirun asks, or would wait for hours.
        let to_daemons = if is_4 { "--mca" } else { "--prtemca" };
        KEEPALIVE.iter().for_each(|(name, value)| add(&[to_daemons, name, value]));
        // Errors of a host file are reported by the preflight.
        let hosts = hosts_of(resources, setup.flavour).unwrap_or_default();
        let domainless: Vec<&str> = hosts.iter().filter_map(|host| HostName::of(&host.name).without_domain()).collect();
        if !domainless.is_empty() && !is_4 {
            // By itself it compares the words alone, and may not know this host.
            add(&[to_daemons, "prte_do_not_resolve", "0"]);
        }
        if domainless.iter().collect::<BTreeSet<_>>().len() < domainless.len() {
            // It cuts names at their first dot, and takes w.1.lab and w.2.lab for one.
            if is_4 {
                add(&["--mca", "orte_keep_fqdn_hostnames", "1"])
            } else {
                add(&["--prtemca", "prte_keep_fqdn_hostnames", "1", "--pmixmca", "pmix_keep_fqdn_hostnames", "1"])
            }
        }
        if let Some(networks) = &resources.network_interface {
            add(&["--mca", "btl_tcp_if_include", networks, to_daemons, "oob_tcp_if_include", networks]);
        }
        let own = |name: &&String| env.iter().all(|(set, _)| set != *name);
        for name in env.iter().map(|(name, _)| name).chain(setup.machine.forwarded.iter().filter(own)) {
            add(&["-x", name]);
        }
        // Its name alone: the value is new for each launch, and is not recorded.
        add(&["-x", SECRET_VARIABLE]);
    }
    argv
}

/// Why ranks cannot be given links of their own, in one sentence.
fn no_links(spec: &RunSpec, setup: &Setup) -> Option<String> {
    if is_spread(&spec.resources, setup) {
        return Some("links are made on one machine: leave the hosts out, or the link".into());
    }
    // The trainer uses a GPU where there is one.
    if setup.machine.room.gpus > 0 && spec.training().is_some() {
        return Some("links are for ranks on CPUs, since gradients go from GPU to GPU by other ways: leave the link out".into());
    }
    let flavour = setup.flavour;
    (flavour != Flavour::OpenMpi5).then(|| format!("links need Open MPI 5, and this is {flavour}: leave the link out"))
}

/// The words of MPICH. Hydra neither counts slots nor minds root, and hands on the whole environment.
fn mpich(resources: &Resources, binding: &[String]) -> Vec<String> {
    let mut words = vec!["-prepend-rank"];
    words.extend(binding.iter().map(String::as_str));
    if let Some(hosts) = &resources.hosts {
        words.extend(["-hosts", hosts]);
    }
    if let Some(hostfile) = &resources.hostfile {
        words.extend(["-f", hostfile]);
    }
    if let Some(interface) = &resources.network_interface {
        words.extend(["-iface", interface]);
    }
    words.into_iter().map(String::from).collect()
}

/// Whether more ranks than slots are to be started.
fn placement(resources: &Resources, preset: &str, setup: &Setup, force: bool) -> Result<bool, LaunchError> {
    let (np, machine) = (resources.np, &setup.machine);
    let refuse = |why: String, advice: String| if force { Ok(true) } else { Err(LaunchError::Crowded { why, advice }) };
    if let Some(hosts) = &resources.hosts {
        let slots = listed(hosts)?.iter().filter_map(|host| host.slots).sum();
        return match np > slots {
            true => refuse(
                format!("np {np} is more than the {slots} slots of `{hosts}`"),
                "write host:slots for each host, or add --force".into(),
            ),
            false => Ok(false),
        };
    }
    if resources.hostfile.is_some() || machine.in_allocation {
        return Ok(force);
    }
    let follows = presets().into_iter().find(|known| known.name == preset).map(|known| known.ranks);
    if follows == Some(Ranks::Gpus) && np > machine.room.gpus {
        return match machine.room.gpus {
            0 => refuse(
                format!("no GPU can be used here{}", machine.hidden_gpus),
                "use the preset cpu, or add --force to train on the CPU".into(),
            ),
            gpus => refuse(
                format!("np {np} is more than the {} here", units::counted(gpus, "GPU")),
                format!("use --np {gpus}, or add --force to share them"),
            ),
        };
    }
    let most = SENSIBLE_RANKS_PER_CORE * machine.cores;
    if np > most {
        return refuse(
            format!(
                "np {np} is more than {SENSIBLE_RANKS_PER_CORE} ranks on each of the {} here",
                units::counted(machine.cores, "core")
            ),
            format!("use --np {} for the best speed, or add --force", machine.cores),
        );
    }
    Ok(np > machine.physical_cores)
}

/// What each rank runs: the program, and its flags.
fn program(spec: &RunSpec, setup: &Setup, data: &str, log_dir: &Path) -> Result<Vec<String>, LaunchError> {
    let flags = match &spec.workload {
        Workload::Training(training) => {
            let job = TrainingJob { resources: spec.resources.clone(), workload: training.clone() };
            trainer_flags(&job, data, LaunchError::text(log_dir)?)
        }
        Workload::Collectives(collectives) => table_flags(&COLLECTIVES_SETTINGS, collectives),
        Workload::Benchmark(benchmark) => table_flags(&BENCHMARK_SETTINGS, benchmark),
        Workload::Nvcnn(nvcnn) => table_flags(&PHOTO_SETTINGS, nvcnn),
        Workload::Command(command) => user_program::with_inspector(command, command.argv[1..].to_vec(), log_dir),
        Workload::Unknown(_) => return Err(LaunchError::Spec(spec.problem().unwrap_or_default())),
    };
    let command = setup.command.map(str::to_owned);
    Ok([LaunchError::text(&setup.program)?].into_iter().chain(command).chain(flags).collect())
}

/// The flags that the table of a workload makes.
fn table_flags<W: Clone>(settings: &[Setting<W>], workload: &W) -> Vec<String> {
    let (values, switches) = arguments(settings, workload);
    values.into_iter().flatten().chain(switches).chain(["--events".to_owned()]).collect()
}

/// The flags of hvd-train: all settings that have one, the folder of the run, the switches that are on, and the user's own flags.
fn trainer_flags(job: &TrainingJob, data: &str, log_dir: String) -> Vec<String> {
    let (values, switches) = arguments(&SETTINGS, job);
    let values =
        values.into_iter().map(|[flag, value]| if flag == "--data-dir" { [flag, data.to_owned()] } else { [flag, value] });
    let mut flags: Vec<String> = values.chain([["--log-dir".to_owned(), log_dir]]).flatten().chain(switches).collect();
    flags.push("--events".into());
    flags.extend(job.workload.trainer_flags.iter().cloned());
    flags
}

#[cfg(test)]
#[path = "mpirun_tests.rs"]
mod tests;
