"""The encoder on ONNX Runtime, with the Rust tokenizer: no torch, no transformers.

A sequence is padded to a length that depends on itself alone, and batches hold sequences of one padded length: so a
document has the same vectors, bit for bit, alone or in any batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from difa.document import Document, Encoded, FloatArray, IntArray
from difa.encoders import GRAPH, LONGEST_WORD, TOKENIZER, EncoderSpec, ExportedEncoder, Progress
from difa.runtime.graphs import GraphRunner
from difa.runtime.parallel import bound_tokenizer
from difa.runtime.windows import batch_by_length, padded_length, plan_windows, pool_subwords

_CHUNK = 1024  # documents tokenised, run and pooled together
_MIN_TOKENS = 256  # smaller batches than this are not split to occupy more threads


class OnnxEncoder:
    """Runs an exported encoder."""

    def __init__(self, exported: ExportedEncoder, batch_tokens: int = 1024, threads: int | None = None) -> None:
        from tokenizers import Tokenizer

        self.exported = exported
        self._batch_tokens = batch_tokens
        bound_tokenizer(threads)
        self._runner = GraphRunner(exported.files[GRAPH], threads)
        self._tokenizer = Tokenizer.from_str(exported.files[TOKENIZER].decode())
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        bare = self._tokenizer.encode(["a"], is_pretokenized=True, add_special_tokens=False).ids
        full = self._tokenizer.encode(["a"], is_pretokenized=True).ids
        at = next(i for i in range(len(full)) if full[i : i + len(bare)] == bare)
        self._prefix, self._suffix = full[:at], full[at + len(bare) :]

    @property
    def spec(self) -> EncoderSpec:
        return self.exported.spec

    def encode(self, documents: Sequence[Document], progress: Progress | None = None) -> list[Encoded]:
        """One vector per word; documents of any length."""
        encoded: list[Encoded] = []
        for start in range(0, len(documents), _CHUNK):
            chunk = documents[start : start + _CHUNK]
            words = [document.words.texts for document in chunk]
            unique = list(dict.fromkeys(words))  # duplicates are computed once
            found = dict(zip(unique, self._encode_unique(unique), strict=True))
            encoded.extend(found[key] for key in words)
            if progress is not None:
                progress(len(chunk))
        return encoded

    def _encode_unique(self, documents: Sequence[tuple[str, ...]]) -> list[Encoded]:
        subwords = self._tokenize(documents)
        capacity = self.spec.max_length - len(self._prefix) - len(self._suffix)
        windows = [(index, w) for index, (ids, _) in enumerate(subwords) for w in plan_windows(len(ids), capacity)]
        hidden = [np.empty((len(ids), self.spec.dimension), np.float32) for ids, _ in subwords]
        # What a window gives is put in its place at once: holding all of it would double the memory of a long document.
        for at, states in self._run([self._prefix + subwords[i][0][w.start : w.end] + self._suffix for i, w in windows]):
            index, window = windows[at]
            shift = len(self._prefix) - window.start
            hidden[index][window.keep_start : window.keep_end] = states[window.keep_start + shift : window.keep_end + shift]
        return [
            Encoded(document, pool_subwords(states, owners, len(document)), np.bincount(owners, minlength=len(document)))
            for document, states, (_, owners) in zip(documents, hidden, subwords, strict=True)
        ]

    def vocabulary(self) -> list[str]:
        """Words that the tokenizer knows as a whole."""
        marks = "Ġ▁"  # byte-level and SentencePiece tokenizers mark the start of a word, WordPiece its continuation (##)
        words = {entry.lstrip(marks) for entry in self._tokenizer.get_vocab()}
        return sorted(word for word in words if word.isalpha())

    def _tokenize(self, documents: Sequence[tuple[str, ...]]) -> list[tuple[list[int], IntArray]]:
        """Subword numbers of each document and, for each subword, the word it belongs to."""
        read = [[word[:LONGEST_WORD] for word in document] for document in documents]
        encodings = self._tokenizer.encode_batch(read, is_pretokenized=True, add_special_tokens=False)
        result: list[tuple[list[int], IntArray]] = []
        for encoding, document in zip(encodings, read, strict=True):
            owners = np.array(encoding.word_ids, dtype=np.int64)
            silent = set(range(len(document))) - set(owners.tolist())
            if silent:
                # White space, control characters and the like leave no subword: the unknown word stands in for them.
                unknown = getattr(self._tokenizer.model, "unk_token", None) or "?"
                stand_in = [unknown if i in silent else word for i, word in enumerate(document)]
                encoding = self._tokenizer.encode(stand_in, is_pretokenized=True, add_special_tokens=False)
                owners = np.array(encoding.word_ids, dtype=np.int64)
            result.append((encoding.ids, owners))
        return result

    def _run(self, sequences: list[list[int]]) -> Iterator[tuple[int, FloatArray]]:
        """The position of each sequence and its states (L, d), in whatever order they are computed."""
        padded = [padded_length(len(sequence), self.spec.max_length) for sequence in sequences]
        batches = batch_by_length(padded, min(self._batch_tokens, max(_MIN_TOKENS, sum(padded) // self._runner.threads)))

        def run(batch: tuple[int, list[int]]) -> FloatArray:
            length, members = batch
            ids = np.zeros((len(members), length), np.int64)
            mask = np.zeros_like(ids)
            for row, index in enumerate(members):
                ids[row, : len(sequences[index])] = sequences[index]
                mask[row, : len(sequences[index])] = 1
            return self._runner.run(input_ids=ids, attention_mask=mask)[0]  # (B, L, d)

        for (_, members), states in zip(batches, self._runner.each(run, batches), strict=True):
            yield from zip(members, states, strict=True)
