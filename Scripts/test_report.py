#!/usr/bin/env python3
"""Reads what one run of `swift test` left behind and says what came of its tests.

    test_report.py --status STATUS --log LOG [--events EVENTS] [--xunit XUNIT]

EVENTS is the event stream of Swift Testing (`--event-stream-output-path`, version 0, one JSON record a line), XUNIT the report of XCTest
(`--xunit-output`, which SwiftPM writes with `--parallel` only). LOG is asked for what no report holds: sanitizers, signals, traps.

Lines out, fields separated by tabs: `failed` and `skipped` with a text each, `said` with a line of what was said to the failures, and at last
`counts` with the numbers passed, failed and skipped. A run that died, was ended for its time, or had no test is one failure.
"""

import argparse
import json
import re
import xml.etree.ElementTree as ElementTree

TIMED_OUT = 124
MOST_SAID = 60
MOST_NAMED = 12


class Test:
    """A test or a suite, by its identifier in the stream."""

    def __init__(self, name, is_suite):
        self.name = name
        self.is_suite = is_suite
        self.issues = []
        self.began = None
        self.outcome = None  # "ended", "skipped"
        self.reason = None

    @staticmethod
    def from_record(payload):
        identifier = payload["id"]
        is_suite = payload["kind"] == "suite"
        # `Target.Suite/Inner/test()/File.swift:1:2`; a suite has no place at its end.
        path = identifier.split("/") if is_suite else identifier.split("/")[:-1]
        path[0] = path[0].partition(".")[2]
        if "displayName" in payload:
            path[-1] = '"%s"' % payload["displayName"]
        return Test(".".join(part for part in path if part), is_suite)


class Events:
    """The event stream of one process."""

    def __init__(self, lines):
        self.tests = {}
        self.stray_issues = []
        self.runs = 0
        self.ended_runs = 0
        self.says_failed = False
        self.unreadable = 0
        self.order = 0
        lines = [line for line in lines if line.strip()]
        for number, line in enumerate(lines, 1):
            try:
                record = json.loads(line)
                kind, payload = record["kind"], record["payload"]
            except (ValueError, KeyError, TypeError):
                # A process that dies may leave half a record at the end.
                self.unreadable += number < len(lines)
                continue
            if kind == "test":
                self.tests[payload["id"]] = Test.from_record(payload)
            elif kind == "event":
                self.take(payload)

    def take(self, event):
        kind = event["kind"]
        messages = event.get("messages") or []
        text = messages[0].get("text", "") if messages else ""
        test = self.test(event.get("testID"))
        if kind == "runStarted":
            self.runs += 1
        elif kind == "runEnded":
            self.ended_runs += 1
            self.says_failed |= any(message.get("symbol") == "fail" for message in messages)
        elif kind == "testStarted" and test:
            self.order += 1
            test.began = self.order
        elif kind == "testSkipped" and test:
            test.outcome = "skipped"
            test.reason = reason(event, text, " skipped: ")
        elif kind == "testCancelled" and test:
            test.reason = " ".join(event.get("_comments") or []) or None
        elif kind == "testEnded" and test:
            # Cancelled tests end with the symbol of skipped ones.
            cancelled = any(message.get("symbol") == "skip" for message in messages)
            test.outcome = "skipped" if cancelled else "ended"
            if cancelled:
                test.reason = test.reason or reason(event, text, " seconds: ")
        elif kind == "issueRecorded" and is_failure(event):
            (test.issues if test else self.stray_issues).append(Issue(event, messages))

    def test(self, identifier):
        if identifier is None:
            return None
        if identifier not in self.tests:
            kind = "function" if re.search(r"/[^/]+:\d+:\d+$", identifier) else "suite"
            self.tests[identifier] = Test.from_record({"id": identifier, "kind": kind})
        return self.tests[identifier]

    def functions(self):
        return [test for test in self.tests.values() if not test.is_suite]

    def running(self):
        """The tests that had begun and not ended, the newest first."""
        begun = [test for test in self.functions() if test.began and test.outcome is None]
        return sorted(begun, key=lambda test: -test.began)


class Issue:
    def __init__(self, event, messages):
        issue = event.get("issue") or {}
        place = issue.get("sourceLocation") or event.get("_sourceLocation") or {}
        self.place = ""
        if "line" in place:
            self.place = "%s:%s" % (place.get("fileID", "?").split("/")[-1], place["line"])
        self.arguments = (event.get("_testCase") or {}).get("displayName", "")
        texts = [message.get("text", "") for message in messages]
        self.text = " ".join(texts[:1]) or "an issue without words"
        self.details = [line for text in texts[1:] for line in text.split("\n") if line.strip()]

    def told(self):
        """One line; an issue that only says that it was recorded is told with its first detail."""
        text = self.text
        if text == "Issue recorded" and self.details:
            text = self.details[0]
        return ": ".join(part for part in (self.place, " ".join(text.split())) if part)


def is_failure(event):
    issue = event.get("issue") or {}
    if "isFailure" in issue:
        return issue["isFailure"]
    return not issue.get("isKnown") and issue.get("severity", issue.get("_severity", "error")) == "error"


def reason(event, text, before):
    """Why a test was skipped: its comment, or what its message says behind `before`."""
    comments = event.get("_comments") or []
    if comments:
        return " ".join(comments)
    return text.partition(before)[2].strip('"') if before and before in text else "no reason given"


