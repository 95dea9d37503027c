"""Every model against its textbook formula, written out coordinate by coordinate."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from eras.errors import SettingError, UnknownNameError
from eras.graph.queries import HEAD, TAIL
from eras.models import ARCHITECTURES, Architecture, EmbeddingModel, build_model, to_function

N, R, DIM = 7, 3, 8
RELATIONS = [f"r{i}" for i in range(R)]
SPECS = {
    "transe:norm=2": "transe",
    "conve:kernel=2,channels=3": "conve",
    "hyper:kernel=3,channels=2": "hyper",
    "tucker:relation_dim=5": "tucker",
    "tucker:norm=false": "tucker",
    "holex:features=3": "holex",
    "ntn:slices=3": "ntn",
    **{name: name for name in ARCHITECTURES if name not in ("conve", "hyper")},
}


def make(spec: str, reciprocal: bool = True, dim: int = DIM) -> EmbeddingModel:
    """In double precision, with batch norms that have seen something."""
    model = build_model(to_function(spec), RELATIONS, N, dim, reciprocal=reciprocal)
    assert isinstance(model, EmbeddingModel)
    model.initialise(1, "normal", 0.7)
    model.double()
    generator = torch.Generator().manual_seed(0)
    for name, table in model.tables.items():
        if "running" in name:
            table.copy_(torch.rand(table.shape, generator=generator) + 0.5)
    return model


# --- the formulas: h and t are lists of numbers, p the parameters, r the row of the relation ------------------------


def transe(h: Any, r: int, t: Any, p: Any, o: Any) -> float:
    parts = [h[i] + p["relations"][r][i] - t[i] for i in range(DIM)]
    return -sum(abs(x) for x in parts) if o.norm == 1 else -math.sqrt(sum(x * x for x in parts))


def transh(h: Any, r: int, t: Any, p: Any, o: Any) -> float:
    w, d = p["relations"][r]
    length = math.sqrt(sum(x * x for x in w))
    w = [x / length for x in w]
    along_h, along_t = (sum(w[i] * x[i] for i in range(DIM)) for x in (h, t))
    return -sum(((h[i] - along_h * w[i]) + d[i] - (t[i] - along_t * w[i])) ** 2 for i in range(DIM))


def rotate(h: Any, r: int, t: Any, p: Any, o: Any) -> float:
    half, total = DIM // 2, 0.0
    for i in range(half):
        turned = complex(h[i], h[half + i]) * complex(math.cos(p["relations"][r][i]), math.sin(p["relations"][r][i]))
        total += abs(turned - complex(t[i], t[half + i])) ** 2
    return -math.sqrt(total)


def rescal(h: Any, r: int, t: Any, p: Any, o: Any) -> float:
    return sum(h[i] * p["relations"][r][i][j] * t[j] for i in range(DIM) for j in range(DIM))


def correlation(a: Any, b: Any) -> list[float]:
    return [sum(a[i] * b[(i + k) % DIM] for i in range(DIM)) for k in range(DIM)]


def hole(h: Any, r: int, t: Any, p: Any, o: Any) -> float:
    return sum(x * y for x, y in zip(p["relations"][r], correlation(h, t), strict=True))


def holex(h: Any, r: int, t: Any, p: Any, o: Any) -> float:
    total = 0.0
    for mask, weights in zip(p["masks"], p["relations"][r], strict=True):
        masked = [m * x for m, x in zip(mask, h, strict=True)]
        total += sum(x * y for x, y in zip(weights, correlation(masked, t), strict=True))
    return total


UNITS = "1ijk"
TIMES = {"ij": (1, "k"), "jk": (1, "i"), "ki": (1, "j"), "ji": (-1, "k"), "kj": (-1, "i"), "ik": (-1, "j")}


def hamilton(x: dict[str, float], y: dict[str, float]) -> dict[str, float]:
    product = dict.fromkeys(UNITS, 0.0)
    for a in UNITS:
        for b in UNITS:
            if "1" in (a, b):
                sign, unit = 1, a if b == "1" else b
            else:
                sign, unit = (-1, "1") if a == b else TIMES[a + b]
            product[unit] += sign * x[a] * y[b]
    return product


def quate(h: Any, r: int, t: Any, p: Any, o: Any) -> float:
    quarter, total = DIM // 4, 0.0
    for i in range(quarter):
        x, y, z = ({u: v[n * quarter + i] for n, u in enumerate(UNITS)} for v in (h, p["relations"][r], t))
        length = math.sqrt(sum(value * value for value in y.values()))
        turned = hamilton(x, {u: value / length for u, value in y.items()})
        total += sum(turned[u] * z[u] for u in UNITS)
    return total


def normed(x: Any, p: Any, name: str, channel: int) -> float:
    mean, variance = p[f"{name}.running_mean"][channel], p[f"{name}.running_var"][channel]
    return float((x - mean) / math.sqrt(variance + 1e-5) * p[f"{name}.weight"][channel] + p[f"{name}.bias"][channel])


def tucker(h: Any, r: int, t: Any, p: Any, o: Any) -> float:
    """The norms belong to the direction: of the head here."""
    w, total = p["relations"][r], 0.0
    if o.norm:
        h = [normed(h[i], p, "norms.0", i) for i in range(DIM)]
    for j in range(DIM):
        q = sum(w[k] * h[i] * p["core"][k][i][j] for k in range(len(w)) for i in range(DIM))
        total += (normed(q, p, "norms.1", j) if o.norm else q) * t[j]
    return total


def conve(h: Any, r: int, t: Any, p: Any, o: Any) -> float:
    height, width = 2, DIM // 2
    pixels = [normed(x, p, "network.0", 0) for x in (*h, *p["relations"][r])]
    picture = [pixels[i * width : (i + 1) * width] for i in range(2 * height)]
    flat = []
    for c in range(o.channels):
        for y in range(2 * height - o.kernel + 1):
            for x in range(width - o.kernel + 1):
                value = p["network.2.bias"][c] + sum(
                    picture[y + a][x + b] * p["network.2.weight"][c][0][a][b]
                    for a in range(o.kernel)
                    for b in range(o.kernel)
                )
                flat.append(max(0.0, normed(value, p, "network.3", c)))
    score = float(p["bias"][int(t[-1])][0])
    for j in range(DIM):
        value = p["network.7.bias"][j] + sum(w * x for w, x in zip(p["network.7.weight"][j], flat, strict=True))
        score += max(0.0, normed(value, p, "network.9", j)) * t[j]
    return score


def hyper(h: Any, r: int, t: Any, p: Any, o: Any) -> float:
    h = [normed(x, p, "norm_in", 0) for x in h]
    relation = p["relations"][r]
    filters = [
        p["filters.bias"][i] + sum(w * x for w, x in zip(p["filters.weight"][i], relation, strict=True))
        for i in range(o.kernel * o.channels)
    ]
    flat = [
        normed(sum(filters[a * o.channels + c] * h[x + a] for a in range(o.kernel)), p, "norm_features", c)
        for c in range(o.channels)
        for x in range(DIM - o.kernel + 1)
    ]
    score = float(p["bias"][int(t[-1])][0])
    for j in range(DIM):
        value = p["output.bias"][j] + sum(w * x for w, x in zip(p["output.weight"][j], flat, strict=True))
        score += max(0.0, normed(value, p, "norm_out", j)) * t[j]
    return score


def ntn(h: Any, r: int, t: Any, p: Any, o: Any) -> float:
    total = 0.0
    for k in range(o.slices):
        inner = sum(h[i] * p["relations"][r][k][i][j] * t[j] for i in range(DIM) for j in range(DIM))
        inner += sum(p["linear"][r][k][0][i] * h[i] + p["linear"][r][k][1][i] * t[i] for i in range(DIM))
        total += p["outer"][r][k][1] * math.tanh(inner + p["outer"][r][k][0])
    return total


FORMULAS: dict[str, Callable[..., float]] = {
    f.__name__: f for f in (transe, transh, rotate, rescal, hole, holex, quate, tucker, conve, hyper, ntn)
}


@pytest.mark.parametrize(
    ("spec", "reciprocal"),
    [*((spec, True) for spec in SPECS), *((s, False) for s, name in SPECS.items() if name not in ("conve", "hyper"))],
)
def test_scores_are_the_textbook_formula(spec: str, reciprocal: bool) -> None:
    name = SPECS[spec]
    model, formula = make(spec, reciprocal), FORMULAS[name]
    p = {key: value.tolist() for key, value in model.tables.items()}
    vectors = [[*row, number] for number, row in enumerate(p["entities"])]  # the bias of an entity goes by its number
    plain = [row[:DIM] for row in vectors] if name in ("conve", "hyper") else p["entities"]
    answers = vectors if name in ("conve", "hyper") else p["entities"]
    one_way = name in ("conve", "hyper") or (name == "tucker" and model.options.norm)
    for h, r, t in ((0, 0, 1), (3, 2, 5), (4, 1, 4)):
        tail = formula(plain[h], r, answers[t], p, model.options)
        found = model.scores(np.array([h]), np.array([r]), np.array([TAIL]))
        assert found[t, 0].item() == pytest.approx(tail)
        assert model.score(np.array([[h, r, t]]), TAIL).item() == pytest.approx(tail)
        row = r + R * reciprocal
        if not one_way:
            head = formula(plain[h], row, answers[t], p, model.options)
        elif name == "tucker":
            turned = {**p, "core": np.swapaxes(p["core"], 1, 2).tolist()}
            head = formula(plain[t], row, answers[h], turned, model.options)
        else:
            head = formula(plain[t], row, answers[h], p, model.options)
        found = model.scores(np.array([t]), np.array([r]), np.array([HEAD]))
        assert found[h, 0].item() == pytest.approx(head)
        relations = model.relation_scores(np.array([h]), np.array([t]))
        assert relations.shape == (1, R)
        assert relations[0, r].item() == pytest.approx((tail + head) / 2)


@pytest.mark.parametrize("spec", SPECS)
def test_a_batch_of_both_sides_is_its_rows_one_by_one(spec: str) -> None:
    model = make(spec)
    entity, relation, side = np.array([0, 3, 1, 6, 2]), np.array([1, 0, 1, 2, 0]), np.array([1, 0, 0, 1, 1])
    together = model.scores(entity, relation, side)
    for i in range(len(entity)):
        alone = model.scores(entity[[i]], relation[[i]], side[[i]])
        torch.testing.assert_close(together[:, [i]], alone)


@pytest.mark.parametrize("spec", SPECS)
def test_gradients_agree_with_differences(spec: str) -> None:
    model = make(spec)
    entity, relation, side = np.array([0, 3, 1]), np.array([1, 0, 1]), np.array([0, 0, 1])
    weight = torch.randn(N, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    parameters = tuple(model.parameters())

    def total(*values: torch.Tensor) -> torch.Tensor:
        return (weight * model.compare(model.encode(entity, relation, side), model.candidates())).sum()

    assert torch.autograd.gradcheck(total, parameters, atol=1e-5)


@pytest.mark.parametrize("spec", SPECS)
def test_candidates_can_be_a_selection(spec: str) -> None:
    model = make(spec)
    picked = torch.tensor([5, 0, 2])
    encoded = model.encode(np.array([1, 2]), np.array([0, 2]), np.array([0, 1]))
    every = model.compare(encoded, model.candidates())
    torch.testing.assert_close(model.compare(encoded, model.candidates(picked)), every[picked])


def test_names_settings_and_their_mistakes() -> None:
    assert to_function("RotatE") == Architecture("rotate")
    assert Architecture.parse("conve:channels=64,kernel=5").checked_options().model_dump()["channels"] == 64
    with pytest.raises(UnknownNameError, match="rotate"):
        to_function("rotat")
    with pytest.raises(SettingError, match=r"no setting .chanels.; it has channels, input_dropout"):
        to_function("conve:chanels=3")
    with pytest.raises(SettingError, match="name=value"):
        to_function("conve:channels")
    with pytest.raises(SettingError, match="multiple of 4"):
        make("quate", dim=6)
    with pytest.raises(SettingError, match="reciprocal"):
        make("conve", reciprocal=False)
    with pytest.raises(SettingError, match="larger than"):
        make("conve:kernel=7")
    with pytest.raises(SettingError, match="equal rows"):
        make("conve:height=3")


def test_a_function_file_holds_a_model_too(tmp_path: Any) -> None:
    function = Architecture.parse("ntn:slices=2")
    function.save(tmp_path / "function.json")
    again = to_function(tmp_path / "function.json")
    assert isinstance(again, Architecture)
    assert again.checked_options() == function.checked_options()
