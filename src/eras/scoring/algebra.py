"""What the matrix g(r) = Σ_k r_k·G_k of a structure can and cannot be, by exact linear algebra.

Every embedding coordinate sees the same M×M matrix with its own numbers r_1 … r_M, so one coordinate, r in
R^M, decides. Distinct relation blocks fill distinct cells: g(r) = 0 only if every used r_k is 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from eras.scoring.text import Cells

_PRIME = 2**61 - 1

# Coordinates of a fixed point in general position: a polynomial of degree at most 8 that is not zero vanishes
# at a random point mod _PRIME with probability below 2^-57, so the rank here is the generic rank.
_POINT = (
    1122334455667788990,
    314159265358979323,
    271828182845904523,
    577215664901532860,
    161803398874989484,
    141421356237309504,
    173205080756887729,
    223606797749978969,
)


def terms(cells: Cells) -> tuple[tuple[int, int, int, int], ...]:
    """(head block, tail block, relation block, sign) of every nonzero cell, 0-based, in row order."""
    return tuple(
        (i, j, abs(entry) - 1, 1 if entry > 0 else -1)
        for i, row in enumerate(cells)
        for j, entry in enumerate(row)
        if entry
    )


def unused_relation_blocks(cells: Cells) -> list[int]:
    used = {k for _, _, k, _ in terms(cells)}
    return [k for k in range(len(cells)) if k not in used]


def can_be_symmetric(cells: Cells) -> bool:
    return _rank(_asymmetry(cells, sign=-1)) < _used(cells)


def can_be_skew_symmetric(cells: Cells) -> bool:
    return _rank(_asymmetry(cells, sign=+1)) < _used(cells)


def can_be_general(cells: Cells) -> bool:
    """The symmetric and the skew r are two subspaces; they cover R^M only if one of them is all of it."""
    return any(map(any, _asymmetry(cells, sign=-1))) and any(map(any, _asymmetry(cells, sign=+1)))


def generic_rank(cells: Cells) -> int:
    """The rank of g(r) for almost every r, which is also the largest it can have."""
    M = len(cells)
    matrix = [[0] * M for _ in range(M)]
    for i, j, k, sign in terms(cells):
        matrix[i][j] = sign * _POINT[k]
    return _rank(matrix)


def degeneracies(cells: Cells) -> tuple[str, ...]:
    M, rank = len(cells), generic_rank(cells)
    found = [f"row {i} is zero: the score ignores head block {i}" for i, row in _numbered(cells) if not any(row)]
    columns = tuple(zip(*cells, strict=True))
    found += [f"column {j} is zero: the score ignores tail block {j}" for j, col in _numbered(columns) if not any(col)]
    found += [f"relation block {k + 1} is unused" for k in unused_relation_blocks(cells)]
    if rank < M:
        found.append(f"g(r) is singular for every r: its rank is at most {rank} of {M}")
    return tuple(found)


def _numbered(rows: Cells) -> list[tuple[int, tuple[int, ...]]]:
    return list(enumerate(rows, start=1))


def _used(cells: Cells) -> int:
    return len(cells) - len(unused_relation_blocks(cells))


def _asymmetry(cells: Cells, sign: int) -> list[list[int]]:
    """The linear map r ↦ g(r) + sign·g(r)ᵀ: a row for each pair i ≤ j, a column for each relation block."""
    M = len(cells)
    positions = {(i, j): row for row, (i, j) in enumerate((i, j) for i in range(M) for j in range(i, M))}
    matrix = [[0] * M for _ in positions]
    for i, j, k, s in terms(cells):
        matrix[positions[min(i, j), max(i, j)]][k] += s if i < j else sign * s
        if i == j:
            matrix[positions[i, i]][k] += s
    return matrix


def _rank(matrix: Sequence[Sequence[int]]) -> int:
    """Rank mod _PRIME. Exact for `_asymmetry`: its rows are signed edges, with minors 0 or ±2^n."""
    rows = [[entry % _PRIME for entry in row] for row in matrix]
    rank = 0
    for column in range(len(rows[0])):
        pivot = next((r for r in range(rank, len(rows)) if rows[r][column]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        inverse = pow(rows[rank][column], -1, _PRIME)
        for r in range(rank + 1, len(rows)):
            factor = rows[r][column] * inverse % _PRIME
            if factor:
                rows[r] = [(a - factor * b) % _PRIME for a, b in zip(rows[r], rows[rank], strict=True)]
        rank += 1
    return rank
