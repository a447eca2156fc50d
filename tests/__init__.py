"""Tests. What all of them need of their environment is set here, before anything else is imported."""

import os

HANG = 600
"""Seconds after which something is taken to hang: far more than it takes on a busy machine."""

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "true"
# Tests run in several processes: teams of threads would wait for each other. What DiFA itself does with threads is left alone.
os.environ["MKL_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
