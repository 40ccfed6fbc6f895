//! What Slurm says against a job, with what to do about it.

/// A part of Slurm's own words, and the remedy.
const REMEDIES: [(&str, &str); 16] = [
    (
        "qos",
        "name a quality of service by `SBATCH_QOS=NAME` before the command (`sacctmgr show qos` lists them), or ask for less",
    ),
    (
        "account",
        "name an account of yours by `SBATCH_ACCOUNT=NAME` before the command (`sacctmgr show associations user=$USER` lists them)",
    ),
    ("partition", "name another one by --partition NAME (`sinfo` lists them)"),
    (
        "reservation",
        "name one by `SBATCH_RESERVATION=NAME` before the command, or take the variable out (`scontrol show reservation` lists them)",
    ),
    ("memory specification", "ask for less by `SBATCH_MEM_PER_NODE=4G` before the command, or take the variable out"),
    ("time limit", "ask for another one by --time, such as --time 1:00:00 (`sinfo` shows what a partition allows)"),
    ("generic resource", "ask for other GPUs by --gpus-per-node, or none (`sinfo -o %G` shows what nodes have)"),
    ("gres", "ask for other GPUs by --gpus-per-node, or none (`sinfo -o %G` shows what nodes have)"),
    ("node configuration is not available", "ask for less by --nodes, --np or --gpus-per-node, or for another --partition"),
    ("more processors requested", "ask for fewer ranks by --np, or for more --nodes"),
    ("node count specification", "ask for another number by --nodes (`sinfo` shows how many there are)"),
    ("feature", "take the variable SBATCH_CONSTRAINT out, or name another feature in it (`sinfo -o %f` lists them)"),
    ("job dependency", "take the variable SBATCH_DEPENDENCY out"),
    ("permission denied", "ask those who run the cluster whether you may use it, and name an account of yours by SBATCH_ACCOUNT"),
    (
        "timed out",
        "the controller is busy: see by `squeue --me` whether it took the job all the same, cancel that, and try again",
    ),
    ("no number", "what a site prints around it hides the job: look by `squeue --me`, and cancel it by `scancel`"),
];

/// In one sentence. Slurm's own words for a machine without a cluster name no cause that a learner knows.
pub(super) fn explained(refusal: &str) -> String {
    let is_alone = ["sbatch does not start", "resolve_ctls", "Unable to contact slurm controller"];
    if is_alone.iter().any(|words| refusal.contains(words)) {
        return "no cluster of Slurm can be reached from here: start the run on a login machine, or leave --slurm out".into();
    }
    let said = refusal.to_lowercase();
    let remedy = REMEDIES.iter().find(|(words, _)| said.contains(words)).map(|(_, remedy)| format!(". To do: {remedy}"));
    format!("sbatch refused the job: {refusal}{}", remedy.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_slurm_refuses_comes_with_what_to_do() {
        let failed = "sbatch: error: Batch job submission failed: ";
        for (words, remedy) in [
            ("Invalid account or account/partition combination specified", "SBATCH_ACCOUNT="),
            ("Invalid partition name specified", "--partition"),
            ("Invalid qos specification", "SBATCH_QOS="),
            ("Requested reservation is invalid", "SBATCH_RESERVATION="),
            ("Memory specification can not be satisfied", "SBATCH_MEM_PER_NODE="),
            ("Requested time limit is invalid (missing or exceeds some limit)", "--time"),
            ("Requested node configuration is not available", "--nodes"),
            ("Invalid generic resource (gres) specification", "--gpus-per-node"),
            ("Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)", "SBATCH_QOS="),
            ("Socket timed out on send/recv operation", "squeue --me"),
        ] {
            let said = explained(&format!("{failed}{words}"));
            assert!(said.contains(words) && said.contains(remedy), "{said}");
        }
        assert_eq!(explained("never heard of"), "sbatch refused the job: never heard of");
        assert!(explained("sbatch: error: Unable to contact slurm controller").contains("no cluster of Slurm"));
    }
}
