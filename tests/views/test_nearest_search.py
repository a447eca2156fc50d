import numpy as np
import pytest

from difa.views.neighbour import NearestSearch

MANY = 1024


def compared_one_by_one(bank, vectors):
    squares = [((bank.astype(np.float64) - vector.astype(np.float64)) ** 2).sum(axis=1) for vector in vectors]
    return np.array([row.min() for row in squares]), np.array([row.argmin() for row in squares])


def make(rng, kind, count):
    vectors = rng.normal(size=(count, 96))
    match kind:
        case "few directions":  # as word vectors have
            vectors *= 0.9 ** np.arange(96)
        case "flat":
            vectors[:, 5:] = 0
        case "repeated":
            vectors = vectors[rng.integers(3, size=count)]
        case "far away":
            vectors += 100
    return vectors.astype(np.float32)


@pytest.mark.parametrize("kind", ["all directions alike", "few directions", "flat", "repeated", "far away"])
def test_the_nearest_row_whatever_the_shape_of_the_bank(rng, kind):
    bank, vectors = make(rng, kind, MANY + 10), make(rng, kind, MANY)
    squares, nearest = NearestSearch(bank, threads=2).find(vectors)
    expected, which = compared_one_by_one(bank, vectors)
    assert squares == pytest.approx(expected, rel=1e-12)
    assert nearest.tolist() == which.tolist()


def test_few_and_many_vectors_give_the_same_bits(rng):
    bank, vectors = make(rng, "few directions", 2 * MANY), make(rng, "few directions", MANY + 100)
    nearest = NearestSearch(bank)
    together, _ = nearest.find(vectors)
    alone, _ = nearest.find(vectors[-50:])
    assert (together[-50:] == alone).all()


def test_no_vectors():
    squares, nearest = NearestSearch(np.ones((3, 4), np.float32)).find(np.zeros((0, 4), np.float32))
    assert squares.shape == nearest.shape == (0,)


def test_vectors_far_beyond_the_bank_find_a_row_too(rng):
    bank = make(rng, "few directions", 50)
    vectors = np.concatenate([bank[:5] * 1000, np.full((1, 96), 1e6, np.float32)])
    squares, nearest = NearestSearch(bank).find(vectors)
    assert squares == pytest.approx(compared_one_by_one(bank, vectors)[0], rel=0.01)
    assert ((nearest >= 0) & (nearest < 50)).all()
