"""`eras explain`: why does the model say so?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from eras.cli.common import Json, Run, console, display, emit_json, examples, plain_table, say
from eras.cli.predict import load_rules, show_reasons
from eras.errors import UsageError

if TYPE_CHECKING:
    from eras.store import Model
    from eras.store.explanation import Explanation, Rank, RelationProfile

app = typer.Typer(rich_markup_mode=None, add_completion=False)

Figure = Annotated[
    Path | None, typer.Option("--figure", metavar="FILE", help="Draw the block terms of a claim, .svg or .png.")
]
BecauseRules = Annotated[
    Path | None, typer.Option("--because", metavar="RULES", help="Add the rules that support it, from their folder.")
]
AboutRelation = Annotated[
    str | None, typer.Option("--relation", metavar="NAME", help="Explain a relation instead of a claim.")
]


@app.command(
    epilog=examples(
        "eras explain runs/umls virus causes disease_or_syndrome",
        "eras explain runs/umls virus causes disease_or_syndrome --figure why.svg --because runs/umls-rules",
        "eras explain runs/umls --relation causes",
    )
)
def explain(
    run: Run,
    head: Annotated[str | None, typer.Argument(metavar="HEAD", help="Name or label of an entity.")] = None,
    relation: Annotated[str | None, typer.Argument(metavar="RELATION", help="Name of a relation.")] = None,
    tail: Annotated[str | None, typer.Argument(metavar="TAIL", help="Name or label of an entity.")] = None,
    about: AboutRelation = None,
    because: BecauseRules = None,
    figure: Figure = None,
    as_json: Json = False,
) -> None:
    """Say how a claim ranks, how probable it is, which block terms carry its score, and which facts resemble it.

    The terms add up to the score exactly. With --relation NAME: the relation's pattern, group and structure, and what
    the model confuses it with.
    """
    from eras.report.figure import picture_kind
    from eras.scoring import ScoringFunction
    from eras.store import Model

    claim = (head, relation, tail)
    if about is None and None in claim:
        raise UsageError("give a claim, HEAD RELATION TAIL, or a relation: --relation NAME")
    if about is not None and any(claim):
        raise UsageError("give a claim or --relation, not both")
    if about is not None and (figure or because):
        raise UsageError("--figure and --because are for claims, HEAD RELATION TAIL")
    if figure is not None:
        picture_kind(figure)
    model = Model.load(run)
    if figure is not None and not isinstance(model.function, ScoringFunction):
        raise UsageError(f"{model.function.name} is no block structure and has no terms to draw: leave out --figure")
    if about is not None:
        profile = model.explain_relation(about)
        if as_json:
            emit_json(profile.to_json())
        else:
            _show_relation(model, profile)
        return
    assert head is not None
    assert relation is not None
    assert tail is not None
    rules = None if because is None else load_rules(because, model)
    explanation = model.explain(head, relation, tail, rules=rules)
    if figure is not None:
        from eras.report.explanation import draw_explanation

        draw_explanation(explanation, figure)
    if as_json:
        emit_json(explanation.to_json())
    else:
        _show_claim(model, explanation)


def _show_claim(model: Model, claim: Explanation) -> None:
    entities, relation = model.graph.entities, display(model.graph.relations, claim.relation)
    head, tail = display(entities, claim.head), display(entities, claim.tail)
    known = f"a known fact ({claim.known})" if claim.known else "not in the graph"
    say(f"[bold]{relation}({head}, {tail})[/]: {known}")
    say(f"  tail    {_rank(claim.tail_rank)}")
    say(f"  head    {_rank(claim.head_rank)}")
    uncalibrated = "unknown: the model is not calibrated (eras calibrate RUN)"
    say(f"  probability {uncalibrated if claim.probability is None else f'{claim.probability:.3f}'}")
    say(f"  score {claim.score:.4f} (as tail {claim.tail_score:.4f}, as head {claim.head_score:.4f})")
    if claim.terms:
        say(f"\n[bold]Block terms[/] (group {claim.group}; they add up to the score)")
        table = plain_table("term", numbers=("value", "share"))
        size = sum(abs(term.value) for term in claim.terms) or 1.0
        for term in sorted(claim.terms, key=lambda term: -abs(term.value)):
            table.add_row(str(term), f"{term.value:+.4f}", f"{abs(term.value) / size:.0%}")
        table.add_row("[bold]sum[/]", f"[bold]{sum(term.value for term in claim.terms):+.4f}[/]", "")
        console.print(table)
    else:
        say(f"\nNo block terms: {escape(model.function.name or 'the model')} is no block structure.")
    if claim.similar:
        say("\n[bold]Known facts most like it[/]")
        table = plain_table("head", "relation", "tail", numbers=("similarity",))
        for fact in claim.similar:
            like = display(entities, fact.head), relation, display(entities, fact.tail)
            table.add_row(*like, f"{fact.similarity:.3f}")
        console.print(table)
    if claim.because is not None:
        say("\n[bold]Rules[/]")
        show_reasons(claim.because)


def _rank(rank: Rank) -> str:
    place = f"rank {rank.low:,}" if rank.low == rank.high else f"ranks {rank.low:,} to {rank.high:,} (a tie)"
    return f"{place} of {rank.candidates:,} candidates"


def _show_relation(model: Model, profile: RelationProfile) -> None:
    relations = model.graph.relations
    say(f"[bold]{display(relations, profile.relation)}[/]: {profile.triples:,} facts")
    symmetry = "" if profile.symmetry is None else f"; {profile.symmetry:.0%} of its pairs stand both ways"
    say(f"  pattern      {profile.pattern}{symmetry}")
    if profile.inverse is not None:
        name = "inverse     " if profile.pattern == "inverse" else "near inverse"
        inverse = display(relations, profile.inverse)
        say(f"  {name} {inverse}, which holds {profile.inverse_rate:.0%} of its pairs reversed")
    if profile.cardinality is not None:
        say(
            f"  cardinality  {profile.cardinality}: {profile.tails_per_head:.2f} tails for a head, "
            f"{profile.heads_per_tail:.2f} heads for a tail"
        )
    if profile.structure is not None:
        others = len(profile.shares_group_with)
        beside = f" with {others:,} other{'' if others == 1 else 's'}" if others else ""
        say(f"  group        {profile.group}{beside}")
        say("  structure    " + escape(str(profile.structure).replace("\n", "\n               ")))
    if profile.confused_with:
        say(f"\n[bold]Confused with[/] (of {profile.asked_of}, the share where the model prefers it)")
        table = plain_table("relation", numbers=("share",))
        for row in profile.confused_with:
            table.add_row(display(relations, row["relation"]), f"{row['share']:.0%}")
        console.print(table)
    else:
        say(f"\nConfused with no other relation ({profile.asked_of}).")
