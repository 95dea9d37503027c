"""The command line from end to end, through the installed command."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from command import ERAS, QUICK, environment, eras, eras_json

METRICS = ("mrr", "mr", "hits@1", "hits@3", "hits@10")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli") / "run"
    printed = eras_json("train", "umls", "--function", "complex", "--out", folder, "--threads", "1")
    assert printed["test"]["mrr"] >= 0.93
    assert printed["folder"] == str(folder)
    return folder


def test_evaluate_prints_one_object(run: Path) -> None:
    result = eras_json("evaluate", run, "--split", "test")
    assert all(isinstance(result[metric], float) for metric in METRICS)
    assert result["mrr"] >= 0.93
    assert result["ties"]["optimistic"]["mrr"] >= result["mrr"] >= result["ties"]["pessimistic"]["mrr"]
    assert {row["side"] for row in result["by"]["side"]} == {"head", "tail"}
    assert sum(row["ranks"] for row in result["by"]["relation"]) == 2 * result["triples"]
    shown = eras("evaluate", run, "--by", "cardinality")
    assert shown.stdout == ""
    assert f"{result['mrr']:.4f}" in shown.stderr
    assert "N-N" in shown.stderr


def test_predict_prints_named_completions(run: Path) -> None:
    rows = eras_json("predict", run, "--head", "virus", "--relation", "causes", "-k", "5")
    assert len(rows) == 5
    assert all({"head", "relation", "tail", "score"} <= row.keys() for row in rows)
    assert all((row["head"], row["relation"]) == ("virus", "causes") for row in rows)
    shown = eras("predict", run, "--head", "virus", "--relation", "causes", "-k", "5").stderr
    assert all(row["tail"] in shown and f"{row['score']:.4f}" in shown for row in rows)


def test_a_structure_of_ones_own_from_a_file_and_settings_from_toml(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("# ComplEx, spelled otherwise\n 1 -2\n 2  1\n")
    (tmp_path / "settings.toml").write_text("dim = 16\nepochs = 2\n\n[train]\nlr = 0.2\n")
    out = tmp_path / "out"
    eras(
        "train",
        "umls",
        "-f",
        tmp_path / "mine.txt",
        "-c",
        tmp_path / "settings.toml",
        "--epochs",
        "1",
        "-o",
        out,
    )
    from eras.store.directory import read_config, read_function

    config = read_config(out)
    assert (config.dim, config.epochs, config.lr) == (16, 1, 0.2)
    assert read_function(out).structures[0].cells == ((1, -2), (2, 1))


@pytest.mark.parametrize(
    "extra",
    [
        ("--optimiser", "adam", "--lr", "0.01", "--regulariser", "dura", "--lr-decay", "0.9"),
        ("--optimiser", "sgd", "--regulariser", "f2", "--no-reciprocal", "--relation-weight", "0.5"),
        ("--unit-ball", "--init", "xavier", "--regulariser", "none", "--function", "autosf-wn18rr"),
    ],
)
def test_every_setting_trains(extra: tuple[str, ...], tmp_path: Path) -> None:
    result = eras_json("train", "umls", *QUICK, *extra, "--out", tmp_path / "run")
    assert 0.02 < result["test"]["mrr"] <= 1


def test_every_verb_has_examples_in_its_help() -> None:
    assert "Verbs" in eras("--help").stdout
    for verb in ("train", "resume", "evaluate", "predict"):
        assert "Example" in eras(verb, "--help").stdout


def test_bad_input_is_refused_in_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out"
    two_fields = tmp_path / "two.tsv"
    two_fields.write_text("a\tr\tb\na\tr\n")
    (tmp_path / "bad.toml").write_text("dimm = 3\n")
    (tmp_path / "bad.txt").write_text("1 2\n3 1\n")
    for arguments, message in [
        (("train", tmp_path / "missing.tsv"), "missing.tsv"),
        (("train", two_fields), "line 2"),
        (("train", "ummls"), "umls"),
        (("train", "umls", "--function", "complx"), "'complex'"),
        (("train", "umls", "--function", tmp_path / "bad.txt"), "bad.txt"),
        (("train", "umls", "--dim", "255"), "multiple of 2"),
        (("train", "umls", "--lr", "-1"), "lr"),
        (("train", "umls", "--device", "cuda:7"), "device"),
        (("train", "umls", "--regulariser", "n5"), "regulariser"),
        (("train", "umls", "--config", tmp_path / "bad.toml"), "did you mean 'dim'"),
        (("train", "umls", "--config", tmp_path / "none.toml"), "none.toml"),
    ]:
        result = eras(*arguments, "--out", out, code=2)
        assert message in " ".join(result.stderr.split()), result.stderr
        assert not out.exists()
    assert "Did you mean 'train'" in eras("tran", code=2).stderr
    assert "no model or run folder" in eras("predict", out, "--head", "a", "--relation", "b", code=2).stderr


def test_divergence_stops_names_the_setting_and_keeps_the_last_good_checkpoint(tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = eras(
        *(
            "train",
            "umls",
            "--optimiser",
            "sgd",
            "--lr",
            "1e30",
            "--init-scale",
            "1",
            "--regulariser",
            "none",
        ),
        *("--checkpoint-seconds", "0", *QUICK, "--out", out),
        code=1,
    )
    assert "Lower lr (now 1e+30)" in " ".join(result.stderr.split())


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    assert "cannot write into" in eras("train", "umls", *QUICK, "--out", "/proc/eras-run", code=2).stderr
    (tmp_path / "file").write_text("")
    assert "is a file" in eras("train", "umls", *QUICK, "--out", tmp_path / "file", code=2).stderr


def test_a_disk_that_fills_up(tmp_path: Path) -> None:
    """A limit on file size stands in for a full disk: the checkpoint does not fit, the rest does."""
    run = f"ulimit -f 100; exec {ERAS} train umls --dim 256 --epochs 3 --threads 1 --out {tmp_path / 'out'}"
    result = subprocess.run(["bash", "-c", run], capture_output=True, text=True, env=environment(), check=False)
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    assert "cannot write" in result.stderr
    assert not list((tmp_path / "out").glob(".*")), "no temporary file stays behind"
