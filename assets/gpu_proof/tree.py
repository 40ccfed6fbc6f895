"""A built lab: a checkout with target/release and .deps, or an unpacked tarball of `make dist` with bin and lib/hvd-lab."""
import hashlib, os, shutil, subprocess
from pathlib import Path

PROGRAMS = ("hvd-lab", "hvd-train", "hvd-measure")
LIBRARIES = ("libtorch/lib", "openmpi/lib", "libjpeg/lib")


class BadInput(Exception):
    """What the user gave and can fix, in one line."""


class Tree:
    def __init__(self, folder, out, data_dir=None):
        self.folder = Path(folder).resolve()
        for programs, libraries in (("target/release", ".deps"), ("bin", "lib/hvd-lab")):
            self.programs, self.libraries = self.folder / programs, self.folder / libraries
            if (self.programs / "hvd-lab").is_file():
                break
        else:
            raise BadInput(f"{folder} is no built tree: it has neither target/release/hvd-lab nor bin/hvd-lab. Build it with "
                           "`make build`, or unpack a tarball of `make dist`")
        own = self.libraries / "openmpi/bin/mpirun"
        self.mpirun = str(own) if own.is_file() else shutil.which("mpirun")
        self.data, self.is_drawn = self._data(data_dir)
        self.environment = self._environment(Path(out).resolve())
        self._digests, self._launcher = {}, None

    def program(self, name):
        return str(self.programs / name)

    def has(self, name):
        return os.access(self.programs / name, os.X_OK)

    def digest(self, name):
        """Of a program's bytes: another build is another program."""
        if name not in self._digests:
            try:
                self._digests[name] = hashlib.sha256((self.programs / name).read_bytes()).hexdigest()[:16]
            except OSError:
                self._digests[name] = "missing"
        return self._digests[name]

    def _data(self, named):
        """The images, and whether they are drawn by the lab's own generator."""
        shared = [self.folder.parent / "shared/fashion-mnist", Path(__file__).resolve().parents[3] / "shared/fashion-mnist"]
        chosen = named or os.environ.get("HVD_LAB_DATA") or next((str(path) for path in shared if path.is_dir()), "generated")
        if chosen != "generated" and not Path(chosen).is_dir():
            raise BadInput(f"{chosen} is no folder with images: name one with the four files of Fashion-MNIST, or the word `generated`")
        return (chosen, True) if chosen == "generated" else (str(Path(chosen).resolve()), False)

    def _environment(self, out):
        """What everything is started with: no network, and no folder but those in OUT."""
        environment = dict(os.environ)

        def before(name, folders):
            known = [folder for folder in environment.get(name, "").split(":") if folder]
            environment[name] = ":".join(folders + known if name == "PATH" else known + folders)

        before("PATH", [str(self.programs)] + ([str(Path(self.mpirun).parent)] if self.mpirun else []))
        # After those of the user: the programs look for libraries where they were built, which may be another machine.
        before("LD_LIBRARY_PATH", [str(self.libraries / folder) for folder in LIBRARIES if (self.libraries / folder).is_dir()])
        environment.update({
            "HVD_LAB_OFFLINE": "1", "HVD_LAB_HOME": str(out / "home"), "TMPDIR": str(out / "tmp"), "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
            "CUDA_CACHE_PATH": str(out / "tmp/cuda"), "TRITON_CACHE_DIR": str(out / "tmp/triton"),
            "TORCHINDUCTOR_CACHE_DIR": str(out / "tmp/inductor"), "XDG_CACHE_HOME": str(out / "tmp/cache"),
            "PYTHONDONTWRITEBYTECODE": "1", "HF_HUB_OFFLINE": "1",
        })
        # What would make ranks take another way than the part says.
        for name in ("NCCL_MULTI_RANK_GPU_ENABLE", "HVD_LAB_PROOF_WITHOUT_EVENTS", "OMP_NUM_THREADS"):
            environment.pop(name, None)
        return environment

    def ranks(self, np):
        """mpirun and its flags for so many ranks, as the lab starts them."""
        if self._launcher is None:
            try:
                said = subprocess.run([self.mpirun, "--version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=30).stdout
            except (OSError, subprocess.TimeoutExpired):
                said = b""
            is_open_mpi = b"Open MPI" in said or b"Open RTE" in said
            flags = ["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "--mca", "pml", "ob1"]
            root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
            self._launcher = root + flags if is_open_mpi else []
        return [self.mpirun] + self._launcher + ["-np", str(np)]
