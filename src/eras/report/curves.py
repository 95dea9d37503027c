"""The curves of a search, drawn from its journal alone."""

from __future__ import annotations

import itertools
import json
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eras.errors import DataError
from eras.report.figure import BLUE, GREEN, GREY, INK, ORANGE, SKY, STYLE, legend_above, picture_kind, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Event = dict[str, Any]
Panel = Callable[["Axes"], None]

_STAGES = ((BLUE, "o"), (ORANGE, "s"), (GREEN, "^"))
_UNFINISHED = "unfinished generation"
_WIDTH, _TOP, _ROW = 9.0, 3.2, 2.5  # inches: the picture's width, the heights of the first row and of the others
_FEW = 60  # points up to which each has a marker


def draw_search(events: list[dict[str, Any]], path: Path) -> None:
    """Write the curves of the search with that journal to `path`, an .svg or a .png."""
    picture_kind(path)
    title, panels = _panels(_once(events))

    import matplotlib
    from matplotlib.figure import Figure

    rows = [panels[:1], *(panels[i : i + 2] for i in range(1, len(panels), 2))]
    heights = [_TOP] + [_ROW] * (len(rows) - 1)
    with matplotlib.rc_context(STYLE):
        # "constrained" would differ from run to run in the last bits of its positions.
        figure = Figure(figsize=(_WIDTH, sum(heights)), layout="tight")
        grid = figure.add_gridspec(len(rows), 2, height_ratios=heights)
        for number, row in enumerate(rows):
            for column, draw in enumerate(row):
                draw(figure.add_subplot(grid[number, column] if len(row) > 1 else grid[number, :]))
        figure.suptitle(title, fontsize=12, x=0.01, ha="left")
        save(figure, path)


def _panels(events: list[Event]) -> tuple[str, list[Panel]]:
    """A title, and what to draw in each panel, the most important first."""
    race = _Race.of(_of(events, "trial"))
    if _of(events, "policy"):
        oneshot = _OneShot.of(events)
        return oneshot.title, oneshot.panels() + race.panels()
    if _of(events, "trial"):
        standalone = _StandAlone.of(events)
        return standalone.title, standalone.panels() + race.panels()
    raise DataError(
        "the journal holds no step of a policy and no trial, so there are no curves to draw: "
        "give the events of the search.jsonl of a search that has begun to judge functions"
    )


# --- reading the journal ---------------------------------------------------------------------------------


def _once(events: Iterable[Event]) -> list[Event]:
    """Each step, epoch, generation and trial once, though a search that was killed did or replayed some again.

    The last row counts, at the place and with the time elapsed of the first.
    """
    rows: dict[Any, Event] = {}
    for number, event in enumerate(events):
        identity = _identity(event) or number
        first = rows.get(identity, event)
        rows[identity] = event | ({"elapsed": first["elapsed"]} if "elapsed" in first else {})
    return list(rows.values())


def _identity(event: Event) -> tuple[Any, ...] | None:
    match event["event"]:
        case "policy":
            return "policy", event["epoch"], event["step"]
        case "epoch":
            return "epoch", event["epoch"]
        case "generation":
            return "generation", event["stage"], json.dumps(event["functions"])
        case "trial":
            return "trial", event["epochs"], event["replica"], json.dumps(event["function"])
    return None


def _of(events: list[Event], kind: str) -> list[Event]:
    return [event for event in events if event["event"] == kind]


# --- the curves of each kind of search -------------------------------------------------------------------


