"""Split and merge moves: which components are joined, which are cut, and along which axis."""

import numpy as np
import pytest

from suffice.em.init import split_merge


# ---- two components made one, and another cut
# ---------------------------------------------------------------------------
def test_components_that_share_a_heap_are_made_one_and_the_one_with_two_is_cut():
    rng = np.random.default_rng(5)
    heap = np.repeat([0, 1, 2, 3], 50)
    places = rng.normal(size=(200, 2)) + np.array([[0, 0], [30, 0], [0, 30], [0, 50]])[heap]
    half = np.full(50, 0.5)
    shares = np.zeros((200, 4))
    shares[heap == 0, 0] = shares[heap == 0, 2] = half
    shares[heap == 1, 1] = shares[heap >= 2, 3] = 1
    first = next(split_merge.moves(shares, places, np.ones(200), np.zeros(200)))
    np.testing.assert_allclose(first.sum(axis=1), 1)
    np.testing.assert_array_equal(first.argmax(axis=1)[heap < 2], heap[heap < 2])
    assert sorted({*first.argmax(axis=1)[heap == 2]} | {*first.argmax(axis=1)[heap == 3]}) == [2, 3]


def test_a_component_of_hardly_any_rows_is_given_those_that_nobody_describes():
    rng = np.random.default_rng(6)
    heap = np.repeat([0, 1, 2], 100)
    places = rng.normal(size=(300, 2)) + np.array([[0, 0], [30, 0], [0, 30]])[heap]
    shares = np.zeros((300, 4))
    shares[np.arange(300), heap] = 1.0
    shares[:3] = [0.6, 0, 0, 0.4]  # the fourth has hardly any rows, and those of the first
    heights = np.where(heap == 2, -20.0, -3.0)
    first, *others = split_merge.moves(shares, places, np.ones(300), heights)
    lost = [first, *others][1]
    np.testing.assert_allclose(lost.sum(axis=1), 1)
    np.testing.assert_array_equal(lost.argmax(axis=1)[heap < 2], heap[heap < 2])
    assert (lost[:, 3] > 0.5).sum() == 75  # as many as components have on average


@pytest.mark.parametrize("factor", [2.0**-570, 2.0**660])
def test_moves_are_the_same_in_whatever_unit_rows_are_weighed(factor):
    rng = np.random.default_rng(7)
    places = np.concatenate([rng.normal(size=(200, 2)) * [9, 1], rng.normal(size=(100, 2)) + [[-6, 40], [6, 40]] * 50])
    shares = np.zeros((300, 4))
    shares[np.arange(200), np.arange(200) % 3] = shares[200:, 3] = 1.0  # the last lies in two heaps, others spread more
    found, expected = (
        list(split_merge.moves(shares, places, np.full(300, w), np.arange(300.0))) for w in (factor, 1.0)
    )
    np.testing.assert_array_equal(found, expected)


def test_the_lightest_component_and_its_next_are_made_one_once():
    rng = np.random.default_rng(6)
    heap = np.repeat([0, 1, 2], 100)
    places = rng.normal(size=(300, 2)) + np.array([[0, 0], [30, 0], [0, 30]])[heap]
    shares = np.zeros((300, 4))
    shares[np.arange(300), heap + 1] = 1.0
    shares[:9] = [0.4, 0.6, 0, 0]  # the first, light as it is, shares more with the second than any others do
    shares[100:102] = [0, 0.1, 0.9, 0]
    found = list(split_merge.moves(shares, places, np.ones(300), np.zeros(300)))
    partitions = {tuple(np.round(sorted(map(tuple, one.T)), 6).ravel()) for one in found}
    assert len(partitions) == len(found)


def test_the_principal_axis_of_many_columns_is_found_without_their_matrix(monkeypatch):
    rng, sizes, eigh = np.random.default_rng(2), [], np.linalg.eigh
    axis = rng.normal(size=300)
    places = rng.normal(size=(400, 300)) + 2 * rng.choice([-1, 1], size=(400, 1)) * axis / np.linalg.norm(axis) * 3
    mine = rng.uniform(size=400)
    centred = places - mine @ places / mine.sum()
    longest = eigh((centred * mine[:, None]).T @ centred)[0][-1]
    monkeypatch.setattr(np.linalg, "eigh", lambda matrix: (sizes.append(matrix.shape[-1]), eigh(matrix))[1])
    place, spread = split_merge.along(mine, places)
    assert max(sizes) <= split_merge.WIDE
    assert spread == pytest.approx(longest, rel=1e-3)
    assert mine @ place**2 == pytest.approx(spread, rel=1e-9)


@pytest.mark.parametrize("places", [np.zeros((5, 90)), np.eye(5, 90), np.ones((1, 90))])
def test_the_principal_axis_of_few_rows_of_many_columns(places):
    narrow = places[:, :5]
    for mine in (np.ones(len(places)), np.zeros(len(places))):
        assert split_merge.along(mine, places)[1] == pytest.approx(split_merge.along(mine, narrow)[1], abs=1e-12)
