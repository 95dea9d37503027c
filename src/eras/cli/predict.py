"""`eras predict`: complete triples by name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from eras.cli.common import Json, Run, console, emit_json, examples, plain_table, say

if TYPE_CHECKING:
    from eras.store import Predictor
    from eras.store.rules import RuleModel

app = typer.Typer(rich_markup_mode=None, add_completion=False)


HeadOption = Annotated[str | None, typer.Option("--head", help="Name or label of the head entity.")]
RelationOption = Annotated[str | None, typer.Option("--relation", help="Name of the relation.")]
TailOption = Annotated[str | None, typer.Option("--tail", help="Name or label of the tail entity.")]
Most = Annotated[int, typer.Option("-k", min=1, help="How many completions.")]
IncludeKnown = Annotated[bool, typer.Option("--include-known", help="Do not leave out facts that the graph holds.")]


@app.command(
    epilog=examples(
        "eras predict runs/umls --head virus --relation causes -k 5",
        "eras predict runs/umls --relation causes --tail neoplastic_process --json",
        "eras predict runs/umls --head virus --tail disease_or_syndrome",
        "eras predict runs/umls --head virus --relation causes --because runs/umls-rules",
        "eras predict runs/humangene --head ENTITY --relation RELATION --approximate",
    )
)
def predict(
    run: Run,
    head: HeadOption = None,
    relation: RelationOption = None,
    tail: TailOption = None,
    k: Most = 10,
    include_known: IncludeKnown = False,
    approximate: Annotated[
        bool,
        typer.Option("--approximate", help="Ask the index of `eras index`: faster on large graphs, may miss some."),
    ] = False,
    because: Annotated[
        Path | None, typer.Option("--because", metavar="RULES", help="Give reasons, from a folder of rules.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Give two of head, relation and tail; get the best completions that the graph does not hold yet."""
    from eras.store import Model, load_model

    model = load_model(run)
    rules = None if because is None else load_rules(because, model)
    rows = model.predict(
        head, relation, tail, k=k, exclude_known=not include_known, approximate=approximate, output="list"
    )
    if approximate and relation is None:
        say("[yellow]note:[/] relations are few: they are always ranked exactly, without an index")
    if relation is None and isinstance(model, Model) and not model.config.relation_weight:
        say("[yellow]note:[/] this model was not trained to rank relations; eras train --relation-weight 0.5 does that")
    if isinstance(model, Model) and model.calibrated is None:
        say(f"[yellow]note:[/] scores are no probabilities: run `eras calibrate {escape(str(run))}` to have some")
    show_predictions(rows, rules, 1, as_json)


def load_rules(folder: Path, model: Predictor) -> RuleModel:
    """The rules of a folder, which must be about the model's graph."""
    from eras.errors import UsageError
    from eras.store.rules import RuleModel

    rules = RuleModel.load(folder)
    if rules.graph.fingerprint != model.graph.fingerprint:
        raise UsageError(f"the rules in {folder} are about another graph, {rules.graph.name}, than {model.graph.name}")
    return rules


def show_predictions(rows: list[dict[str, Any]], rules: RuleModel | None, reasons: int, as_json: bool) -> None:
    """A table of completions, or JSON; under each, with rules, because of what."""
    parts = ("head", "relation", "tail")
    if rules is not None and reasons:
        for row in rows:
            found = rules.because(row["head"], row["relation"], row["tail"], k=reasons)
            row["because"] = [reason.to_json() for reason in found]
    if as_json:
        emit_json(rows)
        return
    if not rows:
        say("The graph holds every possible completion already; --include-known shows them.")
        return
    sure = "probability" in rows[0]
    table = plain_table(*parts, numbers=("score", "probability") if sure else ("score",))
    for row in rows:
        numbers = (f"{row['score']:.4f}", f"{row['probability']:.4f}") if sure else (f"{row['score']:.4f}",)
        table.add_row(*(_display(row, part) for part in parts), *numbers)
    console.print(table)
    right = rows[0].get("first_is_right")
    if right is not None:
        say(f"[dim]If the graph lacks an answer, the first of these is right with probability {right:.2f}.[/]")
    for row in rows:
        if "because" in row:
            say(f"\n[bold]{_display(row, 'relation')}({_display(row, 'head')}, {_display(row, 'tail')})[/]")
            show_reasons(row["because"])


def show_reasons(reasons: Sequence[dict[str, Any]]) -> None:
    for reason in reasons:
        facts = ", ".join(f"{relation}({head}, {tail})" for head, relation, tail in reason["facts"])
        say(f"  because {escape(facts)}")
        say(f"  [dim]{reason['confidence']:.3f}  {escape(reason['rule'])}[/]")
    if not reasons:
        say("  no rule says so")


def _display(row: dict[str, Any], part: str) -> str:
    name, label = row[part], row.get(f"{part}_label")
    return escape(str(name) if label in (None, name) else f"{label} ({name})")
