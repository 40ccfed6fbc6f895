//! Command lines as people type them.

use super::*;

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(String::from).collect()
}

#[test]
fn launchers_are_found_with_their_own_words_and_their_ranks() {
    // What the launcher is, its own words, and the ranks that they ask for.
    for (line, launcher, own, np) in [
        ("torchrun --nproc_per_node=2 t.py -n 9", "torchrun", "--nproc_per_node=2", Some(2)),
        ("torchrun --nnodes 2 --nproc-per-node 4 -m pkg.t -m x", "torchrun", "--nnodes 2 --nproc-per-node 4 -m", Some(8)),
        ("torchrun --nproc_per_node 2 t.py -m resnet50", "torchrun", "--nproc_per_node 2", Some(2)),
        ("torchrun --nproc_per_node=gpu t.py", "torchrun", "--nproc_per_node=gpu", None),
        ("torchrun --nnodes=1:4 --nproc-per-node=2 t.py", "torchrun", "--nnodes=1:4 --nproc-per-node=2", None),
        ("torchrun --standalone t.py", "torchrun", "--standalone", None),
        ("python3 -u -m torch.distributed.run --nproc_per_node 2 -m a.b", "torchrun", "--nproc_per_node 2 -m", Some(2)),
        (
            "python -X dev -um torch.distributed.launch --use_env --nproc_per_node=3 t.py",
            "torchrun",
            "--use_env --nproc_per_node=3",
            Some(3),
        ),
        ("/venv/bin/python /venv/bin/torchrun --nproc-per-node 2 t.py", "torchrun", "--nproc-per-node 2", Some(2)),
        ("mpirun -np 4 ./a -np 9", "mpirun", "-np 4", Some(4)),
        ("/opt/bin/mpiexec.hydra -ppn 2 -hosts a,b ./a", "mpirun", "-ppn 2 -hosts a,b", Some(4)),
        ("mpirun -n4 ./a", "mpirun", "-n4", Some(4)),
        (
            "mpirun --mca btl self,vader -x PATH --map-by ppr:2:node -np 2 ./a",
            "mpirun",
            "--mca btl self,vader -x PATH --map-by ppr:2:node -np 2",
            Some(2),
        ),
        ("mpirun -H a:1 -np 1 p : -H b:1 -np 2 q", "mpirun", "-H a:1 -np 1", Some(3)),
        ("mpirun -H a:2,b:2,c p", "mpirun", "-H a:2,b:2,c", Some(5)),
        ("mpirun --hostfile h p", "mpirun", "--hostfile h", None),
        ("mpiexec -genv A B -n 2 p", "mpirun", "-genv A B -n 2", Some(2)),
        ("srun -N2 --ntasks-per-node=2 p", "srun", "-N2 --ntasks-per-node=2", Some(4)),
        ("srun --ntasks 2 p -n 10", "srun", "--ntasks 2", Some(2)),
        ("srun -lun4 -p gpu --exclusive p", "srun", "-lun4 -p gpu --exclusive", Some(4)),
        ("srun -n4 -pgpu -l p", "srun", "-n4 -pgpu -l", Some(4)),
        ("srun -n1 a : -n2 b", "srun", "-n1", Some(3)),
        ("horovodrun --gloo -np 2 -H a:1,b:1 python t.py", "horovodrun", "--gloo -np 2 -H a:1,b:1", Some(2)),
        (
            "accelerate launch --multi_gpu --num_processes 2 t.py --num_processes 7",
            "accelerate",
            "--multi_gpu --num_processes 2",
            Some(2),
        ),
        ("accelerate launch t.py", "accelerate", "", None),
        ("deepspeed --num_gpus 2 --num_nodes=2 t.py", "deepspeed", "--num_gpus 2 --num_nodes=2", Some(4)),
        ("deepspeed --include worker-0:0,1@worker-1:3 t.py", "deepspeed", "--include worker-0:0,1@worker-1:3", Some(3)),
        ("env -u X A=1 nohup torchrun --nproc_per_node 2 t.py", "torchrun", "--nproc_per_node 2", Some(2)),
        ("timeout -k 5 2h nice -n 5 mpirun -np 2 a", "mpirun", "-np 2", Some(2)),
        ("conda run -n x --no-capture-output torchrun --nproc_per_node 2 t.py", "torchrun", "--nproc_per_node 2", Some(2)),
        (
            "uv run --with torch python -m torch.distributed.run --nproc_per_node 2 t.py",
            "torchrun",
            "--nproc_per_node 2",
            Some(2),
        ),
        ("numactl --cpunodebind=0 -m 0 taskset -c 0,1 mpirun -np 2 a", "mpirun", "-np 2", Some(2)),
        ("mpirun -np 0 t", "mpirun", "-np 0", None),
        ("srun -ln 4 p", "srun", "-ln 4", Some(4)),
        ("srun -N 2 -K1 p -n 9", "srun", "-N 2 -K1", Some(2)),
        ("torchrun --nnodes=2:2 --nproc-per-node=2 t.py", "torchrun", "--nnodes=2:2 --nproc-per-node=2", Some(4)),
        ("srun -N2-4 p", "srun", "-N2-4", None),
        ("srun --ntasks-per-gpu=1 --gpus=4 -N2 p", "srun", "--ntasks-per-gpu=1 --gpus=4 -N2", None),
        ("torchrun --nproc 2 --nnode=2 --rol x t.py", "torchrun", "--nproc 2 --nnode=2 --rol x", Some(4)),
        ("torchrun --stand --no-py -t3 p", "torchrun", "--stand --no-py -t3", None),
        (
            "mpirun --stream-buffering 0 --timestamp-output --np 2 p",
            "mpirun",
            "--stream-buffering 0 --timestamp-output --np 2",
            Some(2),
        ),
        ("mpirun -disable-hostname-propagation -n 2 p", "mpirun", "-disable-hostname-propagation -n 2", Some(2)),
        ("mpirun -map-by ppr:2:node:PE=4 -host a:4,b:4 p", "mpirun", "-map-by ppr:2:node:PE=4 -host a:4,b:4", Some(4)),
        ("mpirun --app file", "mpirun", "--app file", None),
        (
            "horovodrun --min-np 1 --host-discovery-script ./d.sh p",
            "horovodrun",
            "--min-np 1 --host-discovery-script ./d.sh",
            None,
        ),
        ("horovodrun -p 22 -np=3 p", "horovodrun", "-p 22 -np=3", Some(3)),
        ("deepspeed --num_gpus 2 -H hosts t.py", "deepspeed", "--num_gpus 2 -H hosts", None),
        ("deepspeed --num_nodes 2 t.py", "deepspeed", "--num_nodes 2", None),
        ("env PET_NPROC_PER_NODE=3 torchrun t.py", "torchrun", "", Some(3)),
        ("docker run --rm --gpus all -v /a:/b img torchrun --nproc_per_node 2 t.py", "torchrun", "--nproc_per_node 2", Some(2)),
        (
            "apptainer exec --nv -B /a img.sif python -m torch.distributed.run --nproc_per_node 2 t.py",
            "torchrun",
            "--nproc_per_node 2",
            Some(2),
        ),
        ("python -m accelerate.commands.launch --num_processes 2 t.py", "accelerate", "--num_processes 2", Some(2)),
        ("python -m horovod.runner -np 2 python t.py", "horovodrun", "-np 2", Some(2)),
        // A launcher around another one, once on each node.
        (
            "srun -N2 --ntasks-per-node=1 torchrun --nnodes 2 --nproc_per_node 4 t.py",
            "torchrun",
            "--nnodes 2 --nproc_per_node 4",
            Some(8),
        ),
        ("srun -N1 -n1 env A=1 torchrun --nproc_per_node 4 t.py", "torchrun", "--nproc_per_node 4", Some(4)),
        ("srun -n2 torchrun --nproc_per_node 4 t.py", "torchrun", "--nproc_per_node 4", None),
        (
            "mpirun -np 2 -npernode 1 python -m torch.distributed.run --nnodes=2 --nproc_per_node=2 t.py",
            "torchrun",
            "--nnodes=2 --nproc_per_node=2",
            Some(4),
        ),
        (
            "srun -N2 accelerate launch --num_machines 2 --num_processes 16 t.py",
            "accelerate",
            "--num_machines 2 --num_processes 16",
            Some(16),
        ),
    ] {
        let argv = words(line);
        let found = LauncherWords::find(&argv).unwrap_or_else(|| panic!("{line}"));
        let own = words(own).into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>();
        assert_eq!((found.launcher.name(), found.np(&|_| None)), (launcher, np), "{line}");
        let end = found.parts[0].last().map_or(found.start, |flag| flag.at + flag.words);
        assert_eq!(argv[found.start..end], own, "{line}");
    }
}

