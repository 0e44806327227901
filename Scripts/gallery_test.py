#!/usr/bin/env python3
"""Uses the gallery as a person would: with the mouse and the keyboard of the X server that DISPLAY names, and with an eye on its window.

    Scripts/gallery_test.py PROGRAM FOLDER

The program tells on standard output what has happened, and that is waited for; no time decides. Screenshots go to FOLDER. They are judged
by structure alone: what must not be blank, and what must have changed. Output: the lines that parts.sh counts; figures.txt in FOLDER
has what was measured. Status 1 where a test fails.
"""
import os
import sys
import tempfile
from pathlib import Path

from gallery_driver import TOP, Failure, Gallery, check, run

PROGRAM, FOLDER = Path(sys.argv[1]).resolve(), Path(sys.argv[2])


# --- The eye ---


def screenshot(name):
    path = FOLDER / f"{name}.png"
    run("import", "-window", "root", path)
    return path


def crop(place):
    x, y, width, height = place
    return ["-crop", f"{width}x{height}+{x}+{y}", "+repage"]


def spread(picture, place):
    """The standard deviation of the brightness in a place, from 0 (one colour) to about 0.5."""
    return float(run("convert", picture, *crop(place), "-colorspace", "Gray", "-format", "%[fx:standard_deviation]", "info:"))


def change(one, other, place):
    """The share of the pixels of a place that differ by more than a shade."""
    made = ["-compose", "difference", "-composite", "-colorspace", "Gray", "-threshold", "3%", "-format", "%[fx:mean]", "info:"]
    return float(run("convert", "(", one, *crop(place), ")", "(", other, *crop(place), ")", *made))


def check_photos(gallery, picture, numbers):
    """All photos show something, and two neighbours are not the same."""
    x, y, width, height = gallery.places["wall"]
    for number in numbers:
        left, top, wide, high = gallery.places[f"photo-{number}"]
        if top >= y and top + high <= y + height:
            check(spread(picture, (left, top, wide, high)) > 0.04, f"photo {number} is blank in {picture.name}")


# --- The tests, in their order; each leaves the wall as the next one finds it ---

def the_wall_shows_photos(gallery):
    numbers = gallery.settle(TOP)
    check(len(numbers) >= 12 and gallery.state.endswith("missing"), f"the screen has {gallery.state}")
    gallery.picture = screenshot("1-wall")
    check_photos(gallery, gallery.picture, numbers)


def scrolling_shows_others(gallery):
    gallery.scroll("down", 12)
    numbers = gallery.settle(r"settled (?!0 )\d\d.*")
    picture = screenshot("2-scrolled")
    check_photos(gallery, picture, numbers)
    check(change(gallery.picture, picture, gallery.places["wall"]) > 0.3, "the wall has not changed")


def pulling_beyond_the_top_refreshes(gallery):
    gallery.scroll("up", 40)
    gallery.wait("refresh")
    gallery.wait("list 500 (validatedCache|network)")
    gallery.settle(TOP)


def closing_a_page_cancels_its_photo(gallery):
    gallery.click("photo-1")
    gallery.wait("page opened 1")
    gallery.wait("page laid out 1", without="page shown 1")
    gallery.wait("preview 1", without="page shown 1")
    picture = screenshot("3-page-arrives")
    gallery.go_back(1)
    gallery.wait("server idle", without="page shown 1")
    check(change(gallery.picture, picture, gallery.places["wall"]) > 0.3, "the page was not there")
    gallery.settle(TOP)


def a_page_shows_its_photo(gallery):
    gallery.click("photo-4")
    gallery.wait("page shown 4")
    picture = screenshot("8-page")
    check(spread(picture, gallery.places["wall"]) > 0.04, "the page is blank")


def typing_searches(gallery):
    gallery.search("fjord")
    numbers = gallery.settle("settled 0 10 20 30 .*")
    picture = screenshot("4-search")
    check_photos(gallery, picture, numbers)
    check(change(gallery.picture, picture, gallery.places["wall"]) > 0.3, "the wall has not changed")
    gallery.search("")


