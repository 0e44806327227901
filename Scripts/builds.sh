# shellcheck shell=bash disable=SC2034,SC2154
# The builds of `Scripts/test`, in the foreground or beside parts that mostly wait. Source it after lib.sh and parts.sh, which set what is not set here.

# A sanitizer finds by itself what these say how to tell.
sanitizers=("TSAN_OPTIONS=second_deadlock_stack=1 ${TSAN_OPTIONS:-}" "ASAN_OPTIONS=detect_leaks=1 ${ASAN_OPTIONS:-}"
    "LSAN_OPTIONS=suppressions=$PWD/Scripts/lsan.supp:print_suppressions=0 ${LSAN_OPTIONS:-}")

# configuration NAME: sets `environment` (for env) and `options` (for swift build and swift test).
configuration() {
    # The library and its life-cycle tests: instrumenting or optimising the test server would cost minutes and find nothing of ours. The pins
    # are those of the whole package, or SwiftPM would drop what a lean build does not need. Optimised for the address sanitizer at full length alone:
    # one core is busy with the optimised library for minutes. Never for the thread sanitizer, which takes optimised continuations for races.
    local lean=(-u SCOPEDNET_ALL SCOPEDNET_LEAN=1)
    case $1 in
        debug)
            environment=(SCOPEDNET_ALL=1) options=()
            # What only a debugger reads costs compiler time. Elsewhere the build is also that of `swift test`. The index stays: XCTest finds its tests there.
            if [ -n "${CI:-}" ]; then options+=(-debug-info-format none "${batches[@]}"); fi
            ;;
        thread) environment=("${lean[@]}" "${sanitizers[@]}") options=(--force-resolved-versions --scratch-path .build-tsan --sanitize=thread "${batches[@]}") ;;
        address)
            environment=("${lean[@]}" "${sanitizers[@]}") options=(--force-resolved-versions --scratch-path .build-asan --sanitize=address "${batches[@]}")
            if [ "${mode:-}" = soak ]; then options+=(-c release -Xswiftc -enable-testing); fi
            ;;
        release) environment=("${lean[@]}") options=(--force-resolved-versions --scratch-path .build-lean -c release -Xswiftc -enable-testing) ;;
    esac
}

# The least a process can ask for: its session has a share of its own where the kernel groups by session, and takes what others leave.
# shellcheck disable=SC2016
idle=(sh -c '{ echo 19 >/proc/self/autogroup; } 2>/dev/null; command -v chrt >/dev/null && exec chrt --idle 0 "$@"; exec nice -n 19 "$@"' idle)

# build NAME [PREFIX...]: builds the tests and leaves status and seconds in a file.
build() {
    local name=$1 began=$SECONDS status=0
    shift
    configuration "$name"
    rm -f "$logs/$name-build.status"
    run_logged "$name: building" "$logs/$name-build.log" 3600 "$@" env "${environment[@]}" "$swift" build --build-tests "${options[@]}" || status=$?
    printf '%d %d\n' "$status" $((SECONDS - began)) >"$logs/$name-build.new"
    mv "$logs/$name-build.new" "$logs/$name-build.status"
}

builder=

# build_beside NAME...: builds one after the other, beside whatever follows.
build_beside() {
    local name
    for name in "$@"; do rm -f "$logs/$name-build.status"; done
    (
        trap 'end_child; exit 143' TERM
        for name in "$@"; do build "$name" "${idle[@]}"; done
    ) >"$logs/builds.log" 2>&1 &
    builder=$!
}

stop_builds() {
    [ -n "$builder" ] || return 0
    kill -TERM "$builder" 2>/dev/null
    wait "$builder" 2>/dev/null
    builder=
}

# Builds are many processes on every core: nothing with a clock runs beside them.
wait_for_builds() {
    local began=$SECONDS spoken=$SECONDS
    [ -n "$builder" ] || return 0
    while kill -0 "$builder" 2>/dev/null; do
        if [ $((SECONDS - spoken)) -ge 30 ]; then
            spoken=$SECONDS
            say "$(tail -n 1 "$logs/builds.log") (waited for $(duration $((SECONDS - began))))"
        fi
        sleep 0.5
    done
    wait "$builder" 2>/dev/null
    builder=
}

# built NAME: adds the row of a build and sets `build_seconds`; false when there is nothing to test.
built() {
    local name=$1 status=1 seconds=0 log=$logs/$1-build.log
    build_seconds=0
    if [ -e "$logs/$name-build.status" ]; then read -r status seconds <"$logs/$name-build.status"; fi
    build_seconds=$seconds
    if [ "$status" -eq 0 ]; then
        add_row "$name-build" "$seconds"
    elif grep -qaE "unsupported option '-sanitize|libclang_rt\.(tsan|asan)[^ ]*: No such file" "$log"; then
        skip_part "$name-build" "$seconds" "this toolchain has no such sanitizer"
    else
        fail_part "$name-build" "$seconds" "does not build (status $status): $(errors_of "$log" 1)"
    fi
    return "$status"
}
