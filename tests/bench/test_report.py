"""Pages from records: verdicts on the paper's claims, tables for pages, and when each was measured."""

import json

import pytest

from difa.bench.data import SETS
from difa.bench.report import CLAIMS, OURS, RIVALS, claims_markdown, section_of, write_report
from difa.bench.run import write_text
from tests.commands import here

POOLED = {"learned": 0.95, "max": 0.9, "mean": 0.8, "topk": 0.85}
VIEWS = {"semantic": {"spam": 0.9, "review": 0.9, "grammar": 0.5}, "form": {"spam": 0.8, "review": 0.7, "grammar": 0.9}}


def figure(level, rule, auroc, part=""):
    ends = {"auroc_interval": None, "ap_interval": None, "fpr95_interval": None}
    return {"level": level, "part": part, "pooling": rule, "auroc": auroc, "ap": auroc / 2, "fpr95": 0.5, **ends}


def record(method, name, *, words=0.95, form="original", seed=42, model_seed=None, command="table", **more):
    """A record of a method; the paper's own preset has the figures above."""
    figures = [figure("word", None, words)]
    if method == OURS:
        figures += [figure("word", None, values[name], view) for view, values in VIEWS.items()]
        figures += [figure("document", rule, value) for rule, value in POOLED.items()]
    else:
        rules = ("learned", "max", "mean") if method.startswith("difa-") else ("max", "mean")
        figures += [figure("document", rule, words) for rule in rules]
    made = {"command": command, "set": name, "form": form, "seed": seed, "model_seed": model_seed, "method": method}
    when = {"measured": "2026-11-18", "asked_by": f"difa bench {command}", "took": 60.0}
    return made | {"settings": {}, "figures": figures} | when | more


@pytest.fixture
def table():
    """Everything as the paper says."""
    return [*(record(OURS, name) for name in SETS), *(record(rival, name, words=0.6) for rival in RIVALS for name in SETS)]


def verdicts(records):
    lines = claims_markdown(records).splitlines()[2:]
    return {line.split(" | ")[0].removeprefix("| "): line.split(" | ") for line in lines if line}


def test_claims_of_the_table_are_judged_by_their_rule(table):
    found = verdicts({"table": table})
    assert [found[claim.said][2] for claim in CLAIMS[:5]] == ["**reproduced**"] * 5
    assert "semantic .500 / .250, form .900 / .450" in found["Both views are needed"][3]
    assert "averages: learned .950 / .475, mean .800 / .400" in found["Learned aggregation beats every fixed pooling"][3]
    assert "ahead in 12 of 12 columns (original form)" in found["Best on all sets and metrics"][3]
    assert found["Robust to sparsity"][2] == "not measured"
    assert found["Its figures"][2] == "**not reproduced**"
    assert "`difa bench table`, 2026-11-18" in found["Both views are needed"][5]


def test_a_better_rival_pooling_or_view_is_named(table, monkeypatch):
    monkeypatch.setitem(POOLED, "topk", 0.97)
    monkeypatch.setitem(VIEWS["form"], "review", 0.95)
    worse = [record(OURS, name) for name in SETS] + [r for r in table if r["method"] != OURS]
    worse = [record("lunar", "spam", words=0.96) if (r["method"], r["set"]) == ("lunar", "spam") else r for r in worse]
    found = verdicts({"table": worse})
    assert found["Learned aggregation beats every fixed pooling"][2] == "**not reproduced**"
    assert "Grammar: form yes, Review: semantic no" in found[CLAIMS[1].said][3]
    best = found["Best on all sets and metrics"]
    assert best[2] == "**not reproduced**"
    assert "behind: Spam words AUROC .950, LUNAR .960" in best[3]


def test_other_splits_models_and_forms_are_counted_apart(table):
    more = [record(OURS, name, seed=seed) for seed in (0, 1) for name in SETS]
    more += [record(OURS, name, model_seed=model, words=0.9 + model / 100) for model in (3, 5) for name in SETS]
    more += [record(OURS, name, form="clean", seed=seed) for seed in (0, 42) for name in SETS[: seed or 3]]
    more += [record(OURS, "spam", seed=2)]  # not all sets: says nothing
    found = verdicts({"table": [*table, *more]})["Fusion beats either view"]
    assert found[4] == "original, other splits: 2 of 2; original, other models: 2 of 2; clean, other splits: 2 of 2"
    assert "(original form); by the mean of 2 models averages: fusion .940 / .470," in found[3]


def test_what_one_model_shows_by_chance_is_reproduced_in_part(table):
    worse = [record(OURS, name, model_seed=model, words=0.5) for model in (3, 5) for name in SETS]
    found = verdicts({"table": [*table, *worse]})
    assert found["Fusion beats either view"][2] == "**in part**: only by the model of one seed"
    assert found["Both views are needed"][2] == "**reproduced**"


def curve(method, kind, values, command):
    settings = {"noise": [{"kind": "noise", "share": share} for share in (0.0, 0.3, 0.5)]}.get(kind, [{"counts": [1, 2]}])
    if command == "contamination":
        return [
            record(method, "spam", command=command, settings=each, form="clean") | {"figures": [figure("document", "max", value)]}
            for each, value in zip(settings, values, strict=True)
        ]
    figures = [figure("document", "max", value, str(count)) for count, value in zip((1, 2), values, strict=True)]
    return [record(method, "spam", command=command, form="clean", settings=settings[0]) | {"figures": figures}]