#[test]
fn what_starts_no_ranks_is_no_launcher() {
    for line in [
        "python train.py -n 4",
        "./mpirun.py -np 4",
        "bash run.sh",
        "python -c x",
        "env",
        "time",
        "timeout 5",
        "python -m pkg.t -m torch.distributed.run",
        "uv sync",
    ] {
        assert_eq!(LauncherWords::find(&words(line)), None, "{line}");
    }
}

#[test]
fn the_number_of_ranks_can_be_taken_out() {
    for (line, left) in [
        ("torchrun --nnodes 2 --nproc_per_node=2 t.py", "torchrun t.py"),
        ("mpirun -n4 ./a -n 4", "mpirun ./a -n 4"),
        ("mpirun --bind-to none -np 4 ./a", "mpirun --bind-to none ./a"),
        ("torchrun --nproc_per_node=gpu t.py", "torchrun --nproc_per_node=gpu t.py"),
        ("mpirun -H a:2,b:2 ./a", "mpirun -H a:2,b:2 ./a"),
        ("srun -l -N2 torchrun --nnodes 2 --nproc_per_node 4 t.py 2", "srun -l torchrun t.py 2"),
    ] {
        let argv = words(line);
        assert_eq!(LauncherWords::find(&argv).unwrap().without_counts(&argv).join(" "), left);
    }
}

