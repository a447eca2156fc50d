"""What scikit-learn asks of an estimator before it works with it."""

from __future__ import annotations

from typing import Any

from difa.errors import MissingExtraError


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
