"""Notebooks of the docs: ``python docs/notebooks.py`` runs them and keeps what they print; mkdocs shows them as pages.

They are kept with their outputs, so that a reader sees these wherever the file is shown, and the site is built without
running anything. A test runs them afresh.
"""

import html
import json
import os
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def execute(path):
    """The notebook with the outputs of a fresh kernel, which runs in an empty folder and shows figures itself."""
    import nbclient
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    environment = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
    with tempfile.TemporaryDirectory() as folder:
        client = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": folder}})
        client.execute(env=environment)
    notebook.metadata.language_info = {"name": "python"}  # not the version that ran it
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # nor when
    return notebook


def to_markdown(path):
    """A page: the text as it is, the code in blocks, and below each block what came out."""
    parts = []
    for cell in json.loads(path.read_text())["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        parts += [_show(output) for output in cell.get("outputs", ())]
    return "\n\n".join([*parts, f"*This page is a notebook: [{path.name}]({path.name}).*"]) + "\n"


def on_files(files, config):
    """What mkdocs calls: a page for each notebook."""
    from mkdocs.structure.files import File

    for path in NOTEBOOKS:
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=to_markdown(path)))
    return files


def _show(output):
    """The richest form of an output, as HTML."""
    data = output.get("data", {})
    if "text/html" in data:
        return f"<div class=output>{''.join(data['text/html'])}</div>"
    if "image/png" in data:
        return f'<img alt="" src="data:image/png;base64,{"".join(data["image/png"]).strip()}">'
    text = "".join(data.get("text/plain", output.get("text", "")))
    return f"<pre class=output>{html.escape(text.rstrip())}</pre>"


if __name__ == "__main__":
    import nbformat

    for each in NOTEBOOKS:
        nbformat.write(execute(each), each)
