"""An ONNX graph from a file -> refused if it could read other files or run without end.

ONNX Runtime would look for external data in the working directory, and a loop may turn as often as the graph says. The
messages of the format that can hold either are walked without the package `onnx`, which scoring does not need. A field or an
encoding that torch's exporter does not write is refused and not skipped: so nothing can be one graph here and another to ONNX
Runtime.
"""

from __future__ import annotations

from collections.abc import Iterator

from difa.errors import ModelError

# Wire types that a field may have in protobuf's encoding, by what it holds; numbers that repeat stand alone or packed.
_WIRES = {"number": (0,), "float": (5,), "numbers": (0, 2), "floats": (5, 2), "doubles": (1, 2)}
_BYTES = (2,)  # all else: text, data, and messages within
# Fields of ONNX's messages (onnx.proto): kind of message -> number of field -> what it holds. Messages that can lead to neither a
# tensor nor a node are bytes. Not known, on purpose: functions and training of a model, and all that only they use.
_FIELDS: dict[str, dict[int, str]] = {
    "model": {1: "number", 5: "number", 7: "graph"} | dict.fromkeys((2, 3, 4, 6, 8, 14), "bytes"),
    "graph": {1: "node", 5: "tensor", 15: "sparse"} | dict.fromkeys((2, 10, 11, 12, 13, 14, 16), "bytes"),
    "node": {5: "attribute"} | dict.fromkeys((1, 2, 3, 4, 6, 7, 9), "bytes"),
    "attribute": {2: "float", 3: "number", 7: "floats", 8: "numbers", 20: "number"}
    | {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"}
    | dict.fromkeys((1, 4, 9, 13, 14, 15), "bytes"),
    "tensor": {1: "numbers", 2: "number", 4: "floats", 5: "numbers", 7: "numbers", 10: "doubles", 11: "numbers", 14: "number"}
    | dict.fromkeys((6, 8, 9, 12, 13, 16), "bytes"),
    "sparse": {1: "tensor", 2: "tensor", 3: "numbers"},
}
_OPERATOR, _DOMAIN = 4, 7  # fields of a node: its operator, and whose it is
_EXTERNAL, _LOCATION = 13, 14  # fields of a tensor: where else its data lie, and whether they do
_ENDLESS = (b"Loop", b"Scan", b"SequenceMap")
_ONNX_DOMAINS = (b"", b"ai.onnx")  # operators of ONNX Runtime's own have loops under other names
_ORT_FORMAT = b"ORTM"  # at byte 4: ONNX Runtime would take the file for one of its own format
_DEEPEST = 64  # graphs within graphs
_FIXED = {1: 8, 5: 4}  # bytes of a field by its wire type


def refuse_unsafe(name: str, graph: bytes) -> None:
    """Raise `ModelError` for a graph that is no plain ONNX, has data elsewhere, or has loops."""
    todo = [("model", memoryview(graph), 0)]
    try:
        if graph[4:8] == _ORT_FORMAT:
            raise ValueError("the format of ONNX Runtime")
        while todo:
            kind, message, depth = todo.pop()
            if depth > _DEEPEST:
                raise ValueError("graphs within graphs without end")
            for field, value in _fields(kind, message):
                _refuse_field(name, kind, field, value)
                within = _FIELDS[kind][field]
                if within in _FIELDS and isinstance(value, memoryview):
                    todo.append((within, value, depth + 1))
    except (ValueError, IndexError) as error:
        raise ModelError(f"{name}: expected a plain ONNX graph, got something else ({error})") from None


def _refuse_field(name: str, kind: str, field: int, value: int | memoryview) -> None:
    """Every occurrence of a field counts: where one must be alone, protobuf takes the last or puts them together."""
    if kind == "tensor" and (field == _EXTERNAL or (field == _LOCATION and value)):
        raise ModelError(f"{name}: expected a graph that holds its data, got one with external data: not safe to load")
    if kind != "node" or not isinstance(value, memoryview):
        return
    if field == _OPERATOR and bytes(value) in _ENDLESS:
        raise ModelError(f"{name}: expected a graph without loops, got the operator {bytes(value).decode()}")
    if field == _DOMAIN and bytes(value) not in _ONNX_DOMAINS:
        raise ModelError(f"{name}: expected operators of ONNX itself, got the domain {ascii(bytes(value[:40]))[1:]}")


def _fields(kind: str, message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """The numbers of a message's fields and their values: whole numbers, or bytes."""
    known = _FIELDS[kind]
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        field, wire = key >> 3, key & 7
        # Protobuf cuts the key to 32 bits; none that is longer is in the table.
        if field not in known or wire not in _WIRES.get(known[field], _BYTES):
            raise ValueError(f"field {field} of type {wire} in a {kind}")
        if wire == 0:
            value, at = _varint(message, at)
            yield field, value
            continue
        if wire == 2:
            size, at = _varint(message, at)
        else:
            size = _FIXED[wire]
        if at + size > len(message):
            raise ValueError("cut short")
        yield field, message[at : at + size]
        at += size


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    """A number of at most 64 bits in as few bytes as it needs, and where the next one starts."""
    value = 0
    for shift in range(0, 70, 7):
        byte = message[at]
        value |= (byte & 127) << shift
        at += 1
        if byte < 128:
            if shift and not byte:
                raise ValueError("a number in more bytes than it needs")
            if value >> 64:
                break
            return value, at
    raise ValueError("a number of more than 64 bits")
