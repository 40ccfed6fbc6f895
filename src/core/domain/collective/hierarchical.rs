//! The hierarchical allreduce: inside each host first, so that between hosts travels as little as possible.

use std::ops::Range;

use super::ring;
use super::schedule::{Message, Schedule, chunk};

/// One half of a ring, among members with a piece each.
type Ring = fn(&[usize], &[Range<usize>]) -> Vec<Vec<Message>>;

/// With L ranks a host the numbers have L parts. A ring inside each host adds them up (reduce-scatter), one ring for each part
/// between the hosts adds up what the hosts have, and a ring inside each host hands the sums on (allgather).
///
/// The last host may have fewer ranks: some of them then have several parts.
pub(super) fn schedule(ranks: usize, elements: usize, ranks_per_host: usize) -> Schedule {
    let parts = ranks_per_host.clamp(1, ranks);
    let hosts: Vec<Vec<usize>> = (0..ranks).collect::<Vec<_>>().chunks(parts).map(<[usize]>::to_vec).collect();
    let inside = |ring: Ring| {
        let of_host = |host: &Vec<usize>| ring(host, &pieces(host.len(), parts, elements));
        side_by_side(hosts.iter().map(of_host).collect())
    };
    let between = (0..parts).map(|part| {
        let members: Vec<usize> = hosts.iter().map(|host| host[owner(host.len(), parts, part)]).collect();
        let whole = chunk(elements, parts, part);
        let piece = |index| chunk(whole.len(), hosts.len(), index);
        let pieces: Vec<Range<usize>> =
            (0..hosts.len()).map(piece).map(|piece| whole.start + piece.start..whole.start + piece.end).collect();
        ring::reduce_scatter(&members, &pieces).into_iter().chain(ring::allgather(&members, &pieces)).collect()
    });
    let (before, between, after) = (inside(ring::reduce_scatter), side_by_side(between.collect()), inside(ring::allgather));
    Schedule::new(ranks, elements, before.into_iter().chain(between).chain(after).collect())
}

/// The numbers of each rank of a host: of one part, or of several where the host has fewer ranks than there are parts.
fn pieces(locals: usize, parts: usize, elements: usize) -> Vec<Range<usize>> {
    let numbers = |local| {
        let own = chunk(parts, locals, local);
        chunk(elements, parts, own.start).start..chunk(elements, parts, own.end - 1).end
    };
    (0..locals).map(numbers).collect()
}

/// Which rank of a host has this part.
fn owner(locals: usize, parts: usize, part: usize) -> usize {
    (0..locals).position(|local| chunk(parts, locals, local).contains(&part)).unwrap_or_default()
}

/// Rounds of groups that do not know of each other, as rounds of all of them.
fn side_by_side(groups: Vec<Vec<Vec<Message>>>) -> Vec<Vec<Message>> {
    let count = groups.iter().map(Vec::len).max().unwrap_or_default();
    let mut rounds = vec![Vec::new(); count];
    for (round, messages) in groups.into_iter().flat_map(|group| group.into_iter().enumerate()) {
        rounds[round].extend(messages);
    }
    rounds
}
