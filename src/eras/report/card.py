"""The model card: Markdown with the figures, the function's picture and how to use the model."""

from __future__ import annotations

from typing import Any

from eras.evaluation import METRICS
from eras.graph import Graph
from eras.models import Function
from eras.rules.config import RuleConfig
from eras.rules.ruleset import RuleSet
from eras.scoring import ScoringFunction
from eras.training.config import TrainConfig


def model_card(
    graph: Graph,
    function: Function,
    config: TrainConfig,
    metrics: dict[str, Any],
    manifest: dict[str, Any],
) -> str:
    name = function.name or "function"
    head, relation, _ = graph.valid[0]
    if isinstance(function, ScoringFunction):
        kind, picture = "block-bilinear", "![The blocks of the scoring function](function.svg)"
    else:
        options = ", ".join(f"{key} {value}" for key, value in function.to_json()["options"].items())
        kind, picture = function.title, function.summary + (f". Options: {options}." if options else ".")
    sections = [
        f"# {name} on {graph.name}",
        f"A {kind} knowledge graph embedding with {config.dim} numbers per entity, "
        f"trained by eras {manifest['versions']['eras']}.",
        "## Figures",
        _figures(metrics),
        "Filtered by train, validation and test; both sides; all entities as candidates; ties at the middle of "
        "their range. The epoch was chosen on validation triples alone.",
        *([_patterns(metrics["test"]["by"]["pattern"])] if "test" in metrics else []),
        *_probabilities(metrics.get("calibration")),
        "## Scoring function",
        picture,
        *([_story(metrics["fit"])] if "fit" in metrics else []),
        *_graph(graph),
        "## Training",
        _settings(config.model_dump()),
        f"Best epoch {metrics['training']['best_epoch']} of {metrics['training']['epochs']}; "
        f"{metrics['training']['seconds']:.0f} s of training on {manifest['machine']['device']} "
        f"with {manifest['machine']['threads']} threads.",
        *([f"Made by:\n\n```\n{manifest['command']}\n```"] if manifest.get("command") else []),
        "## Use",
        '```python\nimport eras\n\nmodel = eras.Model.load("path/to/this/folder")\n'
        f"model.predict(head={graph.entities.name(head)!r}, relation={graph.relations.name(relation)!r}, k=5)\n```",
    ]
    return "\n\n".join(sections) + "\n"


def _probabilities(calibration: dict[str, Any] | None) -> list[str]:
    if calibration is None:
        return []
    text = (
        f"At the end of training probabilities were calibrated on {calibration['fitted_on']}; `calibration.json` says "
        "what holds now."
    )
    if "after" in calibration:
        before, after, first = calibration["before"], calibration["after"], calibration["first"]
        text += (
            f" On {calibration['judged_on']}: expected calibration error {after['ece']:.3f} (of the sigmoid of the "
            f"score: {before['ece']:.3f}), Brier score {after['brier']:.3f} ({before['brier']:.3f}). The first of a "
            f"list of tails or heads is right in {first['right']:.0%} of the test questions; expected "
            f"{first['probability']:.0%}."
        )
    return ["## Probabilities", text]


def rules_card(
    graph: Graph, rules: RuleSet, config: RuleConfig, metrics: dict[str, Any], manifest: dict[str, Any]
) -> str:
    learning = metrics["learning"]
    best = "\n".join(f"{row['confidence']:.3f}  {row['rule']}" for row in rules.to_dicts(range(20)))
    head, relation, _ = graph.train[0]
    sections = [
        f"# Rules on {graph.name}",
        f"{len(rules):,} rules, learned from the training facts by eras {manifest['versions']['eras']}.",
        "## Figures",
        _figures(metrics),
        "Filtered by train, validation and test; both sides; all entities as candidates; ties at the middle of their "
        "range. Predictions are ordered by maximum confidence, ties by the next best rule.",
        *([_patterns(metrics["test"]["by"]["pattern"])] if "test" in metrics else []),
        "## Rules",
        "The most trusted ones, with their confidence; all are in rules.parquet.",
        f"```\n{best}\n```",
        *_graph(graph),
        "## Learning",
        _settings(config.model_dump()),
        f"{learning['rounds']:,} rounds in {learning['seconds']:.0f} s.",
        *([f"Made by:\n\n```\n{manifest['command']}\n```"] if manifest.get("command") else []),
        "## Use",
        '```python\nimport eras\n\nrules = eras.RuleModel.load("path/to/this/folder")\n'
        f"rules.predict(head={graph.entities.name(head)!r}, relation={graph.relations.name(relation)!r}, k=5)\n```",
    ]
    return "\n\n".join(sections) + "\n"


def _figures(metrics: dict[str, Any]) -> str:
    rows = ["| split | " + " | ".join(METRICS) + " |", "|---|" + "---:|" * len(METRICS)]
    for split in ("valid", "test"):
        if split in metrics:
            rows.append(f"| {split} | " + " | ".join(_number(m, metrics[split][m]) for m in METRICS) + " |")
    return "\n".join(rows)


def _story(fit: dict[str, Any]) -> str:
    """How `eras fit` came to this function."""
    rows = ["| trained with the same recipe | selection MRR | best epoch |", "|---|---:|---:|"]
    for name, result in sorted(fit["candidates"].items(), key=lambda item: -item[1]["selection_mrr"]):
        rows.append(f"| {name} | {result['selection_mrr']:.4f} | {result['best_epoch']} |")
    tried = f"The search tried {fit['search']['tried']:,} functions in {fit['search']['seconds']:.0f} s."
    about = "Selection MRR is measured on validation, filtered without the test facts."
    return "\n\n".join([f"{fit['verdict']} {tried}", "\n".join(rows), about])


def _patterns(rows: list[dict[str, Any]]) -> str:
    lines = ["| pattern (test) | ranks | mrr | hits@1 | hits@10 |", "|---|---:|---:|---:|---:|"]
    for row in rows:
        figures = " | ".join(_number(m, row[m]) for m in ("mrr", "hits@1", "hits@10"))
        lines.append(f"| {row['pattern']} | {row['ranks']:,} | {figures} |")
    return "\n".join(lines)


def _graph(graph: Graph) -> list[str]:
    return [
        "## Graph",
        f"{len(graph.entities):,} entities, {len(graph.relations):,} relations; {len(graph.train):,} training, "
        f"{len(graph.valid):,} validation and {len(graph.test):,} test triples. "
        f"Fingerprint `{graph.fingerprint[:16]}`.",
        *([_bullets(graph.notes)] if graph.notes else []),
    ]


def _settings(settings: dict[str, Any]) -> str:
    rows = ["| setting | value |", "|---|---|"]
    rows += [f"| {key} | {value} |" for key, value in settings.items()]
    return "\n".join(rows)


def _bullets(notes: tuple[str, ...]) -> str:
    return "\n".join(f"- {note}" for note in notes)


def _number(metric: str, value: float) -> str:
    return f"{value:.1f}" if metric == "mr" else f"{value:.4f}"
