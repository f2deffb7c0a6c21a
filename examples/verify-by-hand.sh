#!/bin/sh
# Verifies one delivery with openssl, sed and base64 alone: to understand the format, not to replace an SDK.
set -eu

key='sig_not-a-real-key-0000000000000000000000000000'
body='{"orderId":42}'
url='https://example.com/hook'
now=1700000100
token='eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJjaHJvbnEiLCJzdWIiOiJodHRwczovL2V4YW1wbGUuY29tL2hvb2siLCJpYXQiOjE3MDAwMDAwMDAsIm5iZiI6MTY5OTk5OTk5NSwiZXhwIjoxNzAwMDAwMzAwLCJqdGkiOiJqd3RfMDE4YmNmZTUtNjgwMC03MDAwLTgwMDAtMDAwMDAwMDAwMDAwIiwiYm9keSI6InNya0NnZzNmdmM4OUdEdGxJQ19jOUN3bGhSbXYzWXZISEhlOUxxbUxPMm8ifQ.4jovOETmKQS2w8OtCLER-50ZRlWbJ3luqPf_LkH-jJg'

base64url() { base64 | tr -d '=\n' | tr '+/' '-_'; }
must() { [ "$2" = "$3" ] || { echo "$1: expected $3, got $2"; exit 1; }; echo "$1: $2"; }

# The algorithm, before anything else: {"alg":"HS256","typ":"JWT"}.
must header "${token%%.*}" 'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9'

# The signature: HMAC-SHA256 of the first two parts, under the bytes of the key's text.
signed=${token%.*}
must signature "$(printf %s "$signed" | openssl dgst -sha256 -hmac "$key" -binary | base64url)" "${token##*.}"

# Only now the claims.
payload=$(printf %s "${signed#*.}" | tr '_-' '/+')
while [ $((${#payload} % 4)) -ne 0 ]; do payload="$payload="; done
claims=$(printf %s "$payload" | base64 -d)
text() { printf %s "$claims" | sed "s/.*\"$1\":\"\([^\"]*\)\".*/\1/"; }
number() { printf %s "$claims" | sed "s/.*\"$1\":\([0-9]*\).*/\1/"; }
must issuer "$(text iss)" chronq
must url "$(text sub)" "$url"
[ "$now" -lt "$(number exp)" ] && [ "$now" -ge "$(number nbf)" ] || { echo "out of time"; exit 1; }
echo "time: $(number nbf) <= $now < $(number exp)"

# The body, last: its hash is signed.
must body "$(printf %s "$body" | openssl dgst -sha256 -binary | base64url)" "$(text body)"
