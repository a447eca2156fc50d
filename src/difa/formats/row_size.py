"""What rows of Parquet take once they are decoded, known before they are.

A value that a file holds once can stand in many rows, and many times in one: two kilobytes can be gigabytes. So as few rows are
decoded at a time as fit if each holds the longest value that it could. Strings inside lists are read as references to their
values, so that a batch holds each value once, and rows are made from it only if they fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from difa.formats.bounds import MOST_BYTES
from difa.formats.packed import arrow

_EXPANSION = 20  # bytes for one that lies on disk: more than prose has
_PAGE_HEAD = 32  # bytes in which the first fields of a page's header stand
_NEXT_NUMBER = b"\x15"  # the field after the last one, a whole number
_DICTIONARY_PAGE = 2
_SLOT = 8  # bytes of a value that is nothing: Python's reference to it
_PURPOSE = "Parquet"


def repeated_strings(file: Any) -> list[int]:
    """Columns of strings inside lists, which are better read as references; not those that are large, and are no bombs."""
    columns = [file.schema.column(at) for at in range(len(file.schema))]
    groups = [file.metadata.row_group(at) for at in range(file.metadata.num_row_groups)]
    found = [at for at, column in enumerate(columns) if column.max_repetition_level and column.physical_type == "BYTE_ARRAY"]
    return [at for at in found if not any(_is_plainly_large(group.column(at)) for group in groups)]


def _is_plainly_large(chunk: Any) -> bool:
    # What pyarrow refers to grows over a row group, and is copied for every batch.
    return bool(4 * MOST_BYTES < chunk.total_uncompressed_size <= _EXPANSION * chunk.total_compressed_size)


def batch_rows(source: Any, group: Any) -> int:
    """Rows of a group that can be decoded at a time; one where few bytes become very many, since its rows may differ widely."""
    chunks = [group.column(at) for at in range(group.num_columns)]
    if group.total_byte_size > max(MOST_BYTES, _EXPANSION * sum(chunk.total_compressed_size for chunk in chunks)):
        return 1
    row = (group.total_byte_size + _SLOT * sum(chunk.num_values for chunk in chunks)) // max(1, group.num_rows)
    shared = sum(_shared_bytes(source, chunk) for chunk in chunks if chunk.physical_type.endswith("BYTE_ARRAY"))
    return max(1, MOST_BYTES // int(1 + row + shared))


def _shared_bytes(source: Any, chunk: Any) -> int:
    """Bytes of the values that rows of a column refer to, and so a bound for one: as its first page says, or all."""
    first, pages = chunk.dictionary_page_offset, chunk.data_page_offset
    if first is None and not any("DICTIONARY" in encoding for encoding in chunk.encodings):
        return 0
    head = _read_at(source, first if first and first < pages else pages, _PAGE_HEAD)
    kind, size = _page_fields(head)
    return size if kind == _DICTIONARY_PAGE else int(chunk.total_uncompressed_size)


def _read_at(source: Any, place: int, size: int) -> bytes:
    if not hasattr(source, "read"):
        with open(source, "rb") as file:
            return _read_at(file, place, size)
    source.seek(place)
    return bytes(source.read(size))


def _page_fields(head: bytes) -> tuple[int, int]:
    """The first two fields of a page's header, its kind and its bytes when unpacked: Thrift's compact form of whole numbers."""
    at, fields = 0, []
    for _ in range(2):
        value = shift = 0
        if head[at : at + 1] != _NEXT_NUMBER:
            return -1, 0
        while True:
            at += 1
            if at >= len(head):
                return -1, 0
            value |= (head[at] & 0x7F) << shift
            shift += 7
            if head[at] < 0x80:
                break
        at += 1
        fields.append(value >> 1 if value % 2 == 0 else -1)
    return fields[0], fields[1]


def decoded_size(batch: Any) -> int:
    """Bytes of the values of a batch, each counted as often as it stands there; an array or a record batch is taken."""
    return sum(_leaf_size(leaf) for array in getattr(batch, "columns", [batch]) for leaf in _leaves(array))


def most_decoded(batch: Any) -> int:
    """A bound for `decoded_size` that is found faster: every string is taken for the longest."""
    return sum(_most(leaf) for array in batch.columns for leaf in _leaves(array))


def _leaves(array: Any) -> Iterator[Any]:
    """The simple arrays inside a nested one."""
    types = arrow(_PURPOSE).types
    if isinstance(array, arrow(_PURPOSE).ExtensionArray):
        yield from _leaves(array.storage)
    elif types.is_struct(array.type):
        for child in array.flatten():
            yield from _leaves(child)
    elif types.is_map(array.type):
        first, last = array.offsets[0].as_py(), array.offsets[-1].as_py()
        for child in (array.keys, array.items):  # of all maps, also of those outside of a slice
            yield from _leaves(child.slice(first, last - first))
    elif types.is_nested(array.type):
        yield from _leaves(array.flatten())
    else:
        yield array


def _leaf_size(leaf: Any) -> int:
    lengths = _lengths(leaf)
    if lengths is None:
        return max(int(leaf.nbytes), _SLOT * len(leaf))
    from pyarrow import compute

    return _SLOT * len(leaf) + int(compute.sum(lengths.take(leaf.indices)).as_py() or 0)


def _most(leaf: Any) -> int:
    lengths = _lengths(leaf)
    if lengths is None:
        return _leaf_size(leaf)
    from pyarrow import compute

    return len(leaf) * (_SLOT + int(compute.max(lengths).as_py() or 0))


def _lengths(leaf: Any) -> Any:
    """Bytes of the values that an array refers to, if they are strings."""
    types = arrow(_PURPOSE).types
    if not types.is_dictionary(leaf.type):
        return None
    kind = leaf.type.value_type
    if not (types.is_binary(kind) or types.is_string(kind) or types.is_large_binary(kind) or types.is_large_string(kind)):
        return None
    from pyarrow import compute

    return compute.binary_length(leaf.dictionary)
