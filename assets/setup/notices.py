#!/usr/bin/env python3
"""Print the licences of all crates that the programs contain: `dist.py` packs them with what is handed on.

Crates and versions are those of Cargo.lock, the texts those in the sources that cargo has fetched, so the same lock file gives the same
text. It stops at a crate whose licence it cannot give.
"""
import json, re, subprocess, sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TEXT = re.compile(r"(licen[sc]e|copying|copyright|notice|unlicense)", re.IGNORECASE)
# Where a crate may be had under one of several licences and one of them is MIT, that one is chosen.
OTHERS = re.compile(r"apache|unlicense|zlib|bsl|boost|0bsd|mpl", re.IGNORECASE)
RULE = "-" * 80
MIT = """Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files
(the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge,
publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so,
subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR
ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH
THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE."""


def asked(*command):
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout


def shipped():
    """The crates that end up in the programs: no dependency of a build script or a test alone, and none of our own."""
    host = re.search(r"host: (.*)", asked("rustc", "-vV"))[1]
    known = json.loads(asked("cargo", "metadata", "--locked", "--all-features", "--format-version", "1", "--filter-platform", host))
    packages = {package["id"]: package for package in known["packages"]}
    needs = {node["id"]: [dep["pkg"] for dep in node["deps"] if any(kind["kind"] is None for kind in dep["dep_kinds"])]
             for node in known["resolve"]["nodes"]}
    found, todo = set(), list(known["workspace_members"])
    while todo:
        crate = todo.pop()
        if crate not in found:
            found.add(crate)
            todo += needs[crate]
    return sorted((packages[crate] for crate in found if packages[crate]["source"]), key=lambda package: (package["name"], package["version"]))


def texts(package, apache):
    """The licence texts of a crate, as its authors packed them, or the text of its licence where they packed none."""
    folder, licence = Path(package["manifest_path"]).parent, package["license"] or ""
    files = sorted(path for path in folder.iterdir() if path.is_file() and TEXT.match(path.name))
    if package["license_file"]:
        files = sorted({*files, folder / package["license_file"]})
    if re.search(r" OR |/", licence) and any("mit" in path.name.lower() for path in files):
        files = [path for path in files if not OTHERS.search(path.name)]
    if files:
        return [path.read_text(errors="replace").replace("\r", "").strip() for path in files]
    authors = ", ".join(re.sub(r" <.*?>", "", author) for author in package["authors"]) or f"the authors of {package['name']}"
    if "MIT" in licence:
        return [f"Copyright (c) {authors}\n\n{MIT}"]
    if licence == "Apache-2.0":
        return [apache]
    sys.exit(f"notices: {package['name']} {package['version']} ({licence or 'no licence'}) comes without the text of its licence.\n"
             "         Use another crate, or add the text to assets/setup/notices.py.")


def apache_text(packages):
    """The licence itself, as some crate has it."""
    for package in packages:
        for path in sorted(Path(package["manifest_path"]).parent.glob("LICENSE-APACHE*")):
            text = path.read_text(errors="replace").replace("\r", "").strip()
            if "END OF TERMS AND CONDITIONS" in text:
                return text
    return ""


def notices():
    packages = shipped()
    apache, users = apache_text(packages), {f"Copyright (c) The Rust Project Developers\n\n{MIT}": ["the Rust standard library (MIT OR Apache-2.0)"]}
    for package in packages:
        line = f"{package['name']} {package['version']} ({package['license']}) {package['repository'] or ''}".rstrip()
        for text in texts(package, apache):
            users.setdefault(text, []).append(line)
    head = ("The programs of hvd-lab contain the software below, each under its own licence. Where several licences were offered, the MIT\n"
            "licence was chosen. NOTICE names the libraries that are not part of the programs.")
    return "\n\n".join([head] + [f"{RULE}\n" + "\n".join(names) + f"\n{RULE}\n\n{text}" for text, names in users.items()]) + "\n"


if __name__ == "__main__":
    sys.stdout.write(notices())
