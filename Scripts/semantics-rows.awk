# Whether the tests that the rows of docs/semantics.md name know of them: a row's id, `REQ-4` or the 7 of `defect 7`, stands in the comment
# above the test or above its suite; where a row names a whole suite, above any test of it will do.
#
#   awk -f semantics-rows.awk TESTS.swift... docs/semantics.md
#
# One line out for each test that does not, and a status of 1. Suites that are in none of the files are not looked at.

function note(id) {
    if (test != "") cited[suite "." test, id] = 1
    else cited[suite, id] = 1
    somewhere[suite, id] = 1
}

# Notes the ids in the comment above the test, or above the suite where there is no test.
function cite(    text, words, count, i) {
    for (text = comment; match(text, /[A-Z][A-Z0-9]*-[0-9]+/); text = substr(text, RSTART + RLENGTH)) note(substr(text, RSTART, RLENGTH))
    for (text = comment; match(text, /[Dd]efects? [0-9]+(, [0-9]+)*/); text = substr(text, RSTART + RLENGTH)) {
        count = split(substr(text, RSTART, RLENGTH), words, /[ ,]+/)
        for (i = 2; i <= count; i++) note(words[i])
    }
    comment = ""
}

function check(id, name,    suite) {
    suite = name
    sub(/\..*/, "", suite)
    if (!(suite in known) || (suite, id) in cited || (name, id) in cited || (name == suite && (suite, id) in somewhere)) return
    print FILENAME ": " name " does not say that it shows " (id ~ /-/ ? id : "defect " id)
    missing = 1
}

FNR == 1 { comment = suite = "" }

FILENAME ~ /\.swift$/ {
    test = ""
    if ($1 ~ /^\/\//) comment = comment " " $0
    else if (match($0, /(struct|class|enum|extension) [A-Za-z0-9]+Tests[ :]/)) {
        suite = $0
        sub(/Tests[ :].*/, "Tests", suite)
        sub(/.* /, "", suite)
        known[suite] = 1
        cite()
    } else if (match($0, /func [A-Za-z0-9]+\(/)) {
        test = substr($0, RSTART + 5, RLENGTH - 6)
        cite()
    } else if ($0 ~ /^ *}?$/) comment = "" # What stood above has ended.
    next
}

/^\| [A-Z0-9]+(-[0-9]+)? \|/ {
    row = $0
    sub(/.* \| /, "", row)
    for (; match(row, /`[A-Z][A-Za-z0-9]*Tests(\.[A-Za-z0-9]+)?`/); row = substr(row, RSTART + RLENGTH))
        check($2, substr(row, RSTART + 1, RLENGTH - 2))
}

END { exit missing }
