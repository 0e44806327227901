# shellcheck shell=bash
# What the scripts of this folder share. Source it from the project's root.

minimum_swift=6.2
minimum_curl=7.88
supported="Debian 12 or newer and Ubuntu 24.04 or newer"
library_packages=(libcurl4-openssl-dev zlib1g-dev libssl-dev libsqlite3-dev libbrotli-dev libzstd-dev)
# For the trait Images, which is on where everything is built.
image_packages=(libjpeg-dev libpng-dev libwebp-dev)

# For builds from nothing: the compiler reads a module once for every 25 of its files, and with this once for each core, which saves a quarter of the
# library's time (27 s for 37).
# shellcheck disable=SC2034
batches=(-Xswiftc -driver-batch-size-limit -Xswiftc 1000)

# SwiftPM (6.3) names the traits to the compiler in the order of a set, another one in each run, and arguments in another order compile
# everything anew. Tests are run without this: hashing is to be random for them.
export SWIFT_DETERMINISTIC_HASHING=1

say() { printf '%s\n' "$*" >&2; }

# What a script wants done when set-up fails, before it leaves.
on_stop() { :; }

stop() {
    clear_progress
    say "$*"
    on_stop
    exit 1
}

# --- Progress ----------------------------------------------------------------------------------------------------------

clear_progress() { if [ -t 2 ]; then printf '\r\033[K' >&2; fi; }

duration() {
    if [ "$1" -lt 60 ]; then printf '%d s' "$1"; else printf '%d min %02d s' "$(($1 / 60))" "$(($1 % 60))"; fi
}

# The process that `run_logged` waits for. It leads a session of its own, because SwiftPM gives its children process groups of
# their own: only the session still knows that they belong together.
child=

processes_of_child() {
    cat /proc/[0-9]*/stat 2>/dev/null | awk -v session="$child" '{
        pid = $1
        sub(/^.*\) /, "") # the name may hold anything
        if ($4 == session && $1 != "Z") print pid
    }'
}

end_child() {
    local signal left _
    [ -n "$child" ] || return 0
    for signal in TERM KILL; do
        for _ in 1 2 3 4 5 6 7 8 9 10; do
            left=$(processes_of_child)
            [ -n "$left" ] || return 0
            # shellcheck disable=SC2086
            kill -"$signal" $left 2>/dev/null
            sleep 0.3
        done
    done
}

interrupted() {
    end_child
    stop "Interrupted."
}
trap interrupted INT TERM

# run_logged TITLE LOG SECONDS COMMAND...
# Runs a command into a log and shows that it lives: a line that renews itself on a terminal, else one every 30 seconds.
# Returns its status; 124 when it took longer than SECONDS, and then nothing of it is left.
run_logged() {
    local title=$1 log=$2 limit=$3 began=$SECONDS spoken=$SECONDS status=0 ended=0 last
    shift 3
    [ -t 2 ] || say "$title"
    # By lines, so that the log of a run that hangs or crashes is not cut short.
    setsid stdbuf -oL "$@" >"$log" 2>&1 </dev/null &
    child=$!
    while kill -0 "$child" 2>/dev/null; do
        if [ -t 2 ]; then
            last=$(tail -n 1 "$log" 2>/dev/null | tr -dc '[:print:]' | cut -c 1-70)
            printf '\r\033[K%s, %s  %s' "$title" "$(duration $((SECONDS - began)))" "$last" >&2
        elif [ $((SECONDS - spoken)) -ge 30 ]; then
            spoken=$SECONDS
            say "$title, $(duration $((SECONDS - began)))"
        fi
        if [ $((SECONDS - began)) -ge "$limit" ]; then
            end_child
            status=124
            break
        fi
        sleep 0.2
    done
    wait "$child" 2>/dev/null || ended=$?
    [ "$status" -ne 0 ] || status=$ended
    child=
    clear_progress
    return "$status"
}

# test_run NAME TITLE SECONDS COMMAND...
# Runs a `swift test` of Swift Testing; what came of its tests is in $logs/NAME.report, as test_report.py writes it. Returns its status.
test_run() {
    local name=$1 title=$2 limit=$3 status=0
    shift 3
    rm -f "$logs/$name.events"
    run_logged "$title: testing" "$logs/$name.log" "$limit" env -u SWIFT_DETERMINISTIC_HASHING "$@" --event-stream-output-path "$logs/$name.events" --event-stream-version 0 || status=$?
    python3 Scripts/test_report.py --status "$status" --log "$logs/$name.log" --events "$logs/$name.events" >"$logs/$name.report"
    return "$status"
}

# The first lines of a log that say what is wrong.
errors_of() { grep -aE 'error:|^E: |fatal:' "$1" | awk '!seen[$0]++' | head -n "${2:-5}"; }

# --- Set-up ------------------------------------------------------------------------------------------------------------

# The toolchain's `swift`, from PATH or from where installers put it.
find_swift() {
    local candidate
    swift=$(command -v swift) && return
    for candidate in "$HOME/.local/share/swiftly/bin/swift" /opt/swift/usr/bin/swift /usr/local/swift/usr/bin/swift /usr/libexec/swift/bin/swift; do
        if [ -x "$candidate" ]; then
            swift=$candidate
            PATH=$PATH:$(dirname "$candidate")
            return
        fi
    done
    stop "No Swift toolchain was found: install Swift $minimum_swift or newer from https://swift.org/install/linux and put its usr/bin on PATH."
}

check_swift() {
    local answer version
    answer=$("$swift" --version 2>&1) || stop "The Swift toolchain at $swift does not start: $(printf '%s' "$answer" | tail -n 1)"
    version=$(printf '%s\n' "$answer" | sed -nE 's/.*Swift version ([0-9]+\.[0-9]+).*/\1/p' | head -n 1)
    is_at_least "${version:-0}" "$minimum_swift" || stop "Swift $minimum_swift or newer is needed, and $swift is ${version:-of an unknown version}."
}

