"""``max_iter`` counts iterations of EM: after t of them the parameters have had t M-steps."""

import warnings

import numpy as np
import pytest

import suffice as sf

X = sf.Mixture([sf.Normal(4, 0.8), sf.Normal(8, 2)], weights=[0.3, 0.7]).sample(200, random_state=0)
COUNTS = sf.Mixture([sf.Poisson(1.0), sf.Poisson(6.0)]).sample(200, random_state=1)


@pytest.mark.parametrize(
    ("start", "data"),
    [
        (sf.Mixture([sf.Normal(2, 1), sf.Normal(9, 1)]), X),
        (sf.Mixture([sf.Poisson(2), sf.Poisson(3)], weights=[0.3, 0.7]), COUNTS),
        (sf.Mixture([sf.Normal(2, 1), sf.Exponential(0.2)]), X),
    ],
    ids=["normal", "poisson", "different"],
)
@pytest.mark.parametrize("steps", [1, 2, 5])
def test_max_iter_counts_m_steps(start, data, steps):
    prototype = start
    fit = sf.fit(prototype, data, start=start, max_iter=steps, accelerate=False)
    path = [start]
    for _ in range(steps):
        path.append(path[-1].em_step(data))
    assert fit.n_iter == steps
    np.testing.assert_allclose(fit.distribution.log_prob(data), path[-1].log_prob(data), rtol=1e-9)
    np.testing.assert_allclose(fit.trace.log_likelihood, [one.log_prob(data).sum() for one in path], rtol=1e-10)
    assert fit.log_likelihood == pytest.approx(path[-1].log_prob(data).sum(), rel=1e-12)


def test_the_estimator_ends_at_the_same_parameters():
    x = X[:, None]
    given = {"weights_init": [0.5, 0.5], "means_init": [[2.0], [9.0]], "precisions_init": [[[1.0]], [[1.0]]]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it does not converge
        model = sf.GaussianMixture(2, **given, max_iter=3, tol=0.0, reg_covar=0.0).fit(x)
    once = sf.Mixture([sf.Normal(2, 1), sf.Normal(9, 1)]).em_step(X).em_step(X).em_step(X)
    assert model.n_iter_ == 3
    np.testing.assert_allclose(np.sort(model.means_[:, 0]), once.params["mean"], rtol=1e-9)


def test_families_that_iterate_make_their_steps_too():
    x = [0.1, 0.5, -3.0, 8.0, 0.2]
    heights = [sf.fit(sf.StudentT(), x, max_iter=most, accelerate=False).log_likelihood for most in (1, 2, 3, 4)]
    assert (np.diff(heights) > 0).all()
    short = sf.fit(sf.StudentT(), x, max_iter=1)
    assert not short.converged
    assert "stopped after 1 pass," in dict(short.alerts)["not converged"]
