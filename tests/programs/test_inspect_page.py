"""The inspector's web page in a real browser, while a driver changes the state that it shows."""

import contextlib
import re
import shutil
import tempfile
import time
from pathlib import Path

from programs import TREE, need
from segment import Writer, opens
from web_driver import Browser

TABS = ["overview", "memory", "types", "rows", "locks", "archive"]
WIDTHS = [360, 768, 2560]  # and 1280
PICTURE = Path(tempfile.gettempdir()) / "chainbase-page-failed.png"  # of a test that fails
SELECTED = "return document.querySelector('[role=tab][aria-selected=true]').textContent"
FOCUSED = "return document.activeElement.textContent"
ROWS = "document.querySelectorAll('#rows .rows tbody tr')"
CHOOSE = """
    const chosen = document.querySelectorAll('#rows select')[arguments[0]];
    chosen.value = arguments[1];
    chosen.dispatchEvent(new Event('change'));
"""
ARCHIVE_BOX = """
    return document.querySelector('#rows input[name=archive]').getClientRects().length > 0
"""
CARRIED_LOG = TREE / "tools/chains/social/data/steem-2016.blocks"
# What is drawn on a chart.
INK = "return document.querySelectorAll('.chart canvas')[arguments[0]].toDataURL()"
# Contrast of each text with what is behind it, as WCAG defines it; those that have too little.
PALE = """
    const channels = (text) => text.match(/[\\d.]+/g).map(Number);
    const light = ([red, green, blue]) => [red, green, blue].map((value) => value / 255)
      .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
      .reduce((sum, value, at) => sum + value * [0.2126, 0.7152, 0.0722][at], 0);
    const behind = (element) => {
      for (let at = element; at; at = at.parentElement) {
        const color = channels(getComputedStyle(at).backgroundColor);
        if ((color[3] ?? 1) > 0) return color;
      }
      return [255, 255, 255];
    };
    const found = [];
    for (const element of document.querySelectorAll('body *')) {
      const isSeen = element.getClientRects().length > 0 && !element.closest('.unseen, svg, .skip');
      const hasText = [...element.childNodes].some((one) => one.nodeType === 3 && one.data.trim());
      if (!isSeen || !hasText) continue;
      const pair = [light(channels(getComputedStyle(element).color)), light(behind(element))];
      const contrast = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
      if (contrast < 4.5) found.push(`${element.textContent.trim()}: ${contrast.toFixed(2)}`);
    }
    return found;
"""


def check(holds, what):
    if not holds:
        raise AssertionError(what)


@contextlib.contextmanager
def running(program, *args):
    """A program, ended by SIGINT at the end, with its first line of stdout as `line`."""
    with program.start(*args) as started:
        started.line = started.wait_for(r"(.*)\n").group(1)
        yield started
        started.interrupt()


@contextlib.contextmanager
def changing_state(driver, folder):
    """A state that a node changes: blocks come from a peer, readers ask."""
    log = folder / "social.blocks"
    driver("generate", "--operations", "300000", "--to", log)
    serve = ("serve", "--block-log", log, "--from-head", "1000", "--blocks-per-second", "40")
    with running(driver, *serve) as peer:
        address = re.search(r"listening at (\S+)", peer.line).group(1)
        state = folder / "state"
        options = ("--readers", "2", "--pending", "200")
        with driver.start("live", "--peer", address, "--state", state, *options) as node:
            while not (state / "segment/header").exists():
                assert node.is_running, node.wait(None)
                time.sleep(0.1)
            time.sleep(1)
            yield state
            node.interrupt()


def no_errors(browser, step):
    bad = [entry["message"] for entry in browser.log() if entry["level"] in ("SEVERE", "WARNING")]
    check(not bad, f"{step}: the console has {bad}")


def loads(browser, url):
    browser.open(url)
    browser.until("return document.querySelectorAll('.tile .value')[0].textContent", "figures")
    paint = browser.run("return performance.getEntriesByName('first-contentful-paint')[0].startTime")
    print(f"first paint after {paint:.0f} ms")
    check("running" in browser.run("return document.title"), "the title has the condition")
    foreign = browser.run("""return performance.getEntriesByType('resource').map((one) => one.name)
                                 .filter((name) => !name.startsWith(location.origin))""")
    check(foreign == [], f"loaded from elsewhere: {foreign}")
    no_errors(browser, "loading")


