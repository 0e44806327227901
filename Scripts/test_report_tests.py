#!/usr/bin/env python3
"""Tests of test_report.py, with records as Swift 6.3.1 writes them."""

import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import test_report


def identifier(name, suite="Alpha"):
    return "LabTests.%s/%s/A.swift:7:6" % (suite, name)


def declared(name, suite="Alpha", display=None):
    payload = {"id": identifier(name, suite), "kind": "function", "name": name, "isParameterized": False}
    if display:
        payload["displayName"] = display
    return {"kind": "test", "version": 0, "payload": payload}


def suite(name="Alpha"):
    return {"kind": "test", "version": 0, "payload": {"id": "LabTests.%s" % name, "kind": "suite", "name": name}}


def event(kind, test=None, symbol="default", text="", **more):
    payload = {"kind": kind, "messages": [{"symbol": symbol, "text": text}] if text else [], **more}
    if test:
        payload["testID"] = test
    return {"kind": "event", "version": 0, "payload": payload}


def started(name):
    return event("testStarted", identifier(name), text="Test %s started." % name)


def passed(name):
    return event("testEnded", identifier(name), "pass", "Test %s passed after 0.001 seconds." % name)


def failed(name):
    return event("testEnded", identifier(name), "fail", "Test %s failed after 0.001 seconds with 1 issue." % name)


def issue(test, text, line=7, details=(), known=False, **more):
    record = event(
        "issueRecorded", test, "passWithKnownIssue" if known else "fail", text,
        issue={"isKnown": known, "sourceLocation": {"fileID": "LabTests/A.swift", "line": line, "column": 1}}, **more)
    record["payload"]["messages"] += [{"symbol": "details", "text": detail} for detail in details]
    return record


RUN = event("runStarted", text="Test run started.")
END = event("runEnded", symbol="pass", text="Test run with 1 test in 1 suite passed after 0.001 seconds.")
FAILED_END = event("runEnded", symbol="fail", text="Test run with 1 test in 1 suite failed after 0.001 seconds with 1 issue.")


def report(records, status=0, log=(), tail=""):
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records] + [tail]
    return test_report.Report(status, list(log), test_report.Events(lines))


