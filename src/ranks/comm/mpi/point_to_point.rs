//! Messages of a schedule over MPI: MPI_Irecv, MPI_Isend and the waits for them.
//!
//! Never returns while MPI still works on memory that it was given.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::ops::Range;

use ::mpi::ffi::{
    self, MPI_Irecv, MPI_Isend, MPI_Request, MPI_Wait, MPI_Waitall, MPI_Waitany, RSMPI_FLOAT, RSMPI_REQUEST_NULL,
    RSMPI_STATUS_IGNORE, RSMPI_STATUSES_IGNORE,
};
use ::mpi::topology::SimpleCommunicator;
use ::mpi::traits::{AsRaw as _, Communicator as _, CommunicatorCollectives as _};

use super::MpiComm;
use crate::comm::error::CommError;
use crate::comm::p2p::{Part, PointToPoint, Round, Times, now};
use crate::domain::collective::Operation;

/// The ranks of a job, with messages that meet no others. No longer than its communicator, for its end is MPI's.
pub struct MpiPoint<'a> {
    comm: SimpleCommunicator,
    requests: RefCell<Requests>,
    _connected: PhantomData<&'a ()>,
}

/// Kept, so that a round allocates nothing.
#[derive(Default)]
struct Requests {
    sends: Vec<MPI_Request>,
    reduces: Vec<MPI_Request>,
    copies: Vec<MPI_Request>,
}

impl MpiComm {
    /// For messages from rank to rank, which no other call gets in the way of.
    ///
    /// # Collective
    /// All ranks (MPI_Comm_dup).
    pub fn point_to_point(&self) -> MpiPoint<'_> {
        MpiPoint { comm: self.world.duplicate(), requests: RefCell::default(), _connected: PhantomData }
    }
}

impl MpiPoint<'_> {
    /// Starts to send the numbers from `start` on.
    // SAFETY: the caller keeps them there, and unchanged, until the request is complete.
    unsafe fn send(&self, part: &Part, start: *const f32) -> MPI_Request {
        let (length, peer, tag) = (part.range.len() as i32, part.peer as i32, tag(part));
        // SAFETY: the caller's promise. Parts are cut to lengths that fit into i32, and MPI writes the request.
        unsafe {
            let mut request = RSMPI_REQUEST_NULL;
            MPI_Isend(start.cast(), length, RSMPI_FLOAT, peer, tag, self.comm.as_raw(), &mut request);
            request
        }
    }

    /// Starts to receive into the numbers from `start` on.
    // SAFETY: the caller keeps them there, and touches none of them, until the request is complete.
    unsafe fn receive(&self, part: &Part, start: *mut f32) -> MPI_Request {
        let (length, peer, tag) = (part.range.len() as i32, part.peer as i32, tag(part));
        // SAFETY: as for `send`.
        unsafe {
            let mut request = RSMPI_REQUEST_NULL;
            MPI_Irecv(start.cast(), length, RSMPI_FLOAT, peer, tag, self.comm.as_raw(), &mut request);
            request
        }
    }
}

/// Both ends count the messages of a pair in the same order, but what is added and what is copied apart.
fn tag(part: &Part) -> i32 {
    i32::from(part.operation == Operation::Copy)
}

fn wait_for_all(requests: &mut [MPI_Request]) {
    // SAFETY: live requests, or null ones for which nothing is waited. MPI ends the job if one fails.
    unsafe { MPI_Waitall(requests.len() as i32, requests.as_mut_ptr(), RSMPI_STATUSES_IGNORE) };
}

/// The place of the next one that is complete; `None` once all are.
fn wait_for_any(requests: &mut [MPI_Request]) -> Option<usize> {
    let mut place = ffi::MPI_UNDEFINED;
    // SAFETY: as for `wait_for_all`.
    unsafe { MPI_Waitany(requests.len() as i32, requests.as_mut_ptr(), &mut place, RSMPI_STATUS_IGNORE) };
    usize::try_from(place).ok().filter(|place| *place < requests.len())
}

impl PointToPoint for MpiPoint<'_> {
    fn rank(&self) -> usize {
        self.comm.rank() as usize
    }

    fn size(&self) -> usize {
        self.comm.size() as usize
    }

    fn exchange(&self, round: &Round, data: &mut [f32], scratch: &mut [f32], times: Option<&mut Times>) -> Result<(), CommError> {
        let last = |parts: &[Part]| parts.iter().map(|part| part.range.end).max().unwrap_or_default();
        let needed = [&round.sends, &round.reduces, &round.copies].map(|parts| last(parts)).into_iter().max();
        assert!(needed <= Some(data.len()) && round.slots.iter().all(|slot| slot.end <= scratch.len()), "too few numbers");
        let is_timed = times.is_some();
        let mut seen = Times::default();
        let stamp = |times: &mut Vec<i64>| {
            if is_timed {
                times.push(now())
            }
        };
        let mut requests = self.requests.borrow_mut();
        let Requests { sends, reduces, copies } = &mut *requests;
        for requests in [&mut *sends, &mut *reduces, &mut *copies] {
            requests.clear();
        }
        let (data, scratch) = (data.as_mut_ptr(), scratch.as_mut_ptr());
        // SAFETY: ranges and slots lie within both, as asserted. A round's copies overlap with nothing else in it, slots of
        // receives that are under way do not overlap with each other, and what is both sent and added to is added to only
        // when it has left. All requests are complete before this returns.
        unsafe {
            let post = |index: usize| self.receive(&round.reduces[index], scratch.add(round.slots[index].start));
            // Receives first: then no message waits in memory of MPI's.
            reduces.extend((0..round.window).map(post));
            copies.extend(round.copies.iter().map(|part| self.receive(part, data.add(part.range.start))));
            for part in &round.sends {
                stamp(&mut seen.handed);
                sends.push(self.send(part, data.add(part.range.start)));
            }
            // In the order of the senders, so that the sum has the same bits each time.
            for (index, part) in round.reduces.iter().enumerate() {
                let request = &mut reduces[index % round.window];
                MPI_Wait(request, RSMPI_STATUS_IGNORE);
                stamp(&mut seen.reduced);
                if round.sends_what_it_adds {
                    wait_for_all(sends);
                    sends.clear();
                }
                add(data, &part.range, scratch.add(round.slots[index].start));
                if index + round.window < round.reduces.len() {
                    reduces[index % round.window] = post(index + round.window);
                }
            }
        }
        if is_timed {
            seen.copied = vec![0; copies.len()];
            while let Some(place) = wait_for_any(copies) {
                seen.copied[place] = now();
            }
        }
        wait_for_all(copies);
        wait_for_all(sends);
        if let Some(times) = times {
            *times = seen;
        }
        Ok(())
    }

    /// MPI_Barrier, which spins: all ranks are on their way.
    fn barrier(&self) -> Result<(), CommError> {
        self.comm.barrier();
        Ok(())
    }
}

/// Adds as many numbers from `new` on to those of the range.
// SAFETY: the caller alone uses both, and they do not overlap.
unsafe fn add(data: *mut f32, range: &Range<usize>, new: *const f32) {
    // SAFETY: the caller's promise.
    let (own, new) = unsafe {
        (std::slice::from_raw_parts_mut(data.add(range.start), range.len()), std::slice::from_raw_parts(new, range.len()))
    };
    own.iter_mut().zip(new).for_each(|(own, new)| *own += new);
}
