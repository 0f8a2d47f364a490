"""The components of a start are matched one by one to those of the prototype, whatever is fixed in either."""

import numpy as np
import pytest

import suffice as sf

X = sf.Mixture([sf.Normal(4.0, 0.8), sf.Normal(8.0, 2.0)], weights=[0.3, 0.7]).sample(1000, random_state=0)
START = sf.Mixture([sf.Normal(4.0, 0.8), sf.Normal(8.0, 2.0)], weights=[0.3, 0.7])
FIXED = sf.Normal(mean=4.0).fix("mean")


@pytest.mark.parametrize(
    ("prototype", "start"),
    [
        (sf.Mixture([FIXED, sf.Normal()]), START),
        (sf.Mixture([FIXED, sf.Normal()]), sf.Mixture([FIXED, sf.Normal(8.0, 2.0)], weights=[0.3, 0.7])),
        (sf.Mixture(sf.Normal(), 2), sf.Mixture([FIXED, sf.Normal(8.0, 2.0)], weights=[0.3, 0.7])),
        (sf.Mixture([sf.Normal(), sf.Normal(std=2.0).fix("std")]), START),
    ],
)
def test_a_start_of_like_components_serves_a_prototype_of_unlike_ones(prototype, start):
    found = sf.fit(prototype, X, start=start)
    assert found.converged
    learned = found.distribution.parts
    assert learned[0].mean < 5 < learned[1].mean  # in the order of the start
    for mine, theirs in zip(prototype.parts, learned, strict=True):
        assert mine.fixed == theirs.fixed
        for name in mine.fixed:
            assert getattr(theirs, name) == getattr(mine, name)


def test_the_fit_goes_on_from_the_start():
    prototype = sf.Mixture([FIXED, sf.Normal()])
    end = sf.fit(prototype, X, start=START)
    free = sf.Mixture(
        [sf.Normal(one.mean, one.std) for one in end.distribution.parts], weights=end.distribution.weights
    )
    again = sf.fit(prototype, X, start=free)
    assert len(again.trace.log_likelihood) < 5
    assert again.log_likelihood == pytest.approx(end.log_likelihood, rel=1e-9)


def test_a_start_of_vectors_and_of_mixtures_in_mixtures():
    rows = np.random.default_rng(0).normal(size=(200, 2)) + np.repeat([[0.0, 0.0], [6.0, 6.0]], 100, axis=0)
    middle = sf.MultivariateNormal(mean=[0.0, 0.0], cov=np.eye(2)).fix("mean")
    apart = [sf.MultivariateNormal([0.0, 0.0], np.eye(2)), sf.MultivariateNormal([6.0, 6.0], np.eye(2))]
    found = sf.fit(sf.Mixture([middle, sf.MultivariateNormal()]), rows, start=sf.Mixture(apart)).distribution
    np.testing.assert_array_equal(found.parts[0].mean, [0.0, 0.0])
    np.testing.assert_allclose(found.parts[1].mean, rows[100:].mean(axis=0), atol=0.05)

    nested = sf.Mixture([sf.Mixture([FIXED, sf.Normal()]), sf.Normal()])
    start = sf.Mixture([START, sf.Normal(20.0, 1.0)])
    assert sf.fit(nested, X, start=start, max_iter=3).distribution.parts[0].parts[0].mean == 4.0


def test_a_start_with_other_columns_is_refused():
    wide = sf.Mixture([sf.Normal([4.0, 4.0], 1.0), sf.Normal([8.0, 8.0], 1.0)])
    with pytest.raises(sf.SufficeError, match="column"):
        sf.fit(sf.Mixture([FIXED, sf.Normal()]), X, start=wide)
