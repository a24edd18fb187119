#!/usr/bin/env bash
# Installs cargo-gpuprof for a CI job.
#
#   VERSION   a release, such as 0.1.0: its executable for this machine; none to compile this folder's
#   SHA256    the SHA-256 of the release's archive, which SHA256SUMS of the release has
#   RELEASES  where releases are (GitHub)
#
# A release needs its checksum: the job runs what it downloads.
set -euo pipefail
rustup component add rust-src
if [ -z "${VERSION:-}" ]; then
    exec cargo install --locked --path "$(dirname "$0")/../../cargo-gpuprof"
fi
if [ -z "${SHA256:-}" ]; then
    echo "version $VERSION needs sha256, the checksum of its archive in SHA256SUMS" >&2
    exit 2
fi
name=cargo-gpuprof-v$VERSION-$(uname -m)-unknown-linux-gnu
archive=$(mktemp)
trap 'rm -f "$archive"' EXIT
releases=${RELEASES:-https://github.com/gpuprof/gpuprof/releases/download}
curl --fail --silent --show-error --location --retry 3 --output "$archive" \
    "$releases/v$VERSION/$name.tgz"
echo "$SHA256  $archive" | sha256sum --check --quiet
bin=${CARGO_HOME:-$HOME/.cargo}/bin
mkdir -p "$bin"
tar --extract --gzip --file "$archive" --directory "$bin" --strip-components 1 "$name/cargo-gpuprof"
