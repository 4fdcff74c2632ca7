"""Looks at the page with Debian's Chromium, for page_test.py: page_browser.py URL ERIS FOLDER. Moves a range with ERIS, whose server is in
ERIS_SERVER. Prints "stop" when the server is to end, and expects to see the page say so. Pictures go to FOLDER.
"""
import json
import pathlib
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
    """The first half of AEU 0's range goes to AEU 3, on the other NumaNode."""
    subprocess.run([eris, "balancer", "move", "orders", "--from", "0", "--to", "12500", "--aeu", "3"], check=True, stdout=subprocess.DEVNULL)
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
        page.wait_for_timeout(2000)  # something for the charts
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
