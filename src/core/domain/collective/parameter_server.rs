//! Parameter servers: all ranks send their numbers to a few of them, which add them up and send the sums back.

use super::schedule::{Message, Operation, Schedule, chunk};

/// Two rounds. The servers are the first ranks, each for an equal part of the numbers, and they are workers as well.
pub(super) fn schedule(ranks: usize, elements: usize, servers: usize) -> Schedule {
    let servers = servers.clamp(1, ranks);
    let pairs = || (0..servers).flat_map(|server| (0..ranks).map(move |worker| (server, worker)));
    let pairs = || pairs().filter(|(server, worker)| server != worker);
    let part = |server| chunk(elements, servers, server);
    let push =
        pairs().map(|(server, worker)| Message { from: worker, to: server, range: part(server), operation: Operation::Reduce });
    let pull =
        pairs().map(|(server, worker)| Message { from: server, to: worker, range: part(server), operation: Operation::Copy });
    let rounds = if ranks > 1 { vec![push.collect(), pull.collect()] } else { Vec::new() };
    Schedule::new(ranks, elements, rounds)
}
