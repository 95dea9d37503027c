"""`eras data`: the catalogue of public graphs, and a profile of any graph."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from eras.cli.common import (
    Json,
    console,
    emit_json,
    examples,
    plain_table,
    say,
    show_notes,
)
from eras.cli.source import Source, with_source_options

if TYPE_CHECKING:
    from eras.graph import Graph, Profile
    from eras.graph.catalogue import Entry

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="List, show, fetch and profile knowledge graphs.",
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="A data set; case, - and _ do not matter.")]
Names = Annotated[list[str], typer.Argument(metavar="NAME…", help="Data sets; case, - and _ do not matter.")]


@app.command("list", epilog=examples("eras data list", "eras data list --json"))
def list_graphs(as_json: Json = False) -> None:
    """List the graphs that are known by name, with their sizes and where each would be read from."""
    from eras.graph.catalogue import catalogue
    from eras.graph.sources import local_folder

    entries = list(catalogue().values())
    if as_json:
        emit_json([_facts(entry) for entry in entries])
        return
    table = plain_table("name", numbers=("relations", "entities", "train", "valid", "test"))
    table.add_column("read from")
    for entry in entries:
        sizes = (entry.relations, entry.entities, entry.train, entry.valid, entry.test)
        table.add_row(entry.name, *(f"{size:,}" for size in sizes), local_folder(entry)[0])
    console.print(table)


@app.command(epilog=examples("eras data show wn18rr", "eras data show FB15k-237 --json"))
def show(name: Name, as_json: Json = False) -> None:
    """Show what a graph is, its licence and citation, where it comes from and where it is kept."""
    from eras.graph.sources import known_entry

    facts = _facts(known_entry(name))
    if as_json:
        emit_json(facts)
        return
    console.print(f"[bold]{facts['title']}[/] [dim]({facts['name']})[/]  {facts['about']}\n")
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column(overflow="fold")
    for key in ("relations", "entities", "train", "valid", "test"):
        grid.add_row(key, f"{facts[key]:,}")
    for key in ("licence", "citation"):
        grid.add_row(key, facts[key])
    grid.add_row("read from", f"{facts['read_from']}  {escape(facts['folder'] or '')}")
    for i, file in enumerate(facts["files"]):
        grid.add_row("" if i else "files", f"{file['address']}\n[dim]git blob {file['blob']}[/]")
    console.print(grid)


@app.command(epilog=examples("eras data fetch wn18rr fb15k237", "eras data fetch yago3-10 --json"))
def fetch(names: Names, as_json: Json = False) -> None:
    """Download graphs into the cache, unless they are at hand; a broken download goes on where it stopped."""
    from eras.cli.progress import DownloadBars
    from eras.graph.download import fetch as download
    from eras.graph.sources import known_entry, local_folder

    folders: dict[str, str] = {}
    entries = [known_entry(name) for name in names]
    for entry in entries:
        place, folder = local_folder(entry)
        if folder is None:
            with DownloadBars() as bars:
                folder = download(entry, bars)
            place = "cache"
        folders[entry.name] = str(folder)
        console.print(f"[bold]{entry.name}[/]  {place}  [dim]{escape(str(folder))}[/]", soft_wrap=True)
    if as_json:
        emit_json(folders)


@app.command(
    epilog=examples(
        "eras data profile umls",
        "eras data profile facts.csv --columns 1,3,2",
        "eras data profile facts.tsv.gz --labels names.tsv --json",
    )
)
@with_source_options
def profile(
    source: Source,
    top: Annotated[int, typer.Option(metavar="N", min=0, help="Relations to show, largest first; 0 for all.")] = 20,
    as_json: Json = False,
) -> None:
    """Count a graph's entities, relations and triples, and tell what kind of relation each relation is."""
    from eras.graph import profile as make_profile

    graph = source.read()
    result = make_profile(graph)
    if as_json:
        emit_json(result.to_dict())
        return
    _print_counts(result)
    _print_patterns(result, graph, top or len(graph.relations))
    show_notes(result.notes)


