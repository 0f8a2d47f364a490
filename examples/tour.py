"""A tour in one minute: estimate, believe, compare, and see estimates converge."""

from __future__ import annotations

import numpy as np

import suffice as sf


def title(text: str) -> None:
    """Print a heading."""
    print(f"\n{text}\n{'─' * len(text)}")


def survival() -> None:
    """Twelve patients take a new drug and nine survive: the chance of the next one."""
    patients = np.array([1, 1, 1, 0, 1, 1, 0, 1, 1, 1, 0, 1])
    title("Survival of 12 patients")
    print(sf.fit(sf.Bernoulli(), patients))
    low, high = sf.theory.hoeffding_interval(patients, delta=0.05)
    print(f"\nWhatever the truth, it lies in {low:.2f} … {min(high, 1):.2f} with probability 0.95 (Hoeffding);")
    print(f"to know it within 0.05 takes {sf.theory.hoeffding_sample_size(0.05, 0.05)} patients.")

    flat = sf.posterior(sf.Bernoulli(), patients, prior=sf.Beta(1, 1))
    low, high = flat.interval(0.95)
    print(f"\nFlat prior: believe {flat.mean:.3f}, {low:.2f} … {high:.2f}; the next patient is {flat.predictive()}.")

    def effective(p: np.ndarray) -> np.ndarray:
        return np.where(p > 0.5, 0.8 * 2, 0.2 * 2)

    hopeful = sf.posterior(sf.Bernoulli(), patients, prior=effective)
    print(f"A prior that favours effective drugs: believe {hopeful.mean:.3f}; the data are")
    print(f"{np.exp(hopeful.log_evidence - flat.log_evidence):.2f} times as probable under it as under the flat one.")

    title("Three patients, none survives: maximum likelihood over-fits, and says so")
    print(sf.fit(sf.Bernoulli(), [0, 0, 0]))
    print("\nThe same with two pseudo-examples, prior=Beta(2, 2):")
    print(sf.fit(sf.Bernoulli(), [0, 0, 0], prior=sf.Beta(2, 2)))


def strings() -> None:
    """Four strings as the universe, seven seen."""
    title("A distribution over strings")
    levels = ("01000010", "11111111", "00001111", "00000000")
    seen = np.repeat(levels, (2, 3, 1, 1))
    print(sf.fit(sf.Categorical(levels), seen))


def linear_map() -> None:
    """Noise through a matrix: x = Az + μ has covariance AAᵀ."""
    title("x = Az + μ with A = [[2, 1], [−2, 1]]")
    a = np.array([[2.0, 1.0], [-2.0, 1.0]])
    x = np.random.default_rng(0).normal(size=(2000, 2)) @ a.T + [1.0, 3.0]
    print("A Aᵀ =", (a @ a.T).tolist())
    print(sf.fit(sf.MultivariateNormal(), x))


def heavy_tails() -> None:
    """A family without finite statistics takes several passes; a column with a hole is no obstacle."""
    title("Heavy tails, a hole, and a far outlier")
    x = sf.StudentT(df=3, loc=10, scale=2).sample(5000, random_state=1)
    x[0], x[1] = np.nan, 1e4
    print(sf.fit(sf.StudentT(), x))
    print(f"\nA Normal believes in a standard deviation of {sf.fit(sf.Normal(), x).distribution.std:.1f}.")


def half_lives() -> None:
    """A thousand half-lives of two kinds of particles, and which is which is not known."""
    title("A mixture of two kinds of particles: EM")
    truth = sf.Mixture([sf.Normal(4, 0.8), sf.Normal(8, 2)], weights=[0.3, 0.7])
    lives = truth.sample(1000, random_state=3)
    print(sf.fit(sf.Mixture(sf.Normal(), 2), lives, random_state=0))
    print()
    print(sf.select(sf.Normal(), lives, n_components=range(1, 5), random_state=0))


def noisy_strings() -> None:
    """Strings of three hidden kinds, each symbol flipped with probability 0.1."""
    title("Three hidden kinds of strings, one symbol in ten wrong: latent classes")
    rng = np.random.default_rng(0)
    patterns = np.array([list("01000010"), list("11110000"), list("00001111")])
    clean = patterns[rng.integers(3, size=300)]
    noisy = np.where(rng.random(clean.shape) < 0.1, np.where(clean == "0", "1", "0"), clean)
    model = sf.LatentClass(3, random_state=0).fit(["".join(row) for row in noisy])
    for weight, kind in zip(model.weights_, model.fit_.distribution.parts, strict=True):
        print(f"{weight:.2f}  {''.join(kind.mode)}")


def consistency() -> None:
    """Estimates come to the truth as the sample grows."""
    title("Consistency: P(|estimate − truth| > 0.1) for Poisson(rate=3)")
    sizes = (100, 400, 1600, 6400)
    print(sf.theory.consistency(sf.Poisson(3.0), sizes=sizes, epsilon=0.1, repeats=400, random_state=0))


if __name__ == "__main__":
    survival()
    strings()
    linear_map()
    heavy_tails()
    half_lives()
    noisy_strings()
    consistency()
