from difa.knowledge.tone import insults, rated_words, valences


def test_complaint_and_praise_by_hand():
    rated = rated_words()
    assert rated["war"] == (-valences()["war"], 0.0)  # bad news
    assert rated["love"] == (0.0, valences()["love"])
    assert rated["idiot"] == (-valences()["idiot"] + 3.0, 0.0)  # bad, and an insult
    assert rated["buffoon"] == (3.0, 0.0)
    assert "buffoon" not in valences()
    assert rated["silly"] == (2.0, valences()["silly"])  # the lexicon likes it
    assert rated.keys() == valences().keys() | insults().keys()
