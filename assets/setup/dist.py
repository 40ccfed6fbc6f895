#!/usr/bin/env python3
"""Pack the built programs into a wheel and a tarball, in target/dist/.

The wheel holds the programs; `hvd-lab setup` fetches the libraries that they open. The tarball holds both, for machines without
pip. In each the programs are in bin/ and the rest in lib/hvd-lab/, where the programs look first. Both carry the licences of what they
contain: LICENSE, NOTICE, THIRD-PARTY.txt of the crates (see notices.py), and the tarball those of its libraries.
"""
import argparse, base64, csv, hashlib, io, os, platform, re, shutil, subprocess, sys, tarfile, tempfile, zipfile
from pathlib import Path

import notices

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAMS = ("hvd-lab", "hvd-train", "hvd-measure")
MODULE = "libhvd_lab_python.so"
SETUP = ("setup.py", "base.txt", "base.aarch64.txt", "cuda.txt")
MACHINE = platform.machine()
# All that a program may open beside what the set-up brings: what every desktop and server has.
OF_THE_SYSTEM = re.compile(r"(libc|libm|libdl|libpthread|librt|libgcc_s|libstdc\+\+|ld-linux-x86-64|ld-linux-aarch64)\.so\.\d+")
OF_THE_SETUP = re.compile(r"(libtorch_cpu|libc10|libgomp|libmpi)\.so(\.\d+)?")
# The index shows it: short, and without links into a checkout.
DESCRIPTION = """\
A lab in your terminal that teaches distributed data-parallel training. Ten steps turn a serial program into a distributed one: switch
them on and off, train on GPUs or CPU cores, watch the ranks, and compare.

    hvd-lab demo       # a recorded run; nothing else is needed
    hvd-lab            # the lab; it asks before it fetches libtorch and Open MPI
    hvd-lab doctor     # what is missing on this machine
"""


def stop(what, remedy):
    sys.exit(f"dist: {what}\n      {remedy}")


