"""Draw docs/images/demo.svg from the model of `make demo`: scored messages, and one explained."""

import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

from difa import DiFA
from difa.report.sentences import explain_sentence
from difa.report.terminal import document_line

MESSAGES = (
    "The driver was polite, but he left the freezer at the bottom of the stairs.",
    "Is the wpdlkrt garden bench in stock, and can I collect it in jkkqv on Saturday?",
    "My refund arrived today, a day earlier than you said. Thank you, Louise!",
    "Your order has been h4ck3d!!!! cl1ck http://win.example/?id=9981",
)
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

model = DiFA.load(sys.argv[1])
console = Console(record=True, width=132, highlight=False, file=open("/dev/null", "w"))  # noqa: SIM115
console.print(Text("$ difa score model new.txt --fpr 0.05", style="bold"))
for result in model.score(MESSAGES, fpr=0.05):
    console.print(document_line(result))
console.print(Text(f'\n$ difa explain model "{MESSAGES[1]}"', style="bold"))
explained = model.explain(MESSAGES[1], fpr=0.05)
console.print(explain_sentence(explained))
console.print(document_line(explained.result))
target = Path(__file__).parent.parent.parent / "docs" / "images" / "demo.svg"
target.parent.mkdir(exist_ok=True)
target.write_text(console.export_svg(title="difa", code_format=FRAME, unique_id="difa"), encoding="utf-8")
