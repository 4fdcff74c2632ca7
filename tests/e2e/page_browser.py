"""Looks at the page with Debian's Chromium, for page_test.py: page_browser.py URL ERIS FOLDER. Moves a range with ERIS, whose server is in
ERIS_SERVER. Prints "stop" when the server is to end, and expects to see the page say so. Pictures go to FOLDER.
"""
import functools
import itertools
import json
import pathlib
import re
import subprocess
import sys

from playwright.sync_api import expect, sync_playwright

CHROMIUM = "/usr/bin/chromium"
WIDTH, HEIGHT = 1280, 1600


def owner(page, number):
    return page.locator(f"#space g[data-range='{number}']")


def part_of(page, bar):
    """How much of its place the first such bar fills."""
    return page.locator(bar).first.evaluate("bar => bar.getBoundingClientRect().width / bar.parentElement.clientWidth")


def check_first_sight(page):
    expect(page.locator("#connection")).to_have_attribute("data-state", "live", timeout=20_000)
    expect(page.locator("#aeus .tile")).to_have_count(4)
    expect(page.locator("#aeus .node")).to_have_count(2)
    expect(page.locator("#objects tbody tr")).to_have_count(3)
    expect(page.locator("#objects")).to_contain_text('<b>"odd" & long</b>')  # a name is a text, whatever it has
    expect(page.locator("#objects b")).to_have_count(0)
    expect(page.locator("#running")).to_have_text("Nothing is moving now.")
    expect(page.locator("#past")).to_have_text("No range has moved since the start.")
    expect(page.locator("#traffic tbody tr")).to_have_count(2)
    expect(page.locator("#memory-nodes .bar-row")).to_have_count(2)
    page.locator("#objects tr[data-key='orders']").click()
    expect(page.locator(".chosen").first).to_have_text("orders")
    expect(page.locator("#space g")).to_have_count(4)
    for number in range(4):
        expect(owner(page, number)).to_have_attribute("data-aeu", str(number))
    expect(page.locator("#hot tbody tr").first).to_be_visible(timeout=20_000)
    expect(page.locator(".chart canvas")).to_have_count(2)


def check_move(page, eris):
    """The first half of AEU 0's range goes to AEU 3, on the other NumaNode, so slowly at first that the page shows it."""
    def limit(bytes_per_s):
        subprocess.run([eris, "balancer", "set", "--max-bytes-per-s", bytes_per_s], check=True, stdout=subprocess.DEVNULL)

    limit("100")
    with subprocess.Popen([eris, "balancer", "move", "orders", "--from", "0", "--to", "12500", "--aeu", "3", "--kind", "copy"],
                          stdout=subprocess.DEVNULL) as moving:
        try:
            expect(page.locator("#running tbody tr")).to_have_count(1, timeout=20_000)
            expect(page.locator("#running tbody td")).to_have_text(
                ["orders", "copy", "the first", "12500", "0 → 3", re.compile(r"^\d+$"), re.compile(r" (B|KiB)$"), re.compile(r" m?s$"),
                 "waits for its next step"], timeout=20_000)
        finally:
            limit("0")
    assert moving.returncode == 0, "the move has failed"
    expect(page.locator("#running")).to_have_text("Nothing is moving now.", timeout=20_000)
    expect(page.locator("#space g")).to_have_count(5, timeout=20_000)
    expect(owner(page, 0)).to_have_attribute("data-aeu", "3")
    expect(owner(page, 1)).to_have_attribute("data-aeu", "0")
    expect(owner(page, 0).locator("text")).to_have_text("3")
    expect(page.locator("#past tbody tr").first).to_contain_text("0 → 3", timeout=20_000)
    expect(page.locator("#past tbody tr").first).to_contain_text("done")
    assert 0.2 < part_of(page, "#hot .share b") < 0.8, "a hot range has half of the load, and its bar shows it"
    assert part_of(page, "#aeus .tile b") < 0.8, "the bar of an AEU that is mostly idle"
    owner(page, 0).hover()
    expect(page.locator("#range")).to_contain_text("from the first to 12500, AEU 3")
    page.locator("#aeus .tile").first.click()
    expect(page.locator("#space g.faded")).to_have_count(4)
    page.locator("#aeus .tile").first.click()


TRAFFIC = ((0, 100), (200, 400))  # keys that each answer has more than the one before it
MEMORY = ({"in_use_bytes": 384, "buffers_bytes": 128, "kept_bytes": 64, "ready_bytes": 32, "reserved_bytes": 480},  # MiB
          {"in_use_bytes": 16, "buffers_bytes": 0, "kept_bytes": 0, "ready_bytes": 512, "reserved_bytes": 528})
