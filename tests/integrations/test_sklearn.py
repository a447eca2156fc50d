"""Pipelines, searches, pickles and copies."""

import copy
import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone, is_outlier_detector
from sklearn.exceptions import NotFittedError as SklearnNotFitted
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted

from difa import DiFA
from difa.errors import ModelError

TEXTS = ["Where is my parcel?", "Is the wpdlkrt zxqvvb bench in stock?"]


def through_joblib(model, path):
    joblib.dump(model, path)
    return joblib.load(path)


@pytest.mark.parametrize(
    "carry",
    [
        lambda model, path: pickle.loads(pickle.dumps(model)),
        through_joblib,
        lambda model, path: copy.deepcopy(model),
    ],
    ids=["pickle", "joblib", "deepcopy"],
)
def test_a_model_survives_the_way_of_its_files(quick_model, tmp_path, carry):
    carried = carry(quick_model, tmp_path / "model.joblib")
    assert carried.get_params() == quick_model.get_params()
    assert carried.score(TEXTS) == quick_model.score(TEXTS)
    assert carried.detector_ is not quick_model.detector_


def test_an_unfitted_model_is_its_parameters():
    carried = pickle.loads(pickle.dumps(DiFA(fpr=0.2, seed=5)))
    assert repr(carried) == "DiFA(fpr=0.2, seed=5), not fitted"


def test_a_damaged_pickle_is_refused(quick_model):
    state = quick_model.__getstate__()
    assert {type(content) for content in state["files"].values()} == {bytes}
    state["files"]["weights.safetensors"] = b"x" + state["files"]["weights.safetensors"]
    with pytest.raises(ModelError, match="changed or cut short"):
        DiFA().__setstate__(state)


def test_scikit_learn_knows_what_it_is(quick_model):
    assert is_outlier_detector(quick_model)
    check_is_fitted(quick_model)
    with pytest.raises(SklearnNotFitted):
        check_is_fitted(DiFA())
    assert clone(quick_model).get_params() == quick_model.get_params()
    assert not hasattr(clone(quick_model), "detector_")


def test_pipeline_and_search(quick, corpus):
    texts = np.array([*corpus[:60], *(f"{text} wq zzxv kkkj" for text in corpus[60:70]), *corpus[70:90]], dtype=object)
    labels = np.array([0] * 60 + [1] * 10 + [0] * 20)
    strip = FunctionTransformer(lambda batch: [text.strip() for text in batch])
    pipeline = Pipeline([("strip", strip), ("difa", quick(fpr=0.01))])
    one_split = PredefinedSplit([-1] * 60 + [0] * 30)
    search = GridSearchCV(
        pipeline, {"difa__fpr": [0.02, 0.3]}, scoring={"auroc": "roc_auc", "f1": "f1"}, cv=one_split, refit="f1"
    )
    search.fit(texts, labels)
    first, second = search.cv_results_["mean_test_auroc"].tolist()
    assert first == second > 0.9
    assert search.best_params_["difa__fpr"] in (0.02, 0.3)
    assert len(search.best_estimator_.predict(texts[:5])) == 5
    assert search.best_estimator_.score(TEXTS)[0].text == TEXTS[0]


def test_a_search_without_a_scorer_fails_with_a_line_that_names_one(quick, corpus):
    from sklearn.model_selection import cross_val_score

    with pytest.raises(ValueError, match="a list of results; name a scorer") as failed:
        cross_val_score(quick(fpr=0.05), corpus[:60], [0] * 59 + [1], cv=PredefinedSplit([-1] * 40 + [0] * 20))
    assert len(str(failed.value)) < 300
