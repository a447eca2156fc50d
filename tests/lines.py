"""One result as a line of JSON, as the command writes it."""

from difa.document import columns_of
from difa.formats.write import json_lines


def to_json_line(result):
    (scored,) = columns_of([result])
    return json_lines(scored).decode()
