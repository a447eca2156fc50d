"""Tone view: does the word praise, insult or complain more than normal text does?

`vectors` measures a word in its context along directions in the encoder's space; `lexicon` looks the word up, where there are no
vectors.
"""
