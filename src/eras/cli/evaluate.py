"""`eras evaluate`: rank a split."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer
from rich.markup import escape

from eras.cli.common import Json, Run, console, emit_json, examples, plain_table, show_metrics

app = typer.Typer(rich_markup_mode=None, add_completion=False)


class Split(StrEnum):
    valid = "valid"
    test = "test"


class By(StrEnum):
    side = "side"
    pattern = "pattern"
    cardinality = "cardinality"
    frequency = "frequency"
    relation = "relation"


@app.command(
    epilog=examples(
        "eras evaluate runs/umls",
        "eras evaluate runs/umls --by relation",
        "eras evaluate runs/umls --split valid --json",
    )
)
def evaluate(
    run: Run,
    split: Annotated[Split, typer.Option("--split", help="Which triples to rank.")] = Split.test,
    by: Annotated[list[By] | None, typer.Option("--by", help="Break the metrics down; may be repeated.")] = None,
    as_json: Json = False,
) -> None:
    """Rank every triple of a split on both sides among all entities, filtered by all known facts; ties count half."""
    from eras.store import load_model

    model = load_model(run)
    with console.status("Ranking"):
        result = model.evaluate(split.value)
    if as_json:
        emit_json(result.to_json())
        return
    show_metrics({"split": split.value, **result.metrics})
    for column in by or [By.side, By.pattern]:
        rows = result.by(column.value)
        if column is By.relation:
            relations = model.graph.relations
            rows = [{**row, "relation": relations.label(relations.id(row["relation"]))} for row in rows]
        _show_breakdown(column.value, rows)


def _show_breakdown(column: str, rows: list[dict[str, float]]) -> None:
    table = plain_table(column, numbers=("ranks", "mrr", "hits@1", "hits@10"))
    for row in rows:
        table.add_row(
            escape(str(row[column])), f"{row['ranks']:,}", *(f"{row[m]:.4f}" for m in ("mrr", "hits@1", "hits@10"))
        )
    console.print()
    console.print(table)
