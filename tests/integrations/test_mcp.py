"""The MCP server: in this process, and as an assistant starts it."""

import asyncio
import json
import os
import sys

import pytest

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")

TEXT = "Is the wpdlkrt zxqvvb bench in stock?"


def ask(server, *calls):
    """What a client gets for each call: its content, and whether it is an error."""
    from mcp import Client

    async def run():
        async with Client(server) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            answers = [await client.call_tool(name, arguments) for name, arguments in calls]
        return tools, [(answer.content[0].text, answer.is_error) for answer in answers]

    return asyncio.run(run())


def test_tools_check_and_explain(fast_model):
    from difa.integrations.mcp import make_server

    tools, answers = ask(
        make_server(fast_model),
        ("check_text", {"text": TEXT, "fpr": 0.05}),
        ("explain_word", {"text": TEXT, "word": "WPDLKRT"}),
        ("explain_word", {"text": TEXT, "word": "absent"}),
        ("check_text", {"text": "x " * 60_000}),
        ("check_text", {"text": "", "fpr": 7}),
    )
    assert tools == ["check_text", "explain_word"]
    checked, explained = json.loads(answers[0][0]), json.loads(answers[1][0])
    assert checked["rate"] == 0.05
    assert "wpdlkrt" in [word["text"] for word in checked["unusual_words"]]
    assert explained["sentence"].startswith("'wpdlkrt' never occurs in your normal text")
    assert [is_error for _, is_error in answers] == [False, False, True, True, True]
    assert "expected a word of the text, got 'absent'" in answers[2][0]
    assert "expected at most 100000 characters" in answers[3][0]
    assert "fpr" in answers[4][0]


def test_the_command_speaks_on_standard_output(fast_model, tmp_path):
    from mcp import StdioServerParameters

    fast_model.save(tmp_path / "model")

    server = StdioServerParameters(
        command=sys.executable, args=["-m", "difa", "mcp", str(tmp_path / "model")], env=dict(os.environ)
    )
    _, [(content, is_error)] = ask(server, ("check_text", {"text": TEXT}))
    assert not is_error
    assert "sentence" in json.loads(content)