def asked(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def stage(built, folder):
    """Programs in bin/, everything else in lib/hvd-lab/, as they are installed."""
    library = folder / "lib/hvd-lab"
    (folder / "bin").mkdir(parents=True)
    (library / "setup").mkdir(parents=True)
    files = [(built / name, folder / "bin" / name) for name in PROGRAMS] + [(built / MODULE, library / MODULE)]
    for source, target in files:
        if not source.is_file():
            stop(f"{source} is not there.", "Build it first: `make dist`.")
        asked("strip", "-o", str(target), str(source))
        target.chmod(0o755)
        forget_builder(target)
    for name in SETUP:
        shutil.copy(ROOT / "assets/setup" / name, library / "setup" / name)
    return [target for _, target in files]


def forget_builder(program):
    """Leave of the folders where a program looks for libraries those beside it: another's could be filled by anyone."""
    found = re.search(r"(?:RUNPATH|RPATH).*\[(.*)\]", asked("readelf", "--dynamic", "--wide", str(program)))
    if not found:
        return
    every, data = found[1], program.read_bytes()
    kept = ":".join(folder for folder in every.split(":") if folder.startswith("$ORIGIN"))
    if not kept or data.count(every.encode() + b"\0") != 1:
        stop(f"{program.name} does not look beside itself for its libraries ({every}).", "Build it again: `make dist`.")
    program.write_bytes(data.replace(every.encode() + b"\0", kept.encode().ljust(len(every) + 1, b"\0")))


def needed(programs):
    """The oldest glibc that all of them start with, as its minor version, by the symbols that they name."""
    newest = 17
    for program in programs:
        for library in re.findall(r"NEEDED.*\[(.*)\]", asked("readelf", "--dynamic", "--wide", str(program))):
            if not OF_THE_SYSTEM.fullmatch(library) and not OF_THE_SETUP.fullmatch(library):
                stop(f"{program.name} needs {library}, which neither a system nor the set-up has.", "Link it in, or add it to the set-up.")
        symbols = asked("readelf", "--version-info", "--wide", str(program))
        newest = max([newest] + [int(minor) for minor in re.findall(r"Name: GLIBC_2\.(\d+)", symbols)])
    return newest


def licences():
    """What stands beside every copy, by file name."""
    return {"LICENSE": (ROOT / "LICENSE").read_text(), "NOTICE": (ROOT / "NOTICE").read_text(), "THIRD-PARTY.txt": notices.notices()}


def write_wheel(folder, version, tag, out):
    """As PEP 427 lays it out: what is under data/ goes to the environment's own bin/ and lib/."""
    name, info = f"hvd_lab-{version}", f"hvd_lab-{version}.dist-info"
    wheel, rows = out / f"{name}-py3-none-{tag}.whl", []
    beside = licences()
    members = [(path, f"hvd_lab/{path.relative_to(ROOT / 'python/hvd_lab')}") for path in sorted((ROOT / "python/hvd_lab").rglob("*.py"))]
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder)
        if path.is_file():
            members.append((path, f"{name}.data/" + (f"scripts/{place.name}" if place.parts[0] == "bin" else f"data/{place}")))
    texts = [
        (f"{info}/METADATA", "Metadata-Version: 2.1\nName: hvd-lab\n" f"Version: {version}\nLicense: MIT\nRequires-Python: >=3.8\n"
         "Summary: A terminal lab that teaches distributed data-parallel training\n" + "".join(f"License-File: {name}\n" for name in beside)
         + f"Description-Content-Type: text/markdown\n\n{DESCRIPTION}"),
        (f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: hvd-lab dist.py\nRoot-Is-Purelib: false\nTag: py3-none-{tag}\n"),
    ] + [(f"{info}/licenses/{name}", text) for name, text in beside.items()]
    scratch = wheel.with_suffix(".new")
    with zipfile.ZipFile(scratch, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        def put(member, data, mode=0o644):
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            item = zipfile.ZipInfo(member, (2026, 1, 1, 0, 0, 0))
            item.external_attr, item.compress_type = (0o100000 | mode) << 16, zipfile.ZIP_DEFLATED
            archive.writestr(item, data)
            rows.append((member, f"sha256={digest}", len(data)))
        for path, member in members:
            put(member, path.read_bytes(), path.stat().st_mode & 0o777)
        for member, text in texts:
            put(member, text.encode())
        record = io.StringIO()
        csv.writer(record, lineterminator="\n").writerows(rows + [(f"{info}/RECORD", "", "")])
        put(f"{info}/RECORD", record.getvalue().encode())
    scratch.replace(wheel)
    return wheel


def write_tarball(folder, version, out):
    """With the libraries, so that nothing is fetched where it is unpacked. Without CUDA, which takes some gigabytes."""
    name = f"hvd-lab-{version}-linux-{MACHINE}"
    subprocess.run([sys.executable, str(folder / "lib/hvd-lab/setup/setup.py"), "--from", str(ROOT / ".deps")], check=True,
                   env={**os.environ, "HVD_LAB_CUDA": "0"})
    for file, text in licences().items():
        (folder / file).write_text(text)
    # The package index spells a name with dashes, and a wheel with underscores.
    pinned = (folder / "lib/hvd-lab/setup/base.txt").read_text()
    for wheel in re.findall(r"^(?!libclang)([\w-]+)==", pinned, re.MULTILINE):
        if not list((folder / "lib/hvd-lab/licences").glob(f"{wheel.replace('-', '_')}/*")):
            stop(f".deps has no licence of {wheel}, so the tarball may not be handed on.", "Remove .deps/ready.json, and run `make setup` again.")
    tarball = out / f"{name}.tar.gz"
    scratch = tarball.with_suffix(".new")
    with tarfile.open(scratch, "w:gz", compresslevel=6) as archive:
        def of_nobody(item):
            item.uid = item.gid = 0
            item.uname = item.gname = ""
            return item
        archive.add(folder, name, filter=of_nobody)
    scratch.replace(tarball)
    return tarball


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--built", type=Path, default=ROOT / "target/shipped", help="where the programs are [target/shipped]")
    parser.add_argument("--out", type=Path, default=ROOT / "target/dist", help="where to write [target/dist]")
    parser.add_argument("--wheel-only", action="store_true", help="leave out the tarball, which takes some minutes")
    options = parser.parse_args()
    version = re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.M)[1]
    if platform.system() != "Linux":
        stop("wheels and tarballs are made on Linux, for Linux.", "Elsewhere the lab runs in its checkout: `make run`.")
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=options.out) as scratch:
        folder = Path(scratch) / "stage"
        glibc = needed(stage(options.built, folder))
        made = [write_wheel(folder, version, f"manylinux_2_{glibc}_{MACHINE}", options.out)]
        if not options.wheel_only:
            made.append(write_tarball(folder, version, options.out))
    for path in made:
        print(f"dist: {path} ({path.stat().st_size / 1e6:.0f} MB), for Linux on {MACHINE} with glibc 2.{glibc} or newer")


if __name__ == "__main__":
    main()
