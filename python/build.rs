//! Tells the linker where libtorch and MPI are at run time: hvd-lab's build script hands the folders on.

fn main() {
    // In an installed lab it lies beside them.
    for folder in ["libtorch/lib", "openmpi/lib", "libjpeg/lib"] {
        println!("cargo:rustc-link-arg=-Wl,-rpath,$ORIGIN/{folder}");
    }
    let folders = std::env::var("DEP_HVD_LAB_LIBRARIES").unwrap_or_default();
    for folder in folders.split(':').filter(|folder| !folder.is_empty()) {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{folder}");
    }
}