BARS = [("25%", "objects: 256.0 MiB"), ("12.5%", "buffers: 128.0 MiB"), ("6.25%", "kept for reuse: 64.0 MiB"), ("3.13%", "made ready: 32.0 MiB"),
        ("1.56%", "objects: 16.0 MiB"), ("0%", "buffers: 0 B"), ("0%", "kept for reuse: 0 B"), ("50%", "made ready: 512.0 MiB")]
PHASES = {"OTHER_TRANSFER": "waits for another transfer of the source", "SOURCE": "the source gives rows", "TARGET": "rows are on their way",
          "CONCLUSION": "the source hears how it ended"}


def answer_known_figures(page):
    """The server's answers, but with those figures."""
    polls = itertools.count(1)

    def stats(its):
        poll = next(polls)
        for node, keys in zip(its["numa_nodes"], TRAFFIC):
            node["keys_sent_to"] = [str(poll * each) for each in keys]

    def memory(its):
        its["limit_bytes"] = str(1 << 30)
        for node, figures in zip(its["numa_nodes"], MEMORY):
            node.update({name: str(mib << 20) for name, mib in figures.items()})

    def balancer(its):
        common = {"object": "orders", "kind": "TRANSFER_KIND_LEAP", "range": {"hi": "7"}, "from_aeu": 2, "to_aeu": 1, "rows": "12345", "bytes": "0",
                  "duration_us": "61000000"}
        its["running"] = [{**common, "phase": f"TRANSFER_PHASE_{phase}"} for phase in PHASES]

    def answer(route, change):
        got = route.fetch()
        its = got.json()
        change(its)
        route.fulfill(response=got, json=its)

    for change in (stats, memory, balancer):
        page.route(f"**/api/{change.__name__}", functools.partial(answer, change=change))


def check_figures(browser, url):
    """What the page makes of known figures."""
    page = browser.new_page()
    answer_known_figures(page)
    page.goto(url)
    expect(page.locator("#running tbody tr")).to_have_count(len(PHASES), timeout=20_000)
    rows = page.locator("#running tbody tr").all()
    for row, phase in zip(rows, PHASES.values(), strict=True):
        expect(row.locator("td")).to_have_text(["orders", "leap", "the first", "7", "2 → 1", "12.3 k", "0 B", "1 min 1 s", phase])
    bars = page.locator("#memory-nodes .bar i").evaluate_all("all => all.map((one) => [one.style.width, one.title])")
    assert list(map(tuple, bars)) == BARS, f"bars: {bars}"
    expect(page.locator("#memory-nodes .bar-row")).to_have_text([re.compile("NumaNode 0.*480.0 MiB reserved"), re.compile("NumaNode 1.*528.0 MiB reserved")])
    expect(page.locator("#memory-nodes .keys")).to_contain_text("the limit of all NumaNodes, 1.0 GiB")
    cells = page.locator("#traffic tbody td:not(.text)")
    expect(cells.last).not_to_have_text("0", timeout=20_000)  # a rate needs two answers
    shown = cells.evaluate_all("all => all.map((one) => [Number(one.textContent), one.title, getComputedStyle(one).backgroundColor.match(/[^ ]+(?=\\)$)/)[0]])")
    rates, titles, heats = zip(*shown)
    assert rates[0] == 0 < rates[1] and all(abs(got - rates[1] * keys / 100) < 3 for got, keys in zip(rates, sum(TRAFFIC, ()))), f"keys per second: {rates}"
    assert heats == ("0", "0.15", "0.3", "0.6"), f"colours by rate: {heats}"
    totals = [int(re.fullmatch(rf"(\d+) keys since the start, from NumaNode {at // 2} to NumaNode {at % 2}", title)[1]) for at, title in enumerate(titles)]
    assert totals == [totals[1] * keys // 100 for keys in sum(TRAFFIC, ())], f"totals: {totals}"
    page.unroute_all(behavior="wait")
    page.close()


def main():
    url, eris, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        said, asked = [], []
        page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: said.append(f"error: {error}"))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(url)
        check_first_sight(page)
        check_move(page, eris)
        check_figures(browser, url)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.wait_for_timeout(1500)  # the charts are drawn again
            page.screenshot(path=folder / f"page_{scheme}.png", full_page=True)
        assert not said, f"the console has: {json.dumps(said)}"
        elsewhere = [one for one in asked if not one.startswith((url, "data:"))]
        assert not elsewhere, f"the page loads from elsewhere: {elsewhere}"
        print("stop", flush=True)
        expect(page.locator("#lost")).to_be_visible(timeout=30_000)
        expect(page.locator("#lost")).to_contain_text("The server has not answered since")
        expect(page.locator("#connection")).to_have_text("no connection")
        browser.close()


if __name__ == "__main__":
    main()
