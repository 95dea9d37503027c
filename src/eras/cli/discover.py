"""`eras discover`: facts that the graph lacks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from eras.cli.common import Json, Run, emit_json, examples, say
from eras.cli.predict import show_predictions
from eras.cli.progress import percentage

app = typer.Typer(rich_markup_mode=None, add_completion=False)

SHOWN = 20
"""Triples shown on the terminal."""


@app.command(
    epilog=examples(
        "eras discover runs/umls --top 20",
        "eras discover runs/umls --relation causes --relation treats --top 100 --out new.tsv",
        "eras discover runs/umls --top 100000 --out new.parquet",
    )
)
def discover(
    run: Run,
    relation: Annotated[
        list[str] | None, typer.Option("--relation", metavar="NAME", help="Only these; may be repeated.")
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, help="How many triples.")] = 1000,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write them to a .tsv or a .parquet file.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file.")] = False,
    as_json: Json = False,
) -> None:
    """Find the most probable triples that the graph does not hold, over all heads, relations and tails.

    The result is exact: no triple outside the graph is more probable than those given. Triples of an entity with
    itself count only under relations that have such facts, entities without a training fact not at all.
    """
    from eras.errors import OutputError
    from eras.files import replacing
    from eras.store import Model

    if out is not None:
        if out.suffix not in (".tsv", ".parquet"):
            raise OutputError(f"{out}: the name of the file must end in .tsv or .parquet")
        if out.exists() and not overwrite:
            raise OutputError(f"{out} exists already: choose another --out, or add --overwrite")
        if not out.parent.is_dir():
            raise OutputError(f"there is no folder {out.parent}: make it first, or choose another --out")
    model = Model.load(run)
    with percentage("Looking at all triples") as on_progress:
        found = model.discover(relation, top=top, on_progress=on_progress)
    if model.calibrated is None:
        say(
            "[yellow]note:[/] this model is not calibrated: triples are ordered by score, which favours relations with "
            f"large scores; eras calibrate {escape(str(run))} gives probabilities"
        )
    if out is not None:
        with replacing(out) as temporary:
            if out.suffix == ".parquet":
                found.write_parquet(temporary)
            else:
                found.write_csv(temporary, separator="\t")
    if as_json:
        emit_json(found.to_dicts())
        return
    if not len(found):
        say("The graph holds every triple that could be found.")
        return
    show_predictions(found.head(SHOWN).to_dicts(), None, 0, False)
    if out is not None:
        say(f"{len(found):,} triples in {escape(str(out))}")
    elif len(found) > SHOWN:
        say(f"[dim]… and {len(found) - SHOWN:,} more: --out FILE or --json gives all[/]")
