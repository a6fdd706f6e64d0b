//! One repository's refs. So far: a packed-refs file, opened.

mod packed_file;

pub use packed_file::PackedFile;
