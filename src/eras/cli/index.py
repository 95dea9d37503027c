"""`eras index`: what makes approximate predictions possible."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from eras.cli.common import Json, Run, console, emit_json, examples, plain_table, say

if TYPE_CHECKING:
    from eras.store.index import EntityIndex

app = typer.Typer(rich_markup_mode=None, add_completion=False)

WORTH = 2.0
"""How many times faster approximate answers must be for an index to be of use."""


@app.command(
    epilog=examples(
        "eras index runs/humangene",
        "eras index runs/humangene --recall 0.99",
        "eras predict runs/humangene --head ENTITY --relation RELATION --approximate",
    )
)
def index(
    run: Run,
    recall: Annotated[
        float, typer.Option("--recall", help="Share of the ten best answers that must be found, above 0, at most 1.")
    ] = 0.95,
    seed: Annotated[int, typer.Option("--seed", min=0, max=2**31 - 1, help="Decides where the lists begin.")] = 0,
    as_json: Json = False,
) -> None:
    """Build an index of the entities' vectors, for approximate predictions on large graphs.

    Entities are put into lists; a question looks into some of them only. How many, is chosen so that the recall asked
    for is reached on validation questions. The index is kept in the run, for `eras predict --approximate`.
    """
    from eras.store import Model

    model = Model.load(run)
    with console.status("Building the index"):
        built = model.build_index(recall, seed=seed)
    if as_json:
        emit_json({"probes": built.probes, **built.about})
        return
    _show(built)
    say(f"[dim]kept in {escape(str(run / 'index.faiss'))}, {built.about['bytes'] / 1e6:.1f} MB[/]")


def _show(built: EntityIndex) -> None:
    about, ways = built.about, ("exact", "approximate")
    say(
        f"{about['entities']:,} entities in {about['lists']:,} lists; a question looks into {built.probes:,} of them. "
        f"Measured on {about['questions']:,} validation questions, one thread:"
    )
    depths = (1, 10, 100)
    table = plain_table("", numbers=("ms", *(f"recall@{k}" for k in depths)))
    for way in ways:
        found = (1.0 if way == "exact" else about[f"recall@{k}"] for k in depths)
        table.add_row(way, f"{about[f'ms_{way}']:.2f}", *(f"{share:.4f}" for share in found))
    console.print(table)
    if about["ms_exact"] < WORTH * about["ms_approximate"]:
        say("[yellow]note:[/] approximate answers are less than twice as fast on this graph: you need no index here")
