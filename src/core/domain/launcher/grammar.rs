//! How each launcher takes its words: its names, its flags with their values, and which of them say how many ranks there are to be.

/// Programs that start ranks themselves, in the order of `LAUNCHERS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnLauncher {
    /// `torchrun`, `python -m torch.distributed.run`.
    Torchrun,
    /// Open MPI's, MPICH's and those that share their words.
    Mpirun,
    Horovodrun,
    Srun,
    Accelerate,
    Deepspeed,
}

impl OwnLauncher {
    /// As people call it.
    pub fn name(self) -> &'static str {
        LAUNCHERS[self as usize].names[0]
    }
}

/// What a flag, or a variable of the environment in its place, says of the number of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    Ranks,
    PerNode,
    Nodes,
    /// Hosts by name, perhaps with slots: `a:2,b:2`.
    Hosts,
    /// Devices by host: `a:0,1@b:0`.
    Devices,
    /// Something that leaves the number open, such as a file of hosts.
    Open,
}

/// How a launcher takes its words.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Grammar {
    pub launcher: OwnLauncher,
    names: &'static [&'static str],
    /// Modules that `python -m` runs in its place.
    pub modules: &'static [&'static str],
    /// A word that stands between its name and its flags.
    pub verb: Option<&'static str>,
    /// Its flags, with a `=` behind it for each word that follows as a value. What may have a value in the same word only has none.
    /// Lines that begin with `#` are comments.
    flags: &'static str,
    /// Whether a flag that is not among them has a value.
    others_have_values: bool,
    /// Flags that count ranks, with a space between them.
    pub counts: &'static [(Count, &'static str)],
    /// Variables that count them if no flag does, in the order in which they are looked for.
    pub variables: &'static [(Count, &'static str)],
    /// Ranks on each node, and nodes, where only the other is given; `None` where that is for the machine to say.
    pub ranks_of_node: Option<usize>,
    pub nodes: Option<usize>,
}

pub(super) const LAUNCHERS: [Grammar; 6] = [
    Grammar {
        launcher: OwnLauncher::Torchrun,
        names: &["torchrun"],
        modules: &["torch.distributed.run", "torch.distributed.launch", "torch.distributed.elastic.rendezvous.run"],
        verb: None,
        flags: include_str!("../../../../assets/launchers/torchrun.txt"),
        others_have_values: true,
        counts: &[(Count::PerNode, "--nproc-per-node"), (Count::Nodes, "--nnodes")],
        variables: &[(Count::PerNode, "PET_NPROC_PER_NODE"), (Count::Nodes, "PET_NNODES")],
        ranks_of_node: Some(1),
        nodes: Some(1),
    },
    Grammar {
        launcher: OwnLauncher::Mpirun,
        names: &["mpirun", "mpiexec", "orterun", "prterun", "mpirun_rsh"],
        modules: &[],
        verb: None,
        flags: include_str!("../../../../assets/launchers/mpirun.txt"),
        others_have_values: false,
        counts: &[
            (Count::Ranks, "--np -n --n -c"),
            (Count::PerNode, "-N --npernode --ppn --perhost"),
            (Count::Hosts, "-H --host --hosts"),
        ],
        variables: &[],
        ranks_of_node: None,
        nodes: None,
    },
    Grammar {
        launcher: OwnLauncher::Horovodrun,
        names: &["horovodrun"],
        modules: &["horovod.runner.launch", "horovod.runner", "horovod.run"],
        verb: None,
        flags: include_str!("../../../../assets/launchers/horovodrun.txt"),
        others_have_values: true,
        counts: &[(Count::Ranks, "-np --num-proc"), (Count::Hosts, "-H --hosts"), (Count::Open, "--host-discovery-script")],
        variables: &[],
        ranks_of_node: None,
        nodes: None,
    },
    Grammar {
        launcher: OwnLauncher::Srun,
        names: &["srun"],
        modules: &[],
        verb: None,
        flags: include_str!("../../../../assets/launchers/srun.txt"),
        others_have_values: true,
        counts: &[
            (Count::Ranks, "-n --ntasks"),
            (Count::Nodes, "-N --nodes"),
            (Count::PerNode, "--ntasks-per-node"),
            (Count::Open, "--ntasks-per-gpu --ntasks-per-socket --ntasks-per-core --ntasks-per-tres"),
        ],
        variables: &[
            (Count::Ranks, "SLURM_NTASKS SLURM_NPROCS"),
            (Count::PerNode, "SLURM_NTASKS_PER_NODE"),
            (Count::Nodes, "SLURM_NNODES SLURM_JOB_NUM_NODES"),
        ],
        ranks_of_node: Some(1),
        nodes: None,
    },
    Grammar {
        launcher: OwnLauncher::Accelerate,
        names: &["accelerate", "accelerate-launch"],
        modules: &["accelerate.commands.launch", "accelerate.commands.accelerate_cli"],
        verb: Some("launch"),
        flags: include_str!("../../../../assets/launchers/accelerate.txt"),
        others_have_values: true,
        counts: &[(Count::Ranks, "--num-processes"), (Count::Nodes, "--num-machines")],
        variables: &[],
        ranks_of_node: None,
        nodes: None,
    },
    Grammar {
        launcher: OwnLauncher::Deepspeed,
        names: &["deepspeed", "ds"],
        modules: &["deepspeed.launcher.runner", "deepspeed.launcher", "deepspeed"],
        verb: None,
        flags: include_str!("../../../../assets/launchers/deepspeed.txt"),
        others_have_values: true,
        counts: &[
            (Count::PerNode, "--num-gpus --num-accelerators"),
            (Count::Nodes, "--num-nodes"),
            (Count::Devices, "-i --include"),
        ],
        variables: &[],
        ranks_of_node: None,
        nodes: Some(1),
    },
];

