"""`ScoringFunction`: N structures and a grouping that says which of them scores each relation."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from eras.errors import DataError, StructureError, UnknownNameError, closest
from eras.files import write_text
from eras.scoring.structure import Structure
from eras.scoring.text import Cells

FORMAT = "eras scoring function"
VERSION = 1


class ScoringFunction:
    """N structures of one size, and the group of each relation, by name.

    With one structure every relation, named or not, is in group 0, so the grouping may be empty.

    **Equal means equivalent**, as for `Structure`: entity blocks may be renamed and negated for all groups
    at once, relation blocks for each group alone. The order of groups, groups without relations, the split
    of one structure into several groups, and the name of the function make no difference.
    """

    __slots__ = ("_groups", "_name", "_structures")

    def __init__(
        self,
        structures: Iterable[Structure],
        groups: Mapping[str, int] | None = None,
        name: str | None = None,
    ) -> None:
        self._structures = tuple(structures)
        self._groups = dict(groups or {})
        self._name = name
        _check_structures(self._structures)
        _check_groups(self._groups, len(self._structures))

    @property
    def structures(self) -> tuple[Structure, ...]:
        return self._structures

    @property
    def groups(self) -> Mapping[str, int]:
        """Relation name → index into `structures`."""
        return MappingProxyType(self._groups)

    @property
    def name(self) -> str | None:
        return self._name

    @property
    def blocks(self) -> int:
        """M, the number of blocks that an embedding is cut into."""
        return self._structures[0].blocks

    def __repr__(self) -> str:
        parts = " | ".join(map(str, self._structures))
        return f"<ScoringFunction {self.name or 'unnamed'}: {parts}; {len(self._groups)} relations named>"

    # --- grouping --------------------------------------------------------------------------------------

    def group_of(self, relation: str) -> int:
        if len(self._structures) == 1:
            return 0
        if relation not in self._groups:
            raise UnknownNameError("relation", relation, self._groups)
        return self._groups[relation]

    def assignment(self, relations: Sequence[str]) -> tuple[int, ...]:
        """The group of each relation, in the order given."""
        if len(self._structures) > 1:
            missing = [name for name in relations if name not in self._groups]
            if missing:
                raise DataError(_missing_message(missing, self._groups))
        return tuple(map(self.group_of, relations))

    def relations_of(self, group: int) -> tuple[str, ...]:
        """The relations named in a group, sorted."""
        return tuple(sorted(name for name, g in self._groups.items() if g == group))

    # --- symmetry --------------------------------------------------------------------------------------

    def transpose(self) -> ScoringFunction:
        """The function that scores (t, r, h) as this one scores (h, r, t)."""
        return ScoringFunction([s.T for s in self._structures], self._groups, self.name)

    def canonical(self) -> ScoringFunction:
        """The representative of all functions equivalent to this one."""
        cells, groups = self._canonical_key()
        return ScoringFunction(map(Structure, cells), dict(groups), self.name)

    def _canonical_key(self) -> tuple[tuple[Cells, ...], tuple[tuple[str, int], ...]]:
        """Canonical matrices, and (relation, group) in sorted order; no relations when one group is left.

        Groups come in the order of their first relation. Groups whose canonical matrices agree differ by
        relation symmetries alone, which each relation has to itself, so they are one group.
        """
        from eras.scoring.canonical import canonical_cells

        relations = sorted(self._groups)
        order = list(dict.fromkeys(self._groups[name] for name in relations)) or [0]
        canonical = canonical_cells(tuple(self._structures[g].cells for g in order))
        distinct = tuple(dict.fromkeys(canonical))
        new_group = {g: distinct.index(cells) for g, cells in zip(order, canonical, strict=True)}
        if len(distinct) == 1:
            return distinct, ()
        return distinct, tuple((name, new_group[self._groups[name]]) for name in relations)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ScoringFunction):
            return NotImplemented
        return self.blocks == other.blocks and self._canonical_key() == other._canonical_key()

    def __hash__(self) -> int:
        return hash(self._canonical_key())

    # --- JSON, files, pictures -------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "version": VERSION,
            "name": self.name,
            "blocks": self.blocks,
            "structures": [s.to_json() for s in self._structures],
            "groups": dict(self._groups),
        }

    @classmethod
    def from_json(cls, value: Any) -> ScoringFunction:
        if not isinstance(value, dict) or not isinstance(value.get("structures"), list):
            raise StructureError('a scoring function is a JSON object with "structures", a list of matrices')
        if value.get("version") != VERSION:
            raise StructureError(f"version {value.get('version')!r} of the format is unknown: it must be {VERSION}")
        groups, name = value.get("groups", {}), value.get("name")
        if not isinstance(groups, dict):
            raise StructureError(f'"groups" must map relation names to group numbers, not {groups!r}')
        if name is not None and not isinstance(name, str):
            raise StructureError(f'"name" must be text or null, not {name!r}')
        function = cls(_structures_from_json(value["structures"]), groups, name)
        if value.get("blocks", function.blocks) != function.blocks:
            raise StructureError(f'"blocks" is {value["blocks"]!r}, but the matrices have {function.blocks} rows')
        return function

    def save(self, path: str | Path) -> None:
        """Write JSON that a person can edit: one line for each row of a matrix."""
        text = json.dumps(self.to_json(), indent=2, ensure_ascii=False)
        write_text(Path(path), re.sub(r"\[\n[-\d,\s]+\]", _on_one_line, text) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> ScoringFunction:
        """Read a file written by `save`."""
        from eras.scoring.load import load_function

        return load_function(Path(path))

    def to_svg(self) -> str:
        """A standalone picture: one block matrix for each group, its relations beneath."""
        from eras.scoring.drawing import draw_function

        return draw_function(self)


def _on_one_line(matrix_row: re.Match[str]) -> str:
    return "[" + " ".join(matrix_row[0][1:-1].split()) + "]"


def _structures_from_json(matrices: list[Any]) -> list[Structure]:
    structures = []
    for number, matrix in enumerate(matrices, start=1):
        try:
            structures.append(Structure.from_json(matrix))
        except StructureError as error:
            raise StructureError(f"structure {number}: {error}") from None
    return structures


def _check_structures(structures: tuple[Structure, ...]) -> None:
    if not structures:
        raise StructureError("a scoring function needs at least one structure")
    sizes = sorted({s.blocks for s in structures})
    if len(sizes) > 1:
        raise StructureError(f"all structures of a function must have the same number of blocks, not {sizes}")


def _check_groups(groups: Mapping[str, int], N: int) -> None:
    if N > 1 and not groups:
        raise StructureError(f"{N} structures need a grouping: give the group of every relation, {{name: 0…{N - 1}}}")
    for name, group in groups.items():
        if isinstance(group, bool) or not isinstance(group, int) or not 0 <= group < N:
            raise StructureError(f"relation {name!r} is in group {group!r}, but the groups are 0…{N - 1}")


def _missing_message(missing: Sequence[str], known: Mapping[str, int]) -> str:
    shown = []
    for name in missing[:5]:
        matches = closest(name, known, n=1)
        shown.append(f"{name!r} (closest: {matches[0]!r})" if matches else repr(name))
    if len(missing) > len(shown):
        shown.append(f"and {len(missing) - len(shown)} more")
    noun = "relation" if len(missing) == 1 else "relations"
    return f"the grouping lacks {len(missing)} {noun}: {', '.join(shown)}"
