//! What is drawn, whatever it is about: frames, pages, questions, lists, lines to type, colours and themes.

pub mod axis;
pub mod big_text;
pub mod fitted;
pub mod frame;
pub mod list;
pub mod looks;
pub mod markdown;
pub mod notice;
pub mod page;
pub mod plot;
pub mod prompt;
pub mod question;
pub mod sheet;
pub mod slot;
pub mod table;
pub mod theme;

pub use fitted::Part;
pub use frame::{Focus, flow, under};
pub use looks::{Background, Look, RUN_COLOURS};
pub use prompt::Prompt;
pub use sheet::{Sheet, indented, wrapped};
pub use table::fitting;
pub use theme::{Theme, bar, sign, to_ascii};
