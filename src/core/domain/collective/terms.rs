//! How much an allreduce costs in messages, numbers sent and numbers added, one after the other: by its schedule, and by formula.

use super::algorithm::{Algorithm, Shape};
use super::schedule::{Operation, Schedule};

/// What happens one after the other, on the way that takes longest: with the time of a message (alpha), of a number sent (beta)
/// and of a number added (gamma) this is the time of an allreduce. What ranks do at the same time counts once.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Terms {
    /// Rounds with a message between hosts. All of them, where there is no word of hosts.
    pub messages: f64,
    /// Numbers that the busiest rank sends or receives in these rounds, whichever is more.
    pub sent: f64,
    /// Rounds whose messages all stay within a host, and their numbers.
    pub local_messages: f64,
    pub local_sent: f64,
    /// Numbers that the busiest rank adds.
    pub added: f64,
}

impl Schedule {
    /// Round by round, that of the busiest rank. With ranks per host, rounds that stay within hosts are told apart.
    pub fn terms(&self, ranks_per_host: Option<usize>) -> Terms {
        let mut terms = Terms::default();
        for round in self.rounds.iter().filter(|round| !round.is_empty()) {
            let [mut sent, mut received, mut added] = [(); 3].map(|()| vec![0usize; self.ranks]);
            for message in round {
                sent[message.from] += message.range.len();
                received[message.to] += message.range.len();
                added[message.to] += if message.operation == Operation::Reduce { message.range.len() } else { 0 };
            }
            let most = |numbers: &[usize]| numbers.iter().copied().max().unwrap_or_default() as f64;
            let is_local = ranks_per_host
                .is_some_and(|locals| round.iter().all(|message| message.from / locals.max(1) == message.to / locals.max(1)));
            let (messages, numbers) = match is_local {
                true => (&mut terms.local_messages, &mut terms.local_sent),
                false => (&mut terms.messages, &mut terms.sent),
            };
            *messages += 1.0;
            *numbers += most(&sent).max(most(&received));
            terms.added += most(&added);
        }
        terms
    }
}

impl Algorithm {
    /// The terms as books have them, for any number of numbers. `None` where they have none: recursive doubling and Rabenseifner
    /// of a number of ranks that is no power of two, and hosts with different numbers of ranks.
    ///
    /// Servers of the parameter server are ranks here, so that each receives from all others but one less than books say.
    pub fn formula(self, ranks: usize, elements: usize, shape: Shape) -> Option<Terms> {
        let (p, n) = (ranks as f64, elements as f64);
        let lg = f64::from(ranks.max(1).next_power_of_two().ilog2());
        let all_but_one = (p - 1.0) / p;
        let flat = |messages, sent, added| Some(Terms { messages, sent, added, ..Terms::default() });
        if ranks <= 1 || elements == 0 {
            return Some(Terms::default());
        }
        match self {
            Algorithm::Ring => flat(2.0 * (p - 1.0), 2.0 * all_but_one * n, all_but_one * n),
            Algorithm::RecursiveDoubling if ranks.is_power_of_two() => flat(lg, lg * n, lg * n),
            Algorithm::Rabenseifner if ranks.is_power_of_two() => flat(2.0 * lg, 2.0 * all_but_one * n, all_but_one * n),
            Algorithm::Binomial => flat(2.0 * lg, 2.0 * lg * n, lg * n),
            Algorithm::ParameterServer => {
                let servers = shape.servers.clamp(1, ranks) as f64;
                let of_a_server = (p - 1.0) / servers * n;
                // A rank that serves nothing sends all its numbers away.
                let sent = if servers == p { of_a_server } else { of_a_server.max(n) };
                flat(2.0, 2.0 * sent, of_a_server)
            }
            Algorithm::Hierarchical if ranks.is_multiple_of(shape.ranks_per_host.clamp(1, ranks)) => {
                let locals = shape.ranks_per_host.clamp(1, ranks) as f64;
                let (hosts, inside) = (p / locals, (locals - 1.0) / locals * n);
                let between = (hosts - 1.0) / hosts * n / locals;
                Some(Terms {
                    messages: 2.0 * (hosts - 1.0),
                    sent: 2.0 * between,
                    local_messages: 2.0 * (locals - 1.0),
                    local_sent: 2.0 * inside,
                    added: inside + between,
                })
            }
            Algorithm::RecursiveDoubling | Algorithm::Rabenseifner | Algorithm::Hierarchical => None,
        }
    }
}
