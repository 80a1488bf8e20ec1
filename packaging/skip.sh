# shellcheck shell=bash
# Sourced by the scripts that build and test packages.

# skip WHAT REASON: prints that WHAT is impossible here. With LITELAB_NO_SKIP=1 this is a failure, unless an entry of
# LITELAB_MAY_SKIP, a list separated by commas, is a prefix of WHAT.
skip() {
    echo "skipped: $1: $2"
    [ "${LITELAB_NO_SKIP:-}" = 1 ] || return 0
    local allowed prefix
    IFS=, read -ra allowed <<<"${LITELAB_MAY_SKIP:-}"
    for prefix in "${allowed[@]}"; do
        if [ -n "$prefix" ] && [[ $1 == "$prefix"* ]]; then return 0; fi
    done
    echo "LITELAB_NO_SKIP=1 allows no skips: supply what is missing, or add it to LITELAB_MAY_SKIP" >&2
    exit 1
}
