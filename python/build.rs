//! Tells the linker where libtorch and MPI are at run time: the build script of src/ranks hands the folders on.

fn main() {
    // In an installed lab it lies beside them.
    let is_macos = std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "macos");
    let origin = if is_macos { "@loader_path" } else { "$ORIGIN" };
    for folder in ["libtorch/lib", "openmpi/lib", "libjpeg/lib"] {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{origin}/{folder}");
    }
    if is_macos {
        // Python's own symbols are there when Python loads it; macOS's linker has to be told so.
        println!("cargo:rustc-link-arg=-Wl,-undefined,dynamic_lookup");
    }
    let folders = std::env::var("DEP_HVD_LAB_LIBRARIES").unwrap_or_default();
    for folder in folders.split(':').filter(|folder| !folder.is_empty()) {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{folder}");
    }
}
