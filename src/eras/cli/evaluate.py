"""`eras evaluate`: rank a split, and compare runs class by class."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from eras.cli.common import Json, console, emit_json, examples, plain_table, say, show_metrics
from eras.errors import UsageError

if TYPE_CHECKING:
    from eras.graph import Vocabulary

app = typer.Typer(rich_markup_mode=None, add_completion=False)

Rows = list[dict[str, Any]]

_SHOWN = ("mrr", "hits@1", "hits@10")
_WIDTHS = (14, 14, 14, 7, 6)  # of the columns of figures, the gap and p: 13 characters of 80 are left for a run
_INDENT = 2


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
        "eras evaluate runs/complex runs/distmult --by pattern --figure patterns.svg",
    )
)
def evaluate(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Run folders or model directories of one graph.")],
    split: Annotated[Split, typer.Option("--split", help="Which triples to rank.")] = Split.test,
    by: Annotated[list[By] | None, typer.Option("--by", help="Break the metrics down; may be repeated.")] = None,
    figure: Annotated[
        Path | None, typer.Option("--figure", metavar="FILE", help="Draw the breakdowns, as .svg or .png.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Rank every triple of a split on both sides among all entities, filtered by all known facts; ties count half.

    ± is half of a 95 % interval. Several runs are set side by side: each class names the best, how far the others are
    behind, and p, the chance of such a gap between models that are equally good.
    """
    from eras.evaluation import contrast
    from eras.report.figure import picture_kind
    from eras.store import load_model

    if figure:
        picture_kind(figure)
    named = _named(runs)
    results = {}
    for name, run in named.items():  # one model in memory at a time
        with console.status(f"Ranking {escape(name)}"):
            model = load_model(run)
            results[name] = model.evaluate(split.value)
    columns = [column.value for column in dict.fromkeys(by or [By.side, By.pattern])]
    with console.status("Resampling"):
        contrasts = {column: contrast(results, column) for column in columns}
    graph = model.graph
    shown = {column: _labelled(rows, column, graph.relations) for column, rows in contrasts.items()}
    if figure:
        from eras.report.breakdown import draw_breakdown

        judged = next(iter(named)) if len(named) == 1 else f"{len(named)} runs"
        draw_breakdown(f"{judged} on {graph.name}, {split.value}", shown, figure)
    if as_json:
        reports = {name: result.to_json() for name, result in results.items()}
        about = next(iter(reports.values())) if len(reports) == 1 else {"split": split.value, "runs": reports}
        emit_json({**about, "contrast": contrasts})
        return
    several = len(results) > 1
    show_metrics(
        *({"run": name, "split": result.split, **result.metrics} for name, result in results.items()), by_run=several
    )
    for column, rows in shown.items():
        console.print()
        (_show_several if several else _show_one)(column, rows)
    if figure:
        say(f"wrote {escape(str(figure))}")


def _named(runs: list[Path]) -> dict[str, Path]:
    """Runs of one graph by the name that tells them apart: that of the folder, or the path as it was given."""
    from eras.store.directory import read_manifest

    names = [run.resolve().name for run in runs]
    if len(set(names)) < len(names):
        names = [str(run) for run in runs]
    named: dict[str, Path] = {}
    graphs = [read_manifest(run)["graph"] for run in runs]
    for name, run, graph in zip(names, runs, graphs, strict=True):
        if name in named:
            raise UsageError(f"{run} is given twice: a run cannot be compared with itself")
        named[name] = run
        if graph["fingerprint"] != graphs[0]["fingerprint"]:
            raise UsageError(
                f"{names[0]} and {name} are runs of different graphs ({graphs[0]['name']}, {graph['name']}): only runs "
                "of one graph with the same splits can be compared"
            )
    return named


def _labelled(rows: Rows, column: str, relations: Vocabulary) -> Rows:
    """The rows with labels in place of the names of relations."""
    if column != "relation":
        return rows
    whole, *classes = rows
    return [whole, *({**row, "relation": relations.label(relations.id(row["relation"]))} for row in classes)]


def _show_one(column: str, rows: Rows) -> None:
    table = plain_table(column, numbers=("triples", *_SHOWN))
    for row in rows:
        table.add_row(escape(row[column]), f"{row['triples']:,}", *(_figure(row["runs"][0], m) for m in _SHOWN))
    console.print(table)


def _show_several(column: str, rows: Rows) -> None:
    """A heading and a table for each class, all with columns of the same width."""
    longest = max(len(run["run"]) for run in rows[0]["runs"])
    room = max(8, console.width - sum(_WIDTHS) - 2 * len(_WIDTHS) - _INDENT)
    widths = (max(min(longest, room), len(column) - _INDENT), *_WIDTHS)
    console.print(_table(column, (widths[0] + _INDENT, *_WIDTHS)))
    for row in rows:
        best = {metric: max(run[metric] for run in row["runs"]) for metric in _SHOWN}
        table = _table(column, widths)
        table.show_header = False
        for run in row["runs"]:
            figures = (f"[bold]{_figure(run, m)}[/]" if run[m] == best[m] else _figure(run, m) for m in _SHOWN)
            gap = ("best", "") if run["p"] is None else (f"{run['gap']:.4f}", _chance(run["p"]))
            table.add_row(escape(run["run"]), *figures, *gap)
        console.print(f"[bold]{escape(row[column])}[/], {_count(row['triples'])}")
        console.print(Padding(table, (0, 0, 0, _INDENT), expand=False))


def _table(column: str, widths: tuple[int, ...]) -> Table:
    table = plain_table(column, numbers=(*_SHOWN, "gap", "p"))
    for place, width in zip(table.columns, widths, strict=True):
        place.width = width
    return table


def _figure(run: dict[str, Any], metric: str) -> str:
    """A metric and half the width of its interval."""
    return f"{run[metric]:.4f} ±{(run[f'{metric}_high'] - run[f'{metric}_low']) / 2:.4f}"


def _chance(p: float) -> str:
    return f"{p:.3f}" if p >= 0.001 else "<0.001"


def _count(triples: int) -> str:
    return f"{triples:,} triple{'' if triples == 1 else 's'}"
