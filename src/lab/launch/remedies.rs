//! What to do about a failure whose words we know. It is added to the message of the run.

use super::verdict::Verdict;
use crate::domain::run::RunState;
use crate::runs::{RunFolder, RunId, RunStore, Supervision};

/// PyTorch's error where the environment holds no RANK and the program asks for `env://`.
const NO_RANK: &str = "env:// rendezvous: environment variable";
const NO_PORT: [&str; 2] = ["eaddrinuse", "address already in use"];

impl Verdict {
    /// Adds the remedy to the message of a run that failed. `others` are the other runs that are going on this machine.
    pub(super) fn add_remedy(&mut self, others: impl FnOnce() -> Vec<RunId>) {
        if self.state != RunState::Failed {
            return;
        }
        let said = format!("{}\n{}", self.message, self.last_lines.join("\n"));
        if said.contains(NO_RANK) {
            self.message +=
                ". torchrun sets it, mpirun (--np) does not: write `-- torchrun --nproc_per_node N PROGRAM`, without --np";
        }
        let said = said.to_lowercase();
        if NO_PORT.iter().any(|words| said.contains(words)) {
            let ids: Vec<String> = others().iter().map(RunId::to_string).collect();
            let holders = match &ids[..] {
                [] => return,
                [only] => format!("run {only} is"),
                [first @ .., last] => format!("runs {} and {last} are", first.join(", ")),
            };
            self.message += &format!(". {holders} still going and may hold the port: `hvd-lab stop {}`", ids.join(" "));
        }
    }
}

/// The runs of the same home that are going on this machine, without the one of this folder.
pub(super) fn others_here(folder: &RunFolder, own: RunId) -> Vec<RunId> {
    let home = folder.path().parent().and_then(|runs| runs.parent());
    let Some(store) = home.and_then(|home| RunStore::open(home).ok()) else { return Vec::new() };
    let is_here = |id: &RunId| store.supervision(*id).is_ok_and(|(_, by)| !matches!(by, Supervision::Elsewhere(_)));
    store.going().into_iter().filter(|id| *id != own).filter(is_here).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_whose_words_are_known_says_what_to_do() {
        let no_rank = "ValueError: Error initializing torch.distributed using env:// rendezvous: environment variable RANK expected, \
                       but not set";
        let torchrun = ". torchrun sets it, mpirun (--np) does not: write `-- torchrun --nproc_per_node N PROGRAM`, without --np";
        let no_port = "port: 29500, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use";
        for (message, others, added) in [
            (no_rank, vec![], torchrun),
            (no_port, vec![], ""),
            (no_port, vec![RunId(47)], ". run 47 is still going and may hold the port: `hvd-lab stop 47`"),
            (
                "OSError: [Errno 98] Address already in use",
                vec![RunId(3), RunId(4)],
                ". runs 3 and 4 are still going and may hold the port: `hvd-lab stop 3 4`",
            ),
            ("ValueError: bad layer", vec![RunId(3)], ""),
        ] {
            let mut verdict = Verdict::plain(RunState::Failed, message.to_owned());
            verdict.add_remedy(|| others);
            assert_eq!(verdict.message, format!("{message}{added}"));
        }
        let mut finished = Verdict::plain(RunState::Finished, no_rank.to_owned());
        finished.add_remedy(Vec::new);
        assert_eq!(finished.message, no_rank);
    }
}