#[test]
fn variables_count_where_no_word_does() {
    for (line, variables, np) in [
        ("srun p", &[("SLURM_NTASKS", "8")][..], Some(8)),
        ("srun -N2 p", &[("SLURM_NTASKS", "8")], Some(8)),
        ("srun -n2 p", &[("SLURM_NTASKS", "8")], Some(2)),
        ("srun -N2 --ntasks-per-node=2 p", &[("SLURM_NTASKS", "8")], Some(4)),
        ("srun --ntasks-per-node=2 p", &[("SLURM_NNODES", "3")], Some(6)),
        ("srun p", &[("SLURM_NTASKS", "")], None),
        ("torchrun t.py", &[("PET_NPROC_PER_NODE", "2"), ("PET_NNODES", "2")], Some(4)),
        ("env PET_NPROC_PER_NODE=3 torchrun t.py", &[("PET_NPROC_PER_NODE", "2")], Some(3)),
        ("srun torchrun --nproc_per_node 2 t.py", &[("SLURM_NTASKS", "1")], Some(2)),
    ] {
        let outside = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        assert_eq!(LauncherWords::find(&words(line)).unwrap().np(&outside), np, "{line}");
    }
}

#[test]
fn a_launcher_in_a_line_of_a_shell_is_named() {
    let argv = |of: &[&str]| of.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    for (line, hidden) in [
        (&["bash", "-lc", "cd x && exec torchrun --nproc_per_node 2 t.py"][..], Some("torchrun")),
        (&["env", "-S", "A=1 mpirun -np 2", "./a"], Some("mpirun")),
        (&["docker", "run", "--odd", "a", "img", "torchrun", "t.py"], Some("torchrun")),
        (&["sh", "-c", "python -m accelerate.commands.launch t.py"], Some("accelerate")),
        (&["bash", "-c", "python t.py"], None),
        (&["python", "t.py", "--note", "no torchrun here"], None),
    ] {
        assert_eq!(hidden_launcher(&argv(line)), hidden, "{line:?}");
    }
    let within = argv(&["srun", "-N2", "bash", "-c", "torchrun --nnodes 2 --node_rank $SLURM_PROCID t.py"]);
    let found = LauncherWords::find(&within).unwrap();
    assert_eq!((found.launcher, found.hidden, found.np(&|_| None)), (OwnLauncher::Srun, Some("torchrun"), None));
}
