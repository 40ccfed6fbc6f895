//! How each launcher takes its words: its names, and which of its flags have a value behind them.

/// Programs that start ranks themselves.
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
        match self {
            OwnLauncher::Torchrun => "torchrun",
            OwnLauncher::Mpirun => "mpirun",
            OwnLauncher::Horovodrun => "horovodrun",
            OwnLauncher::Srun => "srun",
            OwnLauncher::Accelerate => "accelerate",
            OwnLauncher::Deepspeed => "deepspeed",
        }
    }
}

/// Which flags are followed by a word of their own.
#[derive(Clone, Copy)]
enum Values {
    /// These, and those that are followed by two.
    Only(&'static str, &'static str),
    /// All but these.
    AllBut(&'static str),
}

/// How a launcher takes its words.
pub(super) struct Grammar {
    pub launcher: OwnLauncher,
    names: &'static [&'static str],
    /// Modules that `python -m` runs in its place.
    pub modules: &'static [&'static str],
    /// A word that stands between its name and its flags.
    pub verb: Option<&'static str>,
    values: Values,
    /// One-letter flags that may have their value in the same word, as in `-n4`.
    glued: &'static str,
}

pub(super) const LAUNCHERS: [Grammar; 6] = [
    Grammar {
        launcher: OwnLauncher::Torchrun,
        names: &["torchrun"],
        modules: &["torch.distributed.run", "torch.distributed.launch", "torch.distributed.elastic.rendezvous.run"],
        verb: None,
        values: Values::AllBut("-m --module --no-python --run-path --standalone --virtual-local-rank --use-env -h"),
        glued: "rt",
    },
    Grammar {
        launcher: OwnLauncher::Mpirun,
        names: &["mpirun", "mpiexec", "orterun", "prterun", "mpirun_rsh"],
        modules: &[],
        verb: None,
        values: Values::Only(
            "-np --np -n --n -c -N --npernode -npernode --npersocket -npersocket --ppr -H --host -host --hostfile \
             -hostfile --machinefile -machinefile --default-hostfile --add-host --add-hostfile -x --map-by \
             -map-by --rank-by -rank-by --bind-to -bind-to --wdir -wdir --wd -wd --path -path --prefix --output \
             -output --output-filename -output-filename --rankfile -rankfile -rf --stdin --timeout --max-restarts \
             --preload-files --preload-files-dest-dir --app --am -am --tune -tune --dvm-uri --dvm --personality \
             --report-uri -report-uri --report-pid --xterm -xterm --cpu-set -cpu-set --cpu-list -cpu-list \
             --slot-list -slot-list --cpus-per-proc -cpus-per-proc --cpus-per-rank --display --launch-agent \
             -launch-agent --runtime-options --with-ft --forward-signals --ompi-server -server-wait-time \
             --stop-on-exec --rtos --memory-limits --pset --spawn-timeout --mca-base-param-prefix -am \
             --initial-errhandler -ppn -perhost -f -hosts -genvlist -envlist -launcher -launcher-exec -bootstrap \
             -bootstrap-exec -membind -rmk -iface -configfile -profile -outfile-pattern -errfile-pattern \
             -prepend-pattern -order-nodes -pmi-port -usize -gpus-per-proc -hostlist -rr -arch -envuser -s",
            "--mca -mca --gmca -gmca --omca --gomca --pmca --gpmca --prtemca --gprtemca --pmixmca --gpmixmca \
             -genv -env",
        ),
        glued: "nNc",
    },
    Grammar {
        launcher: OwnLauncher::Horovodrun,
        names: &["horovodrun"],
        modules: &["horovod.runner.launch", "horovod.run"],
        verb: None,
        values: Values::AllBut(
            "-v --version --verbose -cb --check-build --disable-cache --gloo --mpi --jsrun --tcp \
             --timeline-mark-cycles --no-timeline-mark-cycles --autotune --no-autotune --hierarchical-allreduce \
             --no-hierarchical-allreduce --hierarchical-allgather --no-hierarchical-allgather --stall-check \
             --no-stall-check --mpi-threads-disable --no-mpi-threads-disable --log-with-timestamp \
             -log-with-timestamp --log-hide-timestamp --log-without-timestamp --prefix-output-with-timestamp \
             --torus-allreduce --no-torus-allreduce -h",
        ),
        glued: "Hpi",
    },
    Grammar {
        launcher: OwnLauncher::Srun,
        names: &["srun"],
        modules: &[],
        verb: None,
        values: Values::AllBut(
            "-k -l -O -Q -s -u -v -V -X -Z -E -H -h -I -K --label --unbuffered --exclusive --overlap --overcommit \
             --oversubscribe --no-kill --quiet --verbose --pty --preserve-env --hold --disable-status \
             --kill-on-bad-exit --immediate --multi-prog --contiguous --spread-job --use-min-nodes --whole \
             --exact --test-only --share --propagate --no-allocate --reboot --interactive --nice --compress \
             --bcast --send-libs --external --resv-ports --quit-on-interrupt --usage --version",
        ),
        glued: "AabBcCdDeGgijJLmMnNopPqrStTwWx",
    },
    Grammar {
        launcher: OwnLauncher::Accelerate,
        names: &["accelerate", "accelerate-launch"],
        modules: &["accelerate.commands.launch", "accelerate.commands.accelerate_cli"],
        verb: Some("launch"),
        values: Values::AllBut(
            "--cpu --use-cpu --multi-gpu --tpu --ipex --use-xpu --quiet -q --use-deepspeed --use-fsdp \
             --use-megatron-lm --use-parallelism-config -m --module --no-python --debug --same-network \
             --enable-cpu-affinity --dynamo-use-dynamic --dynamo-use-fullgraph --dynamo-use-regional-compilation \
             --tpu-use-cluster --no-tpu-use-cluster --tpu-use-sudo --downcast-bf16 -h",
        ),
        glued: "",
    },
    Grammar {
        launcher: OwnLauncher::Deepspeed,
        names: &["deepspeed", "ds"],
        modules: &["deepspeed.launcher.runner"],
        verb: None,
        values: Values::AllBut(
            "--no-python --module --no-local-rank --no-ssh-check --no-ssh --save-pid --force-multi \
             --elastic-training --bind-cores-to-rank -h",
        ),
        glued: "Hie",
    },
];