is_at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# Before anything is installed: a system whose libcurl is too old cannot be helped.
check_system() {
    local name version
    if command -v pkg-config >/dev/null && version=$(pkg-config --modversion libcurl 2>/dev/null); then
        is_at_least "$version" "$minimum_curl" || stop "This system has libcurl $version, and ScopedNet needs $minimum_curl: use $supported."
        return
    fi
    # shellcheck disable=SC1090
    read -r name version < <(. "${OS_RELEASE:-/etc/os-release}" 2>/dev/null && printf '%s %s\n' "${ID:-}" "${VERSION_ID:-999}")
    case ${name:-} in
        debian) is_at_least "$version" 12 && return ;;
        ubuntu) is_at_least "$version" 24.04 && return ;;
        *) return ;;
    esac
    stop "This system is $name $version, whose libcurl is older than $minimum_curl: ScopedNet needs $supported."
}

is_installed() { dpkg-query -W -f='${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed; }

# What the toolchain itself needs and a bare system lacks: its shared libraries, a linker, headers to compile C and C++.
toolchain_packages() {
    local library
    command -v git >/dev/null || printf '%s\n' git ca-certificates
    command -v ld >/dev/null || printf '%s\n' binutils
    compgen -G '/usr/include/features.h' >/dev/null || printf '%s\n' libc6-dev
    compgen -G '/usr/lib/gcc/*/*/libstdc++.so' >/dev/null || printf '%s\n' g++
    for library in $(ldd "$(dirname "$(readlink -f "$swift")")/swift-build" 2>/dev/null | awk '/not found/ { print $1 }'); do
        case $library in
            libsqlite3.so.0) printf '%s\n' libsqlite3-0 ;;
            libncurses.so.6 | libtinfo.so.6) printf '%s\n' libncurses6 ;;
            libxml2.so.2) printf '%s\n' libxml2 ;;
            libcurl.so.4) ;; # comes with libcurl4-openssl-dev
            libuuid.so.1) printf '%s\n' libuuid1 ;;
        esac
    done
}

# install_packages [COMMAND[:PACKAGE]...]: the libraries (those of pictures where everything is built), what the toolchain needs, and the packages that hold these commands.
install_packages() {
    local package missing=() privilege=()
    if ! command -v dpkg-query >/dev/null; then
        if command -v pkg-config >/dev/null && pkg-config --exists libcurl zlib libssl sqlite3 libbrotlidec libzstd; then return; fi
        stop "This system has no apt: install pkg-config and the headers of libcurl, zlib, OpenSSL, SQLite, brotli and zstd by hand."
    fi
    if [ "${SCOPEDNET_ALL:-}" = 1 ]; then library_packages+=("${image_packages[@]}"); fi
    for package in "${library_packages[@]}"; do is_installed "$package" || missing+=("$package"); done
    # Where users do not look, administrators' commands are there all the same.
    for package in pkg-config "$@"; do PATH=$PATH:/usr/sbin:/sbin command -v "${package%%:*}" >/dev/null || missing+=("${package#*:}"); done
    case " $* " in *" python3 "*) python3 -c 'import venv, ensurepip' 2>/dev/null || missing+=(python3-venv) ;; esac
    while read -r package; do missing+=("$package"); done < <(toolchain_packages | sort -u)
    if [ ${#missing[@]} -eq 0 ]; then return; fi
    if [ "$(id -u)" -ne 0 ]; then
        privilege=(sudo -n)
        sudo -n true 2>/dev/null || stop "These packages are missing, and installing them takes root or sudo without a password: ${missing[*]}"
    fi
    say "Installing the missing packages ${missing[*]} (apt-get${privilege:+, with sudo})."
    if ! apt_install "${privilege[@]}"; then
        stop "apt-get could not install ${missing[*]}: $(errors_of "$logs/apt.log" 1 | sed 's/^E: //') (the log is $logs/apt.log)"
    fi
}

# A fresh machine has no package lists, an old one has stale ones: look again when it fails at first.
apt_install() {
    # RUNLEVEL=1: a server that is only tested with must not be started as a service.
    local apt=("$@" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get -y -o DPkg::Lock::Timeout=300)
    local install=("${apt[@]}" --no-remove --no-install-recommends install "${missing[@]}")
    run_logged "Installing ${#missing[@]} packages" "$logs/apt.log" 1800 "${install[@]}" && return
    run_logged "Updating the package lists" "$logs/apt.log" 600 "${apt[@]}" update || return
    run_logged "Installing ${#missing[@]} packages" "$logs/apt.log" 1800 "${install[@]}"
}

# Swift packages are fetched in a step of their own, so that a missing network is told apart from a failing build.
fetch_dependencies() {
    local reason
    run_logged "Fetching Swift packages" "$logs/fetch.log" 1200 "$swift" package resolve && return
    # SwiftPM's own words are about its cache; git's, where they are there, say why.
    reason=$(grep -aoE "unable to access .*|Could not resolve host.*|Connection (refused|timed out).*|Failed to clone.*" "$logs/fetch.log" | head -n 1)
    stop "The Swift packages this one depends on could not be fetched from github.com, is it within reach?${reason:+ $reason} (the log is $logs/fetch.log)"
}

# set_up [COMMAND[:PACKAGE]...]: everything a fresh machine with a toolchain needs, or one sentence why not.
set_up() {
    logs=$PWD/.build/test-logs
    mkdir -p "$logs" || stop "The folder $logs cannot be written."
    find_swift
    check_system
    install_packages "$@"
    check_system
    check_swift
    fetch_dependencies
}