def charts_move(browser):
    browser.until("return document.querySelectorAll('.chart canvas').length === 7", "seven charts")
    changes = "return document.querySelectorAll('.tile .note')[2].textContent"
    revision = "return document.querySelectorAll('.tile .value')[0].textContent"
    before = [browser.run(INK, chart) for chart in range(2)]
    first = browser.run(revision)
    said = browser.run("return document.querySelector('.plot').getAttribute('aria-label')")
    browser.until(f"return document.querySelectorAll('.tile .value')[0].textContent !== '{first}'",
                  "another revision")
    time.sleep(2.5)
    check([browser.run(INK, chart) for chart in range(2)] != before, "the canvas changes")
    check(browser.run("return document.querySelector('.plot').getAttribute('aria-label')") != said,
          "the description changes")
    number = int(browser.run(revision).replace(",", ""))
    check(number > int(first.replace(",", "")), "the revision grows")
    check("ever" in browser.run(changes), "the changes are counted")
    no_errors(browser, "charts")


def points_grow(browser):
    count = """return fetch('api/history').then((answer) => answer.json())
                   .then((all) => all.samples.length)"""
    before = browser.run(count)
    time.sleep(3)
    check(browser.run(count) >= before + 2, "a sample a second while somebody looks")


def keyboard_is_enough(browser, url):
    browser.open("about:blank")
    browser.open(url)
    browser.until("return document.querySelectorAll('.tile .value')[0].textContent", "figures")
    browser.press("tab")
    check(browser.run(FOCUSED) == "Skip to the content", "the skip link comes first")
    check(browser.run("return document.activeElement.getBoundingClientRect().width > 50"),
          "the skip link is seen when it has the focus")
    browser.press("tab")
    check(browser.run(FOCUSED) == "Overview", "then the tabs")
    check(browser.run("return getComputedStyle(document.activeElement).outlineStyle") == "solid",
          "the focus is seen")
    for name in TABS[1:]:
        browser.press("right")
        check(browser.run(SELECTED).lower() == name, f"the right arrow leads to {name}")
        check(browser.run(f"return !document.getElementById('{name}').hidden"), f"{name} is seen")
        check(browser.run("return document.querySelectorAll('[role=tabpanel]:not([hidden])').length")
              == 1, "one panel is seen")
        browser.until(f"return document.querySelectorAll('#{name} .stack > *').length > 0",
                      f"{name} has content")
    browser.press("right")
    check(browser.run(SELECTED) == "Overview", "the tabs are a ring")
    browser.press("end")
    check(browser.run(SELECTED) == "Archive", "End leads to the last")
    browser.press("home", "tab", "tab", "enter")
    check(browser.run("return document.querySelectorAll('[aria-pressed=true]').length") == 1,
          "one span of time is chosen")
    check(browser.run("return document.querySelector('[aria-pressed=true]').textContent") == "1 min",
          "by the keyboard")
    no_errors(browser, "keyboard")


def followers_are_shown(browser, inspect, url, state):
    """Where there are any."""
    tables = """return [...document.querySelectorAll('#locks caption')]
                    .map((one) => one.textContent).includes('Followers of the feed')"""
    browser.open("about:blank")
    browser.open(f"{url}#/locks")
    browser.until("return document.querySelectorAll('#locks .stack > *').length > 0", "the locks")
    check(not browser.run(tables), "nobody follows yet")
    inspect("feed", state, "--cursor", "watcher")
    browser.until(tables, "a table of followers")
    browser.until("return [...document.querySelectorAll('#locks tbody tr')].some((row) =>"
                  " row.cells[0].textContent === 'watcher' && /^[0-9,]+$/.test("
                  "row.cells[1].textContent) && /B$/.test(row.cells[2].textContent))",
                  "the follower, with its revision and how far it is behind")
    no_errors(browser, "followers")


