"""`eras functions`: list, show and draw scoring functions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eras.cli.common import Json, console, emit_json, examples, plain_table

if TYPE_CHECKING:
    from eras.models import Architecture
    from eras.scoring import ScoringFunction, Structure

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="List, show and draw scoring functions.",
)

Spec = Annotated[
    str,
    typer.Argument(
        metavar="SPEC",
        help="A name (complex), a structure ('1 2 / -2 1'), another model (rotate), or a text or JSON file.",
    ),
]

# A structure may start with a minus, '-2 1 / 1 2', which must not be taken for an option.
_SPEC_SETTINGS = {"ignore_unknown_options": True}


@app.command("list", epilog=examples("eras functions list"))
def list_functions(as_json: Json = False) -> None:
    """List the functions that are known by name, with the relation patterns each can model, and the other models."""
    from eras.models import ARCHITECTURES, Architecture
    from eras.scoring import NAMES, citation, describe, named

    others = [Architecture(name) for name in ARCHITECTURES]
    if as_json:
        structures = [{"name": n, "description": describe(n), **_facts(named(n))} for n in NAMES]
        emit_json([*structures, *({"name": m.name, "description": m.summary, **m.to_json()} for m in others)])
        return
    table = plain_table("name", "blocks", "g(r) can be", "published in")
    for name in NAMES:
        structure = named(name).structures[0]
        table.add_row(name, str(structure.blocks), ", ".join(_patterns(structure)), citation(name))
    console.print(table)
    table = plain_table("other models", "what they are", "published in")
    for model in others:
        table.add_row(model.name, model.about, model.citation)
    console.print()
    console.print(table)


@app.command(
    context_settings=_SPEC_SETTINGS,
    epilog=examples(
        "eras functions show complex", "eras functions show '1 2 / -2 1'", "eras functions show best.json --json"
    ),
)
def show(spec: Spec, as_json: Json = False) -> None:
    """Show a function's matrix, its formula, what it can model, and its canonical form."""
    from eras.models import Architecture, to_function
    from eras.scoring import NAMES, describe

    function = to_function(spec)
    if isinstance(function, Architecture):
        _show_architecture(function, as_json)
        return
    description = describe(function.name) if function.name in NAMES and spec.lower() == function.name else None
    if as_json:
        emit_json({"description": description, **_facts(function), "function": function.to_json()})
        return
    console.print(description or function.name or "unnamed function", style="bold", markup=False)
    for group, structure in enumerate(function.structures):
        if len(function.structures) > 1:
            names = ", ".join(function.relations_of(group)) or "no relations"
            console.print(f"\ngroup {group + 1}: {names}", style="bold", markup=False)
        _show_structure(structure)
    if len(function.structures) > 1:
        _show_canonical(function)


@app.command(
    context_settings=_SPEC_SETTINGS,
    epilog=examples("eras functions draw autosf-wn18 --out wn18.svg"),
)
def draw(
    spec: Spec,
    out: Annotated[Path, typer.Option("--out", "-o", help="The SVG file to write.")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if it exists.")] = False,
    as_json: Json = False,
) -> None:
    """Draw the block matrix of each group, with its relations beneath, as SVG."""
    from eras.errors import OutputError, UsageError
    from eras.files import write_text
    from eras.models import Architecture, to_function

    function = to_function(spec)
    if isinstance(function, Architecture):
        raise UsageError(
            f"{function.name} has no block matrix to draw: `eras functions show {function.name}` tells of it"
        )
    svg = function.to_svg()
    if out.exists() and not overwrite:
        raise OutputError(f"{out} exists: choose another name or add --overwrite")
    if not out.parent.is_dir():
        raise OutputError(f"there is no folder {out.parent}: make it first, or choose another --out")
    write_text(out, svg)
    if as_json:
        emit_json({"out": str(out)})
    else:
        console.print(f"wrote {out}", markup=False)


def _show_architecture(model: Architecture, as_json: bool) -> None:
    if as_json:
        emit_json({"description": model.summary, **model.to_json()})
        return
    console.print(model.summary, style="bold", markup=False)
    given, fields = model.to_json()["options"], model.kind.Options.model_fields
    if not fields:
        return
    table = plain_table("setting", "value", "meaning")
    for name, value in given.items():
        table.add_row(name, str(value), fields[name].description or "")
    console.print()
    console.print(table)
    first = next(name for name, value in given.items() if value is not None)
    console.print(f"\nChange one so: --function {model.name}:{first}={given[first]}", markup=False)


def _show_structure(structure: Structure) -> None:
    blocks = {
        "": structure.to_text(),
        "formula": f"score = {_formula(structure)}",
        "g(r) can be": ", ".join(_patterns(structure)),
        "degeneracies": "; ".join(structure.degeneracies()) or "none",
        "canonical form": str(structure.canonical()),
    }
    for label, text in blocks.items():
        console.print()
        if label:
            console.print(label, style="dim")
        console.print(text, markup=False)


def _show_canonical(function: ScoringFunction) -> None:
    """Groups share their entity blocks, so together they have a canonical form of their own."""
    console.print("\ncanonical form of all groups together", style="dim")
    for group, structure in enumerate(function.canonical().structures, start=1):
        console.print(f"group {group}: {structure}", markup=False)


def _formula(structure: Structure) -> str:
    text = " ".join(f"{'+' if sign > 0 else '-'} <h{i + 1},r{k + 1},t{j + 1}>" for i, j, k, sign in structure.terms)
    return text.removeprefix("+ ")


def _patterns(structure: Structure) -> list[str]:
    can_be = {
        "symmetric": structure.can_be_symmetric,
        "skew": structure.can_be_skew_symmetric,
        "general": structure.can_be_general,
    }
    return [pattern for pattern, possible in can_be.items() if possible]


def _facts(function: ScoringFunction) -> dict[str, Any]:
    return {
        "blocks": function.blocks,
        "structures": [
            {
                "cells": structure.to_json(),
                "formula": _formula(structure),
                "can_be": _patterns(structure),
                "degeneracies": list(structure.degeneracies()),
                "canonical": structure.canonical().to_json(),
                "relations": list(function.relations_of(group)),
            }
            for group, structure in enumerate(function.structures)
        ],
    }
