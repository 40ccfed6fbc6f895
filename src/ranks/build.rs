//! Compiles the trainer's pieces of C++ and C, and tells the linker where libtorch, MPI and libjpeg are at run time, so that
//! `hvd-train` starts without LD_LIBRARY_PATH.

#[path = "../checkout.rs"]
mod checkout;

use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders of libraries in an installed lab, within its lib/hvd-lab.
const INSTALLED: [&str; 3] = ["libtorch/lib", "openmpi/lib", "libjpeg/lib"];

fn main() {
    println!("cargo:rerun-if-env-changed=LIBTORCH");
    println!("cargo:rerun-if-env-changed=LIBJPEG");
    let checkout = checkout::tell();
    compile_cpp();
    compile_c();
    let mut folders: Vec<PathBuf> = std::env::var_os("LIBTORCH").map(|root| Path::new(&root).join("lib")).into_iter().collect();
    // As `make setup` unpacks it. Where it is not, the system's is opened.
    let root = std::env::var_os("LIBJPEG").map(PathBuf::from);
    folders.push(root.unwrap_or(checkout.join(".deps/libjpeg")).join("lib"));
    folders.extend(mpi_library_folders());
    // For programs that use the library, such as the learner's own.
    // An installed lab has them beside its programs: see assets/setup/dist.py, which takes the others out.
    let is_macos = std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "macos");
    let origin = if is_macos { "@loader_path" } else { "$ORIGIN" };
    if !is_macos {
        // DT_RPATH: the only one that LD_LIBRARY_PATH of a module, of conda or of an image does not win over.
        println!("cargo:rustc-link-arg=-Wl,--disable-new-dtags");
    }
    for folder in INSTALLED {
        println!("cargo:rustc-link-arg-bins=-Wl,-rpath,{origin}/../lib/hvd-lab/{folder}");
    }
    let joined: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    println!("cargo:libraries={}", joined.join(":"));
    for folder in &folders {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{}", folder.display());
    }
}

/// Against the same headers and with the same settings as tch.
fn compile_cpp() {
    const SOURCE: &str = "trainer/libtorch.cpp";
    println!("cargo:rerun-if-changed={SOURCE}");
    for header in ["vectors", "sums", "batch_norm", "bias_relu", "convolution", "kernel_gradient", "max_pool"] {
        println!("cargo:rerun-if-changed=trainer/{header}.hpp");
    }
    println!("cargo:rerun-if-env-changed=LIBTORCH_CXX11_ABI");
    let root = PathBuf::from(std::env::var_os("LIBTORCH").unwrap_or_default());
    let abi = std::env::var("LIBTORCH_CXX11_ABI").unwrap_or_else(|_| "1".into());
    let mut build = cc::Build::new();
    build
        .cpp(true)
        .std("c++17")
        .warnings(false)
        .define("_GLIBCXX_USE_CXX11_ABI", abi.as_str())
        .includes([root.join("include"), root.join("include/torch/csrc/api/include")])
        // Convolutions, batch norm and max-pooling are computed there. Numbers are rounded after each operation, whatever the
        // processor could do at once.
        .opt_level(3)
        .flag_if_supported("-ffp-contract=off")
        // Vectors are never handed from one function to another.
        .flag_if_supported("-Wno-psabi")
        .file(SOURCE);
    if let Some(openmp) = openmp(&root.join("lib")).filter(|_| build.get_compiler().is_like_gnu()) {
        build.flag("-fopenmp");
        println!("cargo:rustc-link-lib=dylib:+verbatim={openmp}");
    }
    build.compile("hvd_libtorch");
}

/// The file of GCC's OpenMP that libtorch brings along. `at::parallel_for` is compiled with the kernels, and runs on the threads of that
/// one library or, without OpenMP, on none but the caller's.
fn openmp(folder: &Path) -> Option<String> {
    let names = std::fs::read_dir(folder).ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| name.starts_with("libgomp") && name.contains(".so")).min()
}

/// Without libjpeg, which is opened when the first image is decoded.
fn compile_c() {
    const SOURCE: &str = "trainer/pipeline/libjpeg.c";
    println!("cargo:rerun-if-changed={SOURCE}");
    cc::Build::new().file(SOURCE).compile("hvd_libjpeg");
}

/// Folders named by -L in the compiler wrapper's own command line (`-show` is known to Open MPI and MPICH).
fn mpi_library_folders() -> Vec<PathBuf> {
    let Ok(output) = Command::new(checkout::mpicc()).arg("-show").output() else { return Vec::new() };
    let line = String::from_utf8_lossy(&output.stdout).into_owned();
    line.split_whitespace().filter_map(|word| word.strip_prefix("-L")).map(PathBuf::from).collect()
}
