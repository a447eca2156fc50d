"""Parquet files of strangers: encrypted ones, and small ones that become very large."""

import base64

import pyarrow as pa
from pyarrow import parquet
from pyarrow.parquet import encryption

KEYS = {"footer": "0123456789012345", "column": "1234567890123450"}


class Keys(encryption.KmsClient):
    """Keys that are not secret."""

    def __init__(self, _):
        encryption.KmsClient.__init__(self)

    def wrap_key(self, key, name):
        return base64.b64encode(KEYS[name].encode() + key)

    def unwrap_key(self, wrapped, name):
        return base64.b64decode(wrapped)[len(KEYS[name]) :]


def write_encrypted(path, column, plaintext_footer=True):
    """A file with the columns `text` and `other`, of which one is encrypted, or with its footer all of it."""
    asked = encryption.EncryptionConfiguration("footer", column_keys={"column": [column]}, plaintext_footer=plaintext_footer)
    connection = encryption.KmsConnectionConfig()
    properties = encryption.CryptoFactory(Keys).file_encryption_properties(connection, asked)
    table = pa.table({"text": ["some words", "more words"], "other": ["a", "b"]})
    with parquet.ParquetWriter(path, table.schema, encryption_properties=properties) as writer:
        writer.write_table(table)


def write_shared(path, repeats, length):
    """A file of a few kilobytes with one row, in which a list holds one long string many times."""
    shared = pa.DictionaryArray.from_arrays(pa.array([0] * repeats, pa.int32()), pa.array(["a " * (length // 2)]))
    lists = pa.ListArray.from_arrays(pa.array([0, repeats], pa.int32()), shared)
    table = pa.table({"text": ["some words"], "other": lists})
    parquet.write_table(table, path, compression="zstd", dictionary_pagesize_limit=1 << 30, store_schema=False)
    assert path.stat().st_size < 10_000


def hog(size):
    """A reader that wants memory."""
    yield str(len(bytearray(size)))
