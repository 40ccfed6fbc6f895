//! What the build scripts of both towers tell their crates: where the checkout is, and the launcher and the libtorch that the ranks
//! are built with.

use std::path::{Path, PathBuf};

/// `HVD_LAB_CHECKOUT`, `HVD_LAB_BUILD_MPIRUN` and `HVD_LAB_BUILD_LIBTORCH`, for `env!`. Returns the checkout.
pub fn tell() -> PathBuf {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=../checkout.rs");
    println!("cargo:rerun-if-env-changed=MPICC");
    let package = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let checkout = package.ancestors().nth(2).unwrap_or(Path::new("")).to_owned();
    println!("cargo:rustc-env=HVD_LAB_CHECKOUT={}", checkout.display());
    let launcher = find_on_path(&mpicc()).and_then(|path| path.parent().map(|bin| bin.join("mpirun")));
    println!("cargo:rustc-env=HVD_LAB_BUILD_MPIRUN={}", launcher.unwrap_or_default().display());
    println!("cargo:rerun-if-env-changed=LIBTORCH");
    println!("cargo:rustc-env=HVD_LAB_BUILD_LIBTORCH={}", std::env::var("LIBTORCH").unwrap_or_default());
    checkout
}

/// MPI's compiler wrapper.
pub fn mpicc() -> String {
    std::env::var("MPICC").unwrap_or_else(|_| "mpicc".into())
}

fn find_on_path(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program));
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}
