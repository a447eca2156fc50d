"""An ONNX graph from a file -> refused if it could read other files or run without end.

ONNX Runtime would look for external data in the working directory, and a loop may turn as often as the graph says. The few
fields of the format that can hold either are walked without the package `onnx`, which scoring does not need.
"""

from __future__ import annotations

from collections.abc import Iterator

from difa.errors import ModelError

# Fields of ONNX's messages (onnx.proto) that lead to tensors and nodes: kind of message -> number of field -> kind within.
_WITHIN: dict[str, dict[int, str]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "function": {7: "node", 11: "attribute"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
}
_OPERATOR = 4  # field of a node: its operator
_EXTERNAL, _LOCATION = 13, 14  # fields of a tensor: where else its data lie, and whether they do
_ENDLESS = (b"Loop", b"Scan")
_DEEPEST = 64  # graphs within graphs
_FIXED = {1: 8, 5: 4}  # bytes of a field by its wire type


def refuse_unsafe(name: str, graph: bytes) -> None:
    """Raise `ModelError` for a graph that is no ONNX, has data elsewhere, or has loops."""
    todo = [("model", memoryview(graph), 0)]
    try:
        while todo:
            kind, message, depth = todo.pop()
            if depth > _DEEPEST:
                raise ValueError("graphs within graphs without end")
            within = _WITHIN.get(kind, {})
            for field, value in _fields(message):
                if kind == "tensor" and (field == _EXTERNAL or (field == _LOCATION and value)):
                    raise ModelError(
                        f"{name}: expected a graph that holds its data, got one with external data: not safe to load"
                    )
                if kind == "node" and field == _OPERATOR and isinstance(value, memoryview) and bytes(value) in _ENDLESS:
                    raise ModelError(f"{name}: expected a graph without loops, got the operator {bytes(value).decode()}")
                if field in within:
                    if not isinstance(value, memoryview):
                        raise ValueError(f"field {field} of a {kind}")
                    todo.append((within[field], value, depth + 1))
    except (ValueError, IndexError) as error:
        raise ModelError(f"{name}: expected an ONNX graph, got something else ({error})") from None


def _fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """The numbers of a message's fields and their values: whole numbers, or bytes."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        field, wire = key >> 3, key & 7
        if wire == 0:
            value, at = _varint(message, at)
            yield field, value
            continue
        if wire == 2:
            size, at = _varint(message, at)
        elif wire in _FIXED:
            size = _FIXED[wire]
        else:
            raise ValueError(f"wire type {wire}")
        if at + size > len(message):
            raise ValueError("cut short")
        yield field, message[at : at + size]
        at += size


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = message[at]
        value |= (byte & 127) << shift
        at += 1
        if byte < 128:
            return value, at
    raise ValueError("a number of more than 64 bits")
