"""What scikit-learn and its company ask of an estimator: tags, and plain values that can be pickled.

pickle, joblib, `copy.deepcopy` and processes that pass models around get the stored form, checksums included: the files that
`save` would write. Reading it runs no code but `load`'s own. (A pickle as a whole can still hold anything: load only those you
trust, or pass model folders.)
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from difa.errors import MissingExtraError
from difa.storage.atomic import scratch_folder
from difa.storage.persist import load

if TYPE_CHECKING:
    from difa.detector import Detector


def thaw(files: dict[str, bytes], cache: str | Path | None, threads: int | None) -> Detector:
    """The detector from such files; raises `ModelError` as `load` does."""
    with scratch_folder() as folder:
        for file, content in files.items():
            (folder / Path(file).name).write_bytes(content)
        return load(folder, cache, threads)[0]


def outlier_tags() -> Any:
    """An outlier detector that needs no labels and takes a list of texts."""
    try:
        from sklearn.utils import InputTags, Tags, TargetTags
    except ImportError:
        raise MissingExtraError("scikit-learn>=1.6", "fit", "scikit-learn's tags") from None
    return Tags(
        estimator_type="outlier_detector",
        target_tags=TargetTags(required=False),
        transformer_tags=None,
        classifier_tags=None,
        regressor_tags=None,
        input_tags=InputTags(one_d_array=True, two_d_array=False, string=True),
    )