@dataclass(frozen=True)
class _OneShot:
    """All panels share the axis of epochs, so that what happened at once stands at one place."""

    steps: list[Event]
    epochs: list[Event]
    derived: list[float]
    policy_steps: int
    last: int

    @classmethod
    def of(cls, events: list[Event]) -> _OneShot:
        steps, derived = _of(events, "policy"), _of(events, "derived")
        return cls(
            steps,
            _of(events, "epoch"),
            derived[-1]["rewards"] if derived else [],
            max(s["step"] for s in steps),
            max(s["epoch"] for s in steps),
        )

    @property
    def title(self) -> str:
        judged = sum(len(s["rewards"]) for s in self.steps)
        time = f", {_duration(self.epochs[-1]['seconds'])}" if self.epochs else ""
        return f"One-shot search: {_count(judged, 'function')} judged in {_count(self.last, 'epoch')}{time}"

    def panels(self) -> list[Panel]:
        panels = [
            (self.rewards, True),
            (self.entropy, any("entropy" in s for s in self.steps)),
            (self.loss, bool(self.epochs)),
            (self.moved, any(e["moved"] for e in self.epochs)),
        ]
        return [draw for draw, there in panels if there]

    def rewards(self, axes: Axes) -> None:
        x = self._places(self.steps)
        mean = [sum(s["rewards"]) / len(s["rewards"]) for s in self.steps]
        several = any(len(s["rewards"]) > 1 for s in self.steps)
        if several:
            _line(axes, x, [max(s["rewards"]) for s in self.steps], SKY, "best of a step")
        _line(axes, x, mean, BLUE, "mean of a step" if several else "reward of a step")
        known = [s for s in self.steps if "baseline" in s]
        if known:
            _line(axes, self._places(known), [s["baseline"] for s in known], INK, "baseline", linestyle="--")
        if self.derived:
            label = f"best of {len(self.derived)} derived, on all of validation"
            axes.plot(self.last, max(self.derived), "D", color=ORANGE, markersize=6, label=label)
        self._finish(axes, "Reward", "reward", f" ({_count(self.policy_steps, 'policy step')} in each)")
        legend_above(axes)

    def entropy(self, axes: Axes) -> None:
        known = [s for s in self.steps if "entropy" in s]
        values = [s["entropy"] for s in known]
        _line(axes, self._places(known), values, BLUE)
        _from_zero(axes, values)  # zero is a policy that has made up its mind
        self._finish(axes, "Entropy of the policy", "nats per decision")

    def loss(self, axes: Axes) -> None:
        _line(axes, [e["epoch"] for e in self.epochs], [e["loss"] for e in self.epochs], BLUE)
        self._finish(axes, "Training loss of the supernet", "nats per answer")

    def moved(self, axes: Axes) -> None:
        values = [e["moved"] for e in self.epochs]
        _line(axes, [e["epoch"] for e in self.epochs], values, BLUE)
        _from_zero(axes, values)
        _integers(axes.yaxis)
        self._finish(axes, "Relations that changed group", "relations")

    def _places(self, steps: list[Event]) -> list[float]:
        """Where steps stand on the axis of epochs: those of epoch e in (e − 1, e]."""
        return [s["epoch"] - 1 + s["step"] / self.policy_steps for s in steps]

    def _finish(self, axes: Axes, title: str, y: str, remark: str = "") -> None:
        axes.set_xlim(-0.02 * self.last, 1.02 * self.last)
        _integers(axes.xaxis)
        axes.set(title=title, xlabel=f"epoch{remark}", ylabel=y)


