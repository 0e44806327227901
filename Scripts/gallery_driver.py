"""Drives the gallery with the mouse and the keyboard of the X server that DISPLAY names, for its test and its figures."""
import re
import subprocess
import threading
import time

PATIENCE = 60  # seconds, for machines with other work
TOP = "settled 0 1 2 .*"  # the state of a wall that shows its first photos


class Failure(Exception):
    pass


def check(condition, text):
    if not condition:
        raise Failure(text)


class Gallery:
    """A run of the program, and the lines that it has written so far."""

    def __init__(self, program, *arguments, until="settled( \\d+)+.*"):
        self.lines, self.read, self.places, self.state = [], 0, {}, ""
        self.news = threading.Condition()
        self.process = subprocess.Popen([program, "--report", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.reader = threading.Thread(target=self.listen, daemon=True)
        self.reader.start()
        self.complaints = threading.Thread(target=self.process.stderr.read, daemon=True)
        self.complaints.start()
        try:
            self.wait(until, without="list failed.*")
            # There is no window manager that would give it the keyboard.
            use("windowfocus", use("search", "--onlyvisible", "--name", "^Photos$").split()[0])
        except Failure:
            self.kill()
            raise

    def listen(self):
        for line in self.process.stdout:
            with self.news:
                self.lines.append(line.rstrip())
                self.news.notify_all()
        with self.news:
            self.lines.append("(end of output)")
            self.news.notify_all()

    def wait(self, pattern, without=None):
        """Reads on to the line that matches all of `pattern`; fails at one that matches `without`, and at the end."""
        until = time.monotonic() + PATIENCE
        with self.news:
            while True:
                while self.read < len(self.lines):
                    line, self.read = self.lines[self.read], self.read + 1
                    if line.startswith("place "):
                        _, name, *numbers = line.split()
                        self.places[name] = tuple(map(int, numbers))
                    if re.match("(un)?settled", line):
                        self.state = line
                    check(not without or not re.fullmatch(without, line), f"there was '{line}' before '{pattern}'")
                    if found := re.fullmatch(pattern, line):
                        return found
                    check(line != "(end of output)", f"the program ended before '{pattern}'")
                check(self.news.wait(until - time.monotonic()), f"'{pattern}' did not come; the last line was '{self.lines[-1:]}'")

    def settle(self, pattern):
        """Reads on until the photos on the screen are those of `pattern`, and none is loading; returns their numbers."""
        if not re.fullmatch(pattern, self.state):
            self.wait(pattern)
        return list(map(int, self.state.split(" missing")[0].split()[1:]))

    def click(self, name):
        x, y, width, height = self.places[name]
        # As slow as a finger: a press in the same moment as the move before it is lost at times.
        use("mousemove", x + width // 2, y + height // 2, "sleep", "0.1", "mousedown", "1", "sleep", "0.1", "mouseup", "1")

    def search(self, words):
        """Types words in place of those that are there."""
        self.click("search")
        use("key", "ctrl+a", "key", "BackSpace", *(["type", "--delay", "60", words] if words else []))
        if not words:
            self.settle(TOP)

    def go_back(self, number):
        """Closes the page of a photo. A click may be lost while the machine is busy, and a person clicks again."""
        for _ in range(5):
            self.click("back")
            until = time.monotonic() + PATIENCE / 6
            with self.news:
                while f"page closed {number}" not in self.lines and self.news.wait(until - time.monotonic()):
                    pass
            if f"page closed {number}" in self.lines:
                return self.wait(f"page closed {number}", without="page shown 1")
        raise Failure(f"the page of photo {number} does not close")

    def scroll(self, direction, steps):
        x, y, width, height = self.places["wall"]
        use("mousemove", x + width // 2, y + height // 2, "click", "--repeat", steps, "--delay", "10", "4" if direction == "up" else "5")

    def close(self):
        """Closes the window by its button, and waits for the end of the program."""
        self.click("close")
        closed = self.wait(r"closed requests (\d+) ms ([\d.]+) sockets ms ([\d.]+) receipts (\d+) late (\d+)")
        check(self.process.wait(PATIENCE) == 0, f"the program ended with status {self.process.returncode}")
        return closed

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def run(*command):
    try:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        raise Failure(f"{' '.join(map(str, command))} does not end") from None
    check(done.returncode == 0, f"{command[0]}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def use(*arguments):
    return run("xdotool", *arguments)
