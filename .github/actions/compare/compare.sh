#!/usr/bin/env bash
# The steps of action.yml: `build`, `measure`, `judge`. Inputs are passed as INPUT_*, GitHub's own variables as GITHUB_*
# and RUNNER_TEMP; scripts/test-action runs the steps without GitHub. LITELAB replaces the command that `build` builds.
set -euo pipefail

home=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
litelab=${LITELAB:-$home/target/release/litelab}

build() {
    (cd "$home" && cargo build --release --locked -p litelab --features servers)
    local runners
    # Words of all lines. `read` fails at the end of its input.
    read -r -d '' -a runners <<<"$INPUT_RUNNERS" || true
    [ ${#runners[@]} = 0 ] || "$litelab" runners build "${runners[@]}"
}

output() { echo "$1=$2" >>"$GITHUB_OUTPUT"; }

# Ends this step successfully. The last step reports the verdict, so that the run files are uploaded before it.
conclude() {
    output result "$1"
    output exit-code "$2"
    exit 0
}

refuse() {
    echo "::error::$1"
    echo "litelab compare: $1" >>"$GITHUB_STEP_SUMMARY"
    conclude bad-input 2
}

# base_tree REPOSITORY TREE: checks out the base into a separate tree; the checkout of the head is unchanged.
base_tree() {
    local repository=$1 tree=$2
    git -C "$repository" cat-file -e "$INPUT_BASE^{commit}" 2>/dev/null ||
        git -C "$repository" fetch --no-tags --depth=1 origin "$INPUT_BASE" || return 1
    git -C "$repository" worktree add --force --detach "$tree" "$INPUT_BASE" >&2
}

# run_study TREE FILE: runs the study of a tree, which resolves relative names in it.
run_study() {
    local tree=$1 file=$2 arguments
    read -r -d '' -a arguments <<<"${INPUT_RUN_ARGS:-}" || true
    # The bash of macOS takes an empty array for an unset variable.
    (cd "$tree" && "$litelab" run "$INPUT_STUDY" --dir "$databases" -o "$file" ${arguments[@]+"${arguments[@]}"})
}

measure() {
    local head=$GITHUB_WORKSPACE out=$RUNNER_TEMP/litelab-compare tree=$RUNNER_TEMP/litelab-base code=0
    databases=${INPUT_DIRECTORY:-$RUNNER_TEMP/litelab-databases}
    rm -rf "$out"
    mkdir -p "$out" "$databases"
    databases=$(cd "$databases" && pwd)
    output directory "$out"

    case $INPUT_STUDY in
    /* | *..*) refuse "study: $INPUT_STUDY: give a path within the repository" ;;
    esac
    # litelab takes a plain word for the name of a built-in study, which would be the same on both sides.
    [ -f "$head/$INPUT_STUDY" ] || refuse "study: $INPUT_STUDY: no such file in the repository"
    case $INPUT_STUDY in
    *.toml) ;;
    *) refuse "study: $INPUT_STUDY: a study is a .toml file" ;;
    esac
    case ${INPUT_FAIL:-true},${INPUT_STRICT:-false} in
    true,true | true,false | false,true | false,false) ;;
    *) refuse "fail: ${INPUT_FAIL:-true}, strict: ${INPUT_STRICT:-false}: each is true or false" ;;
    esac
    [ -n "$INPUT_BASE" ] || refuse "base: there is no commit to compare with; give one with the input base"
    local sides=(head)
    # A push that creates a branch has no base; GitHub then passes zeros.
    if [ -n "${INPUT_BASE//0/}" ]; then
        base_tree "$head" "$tree" || refuse "base: $INPUT_BASE cannot be fetched; check out with fetch-depth: 0"
        trap 'git -C "$GITHUB_WORKSPACE" worktree remove --force "$RUNNER_TEMP/litelab-base"' EXIT
        [ ! -f "$tree/$INPUT_STUDY" ] || sides=(base head)
    fi
    for side in "${sides[@]}"; do
        local from=$head
        [ "$side" = head ] || from=$tree
        echo "::group::litelab run $INPUT_STUDY on $side"
        run_study "$from" "$out/$side.db" || code=$?
        echo "::endgroup::"
        if [ "$code" != 0 ]; then
            echo "litelab compare: the study failed on $side (exit code $code); the log has the reason" >>"$GITHUB_STEP_SUMMARY"
            conclude failed "$code"
        fi
    done
    if [ "${sides[0]}" = head ]; then
        { echo "There is no base with $INPUT_STUDY, so there is nothing to compare with. The head:"; echo; } >>"$GITHUB_STEP_SUMMARY"
        "$litelab" export "$out/head.db" --format markdown >>"$GITHUB_STEP_SUMMARY"
        conclude no-base 0
    fi

    local arguments=(--markdown --dir "$databases")
    [ -z "${INPUT_ALLOW_UNLIKE:-}" ] || arguments+=("--allow-unlike=$INPUT_ALLOW_UNLIKE")
    [ -z "${INPUT_METRICS:-}" ] || arguments+=(--metric "$INPUT_METRICS")
    [ -z "${INPUT_TOLERANCE:-}" ] || arguments+=(--tolerance "$INPUT_TOLERANCE")
    [ "${INPUT_FAIL:-true}" != true ] || arguments+=(--fail)
    [ "${INPUT_STRICT:-false}" != true ] || arguments+=(--strict)
    # The run files of the confirmation are stored beside those of the comparison.
    (cd "$out" && "$litelab" compare base.db head.db "${arguments[@]}" 2>&1 >compare.md | tee compare.log >&2) || code=$?
    tee -a "$GITHUB_STEP_SUMMARY" <"$out/compare.md"
    # An error is one line.
    [ -s "$out/compare.md" ] || tail -n 1 "$out/compare.log" >>"$GITHUB_STEP_SUMMARY"
    case $code in
    0) conclude passed 0 ;;
    3) conclude regression 3 ;;
    4) conclude inconclusive 4 ;;
    2) conclude bad-input 2 ;;
    *) conclude failed "$code" ;;
    esac
}

judge() {
    local code=${EXIT_CODE:-1}
    case $code in
    0) ;;
    3) echo "::error::litelab: a regression, confirmed by a re-run; the summary has the table" ;;
    4) echo "::error::litelab: inconclusive; more rounds or a quieter machine would tell" ;;
    *) echo "::error::litelab: the comparison ended with code $code; the log has the reason" ;;
    esac
    exit "$code"
}

case ${1:-} in
build | measure | judge) "$1" ;;
*)
    echo "usage: compare.sh build|measure|judge" >&2
    exit 2
    ;;
esac
