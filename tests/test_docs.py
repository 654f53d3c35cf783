"""What the documentation shows is true: its scripts run as they stand, and print what their comments say."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.helpers import forked
from tests.helpers.processes import free_ports

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
STEP = re.compile(r"^```(python|sh)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PRINTED = re.compile(r"^\s*print\(.*\)  # (.*)$", re.MULTILINE)


class Script(NamedTuple):
    """A block of code, and the line of its file that it begins on."""

    name: str
    line: int
    code: str


def scripts(name: str, heading: str = "") -> list[Script]:
    """Return the Python blocks of a file, or of its section under *heading*."""
    page = (ROOT / name).read_text("utf-8")
    start = page.index(heading)
    stop = page.find("\n## ", start + 1) if heading else -1
    return [
        Script(name, page.count("\n", 0, found.start(1)) + 1, found[1])
        for found in BLOCK.finditer(page, start, stop if stop > 0 else len(page))
    ]


def run(script: Script, folder: Path, given: str = "") -> str:
    """Run a block as a script of its own in *folder*; returns what it prints.

    Its lines have the numbers of the page.
    """
    path = folder / "example.py"
    blank = "\n" * (script.line - 1 - given.count("\n"))
    path.write_text(blank + given + script.code, "utf-8")
    done = forked.script(path)
    if done.returncode:
        pytest.fail(done.stderr.replace(str(path), script.name), pytrace=False)
    return done.stdout


def place(script: Script) -> str:
    return f"{script.name}:{script.line}"


@pytest.mark.parametrize("script", scripts("docs/api.md"), ids=place)
def test_a_script_of_the_reference_prints_what_it_says(script: Script, tmp_path: Path) -> None:
    expected = PRINTED.findall(script.code)
    assert expected, f"{place(script)} shows nothing"
    assert run(script, tmp_path).splitlines() == expected, place(script)


@pytest.mark.slow
@pytest.mark.parametrize("script", scripts("docs/coming-from.md"), ids=place)
def test_a_script_for_another_library_prints_what_it_says(script: Script, tmp_path: Path) -> None:
    library = script.code.split()[1].partition(".")[0]
    pytest.importorskip(library, reason="pip install -e .[corpora]")
    assert run(script, tmp_path).splitlines() == PRINTED.findall(script.code), place(script)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_tutorial_works(tmp_path: Path) -> None:
    """Its files are written, and its commands run, one after the other, in a new folder."""
    tutorial = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
    port = free_ports(5)
    serve = [sys.executable, "example_project/demo.py", "--serve", "--port", str(port)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    with subprocess.Popen(serve, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stdout is not None
        assert server.stdout.readline().startswith("http")
        folder, said = tmp_path, ""
        try:
            for language, block in STEP.findall(tutorial):
                block = block.replace("8731, 8736", f"{port}, {port + 5}")
                if language == "python":
                    with (folder / block.split("\n")[0].removeprefix("# ")).open("a") as file:
                        file.write(block)
                    continue
                done = subprocess.run(
                    ["bash", "-ec", f"exec 2>&1; {block}"],
                    check=False,
                    cwd=folder,
                    env=environment,
                    stdout=subprocess.PIPE,
                    text=True,
                )
                assert done.returncode == 0, done.stdout
                said += done.stdout
                folder = tmp_path / "tutorial"
        finally:
            server.terminate()
    lines = {path.stem: len(path.read_text("utf-8").splitlines()) for path in folder.glob("*.jsonl")}
    assert lines["kept"] < lines["all"] - 15
    assert lines["second"] == lines["first"]
    assert (folder / "report" / "report.html").exists()
    assert re.search(r"Enabled addons:\s.*neardup", said)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_notebook_works(tmp_path: Path) -> None:
    """Its cells run one after the other, in a copy of their folder."""
    if not os.environ.get("NOTEBOOK_REQUIRED"):
        pytest.importorskip("nbclient", reason="pip install -e .[notebook]")
    import nbclient
    import nbformat

    example = shutil.copytree(
        ROOT / "example_project", tmp_path / "example", ignore=shutil.ignore_patterns("out")
    )
    notebook = nbformat.read(example / "audit.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=240, resources={"metadata": {"path": str(example)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert any("image/png" in output.get("data", {}) for output in outputs)


def test_the_tests_that_the_threat_model_names_are_there() -> None:
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", (ROOT / "SECURITY.md").read_text("utf-8"))
    assert len(named) > 20
    for path, name in named:
        assert re.search(rf"^(async )?def {name}\(", (ROOT / "tests" / path).read_text("utf-8"), re.MULTILINE)
