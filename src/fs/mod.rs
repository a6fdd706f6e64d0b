//! The only floor that asks the operating system: opens, maps, reads and identifies files; writes, locks and renames them.

mod backing;
mod dir;
mod fault;
mod folders;
mod identity;
mod lines;
mod open;
mod patience;
mod sharing;
mod small;
mod splice;
mod sync;
mod tail;
mod temporary;

pub use backing::Backing;
pub use dir::list;
pub use fault::{Call, Hook, watch};
pub use folders::{first_file, make_dirs, remove_empty_tree, remove_if_empty};
pub use identity::Identity;
pub use lines::{LineStep, Lines};
pub use open::{absolute, is_a_directory, is_a_loop, load, load_file, open};
pub use patience::Patience;
pub use sharing::Sharing;
pub use small::{MOST, There, is_nothing, look, look_through, read_through};
pub use splice::{Check, ReadAt, Step, Unspliced, splice};
pub use sync::{sync_dir, sync_file};
pub use tail::{Tail, tail};
pub use temporary::{Locker, Temporary, remove, set_modified};