/// A flag among a launcher's own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Flag {
    /// With `-` for `_`.
    pub name: String,
    pub value: String,
    pub at: usize,
    pub words: usize,
}

impl Grammar {
    pub fn is_named(&self, name: &str) -> bool {
        let is_version = |rest: &str| {
            let rest = rest.trim_start_matches(['.', '-', '_']);
            let of_whom = ["openmpi", "mpich", "hydra", "intel", "real", "mpt", "prte"];
            rest.starts_with(|c: char| c.is_ascii_digit()) && !rest.contains(char::is_alphabetic) || of_whom.contains(&rest)
        };
        let behind = |known: &&str| name.strip_prefix(*known).filter(|rest| rest.starts_with(['.', '-', '_']));
        self.names.contains(&name) || self.names.iter().find_map(behind).is_some_and(is_version)
    }

    /// How many words behind a flag are its values, and its value where it has that in the same word.
    fn values_of(&self, word: &str) -> (String, Option<String>, usize) {
        let spelled = |name: &str| if name.starts_with("--") { name.replace('_', "-") } else { name.to_owned() };
        if let Some((name, value)) = word.split_once('=').filter(|(name, _)| name.starts_with('-')) {
            return (spelled(name), Some(value.to_owned()), 0);
        }
        let name = spelled(word);
        let takes = match self.values {
            Values::Only(one, two) => usize::from(among(one, &name)) + 2 * usize::from(among(two, &name)),
            Values::AllBut(none) => usize::from(!among(none, &name)),
        };
        let letters: Vec<char> = word.chars().collect();
        if let [dash, letter, first, ..] = letters[..]
            && dash == '-'
            && letter != '-'
        {
            // `-n4`, `-np4`.
            let digits = word.trim_start_matches(|c: char| !c.is_ascii_digit());
            let is_number = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit());
            let flag = &word[..word.len() - digits.len()];
            if is_number && (flag.len() == 2 && self.glued.contains(letter) || flag == "-np") {
                return (flag.to_owned(), Some(digits.to_owned()), 0);
            }
            let is_short = self.launcher == OwnLauncher::Srun || self.launcher == OwnLauncher::Torchrun;
            if is_short && self.glued.contains(letter) {
                return (format!("-{letter}"), Some(word[2..].to_owned()), 0);
            }
            if self.launcher == OwnLauncher::Srun && first.is_alphabetic() {
                // Switches in one word; the last of them may have a value.
                return (word.to_owned(), None, usize::from(letters.last().is_some_and(|last| self.glued.contains(*last))));
            }
        }
        (name, None, takes)
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
            let (name, value, takes) = self.values_of(word);
            let value = value.or_else(|| argv.get(at + 1).filter(|_| takes > 0).cloned()).unwrap_or_default();
            flags.push(Flag { name, value, at, words: 1 + takes });
            at += 1 + takes;
        }
        (flags, at.min(argv.len()))
    }

    /// The flags of each program that it starts: `mpirun -np 1 a : -np 2 b` starts two.
    pub fn parts(&self, argv: &[String], start: usize) -> Vec<Vec<Flag>> {
        let (mut parts, mut at) = (Vec::new(), start);
        loop {
            let (flags, end) = self.flags(argv, at);
            parts.push(flags);
            let has_parts = matches!(self.launcher, OwnLauncher::Mpirun | OwnLauncher::Srun);
            match argv[end..].iter().position(|word| word == ":").filter(|_| has_parts) {
                Some(colon) => at = end + colon + 1,
                None => return parts,
            }
        }
    }
}

/// Whether a flag is one of these.
fn among(flags: &str, name: &str) -> bool {
    flags.split_whitespace().any(|flag| flag == name)
}
