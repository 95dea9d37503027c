"""Options of the verbs that take labelled triples."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ValidFile = Annotated[
    Path | None, typer.Option("--valid", metavar="FILE", help="Labelled triples to fit on; made if not given.")
]
TestFile = Annotated[
    Path | None, typer.Option("--test", metavar="FILE", help="Labelled triples to judge on; made if not given.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Decides the false triples that are made.")]
SkipUnknown = Annotated[
    bool, typer.Option("--skip-unknown", help="Leave out triples with names that the graph does not know.")
]