@pytest.mark.parametrize(("at_30", "rival", "verdict"), [(0.88, 0.7, ""), (0.84, 0.7, "not "), (0.88, 0.89, "not ")])
def test_contamination_may_cost_little_and_rivals_stay_below(at_30, rival, verdict):
    records = curve(OURS, "noise", (0.9, at_30, 0.8), "contamination")
    for name in ("tokencore", "iforest"):
        records += curve(name, "noise", (0.7, rival, 0.6), "contamination")
    found = verdicts({"contamination": records})["Robust to contamination"]
    assert found[2] == f"**{verdict}reproduced**"
    assert "from 0 % to 50 %: DiFA (paper) .900 to .800, TokenCore .700 to .600" in found[3]
    assert "(clean form)" in found[3]


def test_sparsity_and_the_frontier(table):
    sparse = [*curve(OURS, "", (0.95, 0.99), "sparsity")]
    for name in ("tokencore", "iforest"):
        sparse += curve(name, "", (0.6, 0.7), "sparsity")
    costs = {"encode_seconds": 1.0, "fit_seconds": 2.0, "peak_mib": 100.0, "test_words": 1000}
    efficient = [r | costs | {"score_seconds": 3.0 if r["method"] == OURS else 1.0} for r in table if r["set"] == "grammar"]
    found = verdicts({"sparsity": sparse, "efficiency": efficient})
    assert found["Robust to sparsity"][2] == "**reproduced**"
    frontier = found["On the frontier of accuracy and time"]
    assert frontier[2] == "**reproduced**"
    assert "word AUROC .950 in 3.00 s; faster: LOF .600 in 1.00 s" in frontier[3]


def test_the_papers_examples_need_the_word_it_names_on_top():
    words = [{"text": "oeidjhksiwewiwj", "score": 2.0}, {"text": "fine", "score": 1.0}]
    shown = record(OURS, "spam", command="examples", documents=[{"why": "the paper's example", "words": words}])
    found = verdicts({"examples": [shown]})["Localises the anomalous words"]
    assert found[2] == "**reproduced**"
    assert "Spam “oeidjhksiwewiwj”" in found[3]
    words[1]["score"] = 3.0
    assert verdicts({"examples": [shown]})["Localises the anomalous words"][2] == "**not reproduced**"
    chance = record(OURS, "spam", command="examples", documents=[{"why": "drawn by chance", "words": words}])
    assert verdicts({"examples": [chance]})["Localises the anomalous words"][2] == "not measured"


def test_tables_for_pages_compare_equal_seeds(table):
    several = [
        record(name, each, seed=seed, form="clean", words=0.5 + seed / 10)
        for seed in (0, 1)
        for name in ("lof", "difa-full")
        for each in SETS
    ]
    lonely = [record("ecod", each, seed=0, form="clean") for each in SETS]
    records = {"table": [*table, *several, *lonely, *(record("difa-full", name) for name in SETS)]}
    text = section_of("methods", "clean", records)
    assert "seeds 0, 1 for every method" in text
    assert "| LOF | .550 / .275 | .550 / .275 |" in text
    assert "ECOD" not in text, "a method with fewer seeds is not compared"
    assert "*Measured 2026-11-18 in 15 minutes of computing: `difa bench table`.*" in text
    assert "| **average** | **.550 / .275** | **.550 / .275** |" in section_of("presets", "clean", records)
    beside = section_of("published", None, records)
    assert "| Spam | .950 / .475 | .950 / .475 | *.992 / .458* |" in beside
    parts = section_of("parts", "original", records)
    assert "### DiFA (paper), original form, seed 42" in parts
    assert "| top-k mean | .850 / .425 / .500 |" in parts
    assert "| *semantic view alone* | .986 / .260 |" in parts
    assert "| **fusion** |" in parts
    assert section_of("ablation", None, {"ablation": []}) is None
    assert section_of("peers", None, {"table": several}) is None, "no record of the published split"
    assert section_of("published", None, {"table": several}) is None


def test_a_page_may_show_several_folders(tmp_path, table):
    (results := tmp_path / "bench" / "last").mkdir(parents=True)
    write_text(results / "table.json", json.dumps(table))
    (page := tmp_path / "page.md").write_text(
        "<!-- bench:last/claims -->\nold\n<!-- /bench -->\n<!-- bench:claims -->\nx\n<!-- /bench -->"
    )
    assert write_report(tmp_path / "bench", page) == ["last/claims"]
    assert "| Both views are needed |" in page.read_text()
    assert page.read_text().endswith("<!-- bench:claims -->\nx\n<!-- /bench -->")


def test_an_unknown_mark_is_named_and_the_page_stays(tmp_path, table):
    write_text(tmp_path / "table.json", json.dumps(table))
    text = "<!-- bench:claims -->\nold\n<!-- /bench -->\n<!-- bench:tabel:clean -->\nx\n<!-- /bench -->"
    (page := tmp_path / "page.md").write_text(text)
    run = here("bench", "report", tmp_path, "--into", page)
    assert run.returncode == 2
    assert run.stderr.startswith(f"difa: {page}: expected marks of claims, table, ")
    assert "got bench:tabel: mend the mark" in run.stderr
    assert page.read_text() == text
