"""`eras predict`: complete triples by name."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.markup import escape

from eras.cli.common import Json, Run, console, emit_json, examples, plain_table, say

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(
    epilog=examples(
        "eras predict runs/umls --head virus --relation causes -k 5",
        "eras predict runs/umls --relation causes --tail neoplastic_process --json",
        "eras predict runs/umls --head virus --tail disease_or_syndrome",
    )
)
def predict(
    run: Run,
    head: Annotated[str | None, typer.Option("--head", help="Name or label of the head entity.")] = None,
    relation: Annotated[str | None, typer.Option("--relation", help="Name of the relation.")] = None,
    tail: Annotated[str | None, typer.Option("--tail", help="Name or label of the tail entity.")] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="How many completions.")] = 10,
    include_known: Annotated[
        bool, typer.Option("--include-known", help="Do not leave out facts that the graph holds.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Give two of head, relation and tail; get the best completions that the graph does not hold yet."""
    from eras.store import Model

    model = Model.load(run)
    rows = model.predict(head, relation, tail, k=k, exclude_known=not include_known, output="list")
    if as_json:
        emit_json(rows)
        return
    if relation is None and not model.config.relation_weight:
        say("[yellow]note:[/] this model was not trained to rank relations; eras train --relation-weight 0.5 does that")
    if not rows:
        say("The graph holds every possible completion already; --include-known shows them.")
        return
    _show(rows)


def _show(rows: list[dict[str, Any]]) -> None:
    parts = ("head", "relation", "tail")
    table = plain_table(*parts, numbers=("score",))
    for row in rows:
        table.add_row(*(_display(row, part) for part in parts), f"{row['score']:.4f}")
    console.print(table)


def _display(row: dict[str, Any], part: str) -> str:
    name, label = row[part], row.get(f"{part}_label")
    return escape(str(name) if label in (None, name) else f"{label} ({name})")