def seen_photos_stay_while_the_server_is_off(gallery):
    gallery.click("server")
    gallery.wait("server off")
    gallery.wait("list 500 cache")
    check("banner server" in gallery.lines, "there is no banner")
    # Most of these numbers are far from those that have been on the screen.
    gallery.search("45")
    gallery.settle(r"settled.* missing.* 245 345 .*")
    screenshot("5-not-seen")
    gallery.search("")
    numbers = gallery.settle(TOP)
    picture = screenshot("6-server-off")
    check_photos(gallery, picture, numbers)
    check(gallery.places["banner"][3] > 8 and spread(picture, gallery.places["banner"]) > 0.02, "the banner says nothing")


def the_server_comes_back(gallery):
    gallery.click("server")
    gallery.wait("server on")
    gallery.wait("list 500 (validatedCache|network)")
    check("banner hidden" in gallery.lines[gallery.lines.index("banner server"):], "the banner stays")
    gallery.search("45")
    numbers = gallery.settle(r"settled 45 145 245 345 .*missing")
    check_photos(gallery, screenshot("7-server-on"), numbers)
    gallery.search("")


def closing_the_window_ends_the_program(gallery):
    check_end(gallery.close())


def the_next_start_without_a_server_shows_photos(gallery):
    numbers = gallery.settle(TOP)
    check("list 500 cache" in gallery.lines and "banner server" in gallery.lines, "the list is not that of the cache")
    check(len(numbers) >= 12 and gallery.state.endswith("missing"), f"the screen has {gallery.state}")
    check_photos(gallery, screenshot("9-started-without-server"), numbers)
    check_end(gallery.close())


def closing_the_window_while_it_scrolls_closes_all_sockets(gallery):
    gallery.scroll("down", 15)
    closed = gallery.close()
    check(int(closed[1]) > 0, "no photo was on its way")
    check_end(closed)
    (FOLDER / "figures.txt").write_text(
        f"closing the window with {closed[1]} photos on their way: the server saw the last request end after {closed[2]} ms, and the last"
        f" socket close after {closed[3]} ms; {closed[4]} receipts left, {closed[5]} callbacks afterwards\n")


def check_end(closed):
    check(closed[4] == closed[5] == "0", f"not all has ended: {closed[0]}")


RUNS = [
    (["--fast", "--pace", "1024"], [
        the_wall_shows_photos, scrolling_shows_others, pulling_beyond_the_top_refreshes, closing_a_page_cancels_its_photo,
        typing_searches, seen_photos_stay_while_the_server_is_off, the_server_comes_back, a_page_shows_its_photo, closing_the_window_ends_the_program]),
    (["--server", "off"], [the_next_start_without_a_server_shows_photos]),
    (["--pace", "1024"], [closing_the_window_while_it_scrolls_closes_all_sockets]),
]


def perform(arguments, tests):
    """Runs the tests of one start of the program; one that fails leaves the rest undone, which fail as well."""
    passed, gallery = 0, None
    try:
        gallery = Gallery(PROGRAM, *arguments)
        for test in tests:
            test(gallery)
            passed += 1
    except Failure as failure:
        (FOLDER / "failed.txt").write_text("\n".join(gallery.lines if gallery else []))
        print("failed", f"{tests[passed].__name__}: {failure}", sep="\t")
        if gallery:
            screenshot("failed")
    finally:
        if gallery:
            gallery.kill()
    return passed, len(tests) - passed


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in [*FOLDER.glob("*.png"), *FOLDER.glob("*.txt")]:
        old.unlink()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        for cache, (arguments, tests) in zip((first, first, second), RUNS):
            os.environ["XDG_CACHE_HOME"] = cache
            more, less = perform(arguments, tests)
            passed, failed = passed + more, failed + less
    print("counts", passed, failed, 0, sep="\t")
    return 1 if failed else 0


sys.exit(main())
