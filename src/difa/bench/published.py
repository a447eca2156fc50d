"""Published figures, to stand beside measured ones: never computed here, always marked.

From Tables I and II of the DiFA paper: bert-base-uncased, last layer, original form of the sets. Each pair is AUROC and
average precision. The paper says that models were selected by validation performance; it does not describe its validation data.
(To choose a baseline's settings by test AUROC is the way of TokenCore's authors, not of this paper.)
"""

from __future__ import annotations

SOURCE = "published, bert-base-uncased"
SETS = ("spam", "review", "grammar")

Pair = tuple[float, float]

WORDS: dict[str, tuple[Pair, Pair, Pair]] = {
    "lof": ((0.5315, 0.0098), (0.8005, 0.0569), (0.5641, 0.0339)),
    "iforest": ((0.8157, 0.0341), (0.7052, 0.0768), (0.5024, 0.0303)),
    "ecod": ((0.8186, 0.0289), (0.7035, 0.0872), (0.4457, 0.0268)),
    "deepsvdd": ((0.7366, 0.0250), (0.6554, 0.0491), (0.4798, 0.0312)),
    "ae": ((0.3851, 0.0074), (0.6665, 0.0210), (0.6190, 0.0386)),
    "lunar": ((0.6734, 0.0139), (0.8254, 0.0516), (0.6053, 0.0376)),
    "tokencore": ((0.6792, 0.0141), (0.8271, 0.0530), (0.6371, 0.0407)),
    "difa-paper": ((0.9923, 0.4580), (0.8909, 0.4682), (0.8738, 0.1155)),
}
"""Word level, in the order of `SETS`."""

DOCUMENTS: dict[str, tuple[Pair, Pair, Pair]] = {
    "lof": ((0.5948, 0.2276), (0.9082, 0.4107), (0.5236, 0.1933)),
    "iforest": ((0.4598, 0.1551), (0.8951, 0.3987), (0.5994, 0.2342)),
    "ecod": ((0.4603, 0.1552), (0.8887, 0.3791), (0.5739, 0.2178)),
    "deepsvdd": ((0.4814, 0.1633), (0.8572, 0.3371), (0.5548, 0.2294)),
    "ae": ((0.4576, 0.1566), (0.9075, 0.5247), (0.6403, 0.2547)),
    "lunar": ((0.5814, 0.2051), (0.9587, 0.7473), (0.6578, 0.2628)),
    "tokencore": ((0.5859, 0.2072), (0.9594, 0.7495), (0.6553, 0.2624)),
    "difa-paper": ((0.9067, 0.5236), (0.9782, 0.8886), (0.7311, 0.3788)),
}
"""Document level: the learned aggregation for DiFA; the paper does not say how the words of baselines were pooled."""

ABLATION: dict[tuple[str, str], tuple[Pair, Pair, Pair]] = {
    ("word", "semantic view alone"): ((0.9860, 0.2601), (0.9082, 0.2484), (0.5745, 0.0337)),
    ("word", "form view alone"): ((0.9498, 0.1298), (0.7894, 0.3882), (0.9437, 0.2506)),
    ("word", "fusion"): WORDS["difa-paper"],
    ("document", "mean"): ((0.7972, 0.3632), (0.9332, 0.4316), (0.7583, 0.3348)),
    ("document", "max"): ((0.8946, 0.4841), (0.9706, 0.8796), (0.7064, 0.2976)),
    ("document", "top-k mean"): ((0.8705, 0.4557), (0.9726, 0.8157), (0.7689, 0.3539)),
    ("document", "document score"): DOCUMENTS["difa-paper"],
}
"""By level and part."""
