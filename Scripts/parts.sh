# shellcheck shell=bash disable=SC2154
# The parts of a run of `Scripts/test`: what each counts and how long it takes, and the table at the end. Source it after lib.sh, which sets what is not set here.
#
# Set beforehand: `ceiling`, the minutes a part may take (twice what it takes on two quiet cores; beyond them it is told, and no failure), and
# `limit`, the seconds after which a part is ended and counts as failed.

declare -A ceiling
passed=0 failed=0 skipped=0
table=() failures=() skips=() details=() slow=()

closing_line() { printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"; }

minutes() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }

# add_row NAME SECONDS [PASSED FAILED SKIPPED]
add_row() {
    local name=$1 seconds=$2 most=${ceiling[$1]:-} note=
    if [ -n "$most" ] && [ "$seconds" -gt $((most * 60)) ]; then
        note="  over its ceiling"
        slow+=("$name took $(minutes "$seconds"), and its ceiling is $most:00")
    fi
    [ -z "$most" ] || note=$(printf ' %10s' "$most:00")$note
    table+=("$(printf '  %-14s %7s %7s %8s %9s%s' "$name" "${3:-}" "${4:-}" "${5:-}" "$(minutes "$seconds")" "$note")")
}

# add_counts NAME SECONDS: takes the lines that test_report.py writes.
add_counts() {
    local name=$1 seconds=$2 kind text more rest
    while IFS=$'\t' read -r kind text more rest; do
        case $kind in
            failed) failures+=("$name: $text") ;;
            skipped) skips+=("$name: $text") ;;
            said) details+=("$name: $text") ;;
            counts)
                passed=$((passed + text)) failed=$((failed + more)) skipped=$((skipped + rest))
                add_row "$name" "$seconds" "$text" "$more" "$rest"
                ;;
        esac
    done
}

# fail_part NAME SECONDS TEXT, skip_part NAME SECONDS TEXT: a part that is one failure, or one thing left out.
fail_part() { add_counts "$1" "$2" < <(printf 'failed\t%s\ncounts\t0\t1\t0\n' "$3"); }
skip_part() { add_counts "$1" "$2" < <(printf 'skipped\t%s\ncounts\t0\t0\t1\n' "$3"); }

# test_part NAME CONFIGURATION [OPTION...]: the tests that the options choose, as `configuration` has had them built.
test_part() {
    local name=$1 began=$SECONDS
    configuration "$2"
    shift 2
    test_run "$name" "$name" "$limit" env "${environment[@]}" "$swift" test --skip-build --disable-xctest "$@" "${options[@]}"
    add_counts "$name" $((SECONDS - began)) <"$logs/$name.report"
}

# xctest_part NAME CONFIGURATION: the test cases of XCTest, each in a process of its own: without that there is no report of them.
xctest_part() {
    local name=$1 began=$SECONDS status=0 log=$logs/$1.log
    configuration "$2"
    rm -f "$logs/$name.xml"
    run_logged "$name: testing" "$log" "$limit" env -u SWIFT_DETERMINISTIC_HASHING "${environment[@]}" "$swift" test --skip-build --disable-swift-testing \
        --parallel --num-workers 1 --xunit-output "$logs/$name.xml" "${options[@]}" || status=$?
    add_counts "$name" $((SECONDS - began)) < <(python3 Scripts/test_report.py --status "$status" --log "$log" --xunit "$logs/$name.xml")
}

# script_part NAME COMMAND...: a check of its own, which counts as one test.
script_part() {
    local name=$1 began=$SECONDS log=$logs/$1.log
    shift
    if run_logged "$name" "$log" "$limit" "$@"; then
        add_counts "$name" $((SECONDS - began)) < <(printf 'counts\t1\t0\t0\n')
    else
        fail_part "$name" $((SECONDS - began)) "$(tail -n 1 "$log" | cut -c 1-120) (the log is $log)"
    fi
}

# suites_in FOLDER...: a pattern of all suites in these folders, for --filter, wherever their target is.
suites_in() {
    local names
    names=$(grep -rhoE '(struct|class|enum|actor) [A-Za-z0-9]+Tests\b' "$@" 2>/dev/null | awk '{ print $2 }' | sort -u | paste -sd '|')
    printf '^[A-Za-z]+\\.(%s)/' "${names:-nothing}"
}

# list TITLE MOST [ENTRY...]
list() {
    local title=$1 most=$2 shown=0 entry
    shift 2
    [ $# -gt 0 ] || return 0
    printf '\n%s\n' "$title"
    for entry in "$@"; do
        if [ "$shown" -eq "$most" ]; then
            printf '  and %d more\n' $(($# - most))
            break
        fi
        shown=$((shown + 1))
        printf '  %.240s\n' "$entry"
    done
}

# print_summary SECONDS: everything but the closing line.
print_summary() {
    printf '\n  %-14s %7s %7s %8s %9s %10s\n' part passed failed skipped minutes ceiling
    printf '%s\n' "${table[@]}"
    table=()
    add_row "in all" "$1" "$passed" "$failed" "$skipped"
    printf '%s\n' "${table[@]}"
    list "Failed:" 12 "${failures[@]}"
    list "What was said to them:" 60 "${details[@]}"
    list "Skipped:" 8 "${skips[@]}"
    list "Slower than they may be (no failure):" 20 "${slow[@]}"
}