@app.command(
    epilog=examples(
        "eras data generate --out planted",
        "eras data generate --symmetric 2 --general 6 --entities 5000 --out planted --json",
    )
)
def generate(
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to write.")],
    entities: Annotated[int, typer.Option(help="Entities.")] = 200,
    triples_per_relation: Annotated[int, typer.Option(help="Triples of each relation.")] = 400,
    symmetric: Annotated[int, typer.Option(min=0, help="Symmetric relations.")] = 3,
    anti_symmetric: Annotated[int, typer.Option(min=0, help="Anti-symmetric relations.")] = 3,
    inverse_pairs: Annotated[int, typer.Option(min=0, help="Pairs of inverse relations.")] = 2,
    general: Annotated[int, typer.Option(min=0, help="Relations of no pattern.")] = 3,
    compositions: Annotated[int, typer.Option(min=0, help="Relations composed of general ones.")] = 0,
    noise: Annotated[float, typer.Option(help="Share of triples with a random tail.")] = 0.0,
    seed: Annotated[int, typer.Option(min=0, help="Decides everything that is random.")] = 0,
    as_json: Json = False,
) -> None:
    """Make a graph whose relations have known patterns: train, valid and test, and patterns.tsv with the truth."""
    from eras.graph.planted import Plan, plant, write_planted

    plan = Plan(
        entities=entities,
        triples_per_relation=triples_per_relation,
        symmetric=symmetric,
        anti_symmetric=anti_symmetric,
        inverse_pairs=inverse_pairs,
        general=general,
        compositions=compositions,
        noise=noise,
    )
    planted = plant(plan, seed)
    write_planted(planted, out)
    say(f"{escape(repr(planted.graph)[1:-1])} in [bold]{escape(str(out))}[/]")
    if as_json:
        emit_json({"folder": str(out), "patterns": planted.patterns})


def _print_counts(result: Profile) -> None:
    console.print(
        f"[bold]{escape(result.name)}[/]  {result.entities:,} entities, {result.relations:,} relations, "
        f"{sum(result.splits.values()):,} triples\n"
    )
    table = plain_table("split", numbers=("triples", "unseen entities", "also in train", "mirrored in train"))
    for split, size in result.splits.items():
        unseen = result.unseen_entities.get(split)
        shared = result.shared_triples.get(f"train and {split}")
        mirrored = result.mirrored_triples.get(split)
        table.add_row(split, f"{size:,}", *("" if n is None else f"{n:,}" for n in (unseen, shared, mirrored)))
    console.print(table)
    if between := result.shared_triples["valid and test"]:
        console.print(f"{between:,} triples stand in both valid and test")


def _print_patterns(result: Profile, graph: Graph, top: int) -> None:
    totals = plain_table("\npattern", numbers=("\nrelations", "\ntriples"))
    for total in result.totals:
        totals.add_row(total.pattern, f"{total.relations:,}", f"{total.triples:,}")
    console.print(totals)
    table = plain_table("\nrelation", numbers=("\ntriples",))
    for column in ("pattern", "kind"):
        table.add_column(f"\n{column}", no_wrap=True)
    for column in ("symmetry", "inverse"):
        table.add_column(f"\n{column}", justify="right", no_wrap=True)
    for row in result.patterns.head(top).iter_rows(named=True):
        name = escape(graph.relations.label(row["relation"]))
        if row["pattern"] == "inverse":
            name += f"\n[dim]↔ {escape(graph.relations.label(row['inverse']))}[/]"
        rates = ("–" if rate is None else f"{rate:.3f}" for rate in (row["symmetry"], row["inverse_rate"]))
        table.add_row(name, f"{row['triples']:,}", row["pattern"], row["cardinality"] or "–", *rates)
    console.print(table)
    if top < len(graph.relations):
        console.print(f"[dim]… and {len(graph.relations) - top:,} smaller relations (--top 0 shows all)[/]")


def _facts(entry: Entry) -> dict[str, Any]:
    from eras.graph.download import base_address
    from eras.graph.sources import local_folder

    place, folder = local_folder(entry)
    files = [{"name": file.name, "address": file.address(base_address()), "blob": file.blob} for file in entry.files]
    return {
        **asdict(entry),
        "files": files,
        "read_from": place,
        "folder": None if folder is None else str(folder),
    }
