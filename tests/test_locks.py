"""What `make demo` installs is known to the byte, in the versions that everything else is tested with."""

import re
import tomllib

from support.places import ROOT

PIN = re.compile(r"([A-Za-z0-9._-]+)==([^\s;\\]+)(?:\s*;\s*([^\\\n]*))?")


def pins(name: str) -> dict[str, tuple[str, str]]:
    """Version and marker of every package of a lock file."""
    found = [PIN.match(line) for line in (ROOT / name).read_text().splitlines()]
    return {normal(one[1]): (one[2], (one[3] or "").strip()) for one in found if one}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_lock_of_a_plain_installation_names_the_versions_of_the_other() -> None:
    base, whole = pins("requirements-base.lock"), pins("requirements.lock")
    here = {name: version for name, (version, marker) in base.items() if "win32" not in marker}
    assert here == {name: whole[name][0] for name in here}
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert {normal(re.split(r"[<>=!~\[ ]", one)[0]) for one in declared} <= here.keys()


def test_every_package_of_a_plain_installation_has_hashes() -> None:
    text = re.sub(r"^#.*\n", "", (ROOT / "requirements-base.lock").read_text(), flags=re.MULTILINE)
    entries = [entry for entry in re.split(r"\n(?=\S)", text.strip()) if entry]
    assert len(entries) == len(pins("requirements-base.lock"))
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}(?=\s|$)", entry) for entry in entries)
