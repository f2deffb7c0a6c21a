"""The package as users get it: an sdist, a wheel built from it, and that wheel in an empty environment.

Run by `cargo xtask test python`. The wheel is built without optimisation, in a target folder of its own.
"""

import json
import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
TARGET = HERE.parent / "target" / "package"
ADAPTERS = ("chronq.fastapi", "chronq.flask", "chronq.django")
SMOKE = """
import asyncio, importlib.metadata, inspect
import chronq, chronq.testing
from chronq import AsyncChronq, Chronq, Receiver, SignatureError, Transport

assert importlib.metadata.version("chronq") == chronq.__version__
assert not importlib.metadata.requires("chronq")
assert "site-packages" in inspect.getfile(chronq)
[plugin] = importlib.metadata.entry_points(group="pytest11")
assert plugin.value == "chronq.pytest_plugin"

try:
    Receiver("sig_this-is-not-a-real-signing-key-current-00").verify(signature="a.b.c", body=b"")
except SignatureError as error:
    assert error.code == "signature_malformed"
try:
    Chronq("https://127.0.0.1:1", "chronq_not-a-real-token", retry=None).publish("http://h/", json=1)
except Transport as error:
    assert not error.may_have_been_sent, error

async def main():
    async with AsyncChronq("http://127.0.0.1:1", "chronq_not-a-real-token", retry=None) as client:
        await client.queues.list()

try:
    asyncio.run(main())
except Transport:
    print("works as installed")
"""


def run(*command: str | Path, cwd: Path, fails: bool = False, **environment: str) -> str:
    """Run a command, and show what it said where it fails and may not."""
    done = subprocess.run(  # noqa: S603
        [str(word) for word in command],
        cwd=cwd,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0 and not fails:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}")
    return done.stdout


def demand(names: list[str], *wanted: str) -> None:
    """Demand a file for each ending."""
    for ending in wanted:
        if not any(name.endswith(ending) for name in names):
            sys.exit(f"the package has no {ending}: {names}")


def check_sdist(sdist: Path) -> None:
    """Hold the sdist to what a build needs, and nothing else."""
    with tarfile.open(sdist) as archive:
        names = archive.getnames()
    demand(names, "Cargo.lock", "sdk-core/src/lib.rs", "LICENSE-MIT", "LICENSE-APACHE", "chronq/py.typed")
    strays = [name for name in names if "/target/" in name or name.endswith((".so", ".pyc"))]
    if strays:
        sys.exit(f"the sdist holds {strays}")


def check_wheel(wheel: Path) -> None:
    """Hold the wheel to its tag and contents."""
    if "-cp311-abi3-" not in wheel.name:
        sys.exit(f"{wheel.name} is not one wheel for every Python from 3.11 on")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    demand(
        names,
        "chronq/_native.abi3.so",
        "chronq/_native.pyi",
        "chronq/py.typed",
        "chronq/pytest_plugin.py",
        "LICENSE-MIT",
        "LICENSE-APACHE",
        "entry_points.txt",
    )


def check_types(report: str) -> None:
    """Demand a known type of every public symbol; the adapters' frameworks are not installed here."""
    symbols = json.loads(report)["typeCompleteness"]["symbols"]
    unknown = [
        symbol["name"]
        for symbol in symbols
        if symbol["isExported"]
        and not (symbol["isTypeKnown"] and not symbol["isTypeAmbiguous"])
        and not symbol["name"].startswith(ADAPTERS)
    ]
    if unknown or len(symbols) < 100:
        sys.exit(f"of {len(symbols)} symbols, these have no type: {unknown}")


def main() -> None:
    """Build, look, install, run."""
    tools = Path(sys.executable).parent
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        run(tools / "maturin", "sdist", "--out", place, cwd=HERE)
        [sdist] = place.glob("*.tar.gz")
        check_sdist(sdist)
        with tarfile.open(sdist) as archive:
            archive.extractall(place, filter="data")
        source = place / sdist.name.removesuffix(".tar.gz")
        build = ("build", "--profile", "dev", "--interpreter", sys.executable, "--out", place)
        run(tools / "maturin", *build, cwd=source, CARGO_TARGET_DIR=str(TARGET))
        [wheel] = place.glob("*.whl")
        check_wheel(wheel)

        empty = place / "empty"
        venv.create(empty, with_pip=True)
        python = empty / "bin" / "python"
        run(python, "-m", "pip", "install", "--quiet", "--no-index", wheel, cwd=place)
        said = run(python, "-I", "-W", "error", "-c", SMOKE, cwd=empty)
        if said != "works as installed\n":
            sys.exit(f"as installed, the package said {said!r}")
        # pyright takes the interpreter from PATH.
        path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
        types = ("--verifytypes", "chronq", "--ignoreexternal", "--outputjson")
        check_types(run(tools / "pyright", *types, cwd=empty, fails=True, PATH=path, VIRTUAL_ENV=str(empty)))


if __name__ == "__main__":
    main()
