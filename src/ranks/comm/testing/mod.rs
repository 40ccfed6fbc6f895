//! Ranks as threads of one process: what tests run collectives and schedules on, without MPI.

mod thread_comm;
mod thread_point;

pub use self::thread_comm::ThreadComm;
pub use self::thread_point::ThreadPoint;