@dataclass(frozen=True)
class _StandAlone:
    """The trials that all functions had, (stage, MRR) each, and when each generation had ended: (seconds, trials)."""

    epochs: int
    trials: list[tuple[str, float]]
    ends: list[tuple[float, int]]

    @classmethod
    def of(cls, events: list[Event]) -> _StandAlone:
        """A generation is written after its trials, so they wait for it to learn their stage."""
        epochs = min(t["epochs"] for t in _of(events, "trial"))
        trials: list[tuple[str, float]] = []
        ends: list[tuple[float, int]] = []
        waiting: list[float] = []
        for event in events:
            if event["event"] == "trial" and event["epochs"] == epochs:
                waiting.append(event["mrr"])
            elif event["event"] == "generation":
                trials += [(event["stage"], mrr) for mrr in waiting]
                ends.append((event["elapsed"], len(trials)))
                waiting = []
        return cls(epochs, trials + [(_UNFINISHED, mrr) for mrr in waiting], [end for end in ends if end[1]])

    @property
    def title(self) -> str:
        time = f", {_duration(self.ends[-1][0])}" if self.ends else ""
        return f"Stand-alone search: {_count(len(self.trials), 'trial')} of {_count(self.epochs, 'epoch')}{time}"

    @property
    def best(self) -> list[float]:
        """After each trial, the best MRR so far."""
        return list(itertools.accumulate((mrr for _, mrr in self.trials), max))

    def panels(self) -> list[Panel]:
        return [self.by_trial, self.by_time] if self.ends else [self.by_trial]

    def by_trial(self, axes: Axes) -> None:
        numbers = range(1, len(self.trials) + 1)
        axes.step(numbers, self.best, where="post", color=INK, label="best so far")
        styles = itertools.cycle(_STAGES)
        for stage in dict.fromkeys(stage for stage, _ in self.trials):
            colour, marker = (GREY, "x") if stage == _UNFINISHED else next(styles)
            x = [n for n, (s, _) in zip(numbers, self.trials, strict=True) if s == stage]
            axes.plot(x, [self.trials[n - 1][1] for n in x], marker, color=colour, markersize=4.5, label=stage)
        axes.set_xlim(0, 1.01 * len(self.trials) + 0.5)
        _integers(axes.xaxis)
        axes.set(title="Every trial", xlabel="trials", ylabel="selection MRR")
        legend_above(axes)

    def by_time(self, axes: Axes) -> None:
        unit, name = unit_of_time(self.ends[-1][0])
        x = [seconds / unit for seconds, _ in self.ends]
        _line(axes, x, [self.best[n - 1] for _, n in self.ends], INK, drawstyle="steps-post")
        axes.set_xlim(0, 1.03 * x[-1])
        axes.set(title="Best so far, after each generation", xlabel=f"time ({name})", ylabel="selection MRR")


@dataclass(frozen=True)
class _Race:
    """Mean MRR by epochs of each function that was trained longer; the best of those trained longest comes last."""

    runs: list[dict[int, float]]

    @classmethod
    def of(cls, trials: list[Event]) -> _Race:
        replicas: dict[str, dict[int, list[float]]] = {}
        for trial in sorted(trials, key=lambda trial: int(trial["epochs"])):
            by_epochs = replicas.setdefault(json.dumps(trial["function"]), {})
            by_epochs.setdefault(trial["epochs"], []).append(trial["mrr"])
        runs = [{epochs: statistics.mean(mrrs) for epochs, mrrs in run.items()} for run in replicas.values()]
        promoted = [run for run in runs if len(run) > 1]
        return cls(sorted(promoted, key=lambda run: list(run.items())[-1]))

    def panels(self) -> list[Panel]:
        return [self.draw] if self.runs else []

    def draw(self, axes: Axes) -> None:
        *others, best = self.runs
        for run in others:
            _line(axes, [*run], [*run.values()], GREY)
        _line(axes, [*best], [*best.values()], ORANGE, f"best after {max(best)} epochs", markersize=5)
        rungs = sorted({epochs for run in self.runs for epochs in run})
        axes.set_xscale("log")
        axes.set_xticks(rungs, [str(rung) for rung in rungs])
        axes.set_xticks([], minor=True)
        axes.set(title="Functions trained longer", xlabel="epochs of training", ylabel="selection MRR")
        legend_above(axes)


# --- parts of a panel ------------------------------------------------------------------------------------


def _line(
    axes: Axes, x: Sequence[float], y: Sequence[float], colour: str, label: str | None = None, **style: Any
) -> None:
    """A line on which few points can be told apart and many do not run together."""
    by_number = {"marker": "o", "markersize": 3.5} if len(x) <= _FEW else {"linewidth": 1.0}
    axes.plot(x, y, color=colour, label=label, **(by_number | style))


def _from_zero(axes: Axes, values: Sequence[float]) -> None:
    top = max(values) or 1
    axes.set_ylim(-0.04 * top, 1.1 * top)


def _integers(axis: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=8, steps=[1, 2, 5, 10], integer=True, min_n_ticks=1))


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def unit_of_time(seconds: float) -> tuple[int, str]:
    """A unit of time in which a span reads well: its seconds and its symbol."""
    return (1, "s") if seconds < 180 else (60, "min") if seconds < 3 * 3600 else (3600, "h")


def _duration(seconds: float) -> str:
    unit, name = unit_of_time(seconds)
    return f"{seconds / unit:.3g} {name}"
