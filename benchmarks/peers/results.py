"""A table of a subject: a row for each system, and ratios to that of eras."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.common import publish
from benchmarks.peers.environment import REQUIREMENTS

Rows = dict[str, dict[str, Any]]


def publish_beside_eras(
    name: str, settings: dict[str, Any], rows: Rows, *columns: str, notes: Mapping[str, str] | None = None
) -> None:
    """For each of the columns, such as `epoch, s`, comes a column `epoch / eras`: above 1, eras needs less.

    What could not be measured is left out of its row, and so is the ratio.
    """
    for row in rows.values():
        for column in (column for column in columns if column in row):
            row[f"{column.partition(',')[0]} / eras"] = row[column] / rows["eras"][column]
    publish(name, {**settings, "peers": " ".join(REQUIREMENTS.read_text().split())}, rows, notes)