/// A flag among a launcher's own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Flag {
    /// Whole, with `-` for `_`.
    pub name: String,
    pub value: String,
    pub at: usize,
    /// Words up to its last value, without those of others in the same word.
    pub words: usize,
}

impl Grammar {
    pub fn is_named(&self, name: &str) -> bool {
        let is_version = |rest: &str| {
            let rest = rest.trim_start_matches(['.', '-', '_']);
            let of_whom = ["openmpi", "mpich", "hydra", "intel", "real", "mpt", "prte"];
            rest.starts_with(|c: char| c.is_ascii_digit()) && !rest.contains(char::is_alphabetic) || of_whom.contains(&rest)
        };
        let behind = |known: &&'static str| name.strip_prefix(*known).filter(|rest| rest.starts_with(['.', '-', '_']));
        self.names.contains(&name) || self.names.iter().find_map(behind).is_some_and(is_version)
    }

    /// A flag by its name, or by the beginning of it that no other has, with the number of its values.
    fn known(&self, name: &str) -> Option<(&'static str, usize)> {
        let lines = || self.flags.lines().filter(|line| !line.starts_with('#'));
        let words = || lines().flat_map(str::split_whitespace);
        let all = || words().map(|flag| (flag.trim_end_matches('='), flag.matches('=').count()));
        let mut begun = all().filter(|(flag, _)| name.len() > 3 && name.starts_with("--") && flag.starts_with(name));
        all().find(|(flag, _)| *flag == name).or_else(|| begun.next().filter(|_| begun.next().is_none()))
    }

    /// The flags in a word: each with its value where it has that in the same word, or how many words behind it are its values.
    fn flags_of(&self, word: &str) -> Vec<(String, Option<String>, usize)> {
        let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value.to_owned())));
        let is_mpirun = self.launcher == OwnLauncher::Mpirun;
        let whole = match name.strip_prefix('-') {
            Some(long) if long.starts_with('-') => name.replace('_', "-"),
            Some(long) if is_mpirun && long.len() > 1 => format!("-{name}").replace('_', "-"),
            _ => name.to_owned(),
        };
        let known = self.known(&whole);
        let is_long = whole.starts_with("--") && (name.starts_with("--") || known.is_some());
        if is_long || known.is_some() || name.chars().count() == 2 {
            let values = known.map_or(usize::from(self.others_have_values), |(_, values)| values);
            let takes = if value.is_some() { 0 } else { values };
            return vec![(known.map_or(whole, |(known, _)| known.to_owned()), value, takes)];
        }
        let is_number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
        if is_mpirun && !word.char_indices().nth(2).is_some_and(|(at, _)| is_number(&word[at..])) {
            return vec![(whole, value, 0)];
        }
        // Letters in one word, such as `-ln4`: the first with a value has the rest of the word, or the next one.
        let mut flags = Vec::new();
        for (at, letter) in word.char_indices().skip(1) {
            let name = format!("-{letter}");
            let values = self.known(&name).map_or(0, |(_, values)| values);
            let rest = &word[at + letter.len_utf8()..];
            if values > 0 {
                let value = (!rest.is_empty()).then(|| rest.trim_start_matches('=').to_owned());
                flags.push((name, value.clone(), if value.is_some() { 0 } else { values }));
                break;
            }
            flags.push((name, None, 0));
        }
        flags
    }

    /// The flags from this word on, and where they end: at the program, at `:`, or at the end of the line.
    pub fn flags(&self, argv: &[String], start: usize) -> (Vec<Flag>, usize) {
        let (mut flags, mut at) = (Vec::new(), start);
        while let Some(word) = argv.get(at) {
            if word == "--" {
                return (flags, at + 1);
            }
            if !word.starts_with('-') || word.len() < 2 {
                break;
            }
            let mut words = 1;
            for (name, value, takes) in self.flags_of(word) {
                let value = value.or_else(|| argv.get(at + 1).filter(|_| takes > 0).cloned()).unwrap_or_default();
                words = 1 + takes;
                flags.push(Flag { name, value, at, words });
            }
            at += words;
        }
        (flags, at.min(argv.len()))
    }

    /// The flags of each program that it starts, and where the first of these begins: `mpirun -np 1 a : -np 2 b` starts two.
    pub fn parts(&self, argv: &[String], start: usize) -> (Vec<Vec<Flag>>, usize) {
        let has_parts = matches!(self.launcher, OwnLauncher::Mpirun | OwnLauncher::Srun);
        let (flags, program) = self.flags(argv, start);
        let (mut parts, mut end) = (vec![flags], program);
        while let Some(colon) = argv[end..].iter().position(|word| word == ":").filter(|_| has_parts) {
            let (flags, next) = self.flags(argv, end + colon + 1);
            parts.push(flags);
            end = next;
        }
        (parts, program)
    }

    /// What a flag says of the number of ranks.
    pub fn count(&self, flag: &Flag) -> Option<Count> {
        self.counts.iter().find(|(_, names)| names.split(' ').any(|name| name == flag.name)).map(|(count, _)| *count)
    }
}
