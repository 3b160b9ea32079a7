#!/usr/bin/env bash
# Makes the pictures of docs/pictures again, by the commands of README.md (its ```sh blocks), in a temporary folder.
# ZIPFOLD names a built command; without it, one is built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
if [ -z "${ZIPFOLD:-}" ]; then
    cargo build --release --quiet -p zipfold-cli
    ZIPFOLD="${CARGO_TARGET_DIR:-$root/target}/release/zipfold"
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/docs"
cp "$(realpath "$ZIPFOLD")" "$work/bin/zipfold"
cp -r data "$work/data"
cp docs/*.toml docs/*.bif "$work/docs/"
sed -n '/^```sh$/,/^```$/p' README.md | grep -v '^```' |
    sed 's/^cargo run --release -p zipfold-cli -- /zipfold /' >"$work/commands.sh"
(cd "$work" && PATH="$work/bin:$PATH" bash -euo pipefail commands.sh)
mkdir -p docs/pictures
cp "$work"/*.svg docs/pictures/
ls -l docs/pictures
