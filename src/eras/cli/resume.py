"""`eras resume`: go on with a run."""

from __future__ import annotations

import typer
from rich.markup import escape

from eras.cli.common import Json, Run, examples, say

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(epilog=examples("eras resume runs/umls-complex"))
def resume(run: Run, as_json: Json = False) -> None:
    """Go on with a run that was stopped or killed; it ends with the same bits as an undisturbed one."""
    from eras import api
    from eras.cli.progress import training_bar
    from eras.cli.train import show_result
    from eras.store.directory import read_manifest

    if read_manifest(run).get("status") == "finished":
        say(f"The run {escape(str(run))} has ended already.")
    with training_bar(run) as on_step:
        model = api.resume(run, on_step=on_step)
    show_result(model, as_json)
