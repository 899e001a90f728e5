"""The report's page in a real browser: what it draws, what its filters leave, and whom it asks for anything."""

from __future__ import annotations

import contextlib
import itertools
import json
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from report_fixtures import write_run

from fewlabels.cli import DONE, call
from fewlabels.report.page import LIMIT

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright drives the browser: pip install playwright")
CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on the PATH: apt-get install chromium"),
]
# The last four: a browser that asks the network for something of its own is none of our business.
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
DESK, PHONE, NARROW = (1280, 900), (390, 844), (320, 640)
QUICK = ("--labels", "50", "--steps", "32", "--epoch-steps", "4")
LONG = "pictures-of-small-animals-in-the-snow"
RUNS = {"rot-0": ("rot", 0), "rot-1": ("rot", 1), "soft-rot-0": ("soft-rot", 0), "supervised-0": ("supervised", 0)}

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    """A folder of runs, made as a user makes them."""
    folder = tmp_path_factory.mktemp("runs")
    for name, (method, seed) in RUNS.items():
        asked = ["train", "digits", "--method", method, "--seed", str(seed), *QUICK, "--quiet"]
        assert call([*asked, "--out", str(folder / name)]) == DONE
    return folder


@pytest.fixture(scope="module")
def pages(runs, tmp_path_factory) -> dict[str, Path]:
    """The page of one run, of several, of one with more classes than a table can hold, and of several with long names
    on two data sets."""
    out = tmp_path_factory.mktemp("pages")
    many = write_run(out / "many", classes=tuple(f"class {i}" for i in range(100)), pictures=100)
    for i, (data, method) in enumerate(itertools.product(("cifar10", LONG), ("rot", f"rot-of-{LONG}", "supervised"))):
        write_run(out / "long" / f"run-{i}-of-{LONG}", data=data, method=method, pictures=20, error=0.1 + i / 20)
    asked = {"one": runs / "rot-0", "several": runs, "many": many, "long": out / "long"}
    for name, source in asked.items():
        assert call(["report", str(source), "--out", str(out / f"{name}.html")]) == DONE
    return {name: out / f"{name}.html" for name in asked}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def visit(browser, pages) -> Iterator[Open]:
    """Opens a page from disk. Whatever it says on the console or asks of anybody fails the test."""
    with contextlib.ExitStack() as stack:
        complaints: list[str] = []

        def ask(route: Any) -> None:
            complaints.append(f"asks for {route.request.url}")
            route.abort()

        def visit(name: str, size: tuple[int, int] = DESK, **options: Any) -> Any:
            width, height = size
            context = browser.new_context(viewport={"width": width, "height": height}, **options)
            stack.callback(context.close)
            context.route(lambda url: not url.startswith(("file:", "data:")), ask)
            context.set_default_timeout(5_000)
            page = context.new_page()
            page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
            page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
            files: list[str] = []
            page.on("request", lambda request: files.append(request.url))
            page.goto(pages[name].as_uri())
            assert [url for url in files if url.startswith("file:")] == [pages[name].as_uri()]
            return page

        yield visit
        assert complaints == []


def gallery(run: Path) -> list[dict[str, Any]]:
    return json.loads((run / "gallery.json").read_text())["items"]


