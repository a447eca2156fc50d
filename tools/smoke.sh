#!/bin/sh
# Install the newest wheel of a folder in a clean environment, then fit the example with the fast preset, score, explain and report.
#
#   tools/smoke.sh dist        (`make smoke` builds the wheel first)
#
# It runs outside the checkout, so that nothing but the wheel is imported. It needs a package registry for the dependencies.
set -eu
dist=$(cd "${1:-dist}" && pwd)
examples=$(cd "$(dirname "$0")/../examples/support" && pwd)
wheel=$(ls -t "$dist"/difa-*.whl | head -n 1)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset PYTHONPATH
cd "$work"

"${PYTHON:-python3}" -m venv clean
clean/bin/python -m pip install --quiet "$wheel"
difa=clean/bin/difa

$difa --version
$difa fit "$examples/normal.txt" --out model --preset fast --quiet
$difa score model "$examples/test.jsonl" --fpr 0.05 --out scores.jsonl
$difa explain model "Could you tell me when my refnud will reach my account?" | tee explained.txt
grep -q refund explained.txt
$difa report scores.jsonl --out report.html --quiet
grep -q wpdlkrt report.html
clean/bin/python - "$work" <<'PYTHON'
import sys
from pathlib import Path

import difa

assert Path(difa.__file__).is_relative_to(Path(sys.argv[1]).resolve()), f"not the wheel's: {difa.__file__}"
result = difa.DiFA.load("model").score(["Is the wpdlkrt bench in stock?"], fpr=0.05)[0]
assert [word.text for word in result.words if word.is_anomaly] == ["wpdlkrt"], result
assert result.is_anomaly
PYTHON
echo "smoke test passed: $(basename "$wheel")"
