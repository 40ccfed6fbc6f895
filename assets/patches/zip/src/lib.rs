//! Stands in for the crate `zip`, which `tch` and `torch-sys` always pull in and this project never calls.
//!
//! `tch` needs it for NumPy's `.npz` files, `torch-sys` to unpack a libtorch that it has downloaded. The real one brings zstd,
//! bzip2 and AES with it: 30 crates, some of them twice, and a minute of a core. Never reads or writes an archive: every call
//! answers with an error that says so.

use std::convert::Infallible;
use std::io::{self, Read, Write};
use std::marker::PhantomData;
use std::path::PathBuf;

use result::{ZipError, ZipResult};

pub mod result {
    //! The one error.

    pub type ZipResult<T> = Result<T, ZipError>;

    #[derive(Debug)]
    pub struct ZipError;

    impl std::fmt::Display for ZipError {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("this build reads and writes no zip archives (assets/patches/zip)")
        }
    }

    impl std::error::Error for ZipError {}
}

pub mod write {
    //! How a file would be stored.

    #[derive(Clone, Copy, Default)]
    pub struct FileOptions;

    impl FileOptions {
        pub fn compression_method(self, _: super::CompressionMethod) -> FileOptions {
            self
        }
    }
}

pub enum CompressionMethod {
    Stored,
}

/// There is none: it cannot be opened.
pub struct ZipArchive<R>(Infallible, PhantomData<R>);

impl<R> ZipArchive<R> {
    pub fn new(_: R) -> ZipResult<ZipArchive<R>> {
        Err(ZipError)
    }

    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        match self.0 {}
    }

    pub fn by_index(&mut self, _: usize) -> ZipResult<read::ZipFile> {
        match self.0 {}
    }
}

pub mod read {
    //! A file in an archive.

    pub struct ZipFile(pub(super) std::convert::Infallible);
}

impl read::ZipFile {
    pub fn name(&self) -> &str {
        match self.0 {}
    }

    pub fn mangled_name(&self) -> PathBuf {
        match self.0 {}
    }

    pub fn size(&self) -> u64 {
        match self.0 {}
    }
}

impl Read for read::ZipFile {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        match self.0 {}
    }
}

/// Refuses the first file.
pub struct ZipWriter<W>(PhantomData<W>);

impl<W> ZipWriter<W> {
    pub fn new(_: W) -> ZipWriter<W> {
        ZipWriter(PhantomData)
    }

    pub fn start_file<S: Into<String>>(&mut self, _: S, _: write::FileOptions) -> ZipResult<()> {
        Err(ZipError)
    }
}

impl<W> Write for ZipWriter<W> {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::new(io::ErrorKind::Unsupported, ZipError))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
