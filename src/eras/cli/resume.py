"""`eras resume`: go on with a run, a search, a fit, a comparison or rules."""

from __future__ import annotations

import typer
from rich.markup import escape

from eras.cli.common import Json, Run, examples, say

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(epilog=examples("eras resume runs/umls-complex", "eras resume runs/umls-fit"))
def resume(run: Run, as_json: Json = False) -> None:
    """Go on with what was stopped or killed: a run, search, fit, comparison or rules.

    A run ends with the same bits as if undisturbed.
    """
    from eras.cli.compare import comparison_view, show_comparison
    from eras.cli.fit import fit_view, show_fit
    from eras.cli.live import search_view
    from eras.cli.progress import training_bar
    from eras.cli.search import show_search
    from eras.cli.train import show_result
    from eras.store.directory import read_manifest

    manifest = read_manifest(run)
    if manifest.get("status") == "finished":
        say(f"The run {escape(str(run))} has ended already.")
    match manifest.get("kind", "train"):
        case "compare":
            from eras.api.comparing import resume_comparison

            with comparison_view(run) as (watch, on_method):
                comparison = resume_comparison(run, watch=watch, on_method=on_method)
            show_comparison(comparison, as_json)
        case "search":
            from eras.api.searching import resume_search

            with search_view(run) as watch:
                result = resume_search(run, watch=watch)
            show_search(result, manifest["graph"]["name"], as_json)
        case "fit":
            from eras.api.fitting import resume_fit

            with fit_view(run) as watchers:
                model = resume_fit(run, watchers=watchers)
            show_fit(model, as_json)
        case "rules":
            from eras.api.rules import resume_rules
            from eras.cli.rules import rules_view, show_rules

            with rules_view(run) as on_progress:
                rules = resume_rules(run, on_progress=on_progress)
            show_rules(rules, as_json)
        case _:
            from eras.api.training import resume_training

            with training_bar(run) as on_step:
                model = resume_training(run, on_step=on_step)
            show_result(model, as_json)
