"""No code from data: what could execute what it reads is nowhere in the package (docs/explanation/security.md)."""

import ast
from pathlib import Path

import pytest

import worldgauge

ROOT = Path(worldgauge.__file__).parent
FILES = [ROOT.parent / "worldgauge_serve.py", *sorted(ROOT.rglob("*.py"))]
MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal", "jsonpickle"}
CALLS = {
    "eval",
    "exec",
    "compile",
    "__import__",
    "os.system",
    "os.popen",
    "yaml.load",
    "yaml.unsafe_load",
    "tempfile.mktemp",
}


def faults(tree: ast.AST) -> list[str]:
    """What in `tree` could run code that comes from outside."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            found += [f"line {node.lineno}: imports {name}" for name in names if name.split(".")[0] in MODULES]
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            given = {each.arg: ast.unparse(each.value) for each in node.keywords}
            if name in CALLS:
                found.append(f"line {node.lineno}: calls {name}")
            if given.get("shell", "False") != "False":
                found.append(f"line {node.lineno}: starts a shell")
            if name in ("np.load", "numpy.load") and given.get("allow_pickle") != "False":
                found.append(f"line {node.lineno}: numpy.load without allow_pickle=False")
            if name == "torch.load" and given.get("weights_only") != "True":
                found.append(f"line {node.lineno}: torch.load without weights_only=True")
            if given.get("trust_remote_code", "False") != "False":
                found.append(f"line {node.lineno}: trusts remote code")
    return found


def test_nothing_runs_what_it_reads() -> None:
    found = {path.relative_to(ROOT.parent): faults(ast.parse(path.read_text("utf-8"))) for path in FILES}
    assert not {path: lines for path, lines in found.items() if lines}


@pytest.mark.parametrize(
    "code",
    [
        "import pickle",
        "from pickle import loads",
        "import multiprocessing, dill",
        "eval('1')",
        "exec(x)",
        "os.system('ls')",
        "subprocess.run(x, shell=True)",
        "subprocess.run(x, shell=yes)",
        "np.load(path)",
        "np.load(path, allow_pickle=True)",
        "torch.load(path)",
        "pipe.from_pretrained(x, trust_remote_code=True)",
    ],
)
def test_the_scan_sees_each_of_them(code: str) -> None:
    assert len(faults(ast.parse(code))) == 1


@pytest.mark.parametrize(
    "code", ["model.eval()", "np.load(p, allow_pickle=False)", "re.compile('x')", "subprocess.run(x)"]
)
def test_the_scan_lets_the_rest_be(code: str) -> None:
    assert not faults(ast.parse(code))
