"""`eras calibrate`: from scores to probabilities."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from eras.cli.common import Json, Run, console, emit_json, examples, plain_table, say
from eras.cli.labelled import Seed, SkipUnknown, TestFile, ValidFile
from eras.errors import UsageError

app = typer.Typer(rich_markup_mode=None, add_completion=False)


class Method(StrEnum):
    platt = "platt"
    isotonic = "isotonic"


@app.command(
    epilog=examples(
        "eras calibrate runs/umls",
        "eras calibrate runs/umls --figure reliability.svg",
        "eras calibrate runs/fb15k237 --valid valid_labelled.txt --test test_labelled.txt --method isotonic",
    )
)
def calibrate(
    run: Run,
    valid: ValidFile = None,
    test: TestFile = None,
    method: Annotated[
        Method, typer.Option("--method", help="isotonic: a curve of its own for each relation with many labels.")
    ] = Method.platt,
    figure: Annotated[
        Path | None, typer.Option("--figure", metavar="FILE", help="Draw the reliability diagram, .svg or .png.")
    ] = None,
    seed: Seed = 0,
    skip_unknown: SkipUnknown = False,
    as_json: Json = False,
) -> None:
    """Fit probabilities on labelled validation triples, keep them in the run, and judge them on test.

    Training does this too, with false triples that it makes; this verb takes labels of your own or another method.
    Without labelled files false triples are made as `eras classify` makes them.
    """
    from eras.report.figure import picture_kind
    from eras.store import Model
    from eras.store.judging import Source, measure_calibration

    if figure is not None:
        picture_kind(figure)
    model = Model.load(run)
    judged = test is not None or len(model.graph.test) > 0
    if figure is not None and not judged:
        raise UsageError("a reliability diagram needs labelled triples to judge on: give --test FILE")
    with console.status("Calibrating"):
        source = Source.of(model.graph, "test", test, seed, skip_unknown) if judged else None
        calibrated = model.calibrate(valid, method=method.value, seed=seed, skip_unknown=skip_unknown)
        measured = {} if source is None else measure_calibration(model, calibrated, source)
    if figure is not None:
        from eras.report.reliability import draw_reliability

        draw_reliability(f"{model.function.name or 'function'} on {model.graph.name}", measured, figure)
    if as_json:
        emit_json({**calibrated.about, **measured})
        return
    say(f"fitted on {escape(calibrated.about['fitted_on'])}; {method.value}")
    say(f"judged on {escape(measured['judged_on'])}" if judged else "not judged: the graph has no test triples")
    if judged:
        _show(measured)
    say(f"[dim]kept in {escape(str(run / 'calibration.json'))}[/]")


def _show(measured: dict[str, Any]) -> None:
    console.print()
    table = plain_table("", numbers=("ECE", "Brier", "log loss"))
    table.add_row("sigmoid of the score", *_cells(measured["before"]))
    table.add_row("calibrated", *_cells(measured["after"]))
    if "first" in measured:
        table.add_row("first of a list is right", *_cells(measured["first"]))
    console.print(table)
    if "first" in measured:
        first = measured["first"]
        say(
            f"The first of {first['questions']:,} lists is right in {first['right']:.1%} of them, "
            f"expected {first['probability']:.1%}."
        )


def _cells(row: dict[str, Any]) -> list[str]:
    return [f"{row[m]:.4f}" for m in ("ece", "brier", "log_loss")]