class EventTests(unittest.TestCase):
    def expect(self, found, passed, failures=(), skips=()):
        self.assertEqual((found.passed, found.failures, found.skips), (passed, list(failures), list(skips)))

    def test_passed_tests_are_counted_and_their_cases_are_not(self):
        cases = [event("testCaseStarted", identifier("many(n:)")), event("testCaseEnded", identifier("many(n:)"))] * 3
        self.expect(report([suite(), declared("many(n:)"), RUN, started("many(n:)"), *cases, passed("many(n:)"), END]), 1)

    def test_a_failed_test_is_told_with_its_first_issue_and_its_place(self):
        records = [declared("fails()"), RUN, started("fails()"), issue(identifier("fails()"), "Expectation failed: 1 == 2", 8, ["said to it"]),
                   issue(identifier("fails()"), "Issue recorded", 9, ["second"]), failed("fails()"), FAILED_END]
        found = report(records, status=1)
        self.expect(found, 0, ["Alpha.fails(), A.swift:8: Expectation failed: 1 == 2"])
        self.assertEqual(found.said, ["Alpha.fails(): A.swift:8: Expectation failed: 1 == 2", "    said to it",
                                      "Alpha.fails(): A.swift:9: Issue recorded", "    second"])

    def test_what_was_said_names_the_arguments(self):
        records = [RUN, started("many(n:)"), issue(identifier("many(n:)"), "no", _testCase={"displayName": "2"}), failed("many(n:)"), FAILED_END]
        self.assertEqual(report(records, status=1).said, ["Alpha.many(n:) with 2: A.swift:7: no"])

    def test_an_issue_that_comes_after_the_end_of_its_test_counts(self):
        found = report([RUN, started("a()"), passed("a()"), issue(identifier("a()"), "late"), FAILED_END], status=1)
        self.expect(found, 0, ["Alpha.a(), A.swift:7: late"])

    def test_tests_of_one_name_in_two_suites_are_two(self):
        other = identifier("a()", "Beta")
        records = [suite("Alpha"), suite("Beta"), RUN, started("a()"), event("testStarted", other), passed("a()"), issue(other, "no"),
                   event("testEnded", other, "fail", "Test a() failed after 0.1 seconds."), FAILED_END]
        self.expect(report(records, status=1), 1, ["Beta.a(), A.swift:7: no"])

    def test_skipped_and_cancelled_tests_have_their_reason(self):
        records = [suite(), declared("off()"), declared("bare()"), declared("late()"), declared("newer()"), RUN,
                   event("testSkipped", "LabTests.Alpha", "skip", 'Suite Alpha skipped: "all of it"'),
                   event("testSkipped", identifier("off()"), "skip", 'Test off() skipped: "no network here"'),
                   event("testSkipped", identifier("bare()"), "skip", "Test bare() skipped."),
                   started("late()"), event("testCancelled", identifier("late()"), _comments=["not today"]),
                   event("testEnded", identifier("late()"), "skip", 'Test late() was cancelled after 0.001 seconds: "not today"'),
                   started("newer()"), event("testCancelled", identifier("newer()")),
                   event("testEnded", identifier("newer()"), "skip", 'Test newer() was cancelled after 0.001 seconds: "nor tomorrow"'), END]
        self.expect(report(records), 0, skips=["Alpha.off(): no network here", "Alpha.bare(): no reason given", "Alpha.late(): not today",
                                               "Alpha.newer(): nor tomorrow"])

    def test_known_issues_and_warnings_are_no_failures(self):
        warning = issue(identifier("a()"), "a warning")
        warning["payload"]["issue"].update(isFailure=False, severity="warning")
        records = [RUN, started("a()"), issue(identifier("a()"), "known", known=True), warning,
                   event("testEnded", identifier("a()"), "passWithKnownIssue", "Test a() passed after 0.001 seconds with 1 known issue."), END]
        self.expect(report(records), 1)

    def test_a_display_name_is_the_name(self):
        records = [declared("a()", display="a named one"), RUN, started("a()"), issue(identifier("a()"), "no"), failed("a()"), FAILED_END]
        self.expect(report(records, status=1), 0, ['Alpha."a named one", A.swift:7: no'])

    def test_what_a_suite_finds_after_its_last_test_is_one_failure(self):
        records = [suite(), RUN, event("testStarted", "LabTests.Alpha"), started("a()"), passed("a()"),
                   issue("LabTests.Alpha", "Issue recorded", 29, ["thread x: 0 became 1"]), issue("LabTests.Alpha", "more"),
                   event("testEnded", "LabTests.Alpha", "fail", "Suite Alpha failed after 0.1 seconds."), FAILED_END]
        self.expect(report(records, status=1), 1, ["suite Alpha, A.swift:29: thread x: 0 became 1"])

    def test_issues_of_no_test_are_one_failure_a_place(self):
        records = [RUN, started("a()"), issue(None, "of a thread"), issue(None, "again"), passed("a()"), FAILED_END]
        self.expect(report(records, status=1), 1, ["an issue of no test, A.swift:7: of a thread"])

    def test_a_run_of_no_test_is_a_failure(self):
        self.expect(report([RUN, END]), 0, ["no test was run"])

    def test_nothing_but_skipped_tests_is_a_run(self):
        self.expect(report([RUN, event("testSkipped", identifier("a()"), "skip", "Test a() skipped."), END]), 0,
                    skips=["Alpha.a(): no reason given"])

    def test_a_bad_status_after_a_clean_run_is_a_failure(self):
        self.expect(report([RUN, started("a()"), passed("a()"), END], status=3), 1, ["exit status 3 although no test failed"])

    def test_a_run_that_says_it_failed_is_believed(self):
        self.expect(report([RUN, started("a()"), passed("a()"), FAILED_END]), 1, ["exit status 0 although no test failed"])

    def test_a_record_in_the_middle_that_cannot_be_read_is_a_failure(self):
        self.expect(report([RUN, started("a()"), "{nonsense", passed("a()"), END]), 1, ["1 records of the event stream cannot be read"])


