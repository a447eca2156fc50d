"""Draw docs/images/demo.svg: what `difa find` says of the example corpus."""

from pathlib import Path

from rich.console import Console
from rich.text import Text

from difa import DiFA
from difa.formats import read_documents
from difa.report.sentences import overview
from difa.report.terminal import found_document

HERE = Path(__file__).parent
# Rich's own frame without the fonts it would fetch from elsewhere.
FRAME = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}<g class="{unique_id}-matrix">{matrix}</g></g></svg>
"""

new = list(read_documents([str(HERE / "test.jsonl")]))
model = DiFA(fpr=0.05).fit((HERE / "normal.txt").read_text(encoding="utf-8").splitlines(), feed=new)
results = model.score(new)
order = sorted(range(len(results)), key=lambda at: (results[at].p_value, -results[at].score))
console = Console(record=True, width=132, highlight=False, file=open("/dev/null", "w"))  # noqa: SIM115
console.print(Text("$ difa find normal.txt new.jsonl", style="bold"))
console.print(overview(results, model.fpr, model.detector_.feed_summary.sentences()))
kinds = set()
for place, at in enumerate(order, 1):
    if results[at].is_anomaly and new[at].columns["kind"] not in kinds:  # the most unusual of each kind
        kinds.add(new[at].columns["kind"])
        console.print()
        console.print(found_document(place, results[at], model.explain_unflagged(new[at]).reasons))
target = HERE.parent.parent / "docs" / "images" / "demo.svg"
target.parent.mkdir(exist_ok=True)
target.write_text(console.export_svg(title="difa", code_format=FRAME, unique_id="difa"), encoding="utf-8")
