"""Graphs that a stranger may have made."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from difa.errors import ModelError
from difa.runtime.graphs import refuse_unsafe

onnx = pytest.importorskip("onnx")
from google.protobuf.message import DecodeError  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402


def graph_of(*nodes, initializers=()):
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])
    return helper.make_graph(list(nodes), "g", [value], [value], initializer=list(initializers))


def outside():
    tensor = helper.make_tensor("w", TensorProto.FLOAT, [1], [1.0])
    tensor.ClearField("float_data")
    tensor.data_location = TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "../../secret.bin"
    return tensor


def content(graph):
    return helper.make_model(graph).SerializeToString()


def test_an_ordinary_graph_passes():
    inner = helper.make_tensor("w", TensorProto.FLOAT, [3], [1.0, 2.0, 3.0])
    refuse_unsafe("encoder.onnx", content(graph_of(helper.make_node("Relu", ["x"], ["y"]), initializers=[inner])))


@pytest.mark.parametrize(
    "graph",
    [
        lambda: graph_of(initializers=[outside()]),
        lambda: graph_of(helper.make_node("Constant", [], ["y"], value=outside())),
        lambda: graph_of(helper.make_node("If", ["x"], ["y"], then_branch=graph_of(initializers=[outside()]))),
    ],
)
def test_data_outside_the_graph_are_refused_wherever_they_hide(graph):
    with pytest.raises(ModelError, match=r"encoder\.onnx: .* external data"):
        refuse_unsafe("encoder.onnx", content(graph()))


@pytest.mark.parametrize("operator", ["Loop", "Scan", "SequenceMap"])
def test_loops_are_refused(operator):
    hidden = helper.make_node("If", ["x"], ["y"], then_branch=graph_of(helper.make_node(operator, ["x"], ["y"])))
    for node in (helper.make_node(operator, ["x"], ["y"]), hidden):
        with pytest.raises(ModelError, match=f"without loops, got the operator {operator}"):
            refuse_unsafe("encoder.onnx", content(graph_of(node)))


def test_graphs_within_graphs_end():
    graph = graph_of()
    for _ in range(25):
        graph = graph_of(helper.make_node("If", ["x"], ["y"], then_branch=graph))
    with pytest.raises(ModelError, match="graphs within graphs"):
        refuse_unsafe("encoder.onnx", content(graph))


def varint(value):
    """As protobuf writes a number."""
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + varint(value >> 7)


def put(field, value, key_bits=0):
    """A field of bytes or of a number; `key_bits` are added to its key."""
    if isinstance(value, int):
        return varint(field << 3 | key_bits) + varint(value)
    return varint(field << 3 | 2 | key_bits) + varint(len(value)) + value


HEAD = put(1, 8)
TENSOR = put(1, 1) + put(2, 1) + put(8, b"w")


@pytest.mark.parametrize(
    "graph",
    [
        put(1, put(4, b"Loop", 1 << 32)),  # protobuf cuts keys to 32 bits and finds the operator
        put(1, put(4, b"Relu") + put(4, b"Loop", 1 << 32)),
        put(5, TENSOR + put(13, b"", 1 << 32) + put(14, 1, 1 << 32)),
        put(1, put(5, put(5, TENSOR + put(14, 1, 1 << 32)))),
    ],
)
def test_keys_of_more_than_32_bits_hide_nothing(graph):
    with pytest.raises(ModelError, match="expected a plain ONNX graph"):
        refuse_unsafe("encoder.onnx", HEAD + put(7, graph))


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        (HEAD + bytes([7 << 3 | 2 | 128, 0]) + b"\x00", "more bytes than it needs"),
        (HEAD + bytes([7 << 3 | 2, 128, 0]), "more bytes than it needs"),
        (bytes([1 << 3]) + b"\xff" * 10 + b"\x01", "more than 64 bits"),
        (bytes([1 << 3]) + b"\xff" * 9 + b"\x7f", "more than 64 bits"),
        (HEAD + b"\x00\x00", "field 0"),
        (HEAD + put(99, b""), "field 99"),
        (HEAD + bytes([7 << 3 | 3, 7 << 3 | 4]), "field 7 of type 3"),
        (HEAD + bytes([7 << 3 | 4]), "field 7 of type 4"),
        (HEAD + bytes([7 << 3 | 6]), "field 7 of type 6"),
        (HEAD + bytes([7 << 3 | 7]), "field 7 of type 7"),
        (HEAD + put(7, 1), "field 7 of type 0"),
        (HEAD + put(7, put(1, b""))[:-1], "cut short"),
        (HEAD + put(7, put(1, bytes([4 << 3 | 2, 100]) + b"Loop")), "cut short"),
        (HEAD + put(7, b"") + put(25, b""), "field 25"),
        (HEAD + put(7, b"") + put(20, b""), "field 20"),
    ],
)
def test_what_no_exporter_writes_is_refused(graph, reason):
    with pytest.raises(ModelError, match=f"expected a plain ONNX graph.*{reason}"):
        refuse_unsafe("encoder.onnx", graph)


@pytest.mark.parametrize(
    "graph",
    [
        put(7, b"") + put(7, put(1, put(4, b"Loop"))),  # protobuf puts both graphs together
        put(7, put(1, put(4, b"Relu") + put(4, b"Loop"))),  # and takes the last operator
        put(7, put(1, put(4, b"Loop") + put(4, b"Relu"))),
    ],
)
def test_every_occurrence_of_a_field_counts(graph):
    with pytest.raises(ModelError, match="got the operator Loop"):
        refuse_unsafe("encoder.onnx", HEAD + graph)


def test_operators_of_others_are_refused():
    for domain in ("", "ai.onnx"):
        refuse_unsafe("encoder.onnx", content(graph_of(helper.make_node("Relu", ["x"], ["y"], domain=domain))))
    with pytest.raises(ModelError, match=r"operators of ONNX itself, got the domain 'com\.microsoft'"):
        refuse_unsafe("encoder.onnx", content(graph_of(helper.make_node("BeamSearch", ["x"], ["y"], domain="com.microsoft"))))


def test_a_file_that_is_two_formats_at_once_is_refused():
    """ONNX Runtime takes bytes with its mark for its own format, however well they read as ONNX."""
    whole = b"\x12" + varint(20_000) + b"ORTM" + bytes(19_996) + content(graph_of(helper.make_node("Relu", ["x"], ["y"])))
    assert onnx.load_model_from_string(whole).graph.node[0].op_type == "Relu"
    with pytest.raises(ModelError, match="the format of ONNX Runtime"):
        refuse_unsafe("encoder.onnx", whole)


def unsafe_parts(message):
    """Operators that loop and data that lie elsewhere, as protobuf reads a message."""
    for field, value in message.ListFields():
        if (field.name, value) in (("op_type", "Loop"), ("data_location", TensorProto.EXTERNAL)) or field.name == "external_data":
            yield field.name
        for inner in value if field.is_repeated else [value]:
            if field.message_type is not None:
                yield from unsafe_parts(inner)


HOSTILE = content(graph_of(helper.make_node("Loop", ["x"], ["y"], value=outside()), initializers=[outside()]))


@settings(max_examples=300)
@given(st.lists(st.tuples(st.integers(0, len(HOSTILE)), st.integers(0, 3), st.binary(max_size=4)), max_size=4))
def test_what_passes_is_safe_as_protobuf_reads_it(edits):
    graph = HOSTILE
    for at, length, instead in edits:
        graph = graph[:at] + instead + graph[at + length :]
    try:
        refuse_unsafe("g", graph)
        found = onnx.load_model_from_string(graph)
    except (ModelError, DecodeError):
        return
    assert not list(unsafe_parts(found))


@given(st.binary(max_size=200))
def test_any_bytes_pass_or_are_refused_in_one_line(some):
    whole = content(graph_of(initializers=[helper.make_tensor("w", TensorProto.FLOAT, [1], [1.0])]))
    for graph in (some, whole[: len(some)] + some):
        try:
            refuse_unsafe("g", graph)
        except ModelError:
            continue
