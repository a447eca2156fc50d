"""Files and folders are there whole or not at all."""

import pytest

from difa.atomic import fresh_file, fresh_folder, fresh_text
from difa.errors import InputError


def test_text_appears_only_when_complete(tmp_path):
    path = tmp_path / "out.jsonl"
    path.write_text("older")
    with pytest.raises(TypeError), fresh_text(path) as file:
        file.writelines(["half", 3])
    assert path.read_text() == "older"
    with fresh_text(path) as file:
        file.write("whole")
    assert path.read_text() == "whole"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("place", ["no/out.jsonl", "file/out.jsonl"])
def test_a_place_that_cannot_be_written_is_named(tmp_path, place):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=f"{place}: cannot be written"), fresh_text(tmp_path / place):
        pass


def test_a_file_keeps_its_hidden_name_until_it_is_complete(tmp_path):
    with fresh_file(tmp_path / "out") as partial:
        partial.write_bytes(b"some")
        assert [path.name[:5] for path in tmp_path.iterdir()] == [".out."]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_folder_gives_way_only_to_a_complete_one(tmp_path):
    folder = tmp_path / "deep" / "model"
    with fresh_folder(folder) as fresh:
        (fresh / "one").write_text("1")
        assert not folder.exists()
    with pytest.raises(LookupError, match="half"), fresh_folder(folder) as fresh:
        (fresh / "two").write_text("2", encoding="half")
    assert [path.name for path in folder.iterdir()] == ["one"]
    with fresh_folder(folder) as fresh:
        (fresh / "two").write_text("2")
    assert [path.name for path in folder.iterdir()] == ["two"]
    assert list(folder.parent.iterdir()) == [folder]
