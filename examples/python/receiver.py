"""A receiver: verifies every delivery before it looks at it.

Wants CHRONQ_CURRENT_SIGNING_KEY, CHRONQ_NEXT_SIGNING_KEY (optional), and PUBLIC_URL: what was published to,
which is not what a request's Host header says.
"""

import os
from http.server import BaseHTTPRequestHandler, HTTPServer

from chronq import SIGNATURE_HEADER, Receiver, SignatureError

receiver = Receiver()
public_url = os.environ["PUBLIC_URL"]


class Hook(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        try:
            claims = receiver.verify(
                signature=self.headers.get_all(SIGNATURE_HEADER), body=body, url=public_url
            )
        except SignatureError as error:
            print("refused:", error, flush=True)
            self.send_error(401)
            return
        # The message id is the idempotency key: a delivery may come twice.
        print("delivered:", self.headers["chronq-message-id"], "attempt", claims.jti, flush=True)
        self.send_response(204)
        self.end_headers()


server = HTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8787"))), Hook)
print("listening on port", server.server_port, flush=True)
server.serve_forever()
