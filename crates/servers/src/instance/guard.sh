# Stops servers when the program that started them has ended for any reason.
#
# Standard input is a pipe whose other end only that program holds, so that the kernel closes it even if the program is
# killed. Input lines: `server PID START SIGNAL` (START is field 22 of /proc/PID/stat, so that a later process with the
# same number is left alone), `up` (the servers now need time to write when they stop), `release` (exit without any
# action). $1 is the servers' folder, which that program created. $2, if given, is the absolute path with which the
# names of its other folders begin.
servers='' patience=20
while read -r word pid start signal; do
    case $word in
    server) servers="$servers $pid:$start:$signal" ;;
    up) patience=100 ;;
    release) exit 0 ;;
    esac
done

# lives PID START
lives() {
    { read -r line <"/proc/$1/stat"; } 2>/dev/null || return 1
    # shellcheck disable=SC2086
    set -- "$2" ${line##*) }
    # $2 is field 3, the state. A zombie with other threads (field 20) still runs: only its first thread has ended.
    { [ "$2" != Z ] || [ "${19}" -gt 1 ]; } && [ "${21}" = "$1" ]
}

# family PID: prints the children of a process, and the members of the process group that it leads.
family() {
    for stat in /proc/[0-9]*/stat; do
        { read -r line <"$stat"; } 2>/dev/null || continue
        # After the name: the state, the parent and the group.
        parent=${line##*) ? } pid=${stat#/proc/}
        group=${parent#* }
        [ "${parent%% *}" != "$1" ] && [ "${group%% *}" != "$1" ] || echo "${pid%/stat}"
    done
}

# forget PID: unlinks PostgreSQL's shared memory that a process has mapped. The program that creates a data directory
# has it in /dev/shm, where no other program would remove it.
forget() {
    while read -r _ _ _ _ _ file _; do
        case $file in
        /dev/shm/PostgreSQL.*) rm -f -- "$file" ;;
        esac
    done <"/proc/$1/maps"
}

# send SIGNAL PID: SIGKILL goes to the whole group that the server leads, because its children would continue without
# it. SIGKILL and SIGCONT also go to children that lead their own groups: a stopped child would not notice the end of
# the server.
send() {
    case $1 in
    KILL | CONT)
        # A stopped process starts no further children.
        [ "$1" = CONT ] || kill -s STOP -- "-$2"
        brood=$(family "$2")
        if [ "$1" = KILL ]; then
            for member in $brood; do forget "$member"; done
            kill -s KILL -- "-$2"
        fi
        # shellcheck disable=SC2086
        kill -s "$1" "$2" $brood
        ;;
    *) kill -s "$1" "$2" ;;
    esac
}

# each SIGNAL: sends the signal (`own`: the signal of each server, `none`: no signal) to the servers that run. Fails if
# none runs.
each() {
    found=1
    for server in $servers; do
        pid=${server%%:*} rest=${server#*:}
        lives "$pid" "${rest%%:*}" || continue
        found=0
        case $1 in
        own) send "${rest#*:}" "$pid" ;;
        none) ;;
        *) send "$1" "$pid" ;;
        esac
    done 2>/dev/null
    return $found
}

each CONT
each own
while [ "$patience" -gt 0 ] && each none; do
    patience=$((patience - 1))
    sleep 0.1
done
while each KILL; do sleep 0.1; done
# A killed PostgreSQL leaves a System V segment, whose number is the last word of line 7.
if [ -f "$1/node-0/data/postmaster.pid" ]; then
    ipcrm -m "$(sed -n '7s/.*[[:blank:]]//p' "$1/node-0/data/postmaster.pid")"
fi 2>/dev/null
# Children of a killed server may still write files and make the removal fail.
for _ in 0 1 2 3 4 5 6 7 8 9; do
    case $2 in
    /*/?*) rm -rf -- "$1" "$2"* ;;
    *) rm -rf -- "$1" ;;
    esac 2>/dev/null && break
    sleep 0.2
done
