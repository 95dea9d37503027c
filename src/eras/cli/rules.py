"""`eras rules`: learn rules, predict by them, read them."""

from __future__ import annotations

import contextlib
import shlex
import sys
import time as clock
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from eras.cli.common import (
    Json,
    Overwrite,
    Run,
    Time,
    console,
    emit_json,
    examples,
    how_to_go_on,
    plain_table,
    say,
    seconds_of,
    show_graph,
    show_metrics,
)
from eras.cli.predict import HeadOption, IncludeKnown, Most, RelationOption, TailOption, show_predictions
from eras.cli.settings import with_setting_options
from eras.cli.source import Source, with_source_options
from eras.errors import StoppedError
from eras.rules.config import RuleConfig

if TYPE_CHECKING:
    from eras.rules.learner import RuleProgress
    from eras.store.rules import RuleModel

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Learn rules such as speaks(X, Y) ← lives(X, A), language_of(Y, A); predict by them; read them.",
)

LOG_SECONDS = 60.0
"""Where the output is no terminal, a line of progress is written this often."""


class Aggregate(StrEnum):
    max = "max"
    noisy_or = "noisy-or"


LEARN_HELP = (
    "Learn rules from a graph's training facts until the time is over, then rank validation and test with them.\n\n"
    "Ctrl-C ends after the round at hand and saves; the same command, or `eras resume RUN`, goes on."
)


def learn(
    source: Source,
    time: Time = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The folder; runs/DATA-rules if not given.")] = None,
    overwrite: Overwrite = False,
    threads: Annotated[int | None, typer.Option("--threads", min=1, help="All cores if not given.")] = None,
    as_json: Json = False,
    **settings: Any,
) -> None:
    from eras.api.rules import learn_rules
    from eras.rules.config import recommend_rules

    given = {name: value for name, value in settings.items() if value is not None}
    seconds = seconds_of(time)
    given |= {} if seconds is None else {"seconds": seconds}
    RuleConfig().updated(**given)
    graph = source.read()
    folder = out or Path("runs") / f"{graph.name}-rules"
    show_graph(graph)
    config = recommend_rules(graph.training_view(), **given)
    budget = f"{config.seconds:.0f} s" if config.seconds else f"{config.rounds} rounds"
    kinds = f"up to {config.length} atoms" + (", and with constants" if config.constants else "")
    say(f"Learning rules of {kinds}, for [bold]{budget}[/]{'' if time or config.rounds else ' (chosen by size)'}")
    with rules_view(folder) as on_progress:
        model = learn_rules(
            graph,
            out=folder,
            overwrite=overwrite,
            threads=threads,
            on_progress=on_progress,
            command=shlex.join(["eras", *sys.argv[1:]]),
            **given,
        )
    show_rules(model, as_json)


_learn = with_setting_options(with_source_options(learn), RuleConfig, without=("seconds",))
app.command("learn", help=LEARN_HELP, epilog=examples("eras rules learn umls", "eras rules learn wn18rr --time 1000s"))(
    _learn
)


@contextlib.contextmanager
def rules_view(folder: Path) -> Iterator[Callable[[RuleProgress], None]]:
    """A bar with the bodies measured and the rules kept; on Ctrl-C it says how to go on."""
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=None), TextColumn("{task.fields[found]}"))
    bar = Progress(*columns, TimeElapsedColumn(), console=console)
    task = bar.add_task("rules", total=1.0, found="")
    logged = clock.monotonic()

    def on_progress(progress: RuleProgress) -> None:
        nonlocal logged
        found = f"{progress.bodies:,} bodies, {progress.rules:,} closed rules" if progress.bodies else ""
        if console.is_terminal:
            bar.start()
            bar.update(task, description=progress.stage, completed=progress.share, found=found)
        elif clock.monotonic() - logged > LOG_SECONDS:
            logged = clock.monotonic()
            say(f"{progress.stage}: {progress.share:.0%}" + (f", {found}" if found else ""))

    try:
        yield on_progress
    except StoppedError as stopped:
        raise StoppedError(how_to_go_on(stopped, folder)) from None
    finally:
        if console.is_terminal:
            bar.stop()


def show_rules(model: RuleModel, as_json: bool) -> None:
    """What `rules learn` and `resume` print at the end."""
    learning = model.metrics["learning"]
    say(f"{learning['rules']:,} rules after {learning['rounds']:,} rounds, {learning['seconds']:.0f} s.")
    show_metrics(*(model.metrics[split] for split in ("valid", "test") if split in model.metrics))
    folder = escape(str(model.folder))
    say(f"Rules and card are in [bold]{folder}[/]. Next: eras rules show {folder}")
    if as_json:
        emit_json({"folder": str(model.folder), **model.metrics})


@app.command(
    epilog=examples(
        "eras rules predict runs/umls-rules --head virus --relation causes -k 5",
        "eras rules predict runs/umls-rules --relation causes --tail neoplastic_process --aggregate noisy-or --json",
    )
)
def predict(
    run: Run,
    head: HeadOption = None,
    relation: RelationOption = None,
    tail: TailOption = None,
    k: Most = 10,
    include_known: IncludeKnown = False,
    aggregate: Annotated[
        Aggregate, typer.Option("--aggregate", help="By the best rule, then the next; or by all rules as evidence.")
    ] = Aggregate.max,
    reasons: Annotated[int, typer.Option("--reasons", min=0, help="Reasons shown for each prediction.")] = 1,
    as_json: Json = False,
) -> None:
    """Give the relation and the head or the tail; get the best completions, and because of what."""
    from eras.store.rules import RuleModel

    rules = RuleModel.load(run, aggregate.value)
    rows = rules.predict(head, relation, tail, k=k, exclude_known=not include_known, output="list")
    show_predictions(rows, rules, reasons, as_json)


@app.command(
    epilog=examples("eras rules show runs/umls-rules", "eras rules show runs/umls-rules --relation causes -k 50")
)
def show(
    run: Run,
    relation: Annotated[str | None, typer.Option("--relation", help="Only rules that predict this one.")] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="How many rules.")] = 20,
    as_json: Json = False,
) -> None:
    """Show the most trusted rules: confidence, how often they are right, how often they predict."""
    from eras.store.rules import read_rules

    _, rules = read_rules(run)
    rules = rules if relation is None else rules.about(relation)
    rows = rules.to_dicts(range(k))
    if as_json:
        emit_json(rows)
        return
    table = plain_table(numbers=("confidence", "right", "of"))
    table.add_column("rule", overflow="fold")
    for row in rows:
        figures = f"{row['confidence']:.3f}", f"{row['support']:,}", f"{row['predicted']:,}"
        table.add_row(*figures, escape(row["rule"]))
    console.print(table)
    if len(rules) > k:
        say(f"({len(rules):,} rules; -k shows more)")
