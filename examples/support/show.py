"""Print the scored test messages of the demo: the text with its suspicious words, and what was wrong with it."""

import json
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

from difa.formats.write import from_json_line
from difa.report.terminal import document_line

scores, labelled = (Path(name).read_text(encoding="utf-8").splitlines() for name in sys.argv[1:3])
kinds = {record["id"]: record["kind"] for record in map(json.loads, labelled)}
console = Console(highlight=False)
for line in scores:
    result = from_json_line(line)
    kind = Text(f"{kinds[result.id]:<10}", style="dim")
    console.print(Text.assemble(kind, document_line(result)), soft_wrap=True)
