"""Graphs that a stranger may have made."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from difa.errors import ModelError
from difa.runtime.graph_check import refuse_unsafe

onnx = pytest.importorskip("onnx")
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


@pytest.mark.parametrize("operator", ["Loop", "Scan"])
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


@given(st.binary(max_size=200))
def test_any_bytes_pass_or_are_refused_in_one_line(some):
    whole = content(graph_of(initializers=[helper.make_tensor("w", TensorProto.FLOAT, [1], [1.0])]))
    for graph in (some, whole[: len(some)] + some):
        try:
            refuse_unsafe("g", graph)
        except ModelError:
            continue
