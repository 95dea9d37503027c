"""`eras classify`: true or false?"""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer
from rich.markup import escape

from eras.cli.common import Json, Run, console, emit_json, examples, plain_table, say
from eras.cli.labelled import Seed, SkipUnknown, TestFile, ValidFile

app = typer.Typer(rich_markup_mode=None, add_completion=False)

SHOWN = 20
"""Relations in the table, without --by-relation."""


@app.command(
    epilog=examples(
        "eras classify runs/umls",
        "eras classify runs/wn18rr --valid valid_labelled.txt --test test_labelled.txt",
        "eras classify runs/umls --json > classification.json",
    )
)
def classify(
    run: Run,
    valid: ValidFile = None,
    test: TestFile = None,
    seed: Seed = 0,
    skip_unknown: SkipUnknown = False,
    by_relation: Annotated[bool, typer.Option("--by-relation", help="Show every relation.")] = False,
    as_json: Json = False,
) -> None:
    """Tell true triples from false ones: a threshold for each relation, chosen on validation, judged on test.

    Labelled files have lines of head, relation, tail and 1 (true) or 0 (or -1: false). Without them false triples are
    made: head or tail is replaced by another entity that the relation has there; no known fact is ever made.
    """
    from eras.store import Model

    model = Model.load(run)
    begun = time.monotonic()
    result = model.classify(valid, test, seed=seed, skip_unknown=skip_unknown)
    if as_json:
        emit_json(result.to_json())
        return
    for split in ("valid", "test"):
        say(f"[bold]{split}[/]: {escape(result.about[split])}")
    console.print()
    table = plain_table("", numbers=_HEADINGS)
    table.add_row("all relations", *_cells(result.metrics))
    relations = model.graph.relations
    for row in result.relations if by_relation else result.relations[:SHOWN]:
        table.add_row(escape(relations.label(relations.id(row["relation"]))), *_cells(row))
    console.print(table)
    hidden = 0 if by_relation else max(0, len(result.relations) - SHOWN)
    if hidden:
        say(f"[dim]… and {hidden:,} relations more: --by-relation shows all[/]")
    if pooled := result.about["pooled_relations"]:
        say(
            f"[yellow]note:[/] {len(pooled):,} of the relations have not both kinds of labels in valid and are judged "
            "by the threshold of all relations pooled"
        )
    say(f"[dim]{time.monotonic() - begun:.1f} s[/]")


_HEADINGS = ("triples", "accuracy", "balanced", "F1", "ROC AUC", "AP")


def _cells(row: dict[str, Any]) -> list[str]:
    from eras.evaluation.classification import MEASURES

    return [f"{row['triples']:,}", *("–" if row[m] is None else f"{row[m]:.4f}" for m in MEASURES)]
