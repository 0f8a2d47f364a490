"""The package as it is installed."""

from importlib.metadata import version
from importlib.resources import files

import suffice


def test_version_is_that_of_the_installed_package():
    assert suffice.__version__ == version("suffice")


def test_package_says_that_it_is_typed():
    assert files("suffice").joinpath("py.typed").is_file()
