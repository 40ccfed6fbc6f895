//! Messages from rank to rank: what executes a schedule of `domain::collective`, over MPI or between threads.

mod executor;
mod log;
mod plan;
mod point;

pub use self::log::{Log, gather};
pub use self::plan::{Part, Plan, Round};
pub use self::point::{PointToPoint, Times, now};
