"""Words as counts know them."""

import pytest

from difa import DiFA
from difa.knowledge.letters import fold, plain_address


@pytest.mark.parametrize(
    ("word", "shape"),
    [
        ("https://www.example.org", "http://a.a"),
        ("https://example.org/", "http://a.a"),
        ("http://Docs.example.org/a-b/c_2.html#top", "http://a.a/a"),
        ("www.example.org/find?q=a&page=2", "http://a.a/a?a"),
        ("jörg.meier+2@mail.example.org", "a@a.a"),
        ("http://192.168.3.4/x", ""),
        ("https://example.org:8080/x", ""),
        ("https://user:word@example.org/x", ""),
        ("https://example.org/$$$", ""),
        ("3.50", ""),
        ("example.org", ""),
        ("order", ""),
    ],
)
def test_an_address_that_looks_like_most_is_known_by_its_shape(word, shape):
    assert plain_address(word) == shape
    assert fold(word) == shape or not shape


def test_new_addresses_are_no_news_where_addresses_are_common(corpus):
    addresses = "https://{0}.example.org/{1}/{0}.html", "{1}.{0}@{1}.example.org"
    plain = [word for text in corpus for word in text.split() if word.isalpha()]
    pairs = list(zip(plain, plain[7:], strict=False))
    normal = [f"{text} See {addresses[at % 2].format(*pairs[at])}" for at, text in enumerate(corpus[:250])]
    model = DiFA("fast", fpr=0.05).fit(normal)

    def flagged(address):
        word = model.score([f"Where is my order? See {address}"])[0].words[-1]
        assert word.text == address
        return word.is_anomaly

    new = [addresses[at % 2].format(*pairs[-1 - at]) for at in range(40)]
    assert sum(map(flagged, new)) <= 2
    assert flagged("https://fucking-idiots.example.org/losers")
    assert flagged("http://10.20.30.40:8080/$$$")