class DeathTests(unittest.TestCase):
    BEGUN = [RUN, started("good()"), started("old()"), passed("good()"), started("dies()")]

    def expect(self, found, *failures):
        self.assertEqual((found.passed, found.failures), (1, list(failures)))

    def test_a_signal_is_one_failure_that_names_what_had_begun(self):
        found = report(self.BEGUN, 1, ["A.swift:14: Fatal error: boom", "error: Exited with unexpected signal code 4"])
        self.expect(found, "crashed with signal 4 (boom) while running Alpha.dies(), Alpha.old()")
        self.assertEqual(found.said, ["had begun: Alpha.dies()", "had begun: Alpha.old()"])

    def test_an_issue_of_a_test_that_died_is_said_and_not_counted_again(self):
        found = report(self.BEGUN + [issue(identifier("dies()"), "no")], 1, ["error: Exited with unexpected signal code 11"])
        self.expect(found, "crashed with signal 11 while running Alpha.dies(), Alpha.old()")
        self.assertEqual(found.said[0], "Alpha.dies(): A.swift:7: no")

    def test_half_a_record_at_the_end_is_no_failure_of_its_own(self):
        found = report(self.BEGUN, 1, ["error: Exited with unexpected signal code 9"], tail='{"kind":"eve')
        self.expect(found, "crashed with signal 9 while running Alpha.dies(), Alpha.old()")

    def test_an_exit_with_status_0_is_a_death(self):
        self.expect(report(self.BEGUN), "ended before its last test, with status 0 while running Alpha.dies(), Alpha.old()")

    def test_a_test_that_began_and_never_ended_is_a_death_whatever_the_run_says(self):
        self.expect(report(self.BEGUN + [END]), "ended before its last test, with status 0 while running Alpha.dies(), Alpha.old()")

    def test_a_timeout_names_what_had_begun(self):
        self.expect(report(self.BEGUN, 124), "timed out while running Alpha.dies(), Alpha.old()")

    def test_more_than_a_dozen_are_counted(self):
        records = [RUN, started("good()"), passed("good()")] + [started("t%d()" % number) for number in range(14)]
        names = ", ".join("Alpha.t%d()" % number for number in range(13, 1, -1))
        self.expect(report(records, 124), "timed out while running %s and 2 more" % names)

    def test_a_report_of_a_sanitizer_fails_a_run_that_passed(self):
        log = ["WARNING: ThreadSanitizer: data race (pid=1)", "SUMMARY: ThreadSanitizer: data race A.swift:3 in go()",
               "WARNING: ThreadSanitizer: data race (pid=1)", "SUMMARY: ThreadSanitizer: data race A.swift:9 in stop()"]
        self.expect(report([RUN, started("good()"), passed("good()"), END], 66, log),
                    "2 reports of a sanitizer: ThreadSanitizer: data race A.swift:3 in go()")

    def test_a_leak_after_the_last_test_fails_the_run(self):
        log = ["==1==ERROR: LeakSanitizer: detected memory leaks", "SUMMARY: AddressSanitizer: 64 byte(s) leaked in 2 allocation(s)."]
        self.expect(report([RUN, started("good()"), passed("good()"), END], 1, log),
                    "1 report of a sanitizer: AddressSanitizer: 64 byte(s) leaked in 2 allocation(s).")

    def test_no_stream_at_all_is_a_failure_with_the_error(self):
        found = report([], 1, ["error: no such module 'Testing'"])
        self.assertEqual(found.failures, ["ended before its last test, with status 1 (error: no such module 'Testing')"])


class XCTestTests(unittest.TestCase):
    def read(self, text, status, log=()):
        with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
            file.write(text)
            file.flush()
            return test_report.Report(status, list(log), None, test_report.XCTests(file.name, list(log)))

    def test_cases_are_counted_with_the_first_issue_of_those_that_fail(self):
        found = self.read(
            '<testsuites><testsuite name="TestResults" errors="0" tests="3" failures="1">'
            '<testcase classname="LabTests.Old" name="testFails" time="0.05"><failure message="failure"></failure></testcase>'
            '<testcase classname="LabTests.Old" name="testPasses" time="0.01"></testcase>'
            '<testcase classname="LabTests.Old" name="testSkips"><skipped message="because"/></testcase></testsuite></testsuites>', 1,
            ["/x/A.swift:62: error: Old.testFails : XCTAssertEqual failed: 1 is not 2", "/x/A.swift:63: error: Old.testFails : later"])
        self.assertEqual((found.passed, found.failures, found.skips),
                         (1, ["Old.testFails, A.swift:62: XCTAssertEqual failed: 1 is not 2"], ["Old.testSkips: because"]))

    def test_a_report_without_a_case_is_a_run_of_no_test(self):
        self.assertEqual(self.read('<testsuites><testsuite name="TestResults" tests="0"></testsuite></testsuites>', 0).failures, ["no test was run"])

    def test_a_report_that_is_not_there_or_broken_is_a_failure(self):
        self.assertEqual(self.read("<testsuites>", 1).failures, ["ended before its last test, with status 1"])
        found = test_report.Report(124, [], None, test_report.XCTests("/nowhere.xml", []))
        self.assertEqual(found.failures, ["timed out"])


class OutputTests(unittest.TestCase):
    def test_the_last_line_has_the_counts(self):
        found = report([RUN, started("a()"), issue(identifier("a()"), "one\ttwo"), failed("a()"), FAILED_END], 1)
        self.assertEqual(list(found.lines())[-1], ("counts", 0, 1, 0))

    def test_what_is_said_has_an_end(self):
        issues = [issue(identifier("a()"), "no %d" % number) for number in range(100)]
        found = report([RUN, started("a()"), *issues, failed("a()"), FAILED_END], 1)
        self.assertEqual(sum(line[0] == "said" for line in found.lines()), 60)


if __name__ == "__main__":
    unittest.main()
