"""Files of comma-separated values that nobody here has made, of packages on PyPI. docs/guide/files.md has them as a table: this file prints it.

Each is read by `eris import NAME FILE`, and by the option that the message of the first try has named, if one is needed.
"""
import typing


class File(typing.NamedTuple):
    package: str
    path: str  # in the package
    rows: int
    option: str = ""  # that is needed


PACKAGES = {"airportsdata": "20260905", "bokeh_sampledata": "2026.1", "gapminder": "0.1", "palmerpenguins": "0.1.6",
            "statsmodels": "0.15.0", "vega_datasets": "0.9.0"}
FILES = [
    File("airportsdata", "airportsdata/airports.csv", 28_298),
    File("bokeh_sampledata", "bokeh_sampledata/_data/antibiotics.csv", 16),
    File("bokeh_sampledata", "bokeh_sampledata/_data/auto-mpg.csv", 392),
    File("bokeh_sampledata", "bokeh_sampledata/_data/browsers_nov_2013.csv", 118),
    File("bokeh_sampledata", "bokeh_sampledata/_data/CGM.csv.gz", 52_281),
    File("bokeh_sampledata", "bokeh_sampledata/_data/cycling.csv.gz", 4_391),
    File("bokeh_sampledata", "bokeh_sampledata/_data/elements.csv", 118),
    File("bokeh_sampledata", "bokeh_sampledata/_data/lincoln_weather.csv", 366),
    File("bokeh_sampledata", "bokeh_sampledata/_data/obiszow_mtb_xcm.csv", 978),
    File("bokeh_sampledata", "bokeh_sampledata/_data/emissions.csv.gz", 10_526),
    File("bokeh_sampledata", "bokeh_sampledata/_data/routes.csv.gz", 9_161),
    File("bokeh_sampledata", "bokeh_sampledata/_data/SampleSuperstore.csv.gz", 9_994),
    File("bokeh_sampledata", "bokeh_sampledata/_data/sprint.csv", 85),
    File("bokeh_sampledata", "bokeh_sampledata/_data/stocks.csv.gz", 12_154),
    File("bokeh_sampledata", "bokeh_sampledata/_data/titanic_all.csv", 1_313),
    File("bokeh_sampledata", "bokeh_sampledata/_data/world_cities.csv.gz", 45_065),
    File("gapminder", "gapminder/gapminder.csv", 1_704),
    File("palmerpenguins", "palmerpenguins/data/penguins-raw.csv", 344),
    File("palmerpenguins", "palmerpenguins/data/penguins.csv", 344),
    File("statsmodels", "statsmodels/datasets/elnino/elnino.csv", 61),
    File("statsmodels", "statsmodels/datasets/fair/fair.csv", 6_366),
    File("statsmodels", "statsmodels/datasets/fertility/fertility.csv", 219),
    File("statsmodels", "statsmodels/datasets/interest_inflation/E6_jmulti.csv", 107),
    File("statsmodels", "statsmodels/datasets/macrodata/src/unemp.csv", 203, "--skip 10"),
    File("statsmodels", "statsmodels/datasets/randhie/src/randhie.csv", 20_190),
    File("statsmodels", "statsmodels/datasets/scotland/src/scotvote.csv", 32),
    File("statsmodels", "statsmodels/regression/tests/results/dietox.csv", 861),
    File("vega_datasets", "vega_datasets/_data/airports.csv", 3_376),
    File("vega_datasets", "vega_datasets/_data/seattle-weather.csv", 1_461),
    File("vega_datasets", "vega_datasets/_data/us-employment.csv", 120),
]


def table():
    lines = ["| package | file | rows | option |", "|---|---|---|---|"]
    for one in FILES:
        lines.append(f"| {one.package} {PACKAGES[one.package]} | {one.path.rpartition('/')[2]} | {one.rows:,} | "
                     f"{f'`{one.option}`' if one.option else ''} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table(), end="")