def a_row_is_found(browser, url):
    """By its key, with the keyboard alone."""
    browser.open("about:blank")
    browser.open(f"{url}#/rows")
    browser.until("return document.querySelectorAll('#rows tbody tr').length > 0", "rows")
    browser.run("document.querySelector('#rows select').focus()")
    browser.press(*"account")
    check(browser.run("return document.querySelector('#rows select').value") == "account",
          "a type is chosen")
    browser.press("tab")
    browser.press(*"by_name")
    browser.until("return document.querySelectorAll('#rows input[name=name]').length === 1",
                  "a place for the name")
    named = browser.run("""return fetch('api/rows?type=account&limit=3')
                               .then((answer) => answer.json()).then((all) => all.rows[2])""")
    browser.press("tab", *named["name"], "enter")
    browser.until("return document.querySelectorAll('#rows .rows tbody tr').length === 1", "one row")
    whole = browser.until("return document.querySelector('#rows .fields')?.textContent", "all of it")
    check(named["name"] in whole and str(named["id"]) in whole, f"{named} is shown: {whole}")
    browser.run("document.querySelector('#rows input[name=name]').focus()")
    browser.press(*"--nobody", "enter")
    browser.until("return document.querySelector('#rows [role=status]').textContent"
                  ".startsWith('No row')", "that there is none")
    no_errors(browser, "rows")


def an_archived_row_is_found(browser, inspect, driver, folder):
    """In a state of real blocks, whose first comments left memory."""
    log = folder / CARRIED_LOG.name
    shutil.copy(CARRIED_LOG, log)
    driver("replay", "--block-log", log, "--state", folder / "archived")
    with running(inspect, "serve", folder / "archived") as server:
        browser.open("about:blank")
        browser.open(f"{server.line}#/rows")
        browser.until(f"return {ROWS}.length > 0", "rows")
        browser.run(CHOOSE, 0, "account")
        check(not browser.run(ARCHIVE_BOX), "accounts are in memory only")
        browser.run(CHOOSE, 0, "comment")
        check(browser.run(ARCHIVE_BOX), "comments may be in the archive")
        browser.run("document.querySelector('#rows input[name=archive]').focus()")
        browser.press(" ", "enter")
        browser.until(f"return {ROWS}.length === 50 && {ROWS}[0].cells[0].textContent === '0'",
                      "the first comments")
        check(browser.run("return document.querySelector('#rows .rows thead tr').lastChild"
                          ".textContent") == "where", "a column says where they are")
        check(browser.run(f"return [...{ROWS}].every((row) => row.lastChild.textContent"
                          " === 'archive')"), "in the archive")
        check(browser.run("return document.querySelector('#rows .check input').disabled"),
              "there is no way back from the last to the first")
        browser.run("[...document.querySelectorAll('#rows button')].find((one) =>"
                    " one.textContent === 'Next page').click()")
        browser.until(f"return {ROWS}[0].cells[0].textContent === '50'", "the next ones")
        browser.run(CHOOSE, 1, "by_permlink")
        browser.run("document.querySelector('#rows input[name=author]').focus()")
        browser.press(*"steemit", "tab", *"firstpost", "enter")
        whole = browser.until("return document.querySelector('#rows .fields')?.textContent",
                              "the first post")
        check("wherearchive" in whole, f"it is in the archive: {whole}")
        browser.run("document.querySelector('#rows input[name=archive]').click()")
        browser.press("enter")
        browser.until("return document.querySelector('#rows [role=status]').textContent"
                      ".startsWith('No row in memory has')", "that it is not in memory")
        no_errors(browser, "archived rows")
        browser.open("about:blank")  # asks the server no more


def both_schemes_are_readable(browser, url):
    seen = {}
    for scheme in ("light", "dark"):
        browser.scheme(scheme)
        for name in TABS:
            browser.open("about:blank")
            browser.open(f"{url}#/{name}")
            browser.until(f"return document.querySelectorAll('#{name} .tile, #{name} .stack > *')"
                          ".length > 0", f"{name} has content")
            time.sleep(0.5)
            pale = browser.run(PALE)
            check(pale == [], f"{name}, {scheme}: too little contrast: {pale}")
            for width in WIDTHS:
                browser.resize(width, 800)
                browser.settle()
                wide = browser.run("return document.documentElement.scrollWidth - innerWidth")
                check(wide <= 0, f"{name}, {scheme}, {width}: {wide} pixels too wide")
            browser.resize(1280, 800)
        seen[scheme] = browser.run("return getComputedStyle(document.body).backgroundColor")
        check(len(browser.screenshot()) > 5000, "there is something to see")
    check(seen["light"] != seen["dark"], f"the schemes differ: {seen}")
    no_errors(browser, "schemes")


