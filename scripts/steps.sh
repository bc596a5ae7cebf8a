# Sourced by the scripts: the checkout's folder as $root, and steps that are quiet unless they fail.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
logs=$root/build
mkdir -p "$logs"
cd "$root"

# step TEXT NAME COMMAND…: runs the command with its output in build/NAME.log; shows the log's end
# and leaves the script if it fails.
step() {
  local text=$1 log=$logs/$2.log start=$SECONDS status=0
  shift 2
  printf '%s … ' "$text"
  "$@" >"$log" 2>&1 </dev/null || status=$?
  if [ "$status" -ne 0 ]; then
    printf 'failed (status %d)\n' "$status"
    tail -n "${SOFTNEURO_LOG_TAIL:-60}" "$log" | sed 's/^/  | /'
    printf 'the whole log: %s\n' "${log#"$root"/}" >&2
    exit 1
  fi
  printf 'done, %d s\n' $((SECONDS - start))
}

# usage_error TEXT: for wrong options.
usage_error() {
  printf '%s: %s (see --help)\n' "${0##*/}" "$1" >&2
  exit 2
}

# Prints the comment at the top of the running script, which is its help.
print_help() { sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$0"; }
