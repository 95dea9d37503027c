"""`Structure`: the immutable block matrix that defines how head, relation and tail interact."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from eras.errors import StructureError
from eras.scoring import algebra
from eras.scoring.text import MAX_BLOCKS, Cells, parse_cells, render_cells, render_inline


class Structure:
    """An M×M matrix of signed block numbers; entry (i, j) = ±k puts ±<h_i, r_k, t_j> into the score.

    **Equal means equivalent.** `a == b` holds when renaming or negating relation blocks, and renaming or
    negating entity blocks (head and tail alike), turns one matrix into the other: trained on their own, the
    two are the same function. Under shared embeddings they are not, so anything that depends on the literal
    matrix must compare, cache and key by `.cells`.
    """

    __slots__ = ("_cells",)
    _cells: Cells

    def __init__(self, cells: Iterable[Iterable[int]]) -> None:
        self._cells = _validated(cells)

    @property
    def cells(self) -> Cells:
        """The literal matrix, row by row."""
        return self._cells

    @property
    def blocks(self) -> int:
        """M, the number of blocks that an embedding is cut into."""
        return len(self._cells)

    @property
    def terms(self) -> tuple[tuple[int, int, int, int], ...]:
        """(head block, tail block, relation block, sign) of every nonzero cell, 0-based, in row order."""
        return algebra.terms(self._cells)

    # --- text and JSON ---------------------------------------------------------------------------------

    @classmethod
    def parse(cls, text: str, source: str = "structure") -> Structure:
        """Read the text form (see `eras.scoring.text`); `source` names the text in error messages."""
        return cls(parse_cells(text, source))

    def to_text(self) -> str:
        """One row a line, aligned; `Structure.parse` reads it back."""
        return render_cells(self._cells)

    def to_json(self) -> list[list[int]]:
        return [list(row) for row in self._cells]

    @classmethod
    def from_json(cls, value: Any) -> Structure:
        if not isinstance(value, list) or not all(isinstance(row, list) for row in value):
            raise StructureError(f"{_short(value)} is not a structure: write a list of rows, [[1, 2], [-2, 1]]")
        return cls(value)

    def to_svg(self) -> str:
        """A standalone picture of the block matrix."""
        from eras.scoring.drawing import draw_structure

        return draw_structure(self)

    def __str__(self) -> str:
        return render_inline(self._cells)

    def __repr__(self) -> str:
        return f"Structure.parse({str(self)!r})"

    # --- symmetry --------------------------------------------------------------------------------------

    def transpose(self) -> Structure:
        """The structure that scores (t, r, h) as this one scores (h, r, t)."""
        return Structure(zip(*self._cells, strict=True))

    @property
    def T(self) -> Structure:  # noqa: N802 (the mathematical name)
        return self.transpose()

    def canonical(self) -> Structure:
        """The representative of all structures equivalent to this one."""
        return Structure(self._canonical_cells())

    def _canonical_cells(self) -> Cells:
        from eras.scoring.canonical import canonical_cells

        return canonical_cells((self._cells,))[0]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Structure):
            return NotImplemented
        if self._cells == other._cells:
            return True
        return self.blocks == other.blocks and self._canonical_cells() == other._canonical_cells()

    def __hash__(self) -> int:
        return hash(self._canonical_cells())

    # --- what it can and cannot express ----------------------------------------------------------------

    @property
    def uses_every_relation_block(self) -> bool:
        """The exploitative constraint of the search: r_1 … r_M all appear."""
        return not algebra.unused_relation_blocks(self._cells)

    def degeneracies(self) -> tuple[str, ...]:
        """One sentence for each way in which the structure wastes parameters; empty when it is sound."""
        return algebra.degeneracies(self._cells)

    @property
    def can_be_symmetric(self) -> bool:
        """Some r makes g(r) nonzero and symmetric: score(h, r, t) = score(t, r, h) for all h, t."""
        return algebra.can_be_symmetric(self._cells)

    @property
    def can_be_skew_symmetric(self) -> bool:
        """Some r makes g(r) nonzero and skew-symmetric: score(h, r, t) = -score(t, r, h) for all h, t."""
        return algebra.can_be_skew_symmetric(self._cells)

    @property
    def can_be_general(self) -> bool:
        """Some r makes g(r) neither symmetric nor skew-symmetric."""
        return algebra.can_be_general(self._cells)


def _validated(cells: Iterable[Iterable[int]]) -> Cells:
    try:
        rows = [list(row) for row in cells]
    except TypeError:
        raise StructureError(f"{_short(cells)} is not a matrix: write rows, [[1, 2], [-2, 1]]") from None
    M = len(rows)
    if not 1 <= M <= MAX_BLOCKS:
        raise StructureError(f"a structure has 1 to {MAX_BLOCKS} blocks, not {M}")
    for number, row in enumerate(rows, start=1):
        if len(row) != M:
            raise StructureError(f"row {number} has {len(row)} entries, but there are {M} rows: a structure is square")
    checked = tuple(
        tuple(_checked(entry, i, j, M) for j, entry in enumerate(row, start=1)) for i, row in enumerate(rows, start=1)
    )
    if not any(map(any, checked)):
        raise StructureError("every entry is 0, so every score would be 0: a structure needs a nonzero entry")
    return checked


def _checked(entry: Any, row: int, column: int, M: int) -> int:
    """The entry as a plain int; numpy integers are welcome, booleans and floats are not."""
    if isinstance(entry, bool) or not hasattr(entry, "__index__"):
        raise StructureError(f"row {row}, column {column}: {entry!r} is not an integer in -{M}…{M}")
    number = operator.index(entry)
    if abs(number) > M:
        raise StructureError(f"row {row}, column {column}: {number} is out of range: write a number in -{M}…{M}")
    return number


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
