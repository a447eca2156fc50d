import pytest

from difa.bench.plots import draw_table, most_telling, spread
from difa.bench.tables import figures_frame

pytestmark = pytest.mark.slow  # draws with matplotlib


def record(method, seed, auroc, *, form="clean", settings=None):
    figures = [
        {
            "level": level,
            "part": "",
            "pooling": rule,
            "auroc": auroc,
            "ap": 0.5,
            "auroc_interval": [0.1, 0.9],
            "ap_interval": None,
        }
        for level, rule in (("word", None), ("document", "max"))
    ]
    return {"set": "spam", "form": form, "seed": seed, "method": method, "settings": settings or {}, "figures": figures}


def test_spread_over_splits_or_of_one_split():
    several = figures_frame([record("length", seed, auroc) for seed, auroc in ((0, 0.7), (1, 0.9))])
    assert spread(several[several.level == "word"], "auroc") == pytest.approx((0.8, 0.8 - 0.02**0.5, 0.8 + 0.02**0.5))
    one = figures_frame([record("length", 42, 0.8)])[:1]
    assert spread(one, "auroc") == (0.8, 0.1, 0.9)
    assert spread(one, "ap") == (0.5, 0.5, 0.5)


def test_the_seeds_with_more_methods_are_drawn():
    published = [record("length", 42, 0.6), record("trigram", 42, 0.8)]
    others = [record("length", seed, 0.6) for seed in (0, 1)]
    assert most_telling([*published, *others]) == published
    others += [record("trigram", 0, 0.7)]
    assert most_telling([*published, *others]) == others


def test_a_picture_for_each_form_that_every_method_changes(tmp_path):
    few = [record("length", 42, 0.6), record("length", 42, 0.7, form="original")]
    draw_table(few, tmp_path / "few")
    draw_table([*few, record("pytextad-sik", 42, 0.8), record("length", 42, 0.9, settings={"searched": 1})], tmp_path / "more")
    pictures = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert set(pictures) == {
        f"{name}-{form}.{end}" for name in ("few", "more") for form in ("clean", "original") for end in ("png", "svg")
    }
    assert pictures["few-original.svg"] == pictures["more-original.svg"], "neither forms nor searched settings mix"
    assert pictures["few-clean.svg"] != pictures["more-clean.svg"]
