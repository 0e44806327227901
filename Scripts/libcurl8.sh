# shellcheck shell=bash disable=SC2034,SC2154
# libcurl 8 beside the system's libcurl 7, from Debian's backports: unpacked, not installed, and found by LD_LIBRARY_PATH. apt's sources stay as
# they are. Source it after lib.sh, which sets what is not set here.

# The mirror that this system has for a suite, Debian's own where it says none.
debian_mirror() {
    local files=()
    mapfile -t files < <(compgen -G "${APT_SOURCES:-/etc/apt}/sources.list"; compgen -G "${APT_SOURCES:-/etc/apt}/sources.list.d/*")
    # Others have suites of that name, too, but not a component named main.
    awk -v suite="$1" '
        function found(address) { if (address ~ /^https?:/) { print address; is_done = 1; exit } }
        FNR == 1 || NF == 0 { address = ""; is_ours = is_main = 0 }
        $1 == "deb" {
            sub(/\[[^]]*\]/, "")
            if ($3 == suite && / main( |$)/) found($2)
        }
        $1 == "URIs:" { address = $2 }
        $1 == "Suites:" { for (i = 2; i <= NF; i++) if ($i == suite) is_ours = 1 }
        $1 == "Components:" { for (i = 2; i <= NF; i++) if ($i == "main") is_main = 1 }
        is_ours && is_main && address != "" { found(address) }
        END { if (!is_done) print "http://deb.debian.org/debian" }' "${files[@]}" /dev/null
}

# download_missing PACKAGE: that package into this folder, and of what it depends on what the system has not.
download_missing() {
    local entry name version installed
    "${apt[@]}" download "$1" || return
    while read -r entry; do
        name=${entry%%[ :]*}
        version=$(printf '%s' "$entry" | sed -nE 's/.*\(>= ([^)]*)\).*/\1/p')
        # shellcheck disable=SC2016
        installed=$(dpkg-query -W -f='${Version}' "$name" 2>/dev/null)
        if [ -n "$installed" ] && { [ -z "$version" ] || dpkg --compare-versions "$installed" ge "$version"; }; then continue; fi
        compgen -G "${name}_*.deb" >/dev/null || download_missing "$name" || return
    done < <(dpkg-deb -f "$1"_*.deb Depends | tr ',' '\n' | sed 's/^ *//; s/ *|.*//')
}

# unpack_libcurl8 SUITE MIRROR: in this folder.
unpack_libcurl8() {
    local file keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    local apt=(apt-get -o "Dir::Etc::sourcelist=$PWD/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::Lists=$PWD/lists"
        -o "Dir::Cache=$PWD/cache" -o APT::Sandbox::User= -o Acquire::Retries=2 -o Acquire::http::Timeout=20)
    mkdir -p lists/partial cache/archives/partial || return
    [ -e "$keyring" ] && keyring=" [signed-by=$keyring]" || keyring=
    printf 'deb%s %s %s main\n' "$keyring" "$2" "$1" >sources.list
    "${apt[@]}" update && download_missing libcurl4 || return
    for file in *.deb; do dpkg -x "$file" root || return; done
}

# find_libcurl8 FOLDER: sets `libcurl8`, the folder of the library, or `libcurl8_missing`, why there is none. It stays for the next time.
find_libcurl8() {
    local folder=$1 name codename version found
    libcurl8='' libcurl8_missing=''
    version=$(pkg-config --modversion libcurl)
    if is_at_least "$version" 8; then
        libcurl8_missing="the system's own libcurl is $version, and everything ran with it"
        return 1
    fi
    # shellcheck disable=SC1090
    read -r name codename < <(. "${OS_RELEASE:-/etc/os-release}" && printf '%s %s\n' "${ID:-}" "${VERSION_CODENAME:-}")
    if [ "$name" != debian ] || ! command -v dpkg-deb >/dev/null; then
        libcurl8_missing="only Debian has backports with libcurl 8, and this is ${name:-another system}"
        return 1
    fi
    if [ ! -e "$folder/ready" ]; then
        rm -rf "$folder"
        mkdir -p "$folder"
        if ! (cd "$folder" && unpack_libcurl8 "$codename-backports" "$(debian_mirror "$codename")") >"$logs/libcurl8-apt.log" 2>&1; then
            libcurl8_missing="$codename-backports could not be had: $(errors_of "$logs/libcurl8-apt.log" 1) (the log is $logs/libcurl8-apt.log)"
            return 1
        fi
        : >"$folder/ready"
    fi
    found=$(compgen -G "$folder/root/usr/lib/*/libcurl.so.4" | head -n 1)
    if [ -z "$found" ] || LD_LIBRARY_PATH=$(dirname "$found") ldd "$found" | grep -q 'not found'; then
        libcurl8_missing="what $codename-backports has for libcurl 8 cannot be loaded here"
        return 1
    fi
    libcurl8=$(dirname "$found")
}
