"""`eras resume`: go on with a run, a search or a fit."""

from __future__ import annotations

import typer
from rich.markup import escape

from eras.cli.common import Json, Run, examples, say

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(epilog=examples("eras resume runs/umls-complex", "eras resume runs/umls-fit"))
def resume(run: Run, as_json: Json = False) -> None:
    """Go on with a run, search or fit that was stopped or killed; a run ends with the same bits as if undisturbed."""
    from eras import api
    from eras.cli.fit import fit_view, show_fit
    from eras.cli.progress import training_bar
    from eras.cli.search import show_search
    from eras.cli.train import show_result
    from eras.store.directory import read_manifest

    manifest = read_manifest(run)
    if manifest.get("status") == "finished":
        say(f"The run {escape(str(run))} has ended already.")
    if manifest.get("kind", "train") == "train":
        with training_bar(run) as on_step:
            model = api.resume(run, watchers=api.Watchers(on_step=on_step))
    else:
        with fit_view(run) as watchers:
            model = api.resume(run, watchers=watchers)
    if isinstance(model, api.SearchResult):
        show_search(model, manifest["graph"]["name"], as_json)
    elif "fit" in model.metrics:
        show_fit(model, as_json)
    else:
        show_result(model, as_json)
