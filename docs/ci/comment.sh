#!/usr/bin/env bash
# Keeps one comment on a GitHub pull request with the newest report: comment.sh REPORT. Wants `gh`.
#
#   GH_TOKEN, GITHUB_REPOSITORY   as GitHub gives them
#   PULL_REQUEST                  its number
#   BACKEND                       each backend has a comment of its own
set -euo pipefail
marker="<!-- gpuprof ${BACKEND:-auto} -->"
[ -s "$1" ] || exit 0
body=$(mktemp)
trap 'rm -f "$body"' EXIT
{ echo "$marker"; cat "$1"; } > "$body"
comments=repos/$GITHUB_REPOSITORY/issues
known=$(gh api --paginate "$comments/$PULL_REQUEST/comments" \
    --jq ".[] | select(.body | startswith(\"$marker\")) | .id" | head --lines 1)
if [ -n "$known" ]; then
    gh api --silent --method PATCH "$comments/comments/$known" --field body=@"$body"
else
    gh api --silent --method POST "$comments/$PULL_REQUEST/comments" --field body=@"$body"
fi
