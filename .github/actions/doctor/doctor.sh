#!/usr/bin/env bash
# The steps of action.yml: `build`, `examine`. Inputs are passed as INPUT_*; scripts/test-action runs the steps without
# GitHub. LITELAB replaces the command that `build` builds. Exit code: the highest of the checks.
set -euo pipefail

home=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
litelab=${LITELAB:-$home/target/release/litelab}

build() {
    (cd "$home" && cargo build --release --locked -p litelab)
}

examine() {
    local highest=0 number=0 line code words word arguments
    while IFS= read -r line; do
        [ -n "${line// /}" ] || continue
        number=$((number + 1)) code=0
        # xargs splits the line as a shell does and expands nothing. Its own exit code does not tell 2 from 3.
        if ! words=$(xargs -n 1 printf '%s\n' <<<"$line"); then
            echo "::error::litelab doctor: $line: a quotation mark has no second one"
            if [ "$highest" -lt 2 ]; then highest=2; fi
            continue
        fi
        arguments=()
        while IFS= read -r word; do arguments+=("$word"); done <<<"$words"
        "$litelab" doctor "${arguments[@]}" --format github --fail-on "$INPUT_FAIL_ON" || code=$?
        if [ "$code" -gt "$highest" ]; then highest=$code; fi
        if [ -n "$INPUT_SARIF" ]; then
            mkdir -p "$INPUT_SARIF"
            # A check that cannot run has no file: an empty one is refused by the upload.
            "$litelab" doctor "${arguments[@]}" --format sarif --fail-on never >"$INPUT_SARIF/litelab-$number.sarif" 2>/dev/null ||
                rm "$INPUT_SARIF/litelab-$number.sarif"
        fi
    done <<<"$INPUT_CHECKS"
    if [ "$number" = 0 ]; then
        echo "::error::litelab doctor: the input checks is empty: name a database in each of its lines"
        return 2
    fi
    return "$highest"
}

"$@"
