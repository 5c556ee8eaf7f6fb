# Sourced. need COMMAND PACKAGE...: makes sure that COMMAND is there, if need
# be by installing Debian packages.
need() {
    local command=$1
    shift
    command -v "$command" >/dev/null && return
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        echo "$0: $command is missing: install it (Debian: apt-get install $*)" >&2
        return 1
    fi
    echo "$0: installing $*" >&2
    apt_lists "$1"
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@" >/dev/null
}

# apt_lists PACKAGE: fetches the package lists unless they know PACKAGE.
apt_lists() {
    apt-cache show "$1" >/dev/null 2>&1 || apt-get update -qq
}
