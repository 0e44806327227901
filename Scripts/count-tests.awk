# Counts the tests in a log of `swift test`, of Swift Testing and XCTest alike.
#
#   awk -v status=0 -f count-tests.awk LOG
#
# Lines out, fields separated by tabs: `failed` and `skipped` with a text each, and at last `counts` with the numbers passed, failed and
# skipped. What is no failing test but no clean run either (a crash, a timeout, a sanitizer's report, a log without its closing line, a run
# of no test at all) is one failure more. `status` is the exit status of the command that wrote the log; 124 stands for a timeout.

function tell(kind, text) { gsub(/\t/, " ", text); printf "%s\t%s\n", kind, text }
function number(text) { match(text, /[0-9]+/); return substr(text, RSTART, RLENGTH) + 0 }

# The text between two others.
function between(line, before, after) {
    sub("^.*" before, "", line)
    sub(after ".*$", "", line)
    return line
}

function test_name(after) {
    name = between($0, "(✔|✘|━|➜|◇) Test ", after)
    sub(/ with [0-9]+ test cases?$/, "", name)
    return name
}

function failure(text) { failed++; if (!told[text]++) tell("failed", text) }
# The first issue of a test says most.
function failed_test(name) { has_failed[name] = 1; failure(name in issue ? name ", " issue[name] : name) }
function skip(text) { skipped++; tell("skipped", text) }

{ gsub(/\033\[[0-9;]*[A-Za-z]/, ""); sub(/\r$/, "") }

# Swift Testing: one line a test and one for the run. A skipped test is counted in the run's number, a test case is not.
/◇ Test run started\./ { runs++; next }
/Test run with [0-9]+ tests?( in [0-9]+ suites?)? (passed|failed|was cancelled) after [0-9.]+ seconds/ {
    closed++
    match($0, /Test run with [0-9]+/)
    total += number(substr($0, RSTART, RLENGTH))
    if ($0 !~ / passed after /) says_failed = 1
    next
}
/(✔|✘|━|➜|◇) Test case / { next }
/✘ Test .* recorded an issue/ {
    name = test_name(" recorded an issue")
    where = $0
    sub(/.* recorded an issue( with .*)? at /, "", where)
    sub(/:[0-9]+: /, ": ", where) # the column
    if (!(name in issue)) issue[name] = where
    next
}
# What a suite finds after its last test is nobody's test. One failure a suite, with its first issue.
/✘ Suite .* recorded an issue/ {
    name = between($0, "✘ Suite ", " recorded an issue")
    where = $0
    sub(/.* recorded an issue( with .*)? at /, "", where)
    sub(/:[0-9]+: /, ": ", where)
    if (!(name in suite_issue)) { suite_issue[name] = where; apart++; tell("failed", "suite " name ", " where) }
    next
}
/◇ Test .* started\./ { running[test_name(" started\\.")] = ++order; next }
/(✔|━) Test .* passed after [0-9.]+ seconds/ { passed_lines++; delete running[test_name(" passed after [0-9.]+ seconds")]; next }
/✘ Test .* failed after [0-9.]+ seconds/ {
    name = test_name(" failed after [0-9.]+ seconds")
    delete running[name]
    failed_test(name)
    next
}
/➜ Test .* was cancelled after [0-9.]+ seconds/ {
    name = test_name(" was cancelled after [0-9.]+ seconds")
    delete running[name]
    reason = $0
    if (!sub(/.* seconds: /, "", reason)) reason = "no reason given"
    skip(name ": " reason)
    next
}
/➜ Test .* skipped(\.|: .*)$/ {
    name = test_name(" skipped(\\.|: )")
    reason = $0
    if (!sub(/.* skipped: /, "", reason)) reason = "no reason given"
    skip(name ": " reason)
    next
}

# XCTest: the outermost suite's closing line comes after all others.
/Test Suite '(All|Selected) tests' started/ { runs++; next }
/Test Suite '(All|Selected) tests' (passed|failed) at / { outermost = 1; next }
/Executed [0-9]+ tests?, with / {
    if (outermost) {
        closed++
        match($0, /Executed [0-9]+/)
        total += number(substr($0, RSTART, RLENGTH))
        if ($0 !~ / 0 failures/) says_failed = 1
        outermost = 0
    }
    next
}
/ : Test skipped - / { reason = between($0, " : Test skipped - ", "$"); next }
/Test Case '.*' started/ { running[between($0, "Test Case '", "' started")] = ++order; next }
/^.*:[0-9]+: error: [^ ]+ : / {
    name = between($0, ": error: ", " : ")
    where = $0
    sub(/^.*\//, "", where)
    sub(/ error: [^ ]+ : /, " ", where)
    if (!(name in issue)) issue[name] = where
    next
}
/Test Case '.*' passed \(/ { passed_lines++; delete running[between($0, "Test Case '", "' passed")]; next }
/Test Case '.*' failed \(/ {
    name = between($0, "Test Case '", "' failed")
    delete running[name]
    failed_test(name)
    next
}
/Test Case '.*' skipped \(/ {
    name = between($0, "Test Case '", "' skipped")
    delete running[name]
    skip(name ": " (reason == "" ? "no reason given" : reason))
    reason = ""
    next
}

# Sanitizers and crashes.
/(WARNING: Thread|ERROR: Address|ERROR: Leak)Sanitizer/ { reports++; if (report == "") report = $0; next }
/SUMMARY: (Thread|Address|Leak)Sanitizer/ { if (summary == "") summary = between($0, "SUMMARY: ", "$"); next }
/Fatal error: / { crash = between($0, "Fatal error: ", "$"); next }
/unexpected signal code [0-9]+/ { match($0, /signal code [0-9]+/); signal = number(substr($0, RSTART, RLENGTH)); next }

# The tests that had begun and not ended, the newest first.
function were_running(  name, count, list, best) {
    for (count = 0; count < 3; count++) {
        best = ""
        for (name in running) if (best == "" || running[name] > running[best]) best = name
        if (best == "") break
        list = list (list == "" ? "" : ", ") best
        delete running[best]
    }
    return list == "" ? "" : " while running " list
}

END {
    passed = closed == runs ? total - failed - skipped : passed_lines
    if (passed < 0) passed = 0
    ran = total + passed_lines + failed
    failed += apart
    # What a thread of a test's own finds is nobody's, for Swift Testing: "«unknown»".
    if (!reports && status != 124 && runs != 0 && closed == runs) {
        for (name in issue) if (!(name in has_failed)) failure(name ", " issue[name])
    }
    if (reports) failure(reports (reports == 1 ? " report" : " reports") " of a sanitizer: " (summary == "" ? report : summary))
    if (status == 124) {
        failure("timed out" were_running())
    } else if (runs == 0 || closed != runs) {
        what = signal ? "crashed with signal " signal : "ended without its closing line"
        failure(what (crash == "" ? "" : " (" crash ")") were_running())
    } else if (ran == 0) {
        failure("no test was run")
    } else if (!failed && (status != 0 || says_failed)) {
        failure("exit status " (status + 0) " although no test failed")
    }
    printf "counts\t%d\t%d\t%d\n", passed, failed, skipped
}
