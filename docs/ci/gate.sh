#!/usr/bin/env bash
# The merge gate as a CI job runs it: measures the checked-out commit beside the revision that it
# would change, and leaves what people and programs read in a folder. It ends with gpuprof's exit
# code.
#
#   GPUPROF_GATE_BASE        what --base takes (merge-base)
#   GPUPROF_GATE_BACKEND     auto, emulator or cuda (auto)
#   GPUPROF_GATE_DEVICE      what the GPU's name contains, such as H100; on another one the job ends
#                            with 107 before it measures (none)
#   GPUPROF_GATE_ARGUMENTS   further arguments of `cargo gpuprof run`, split at blanks
#   GPUPROF_GATE_OUT         the folder (gpuprof-gate)
#   GPUPROF_GATE_PARTITION   measure one slice alone, such as slice:2/4, and leave it in the folder;
#                            the exit code says whether it was measured (none)
#   GPUPROF_GATE_SLICES      a folder with the slices of all jobs: merge them alone (none)
#   GPUPROF_GATE_HISTORY     a file of `cargo gpuprof history` that gets what was measured (none)
#
# On GitHub it writes the job's summary and annotates the kernels' lines. If the base has no harness,
# as before the merge that adds gpuprof, the job is neutral: it says so and ends with 0.
set -euo pipefail
out=${GPUPROF_GATE_OUT:-gpuprof-gate}
rm -rf "$out"
mkdir -p "$out"

read -ra arguments <<< "${GPUPROF_GATE_ARGUMENTS:-}"
run=(cargo gpuprof run --base "${GPUPROF_GATE_BASE:-merge-base}"
    --backend "${GPUPROF_GATE_BACKEND:-auto}" "${arguments[@]}")
[ -z "${GPUPROF_GATE_DEVICE:-}" ] || run+=(--expect-device "$GPUPROF_GATE_DEVICE")
exports=(--export-json "$out/run.json" --export-markdown "$out/report.md"
    --export-html "$out/report.html")

# A job's clone may hold one commit; the fork point needs the history of both branches.
if [ -z "${GPUPROF_GATE_SLICES:-}" ] && [ "$(git rev-parse --is-shallow-repository)" = true ]; then
    git fetch --quiet --unshallow
fi

code=0
if [ -n "${GPUPROF_GATE_PARTITION:-}" ]; then
    exec "${run[@]}" --partition "$GPUPROF_GATE_PARTITION" --slices "$out"
elif [ -n "${GPUPROF_GATE_SLICES:-}" ]; then
    cargo gpuprof merge "$GPUPROF_GATE_SLICES" --strict --gate "${exports[@]}" || code=$?
else
    # What the configuration file of the merge says of the gate does not count.
    "${run[@]}" --strict --gate "${exports[@]}" || code=$?
fi

# Of a run that was not judged, the document says whether there was anything to compare with.
if [ "$code" = 106 ] && grep --quiet '"absent": *"' "$out/run.json"; then
    code=0
    [ "${GITHUB_ACTIONS:-}" != true ] || echo "::notice title=gpuprof::nothing to compare with:" \
        "the base has no harness, so this revision was measured alone"
fi

if [ -s "$out/run.json" ]; then
    cargo gpuprof report "$out/run.json" --format junit --output "$out/junit.xml"
    if [ -n "${GPUPROF_GATE_HISTORY:-}" ]; then
        # What it refuses, it says; the gate's verdict stays what it is.
        cargo gpuprof history add "$out/run.json" --file "$GPUPROF_GATE_HISTORY" || true
    fi
    if [ "${GITHUB_ACTIONS:-}" = true ]; then
        cargo gpuprof report "$out/run.json" --format github
    fi
else
    echo "\`cargo gpuprof\` ended with exit code $code before it measured; the job's log says why." \
        > "$out/report.md"
fi
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
    # GitHub takes no summary above 1 MiB; the whole report is in the artifact.
    head --bytes 1000000 "$out/report.md" >> "$GITHUB_STEP_SUMMARY"
fi
exit "$code"
