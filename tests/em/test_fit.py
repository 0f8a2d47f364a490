"""What a fit tells: its numbers, its page, its alerts, and how it ends when it cannot end well."""

import numpy as np
import pytest

import suffice as sf


def test_criteria_are_lower_is_better_and_count_free_parameters():
    x = [1.0, 2.0, 4.0]
    fit = sf.fit(sf.Normal(), x)
    np.testing.assert_allclose(fit.aic, 4 - 2 * fit.log_likelihood, rtol=1e-15)
    np.testing.assert_allclose(fit.bic, 2 * np.log(3) - 2 * fit.log_likelihood, rtol=1e-15)
    assert sf.fit(sf.Normal(std=1).fix("std"), x).n_parameters == 1


def test_standard_errors_of_a_normal_are_the_textbook_ones():
    x = np.random.default_rng(0).normal(3, 2, 400)
    fit = sf.fit(sf.Normal(), x)
    errors = fit.standard_errors
    np.testing.assert_allclose(errors["mean"], x.std() / np.sqrt(400), rtol=1e-12)
    np.testing.assert_allclose(errors["std"], x.std() / np.sqrt(800), rtol=1e-12)
    low, high = fit.interval(0.95)["mean"]
    np.testing.assert_allclose(
        [low, high], x.mean() + np.array([-1, 1]) * 1.959963984540054 * errors["mean"], rtol=1e-12
    )


def test_numeric_information_agrees_with_closed_forms():
    x = sf.Gamma(2.0, 0.5).sample(300, random_state=1)
    fit = sf.fit(sf.Gamma(), x)
    from scipy import special

    shape, rate, n = fit.distribution.shape, fit.distribution.rate, 300
    information = n * np.array([[special.polygamma(1, shape), -1 / rate], [-1 / rate, shape / rate**2]])
    expected = np.sqrt(np.diag(np.linalg.inv(information)))
    np.testing.assert_allclose([fit.standard_errors["shape"], fit.standard_errors["rate"]], expected, rtol=1e-8)


def test_the_page_names_family_rows_holes_parameters_and_alerts():
    page = str(sf.fit(sf.Bernoulli(), [0, 0, None]))
    assert page.startswith("Bernoulli by maximum likelihood, 3 rows, 1 cell missing\n")
    assert "· 1 parameter ·" in page
    assert "\n  ! boundary: p = 0" in page
    assert "–" in page.splitlines()[4]  # no standard error on a boundary
    fixed = str(sf.fit(sf.Normal(std=2).fix("std"), [1.0]))
    assert "1 row\n" in fixed
    assert any(line.split() == ["std", "2", "fixed"] for line in fixed.splitlines())


def test_the_page_leaves_out_what_is_too_much():
    page = str(sf.fit(sf.Normal(), np.random.default_rng(0).normal(size=(50, 20))))
    assert "\n  column 15  " in page
    assert "column 16" not in page
    assert "\n  … and 4 more columns\n" in page
    letters = str(sf.fit(sf.Categorical(), list("abcdefghijklmnop")))
    assert "probs[l]" in letters
    assert "probs[m]" not in letters
    assert "\n  … and 4 more parameters\n" in letters


def test_repr_is_one_line_with_alert_codes():
    assert repr(sf.fit(sf.Bernoulli(), [0, 0])) == "Fit(Bernoulli(p=0), log_likelihood=0, n=2, alerts: boundary)"


def test_a_fit_forwards_the_verbs_of_its_distribution_and_nothing_else():
    fit = sf.fit(sf.Normal(), [1.0, 3.0])
    assert fit.cdf(2.0) == 0.5
    assert fit.quantile(0.5) == 2.0
    with pytest.raises(AttributeError, match="Fit has no attribute 'nonsense'"):
        _ = fit.nonsense


def test_stopping_early_is_said_and_keeps_the_best():
    x = sf.StudentT(3, 10, 2).sample(500, random_state=0)
    short = sf.fit(sf.StudentT(), x, max_iter=2)
    assert not short.converged
    assert short.alerts[0][0] == "not converged"
    assert short.n_iter == 2
    np.testing.assert_allclose(short.log_likelihood, short.distribution.log_prob(x).sum(), rtol=1e-12)
    full = sf.fit(sf.StudentT(), x)
    assert full.converged
    assert full.log_likelihood > short.log_likelihood
    loose = sf.fit(sf.StudentT(), x, tol=1e-3)
    assert loose.converged
    assert loose.n_iter < full.n_iter


def test_an_interrupt_ends_with_what_there_is(monkeypatch):
    x = sf.StudentT(3, 10, 2).sample(500, random_state=0)
    passes = []
    plain = sf.StudentT.estimate

    def estimate(self, stats, prior=None):
        passes.append(1)
        if len(passes) == 3:
            raise KeyboardInterrupt
        return plain(self, stats, prior)

    monkeypatch.setattr(sf.StudentT, "estimate", estimate)
    fit = sf.fit(sf.StudentT(), x)
    assert not fit.converged
    assert "interrupted after 3 passes" in fit.alerts[0][1]
    assert np.isfinite(fit.log_likelihood)


def test_distance_measures_a_location_against_the_spread():
    assert sf.Normal(1e8, 1).distance(sf.Normal(1e8 + 0.5, 1)) == 0.5
    assert sf.Poisson(2.0).distance(sf.Poisson(2.2)) == pytest.approx(0.1)


def test_unseen_columns_keep_the_prototype_and_say_so():
    x = np.array([[1.0, np.nan], [3.0, np.nan]])
    fit = sf.fit(sf.Normal(std=7.0), x)
    assert fit.alerts[-1][0] == "unseen"
    assert fit.distribution.std[1] == 7.0
    assert fit.distribution.mean[0] == 2.0


def test_components_that_share_a_parameter_refuse_a_conjugate_prior():
    stack = sf.Bernoulli().tie("p").stack(2)
    stats = stack.suffstats([0, 1, 1, 1], np.eye(2)[[0, 0, 1, 1]])
    with pytest.raises(sf.UnsupportedError, match="share p"):
        stack.estimate(stats, sf.Beta(2, 2))