def epochs(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def shown(page: Any) -> list[dict[str, Any]]:
    """The pictures that are to be seen, as the page describes them."""
    return page.eval_on_selector_all(
        ".gallery li",
        """items => items.filter(i => i.getClientRects().length).map(i => ({...i.dataset, text: i.innerText}))""",
    )


def test_every_page_is_small(pages):
    sizes = {name: page.stat().st_size for name, page in pages.items()}
    assert all(20_000 < size <= LIMIT for size in sizes.values()), sizes


@pytest.mark.parametrize(("name", "charts"), [("one", 4), ("several", 4 + 3 * 4 + 2), ("many", 4)])
def test_charts_are_drawn(visit, name, charts):
    page = visit(name)
    page.eval_on_selector_all("details", "all => all.forEach(d => { d.open = true; })")
    boxes = page.eval_on_selector_all(
        ".chart",
        """charts => charts.map(c => [...c.querySelectorAll('path.line')].map(p => {
            const box = p.getBoundingClientRect(), area = c.querySelector('.area').getBoundingClientRect();
            return [box.width / area.width, getComputedStyle(p).stroke,
                    box.top >= area.top - 1 && box.bottom <= area.bottom + 1]; }))""",
    )
    assert len(boxes) == charts
    for lines in boxes:
        assert lines
        assert len({stroke for _, stroke, _ in lines}) == len(lines)  # each its own colour
        for width, stroke, inside in lines:
            assert width > 0.5
            assert stroke.startswith(("rgb", "oklab"))
            assert inside


def test_a_chart_reads_its_values_to_the_keyboard_and_to_the_pointer(visit, runs):
    page, lines = visit("one"), epochs(runs / "rot-0")
    chart = page.locator(".chart", has=page.get_by_role("heading", name="Validation error"))
    plot, readout = chart.get_by_role("group", name="arrow keys"), chart.locator(".readout")
    plot.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert readout.inner_text() == f"epoch 2: {100 * lines[1]['validation_error']:.2f} %"
    page.keyboard.press("End")
    assert readout.inner_text() == f"epoch {len(lines)}: {100 * lines[-1]['validation_error']:.2f} %"
    page.keyboard.press("Escape")
    assert readout.inner_text() == ""
    box = chart.locator(".area").bounding_box()
    page.mouse.move(box["x"] + 1, box["y"] + 5)
    assert readout.inner_text().startswith("epoch 1: ")


def test_what_a_run_shows(visit, runs):
    page, record = visit("one"), json.loads((runs / "rot-0" / "record.json").read_text())
    main = page.get_by_role("main").inner_text()
    assert f"{100 * record['test_error']:.2f}" in page.locator(".facts").inner_text()
    for title in ("Validation error", "Loss", "Transport cost", "Right labels", "Transport plan", "Labels per class"):
        assert page.get_by_role("heading", name=title).is_visible(), title
    for title in ("Unlabelled images", "Confusion matrix", "Time", "Run it again", "Configuration"):
        assert page.get_by_role("heading", name=title).is_visible(), title
    for stage in ("Outputs of the pool", "Pseudo-labelling", "Training steps", "Evaluation"):
        assert stage in main
    told = page.locator(".pairs dt").all_inner_texts()
    assert {"labels", "steps", "seed", "labeler.reg", "recipe.alpha", "recipe.epoch_steps", "python", "torch"} <= {
        *told
    }
    plan = json.loads((runs / "rot-0" / "plan.json").read_text())["plan"]
    cells = page.get_by_role("region", name="Transport plan").locator("tbody tr")
    assert cells.count() == len(plan)
    assert cells.first.locator("td").count() == len(plan[0])
    right = page.get_by_role("region", name="Confusion matrix").locator("td.on").all_inner_texts()
    assert [int(n or 0) for n in right] == [row[i] for i, row in enumerate(record["confusion"])]
    given = page.get_by_role("region", name="Labels per class").locator("tbody tr td:nth-of-type(2)").all_inner_texts()
    assert sum(int(n.replace(",", "")) for n in given) == epochs(runs / "rot-0")[-1]["pool"]


def test_images_are_filtered_by_class_by_doubt_and_by_right_or_wrong(visit, runs):
    page, items = visit("one"), gallery(runs / "rot-0")
    more, status = page.get_by_role("button", name="Show all"), page.locator(".count")
    assert len(shown(page)) == 48
    assert status.inner_text().startswith(f"48 of {len(items)} images shown; ")
    more.click()
    assert len(shown(page)) == len(items)
    assert not more.is_visible()
    wrong = [item for item in items if item["label"] != item["truth"]]
    assert 0 < len(wrong) < len(items)
    total = f"{len(items)} images shown; {len(wrong)} of the {len(items)} labelled wrongly"
    assert status.inner_text() == f"{len(items)} of {total}"

    page.get_by_label("Right or wrong").select_option("wrong")
    assert len(shown(page)) == len(wrong)
    assert all(f"is {item['truth']}" in seen["text"] for item, seen in zip(wrong, shown(page), strict=True))
    label = wrong[0]["label"]
    page.get_by_role("combobox", name="Label", exact=True).select_option(str(label))
    assert len(shown(page)) == sum(item["label"] == label for item in wrong)
    assert {seen["label"] for seen in shown(page)} == {str(label)}
    page.get_by_label("Right or wrong").select_option("right")
    assert len(shown(page)) == sum(item["label"] == item["truth"] == label for item in items)

    page.get_by_role("button", name="Reset").click()
    sure = sorted(item["confidence"] for item in items)
    limit = round(100 * sure[len(sure) // 2])
    doubt = page.get_by_label("At most this sure")
    doubt.fill(str(limit))
    expected = [c for c in sure if c <= limit / 100]
    assert status.inner_text().startswith(f"{min(48, len(expected))} of {len(expected)} matching images shown")
    assert page.locator(".range output").inner_text() == f"{limit} %"
    page.get_by_label("Order").select_option("doubt")
    assert [float(seen["sure"]) for seen in shown(page)] == expected[:48]
    doubt.focus()
    page.keyboard.press("Home")  # the slider, by the keyboard: nobody is that unsure
    assert status.inner_text() == "No image is like this: loosen a filter"


def test_every_picture_is_its_own_part_of_the_sheet(visit, runs):
    page = visit("one")
    page.get_by_role("button", name="Show all").click()
    places = page.eval_on_selector_all(".tile", "tiles => tiles.map(t => getComputedStyle(t).backgroundPosition)")
    assert len(set(places)) == len(places) == len(gallery(runs / "rot-0"))
    sheet = page.evaluate(
        """async () => { const style = getComputedStyle(document.querySelector('.tile')), image = new Image();
        image.src = style.backgroundImage.slice(5, -2); await image.decode();
        return [image.naturalWidth, image.naturalHeight]; }"""
    )
    listing = json.loads((runs / "rot-0" / "gallery.json").read_text())
    assert sheet[0] == listing["columns"] * listing["tile"][0]


def test_several_runs_are_compared_with_their_intervals(visit, runs):
    page = visit("several")
    table = page.get_by_role("table").first
    rows = [row.inner_text() for row in table.get_by_role("row").all()[1:]]
    assert len(rows) == 1 + len(RUNS)  # ROT has two seeds, and a mean over them
    errors = [json.loads((runs / name / "record.json").read_text())["test_error"] for name in ("rot-0", "rot-1")]
    (rot,) = [row for row in rows if row.startswith("ROT")]
    assert f"{50 * sum(errors):.2f}" in rot
    assert "mean of 2 seeds" in rot
    figures = [float(text) for text in page.locator(".leads .figure span:first-child").all_inner_texts()]
    assert figures == sorted(figures)
    assert len(figures) == 3
    low, high = json.loads((runs / "rot-1" / "record.json").read_text())["test_interval"]
    assert any(f"{100 * low:.2f} to {100 * high:.2f}" in row for row in rows)
    names = page.locator("[aria-labelledby=compared-1-1-title] .name").all_text_contents()
    assert set(names) == {"ROT", "Soft-ROT", "Supervised"}


@pytest.mark.parametrize("size", [DESK, (700, 900), PHONE, NARROW])
@pytest.mark.parametrize("name", ["several", "long", "one"])
def test_no_text_of_a_chart_leaves_its_figure(visit, name, size):
    page = visit(name, size)
    page.eval_on_selector_all("details", "all => all.forEach(d => { d.open = true; })")
    strays = page.eval_on_selector_all(
        ".chart :is(text, .legend li, .title, figcaption)",
        """(all, width) => all.filter(e => e.getClientRects().length).filter(e => {
            const text = e.getBoundingClientRect(), figure = e.closest('.chart').getBoundingClientRect();
            return text.left < figure.left - 2 || text.right > Math.min(figure.right, width) + 2; })
            .map(e => e.textContent)""",
        size[0],
    )
    assert strays == []


@pytest.mark.parametrize(
    ("name", "size", "direct"), [("several", DESK, True), ("several", PHONE, False), ("long", DESK, False)]
)
def test_every_line_is_named_once_and_has_a_marker_of_its_own(visit, name, size, direct):
    chart = visit(name, size).locator("#compared-1-1-title >> xpath=ancestor::figure")
    assert chart.locator(".name").first.is_visible() if direct else not chart.locator(".name:visible").count()
    assert chart.locator(".legend").is_visible() != direct
    named = chart.locator(".legend li").count()
    outlines = chart.locator(".area use.marker").evaluate_all(
        "all => all.map(e => [e.getAttribute('href'), getComputedStyle(e).fill])"
    )
    assert len({outline for outline, _ in outlines}) == len({fill for _, fill in outlines}) == named == 3
    reached = chart.locator(".area use.marker").evaluate_all(
        "all => all.every(e => e.getBoundingClientRect().width > 4)"
    )
    assert reached


def test_settings_do_not_share_a_scale(visit):
    page = visit("long")
    titles = page.locator(".block > h2").all_inner_texts()
    assert titles == ["CIFAR-10, 4,000 labels", f"{LONG}, 4,000 labels"]
    for block in page.locator(".block").all():
        errors = [float(text) for text in block.locator(".leads .figure span:first-child").all_inner_texts()]
        assert errors == sorted(errors)
        assert block.locator(".caption").first.inner_text() == "preset desk, 1,280 steps".capitalize()
        scale = block.locator(".forest-head div").bounding_box()
        for bar in block.locator(".reach").all():
            box = bar.bounding_box()
            assert scale["x"] <= box["x"]
            assert box["x"] + box["width"] <= scale["x"] + scale["width"] + 1


def test_a_link_in_the_comparison_opens_its_run(visit):
    page = visit("several")
    assert page.locator("details.run[open]").count() == 0
    page.get_by_role("link", name="seed 1").click()
    page.wait_for_selector("details.run[open]")
    (title,) = page.locator("details.run[open] .run-title").all_inner_texts()
    assert title == "ROT on Digits, 50 labels"
    assert "seed 1" in page.locator("details.run[open] > summary").inner_text()


@pytest.mark.parametrize("name", ["one", "several"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_are_readable(visit, name, scheme):
    page = visit(name, color_scheme=scheme)
    dark = page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    assert dark == (scheme == "dark")
    assert min(contrasts(page).values()) >= 4.5, contrasts(page)
    button = page.get_by_role("button", name="Dark")
    assert button.get_attribute("aria-pressed") == str(dark).lower()
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    button.click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    assert button.get_attribute("aria-pressed") == str(not dark).lower()
    assert min(contrasts(page).values()) >= 4.5, contrasts(page)


def contrasts(page: Any) -> dict[str, float]:
    """WCAG's contrast of text with its ground, for each kind of text that a page has."""
    return page.evaluate(
        """() => {
        const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
        const rgb = colour => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
            return canvas.getImageData(0, 0, 1, 1).data; };
        const light = c => { const [r, g, b] = [...c].map(v => v / 255)
            .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
        const ground = e => { for (; e; e = e.parentElement) {
            const c = rgb(getComputedStyle(e).backgroundColor); if (c[3] === 255) return c; } return [255, 255, 255]; };
        const found = {};
        for (const what of ['h1', '.subtitle', '.note', 'figcaption', '.caption', 'button', 'select', 'a', 'pre code',
                            '.pairs dt', '.heat td', '.heat td.deep', '.gallery .wrong', '.sure', '.bars td',
                            '.ticks text', '.area .name', '.legend li', '.interval']) {
            for (const e of document.querySelectorAll(what)) {
                const style = getComputedStyle(e);
                const text = rgb(e instanceof SVGElement ? style.fill : style.color);
                const [a, b] = [light(text), light(ground(e))].sort((x, y) => y - x);
                found[what] = Math.min(found[what] ?? 21, (a + 0.05) / (b + 0.05));
            }
        }
        return found; }"""
    )


@pytest.mark.parametrize("name", ["one", "several", "many", "long"])
@pytest.mark.parametrize("size", [PHONE, NARROW])
def test_on_a_phone_nothing_is_wider_than_the_screen(visit, name, size):
    page = visit(name, size, has_touch=True, is_mobile=True, device_scale_factor=2)
    page.eval_on_selector_all("details", "all => all.forEach(d => { d.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    # What is cut off must be in something that scrolls by itself.
    cut = page.eval_on_selector_all(
        "main *",
        """(all, width) => all.filter(e => e.getBoundingClientRect().right > width + 1
            && !e.closest('.scroll, pre, .hidden')).map(e => e.outerHTML.slice(0, 80))""",
        size[0],
    )
    assert cut == []


def test_on_a_phone_intervals_keep_a_common_scale(visit):
    page = visit("several", PHONE)
    boxes = page.eval_on_selector_all(
        ".errors .forest > div, .forest-head > div", "all => all.map(e => [e.offsetWidth, e.getBoundingClientRect().x])"
    )
    assert len({tuple(box) for box in boxes}) == 1
    assert boxes[0][0] > 80


def test_four_pictures_stand_beside_each_other_on_a_phone(visit):
    tops = visit("one", PHONE).eval_on_selector_all(
        ".tile", "all => all.slice(0, 5).map(e => e.getBoundingClientRect().y)"
    )
    assert len(set(tops[:4])) == 1
    assert tops[4] > tops[0]


def test_a_picture_is_told_with_its_label_and_how_sure_it_is(visit, runs):
    page, items = visit("one"), gallery(runs / "rot-0")
    first = items[0]
    told = page.locator(".tile").first.get_attribute("aria-label")
    assert told.startswith(f"image labelled {first['label']}, {100 * first['confidence']:.0f} % sure; ")
    assert told.endswith("right" if first["label"] == first["truth"] else f"wrong, it is {first['truth']}")


@pytest.mark.parametrize("name", ["one", "several", "many", "long"])
def test_on_paper_stands_what_was_open_and_nothing_to_press(visit, name):
    page = visit(name, color_scheme="dark")
    if name == "several":
        page.locator("details.run > summary").first.click()
    before = page.locator("details[open]").count()
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"
    for control in (".theme", ".filters", ".copy", ".more"):
        assert not any(part.is_visible() for part in page.locator(control).all())
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details[open]").count() == before == (name == "several")
    page.set_viewport_size({"width": 688, "height": 1000})  # between the margins of A4
    assert page.evaluate("document.documentElement.scrollWidth") <= 688
    columns = (
        "all => all.map(t => t.getBoundingClientRect().right - t.closest('.two > *').getBoundingClientRect().right)"
    )
    assert max(page.eval_on_selector_all(".heat, .bars", columns), default=0) <= 1
    page.set_viewport_size({"width": DESK[0], "height": DESK[1]})
    page.emulate_media(media="screen")
    assert page.pdf(format="A4").startswith(b"%PDF")


@pytest.mark.parametrize("name", ["one", "several"])
def test_the_keyboard_reaches_everything_in_order_and_shows_where_it_is(visit, name):
    page = visit(name)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the results"
    reached = []
    for _ in range(400):
        page.keyboard.press("Tab")
        where = page.evaluate(
            """() => { const e = document.activeElement, style = getComputedStyle(e);
            return e === document.body ? null
                : [e.getBoundingClientRect().top + scrollY, style.outlineStyle, e.tagName + '.' + e.className]; }"""
        )
        if where is None:
            break
        reached.append(where)
    wanted = page.eval_on_selector_all(
        "a[href], button, select, input, summary, [tabindex='0']",
        "all => all.filter(e => e.checkVisibility() && !e.matches('.skip')).length",
    )
    assert len(reached) == wanted
    assert [what for _, outline, what in reached if outline == "none"] == []
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")


def test_the_skip_link_goes_to_the_results(visit):
    page = visit("one")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


@pytest.mark.parametrize("name", ["one", "several", "many"])
def test_who_cannot_see_it_is_told(visit, name):
    page = visit(name)
    page.eval_on_selector_all("details", "all => all.forEach(d => { d.open = true; })")
    assert page.locator("html").get_attribute("lang") == "en"
    assert page.get_by_role("main").count() == page.get_by_role("heading", level=1).count() == 1
    levels = page.eval_on_selector_all("h1, h2, h3, h4", "all => all.map(h => Number(h.tagName[1]))")
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels)), levels
    ids = page.eval_on_selector_all("[id]", "all => all.map(e => e.id)")
    assert len(ids) == len(set(ids))
    pointed = page.eval_on_selector_all("[aria-labelledby]", "all => all.map(e => e.getAttribute('aria-labelledby'))")
    assert set(pointed) <= set(ids)
    nameless = page.eval_on_selector_all(
        "[role=img], [role=region], [role=group], nav, form", "all => all.filter(e => !e.ariaLabel).length"
    )
    assert nameless == 0
    for control in page.locator("select, input").all():
        assert control.evaluate("e => e.labels.length") == 1
    for role in ("button", "link"):
        assert all(part.inner_text().strip() for part in page.get_by_role(role).all())
    assert page.get_by_role("status").count() >= 1
    first = page.get_by_role("img", name="Validation error: line chart")
    assert "its values are in the table below" in first.first.get_attribute("aria-label")
    heads = page.eval_on_selector_all(
        "table", "all => all.filter(t => ![...t.querySelectorAll('th')].every(h => h.scope)).length"
    )
    assert heads == 0


def test_without_scripts_the_page_still_tells_everything(visit, runs):
    page = visit("one", java_script_enabled=False)
    assert page.locator(".gallery li").count() == len(gallery(runs / "rot-0"))
    assert page.get_by_role("heading", name="Confusion matrix").is_visible()
    assert not page.locator(".filters").is_visible()


def test_what_the_page_says_runs_it_again(visit, runs, tmp_path, monkeypatch):
    page = visit("one")
    page.locator("summary", has_text="config.toml").click()
    (command,) = page.locator("section[id$=again] > .code code").all_inner_texts()
    (tmp_path / "config.toml").write_text(page.locator("details .code code").inner_text())
    monkeypatch.chdir(tmp_path)
    program, *arguments = shlex.split(command)
    assert program == "fewlabels"
    assert call([*arguments, "--quiet", "--out", "again"]) == DONE
    first, again = (json.loads((f / "record.json").read_text()) for f in (runs / "rot-0", tmp_path / "again"))
    assert (again["test_error"], again["curve"]["loss"]) == (first["test_error"], first["curve"]["loss"])
