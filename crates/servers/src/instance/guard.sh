# Ends servers when the program that started them has ended, whichever way it did.
#
# Its standard input is a pipe whose only other end that program holds, so that the kernel closes it even when the program
# is killed. Lines: `server PID START SIGNAL` (START is field 22 of /proc/PID/stat: a later process with the same number
# is left alone), `up` (they have something to write when they end), `release` (nothing is to be done any more). $1 is the
# servers' folder, made by that program; what the names of its other folders begin with is $2, an absolute path, if any.
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
    # $2 is field 3, the state. A process whose first thread has ended is none yet that has ended (field 20).
    { [ "$2" != Z ] || [ "${19}" -gt 1 ]; } && [ "${21}" = "$1" ]
}

# family PID: its children, and the process group that it leads.
family() {
    for stat in /proc/[0-9]*/stat; do
        { read -r line <"$stat"; } 2>/dev/null || continue
        # What follows the name is the state, the parent and the group.
        parent=${line##*) ? } pid=${stat#/proc/}
        group=${parent#* }
        [ "${parent%% *}" != "$1" ] && [ "${group%% *}" != "$1" ] || echo "${pid%/stat}"
    done
}

# forget PID: unlinks PostgreSQL's shared memory that a process has mapped. What makes a data directory has it in /dev/shm,
# where nobody would remove it.
forget() {
    while read -r _ _ _ _ _ file _; do
        case $file in
        /dev/shm/PostgreSQL.*) rm -f -- "$file" ;;
        esac
    done <"/proc/$1/maps"
}

# send SIGNAL PID: SIGKILL goes to the whole group that the server leads, for what it has started goes on without it; as
# SIGCONT does, also to those it has started that lead groups of their own: stopped, they would not notice.
send() {
    case $1 in
    KILL | CONT)
        # Stopped, it starts nothing more.
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

# each SIGNAL: sends it, or with `own` each server's own, to those that live; fails when there is none.
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
# What a killed server's own processes still write would keep the folder from going.
for _ in 0 1 2 3 4 5 6 7 8 9; do
    case $2 in
    /*/?*) rm -rf -- "$1" "$2"* ;;
    *) rm -rf -- "$1" ;;
    esac 2>/dev/null && break
    sleep 0.2
done