def every_link_leads_somewhere(browser, url):
    """Links and buttons that look like links, of each view."""
    for name in TABS:
        browser.open("about:blank")
        browser.open(f"{url}#/{name}")
        browser.until(f"return document.querySelectorAll('#{name} .tile, #{name} .stack > *')"
                      ".length > 0", f"{name} has content")
        count = browser.run(f"return document.querySelectorAll('#{name} button.link').length")
        for number in range(min(count, 12)):
            browser.run(f"document.querySelectorAll('#{name} button.link')[arguments[0]]?.click()",
                        number)
            browser.settle()
            check(browser.run("return document.querySelectorAll('[role=tabpanel]:not([hidden])')"
                              ".length") == 1, f"{name}: link {number} leads to a view")
            browser.open(f"{url}#/{name}")
        no_errors(browser, f"links of {name}")
    links = browser.run("return [...document.querySelectorAll('a[href]')].map((one) =>"
                        " one.getAttribute('href'))")
    for link in links:
        check(browser.run("return document.getElementById(arguments[0]) !== null", link[1:]),
              f"{link} is on the page")


def the_state_is_killed_restored_replaced_and_deleted(browser, inspect, state):
    """The page stays, says what happened, and shows the state again when there is one."""
    title = "return document.title"
    aside = state.with_name("aside")
    with running(inspect, "serve", state) as server:
        browser.open("about:blank")
        browser.open(server.line)
        browser.until(f"{title}.includes('closed')", "a closed state")
        writer = Writer(state)
        browser.until(f"{title}.includes('running')", "a running one")
        writer.kill()
        browser.until(f"{title}.includes('died')", "a killed one")
        assert opens(state)["revision"] >= 0
        browser.until(f"{title}.includes('closed')", "a rolled back one")
        shutil.copytree(state, aside)
        shutil.rmtree(state)
        browser.until("return !document.getElementById('trouble').hidden", "a deleted one")
        aside.rename(state)
        browser.until(f"{title}.includes('closed')", "another one in its place")
        browser.until("return document.getElementById('trouble').hidden", "all is well again")
    browser.log()  # answers with an error are on the console


def many_types_have_colours(browser, inspect, state):
    with running(inspect, "serve", state) as server:
        browser.open("about:blank")
        browser.open(f"{server.line}#/memory")
        browser.until("return document.querySelectorAll('.treemap .strong').length > 20", "tiles")
        used = browser.run("return [...document.querySelectorAll('.treemap .strong')].map((one) =>"
                           " one.style.fill)")
        check("var(--other)" not in used and len(set(used)) > 7, f"{sorted(set(used))}")
        no_errors(browser, "many types")


def survives_the_server(browser, inspect, state):
    """The server goes away and comes back under the same address."""
    with running(inspect, "serve", state) as server:
        url = server.line
        browser.open(url)
        browser.until("return document.querySelectorAll('.tile .value')[0].textContent", "figures")
        check(browser.run("return document.getElementById('trouble').hidden"), "nothing is wrong")
    browser.until("return !document.getElementById('trouble').hidden", "that the server is gone")
    check("does not answer" in browser.run("return document.getElementById('trouble').textContent"),
          "it is said")
    with running(inspect, "serve", state, "--listen", url.split("/")[2]):
        browser.until("return document.getElementById('trouble').hidden", "that it is back")
    browser.log()  # what could not be loaded meanwhile


def test_the_page_in_a_browser(inspect, driver, sample, samples, scratch):
    need("chromedriver", "chromium")
    with changing_state(driver, scratch) as state, Browser(keep=PICTURE) as browser:
        with running(inspect, "serve", state) as server:
            loads(browser, server.line)
            charts_move(browser)
            points_grow(browser)
            keyboard_is_enough(browser, server.line)
            followers_are_shown(browser, inspect, server.line, state)
            a_row_is_found(browser, server.line)
            an_archived_row_is_found(browser, inspect, driver, scratch)
            both_schemes_are_readable(browser, server.line)
            every_link_leads_somewhere(browser, server.line)
        survives_the_server(browser, inspect, state)
        the_state_is_killed_restored_replaced_and_deleted(browser, inspect, sample("sample", "life"))
        many_types_have_colours(browser, inspect, samples("many"))
