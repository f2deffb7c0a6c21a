#!/bin/sh
# Publish one message to the development server's own inbox and look at what was delivered.
set -eu
CHRONQ_URL=${CHRONQ_URL:-http://127.0.0.1:7460}
CHRONQ_TOKEN=${CHRONQ_TOKEN:-chronq_dev_token_not_a_secret}

curl -sS -X POST "$CHRONQ_URL/v2/publish/$CHRONQ_URL/dev/inbox/hello" \
  -H "Authorization: Bearer $CHRONQ_TOKEN" \
  -H 'Content-Type: application/json' \
  -d '{"orderId":42}'
echo
for _ in $(seq 100); do
  requests=$(curl -sS "$CHRONQ_URL/dev/inbox/hello/requests")
  [ "$requests" = '[]' ] || break
  sleep 0.1
done
echo "$requests"
