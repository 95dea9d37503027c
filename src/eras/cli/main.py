"""The `eras` command: a table of verbs, each loaded only when it is called, so that help answers at once."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from typing import Any

from eras._version import __version__
from eras.errors import ErasError, StoppedError, UnknownNameError

# verb -> (module that defines `app`, one line for the overview)
VERBS = {
    "data": ("eras.cli.data", "List, show, fetch and profile knowledge graphs."),
    "functions": ("eras.cli.functions", "List, show and draw scoring functions."),
    "fit": ("eras.cli.fit", "Find, train and judge the model that fits a graph best."),
    "search": ("eras.cli.search", "Search the scoring function that fits a graph."),
    "compare": ("eras.cli.compare", "Compare ways of searching, in the same time."),
    "train": ("eras.cli.train", "Train a scoring function on a graph."),
    "rules": ("eras.cli.rules", "Learn rules, read them, predict by them."),
    "resume": ("eras.cli.resume", "Go on with what was stopped or killed: a run, search, fit, comparison or rules."),
    "evaluate": ("eras.cli.evaluate", "Rank a split with a trained model: MRR, Hits@k, breakdowns."),
    "classify": ("eras.cli.classify", "Tell true triples from false ones; accuracy, F1, ROC AUC."),
    "calibrate": ("eras.cli.calibrate", "Turn scores into probabilities, and judge them."),
    "predict": ("eras.cli.predict", "Complete triples: the best tails, heads or relations."),
    "index": ("eras.cli.index", "Build an index for approximate predictions on large graphs."),
    "explain": ("eras.cli.explain", "Say why a model believes a triple, or what it knows of a relation."),
    "discover": ("eras.cli.discover", "Find the most probable triples that the graph lacks."),
}

HELP = """\
Usage: eras VERB [ARGUMENTS]

Find, train, judge and use the scoring function that fits your knowledge graph.

Verbs:
{verbs}

Examples:
  eras fit umls --out runs/umls
  eras train umls --function complex --out runs/complex
  eras predict runs/umls --head virus --relation causes -k 5
  eras evaluate runs/umls runs/complex --by pattern
  eras explain runs/umls virus causes disease_or_syndrome
  eras data profile my-triples.tsv

`eras VERB --help` explains a verb; `eras --version` prints the version.
Text for people goes to standard error, JSON (--json) to standard output.
Exit codes: 0 done, 1 failed, 2 wrong use, 130 stopped by Ctrl-C.
"""


def run() -> None:
    """Entry point: errors that we raise on purpose become one clear line and a meaningful exit code."""
    # Threads that spin while they wait slow each other down where another program wants a core (docs/benchmarks.md).
    os.environ.setdefault("GOMP_SPINCOUNT", "2000")
    signal.signal(signal.SIGINT, _on_interrupt)
    try:
        _dispatch(sys.argv[1:])
    except ErasError as error:
        _complain(str(error))
        sys.exit(error.exit_code)
    except BrokenPipeError:  # the reader of our output left early, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _dispatch(arguments: list[str]) -> None:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        lines = (f"  {verb:<10} {line}" for verb, (_, line) in VERBS.items())
        sys.stdout.write(HELP.format(verbs="\n".join(lines)))
        sys.exit(0 if arguments else 2)
    verb = arguments[0]
    if verb in ("-V", "--version"):
        sys.stdout.write(f"eras {__version__}\n")
        return
    if verb not in VERBS:
        raise UnknownNameError("verb", verb, VERBS)
    app = importlib.import_module(VERBS[verb][0]).app
    importlib.import_module("eras.cli.common").show_notices()
    app(args=arguments[1:], prog_name=f"eras {verb}")


def _on_interrupt(number: int, frame: Any) -> None:
    raise StoppedError("interrupted")


def _complain(message: str) -> None:
    color = sys.stderr.isatty() and "NO_COLOR" not in os.environ
    sys.stderr.write(("\033[31merror:\033[0m " if color else "error: ") + message + "\n")
