from zlib import crc32

import pytest

from difa.errors import ModelError
from difa.knowledge import PACKAGES, check_versions, versions
from difa.knowledge.wordlist import PackedWords, common_words, find_language, word_list

GERMAN = "Der Hund und die Katze sind nicht hier, sondern im Garten bei der alten Dame, die so gern Kuchen isst"
FRENCH = "Je voudrais savoir si le colis que vous avez envoyé la semaine dernière est déjà arrivé chez nous"


def test_frequencies_are_shares_of_text_whatever_the_case():
    english = word_list("en")
    assert 0.03 < english.frequency("The") == english.frequency("the") < 0.1
    assert english.frequency("received") > 100 * english.frequency("recieved")
    assert english.frequency("xkcdqwrtplk") == 0
    assert english.frequency("1984") == english.frequency("2024") > 0


def test_a_compound_is_as_common_as_its_parts_allow():
    english = word_list("en")
    assert 0 < english.frequency("custom-designed") < english.frequency("designed") / 10
    assert english.frequency("and/or") > english.frequency("or/custom")
    assert english.frequency("custom-xkcdqwrtplk") == 0
    assert english.frequency("a-b-c-d-e-f") == 0


def test_without_a_language_no_word_is_known():
    nothing = word_list(None)
    assert not nothing
    assert nothing.frequency("the") == 0
    assert common_words(None, 10) == ()


@pytest.mark.parametrize(("text", "language"), [(GERMAN, "de"), (FRENCH, "fr"), ("qzx wvk ppl rrt", None), ("12 34 !", None)])
def test_the_language_is_the_one_that_knows_the_words(text, language):
    assert find_language(text.replace(",", "").split()) == language


def test_english_is_found(corpus):
    assert find_language(word for text in corpus[:20] for word in text.split()) == "en"


def test_other_versions_are_refused_in_one_line():
    installed = versions(PACKAGES)
    check_versions(installed)
    with pytest.raises(ModelError, match=r"expected wordfreq 0\.1, .* got 3.*pip install wordfreq==0\.1"):
        check_versions({"wordfreq": "0.1"})
    with pytest.raises(ModelError, match="got one of 'no-such-package'"):
        check_versions({"no-such-package": "1"})


@pytest.mark.parametrize("language", ["en", "is"])  # with a large list, and with a small one alone
def test_lists_are_those_of_wordfreq(language):
    import wordfreq

    assert word_list(language).among(["a", "the", "og"]) == wordfreq.get_frequency_dict(language).keys() & {"a", "the", "og"}
    assert all(
        word_list(language).exact(word) == wordfreq.get_frequency_dict(language)[word] for word in common_words(language, 9000)
    )


def test_packed_words_are_found_and_their_numbers_also_where_checksums_agree():
    assert crc32(b"plumless") == crc32(b"buckeroo")
    numbers = {"plumless": 7, "the": 0, "buckeroo": 5, "Straße": 3, "": 2}
    table = PackedWords(PackedWords.pack(numbers))
    asked = [*numbers, "thee", "strasse", "x" * 1000]
    assert [table.find(word) for word in asked] == table.find_all(asked).tolist() == [7, 0, 5, 3, 2, -1, -1, -1]
    assert table.find_all([]).tolist() == []


def test_packed_words_that_were_cut_short_are_refused():
    content = PackedWords.pack({"one": 1, "two": 2})
    for length in (0, 3, 10, len(content) - 1):
        with pytest.raises(ValueError):  # noqa: PT011  (numpy's words or ours)
            PackedWords(content[:length])