class XCTests:
    """The report of XCTest. Each test has had a process of its own; one that died is a failed test here."""

    def __init__(self, path, log):
        self.passed, self.failed, self.skipped = [], [], []
        self.is_missing = False
        try:
            cases = ElementTree.parse(path).getroot().iter("testcase")
        except (OSError, ElementTree.ParseError):
            self.is_missing = True
            return
        for case in cases:
            name = "%s.%s" % (case.get("classname", "").partition(".")[2] or case.get("classname", ""), case.get("name"))
            if case.find("failure") is not None or case.find("error") is not None:
                self.failed.append((name, self.first_issue(name, log)))
            elif case.find("skipped") is not None:
                self.skipped.append((name, case.find("skipped").get("message") or "no reason given"))
            else:
                self.passed.append(name)

    @staticmethod
    def first_issue(name, log):
        for line in log:
            before, mark, after = line.partition(": error: %s : " % name)
            if mark:
                return "%s: %s" % (before.split("/")[-1], after.strip())
        return "failed without a word"


class Report:
    """What came of the tests of one run."""

    def __init__(self, status, log, events=None, xctests=None):
        self.passed, self.failures, self.skips, self.said = 0, [], [], []
        self.log = log
        self.status = status
        self.running = events.running() if events else []
        self.is_over = status != TIMED_OUT and not self.running
        if events:
            self.is_over &= events.runs > 0 and events.ended_runs == events.runs
            self.take_events(events)
        if xctests:
            self.is_over &= not xctests.is_missing
            self.take_xctests(xctests)
        self.take_ending(events)

    def fail(self, text):
        self.failures.append(text)

    def take_events(self, events):
        for test in events.tests.values():
            first = test.issues[0].told() if test.issues else None
            for issue in test.issues:
                self.say(test.name, issue)
            if test.is_suite:
                # What a suite finds after its last test is no test's.
                if first:
                    self.fail("suite %s, %s" % (test.name, first))
            elif test.outcome is None:
                continue  # never begun, or told with the process that died
            elif first:
                self.fail("%s, %s" % (test.name, first))
            elif test.outcome == "skipped":
                self.skips.append("%s: %s" % (test.name, test.reason))
            else:
                self.passed += 1
        # What a thread of a test's own finds is told of no test: one failure a place.
        places = {}
        for issue in events.stray_issues:
            self.say("no test", issue)
            places.setdefault(issue.place, issue)
        for issue in places.values():
            self.fail("an issue of no test, %s" % issue.told())
        if events.unreadable:
            self.fail("%d records of the event stream cannot be read" % events.unreadable)

    def take_xctests(self, xctests):
        self.passed += len(xctests.passed)
        for name, text in xctests.failed:
            self.fail("%s, %s" % (name, text))
        for name, text in xctests.skipped:
            self.skips.append("%s: %s" % (name, text))

    def take_ending(self, events):
        """What is wrong with the run as a whole: one failure at most."""
        sanitizer = self.sanitizer()
        if sanitizer:
            self.fail(sanitizer)
        elif self.status == TIMED_OUT:
            self.fail("timed out" + self.name_running())
        elif not self.is_over:
            self.fail(self.death() + self.name_running())
        elif not self.passed and not self.skips and not self.failures:
            self.fail("no test was run")
        elif not self.failures and (self.status or (events and events.says_failed)):
            self.fail("exit status %d although no test failed" % self.status)
        if not self.is_over:
            self.said.extend("had begun: %s" % test.name for test in self.running)

    def name_running(self):
        if not self.running:
            return ""
        names = ", ".join(test.name for test in self.running[:MOST_NAMED])
        more = len(self.running) - MOST_NAMED
        return " while running %s%s" % (names, " and %d more" % more if more > 0 else "")

    def sanitizer(self):
        reports = [line for line in self.log if re.search(r"(WARNING: Thread|ERROR: Address|ERROR: Leak)Sanitizer", line)]
        if not reports:
            return None
        summaries = [line.partition("SUMMARY: ")[2] for line in self.log if re.search(r"SUMMARY: (Thread|Address|Leak)Sanitizer", line)]
        text = (summaries or reports)[0].strip()
        return "%d %s of a sanitizer: %s" % (len(reports), "report" if len(reports) == 1 else "reports", text)

    def death(self):
        signals = [found.group(1) for line in self.log if (found := re.search(r"unexpected signal code (\d+)", line))]
        traps = [line.partition("Fatal error: ")[2].strip() for line in self.log if "Fatal error: " in line]
        errors = [line.strip() for line in self.log if line.startswith("error: ")]
        text = "crashed with signal %s" % signals[-1] if signals else "ended before its last test, with status %d" % self.status
        why = traps[-1:] or ([] if signals else errors[:1])
        return text + "".join(" (%s)" % words for words in why)

    def say(self, name, issue):
        arguments = " with %s" % issue.arguments if issue.arguments else ""
        self.said.append("%s%s: %s: %s" % (name, arguments, issue.place, " ".join(issue.text.split())))
        self.said.extend("    " + line for line in issue.details[:6])

    def lines(self):
        for text in self.failures:
            yield "failed", text
        for text in self.skips:
            yield "skipped", text
        for text in self.said[:MOST_SAID]:
            yield "said", text[:400]
        yield "counts", self.passed, len(self.failures), len(self.skips)


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().split("\n")
    except OSError:
        return []


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--status", type=int, required=True)
    parser.add_argument("--log", required=True)
    parser.add_argument("--events")
    parser.add_argument("--xunit")
    options = parser.parse_args()
    log = read(options.log)
    events = Events(read(options.events)) if options.events else None
    xctests = XCTests(options.xunit, log) if options.xunit else None
    for fields in Report(options.status, log, events, xctests).lines():
        print("\t".join(str(field).replace("\t", " ").replace("\n", " ") for field in fields))


if __name__ == "__main__":
    main()
