#!/usr/bin/env bash
# Run tests on another Debian: its Python, its Valkey, another processor.
#
#     sudo torture/debian.sh sid                                      # the newest that Debian has: demo, plugin, index
#     sudo torture/debian.sh trixie arm64 tests/index/test_check.py   # emulated: ten times as slow or more
#
# It needs mmdebstrap and uv; for other processors also arch-test, binfmt-support and qemu-user-static. What it makes is
# in a folder of its own, under TMPDIR if that is set, and is removed at the end.
set -euo pipefail
suite=${1:?which suite of Debian?} processor=${2:-$(dpkg --print-architecture)}
shift $(($# < 2 ? $# : 2))
project=$(cd "$(dirname "$0")/.." && pwd)

root=$(mktemp --directory)
trap 'umount --quiet "$root"/{dev/shm,dev/pts,dev,proc} || true; rm --recursive --force --one-file-system "$root"' EXIT
# shellcheck disable=SC2086
${MMDEBSTRAP:-mmdebstrap} --quiet --variant=minbase --architectures="$processor" \
    --include=python3,libpython3-stdlib,procps,ca-certificates,valkey-server "$suite" "$root"
mount --types proc proc "$root/proc"
mount --bind /dev "$root/dev"
mount --types devpts --options newinstance,ptmxmode=0666 devpts "$root/dev/pts"
mount --types tmpfs tmpfs "$root/dev/shm"

inside() { chroot "$root" /usr/bin/env HOME=/root LANG=C.UTF-8 REDIS_REQUIRED=1 PYTHONPATH=/site:/project "$@"; }
git clone --quiet "$project" "$root/project"
# Emulated, pip takes an hour for this.
uv pip install --quiet --target "$root/site" --python-platform "$(inside uname -m)-manylinux_2_40" \
    --python-version "$(inside python3 -c 'import platform; print(platform.python_version())')" "$root/project[test]"
inside python3 -c 'import platform; print("Python", platform.python_version(), platform.machine())'
inside valkey-server --version

run='cd /project && python3 -m pytest -m "not slow" --hypothesis-profile quick --dist loadfile --numprocesses 4 -q -rs "$@"'
if [ $# = 0 ]; then
    run="cd /project && python3 example_project/demo.py --fresh --expect && $run"
    set -- tests/plugin tests/index
fi
inside bash -c "$run" tests "$@"
