"""The examples run, against the bundled server, as the documents show them."""

import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

from chronq import Chronq, MessageState
from chronq.testing import Server

EXAMPLES = Path(__file__).parents[2] / "examples" / "python"


def environment(live: Server, **more: str) -> dict[str, str]:
    assert live.next_signing_key is not None
    return {
        **os.environ,
        "CHRONQ_URL": live.url,
        "CHRONQ_TOKEN": live.token,
        "CHRONQ_CURRENT_SIGNING_KEY": live.current_signing_key,
        "CHRONQ_NEXT_SIGNING_KEY": live.next_signing_key,
        **more,
    }


def run(live: Server, name: str, *arguments: str) -> str:
    command = [sys.executable, str(EXAMPLES / name), *arguments]
    done = subprocess.run(
        command, env=environment(live), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_publish_waits_for_the_delivery(live: Server) -> None:
    inbox = live.inbox()
    assert re.fullmatch(
        r"published \S+ into default\ndelivered after 0 retries\n", run(live, "publish.py", inbox.url)
    )
    assert inbox.requests()[0].body == b'{"orderId":42}'


def test_timers_are_taken_back_and_settled(live: Server) -> None:
    said = run(live, "timers.py").splitlines()
    assert said[1] == "day 7: taken back in time"
    assert said[2] == "now: already delivered: {'text': 'your trial ends today'}"


def test_a_receiver_verifies_before_it_looks(live: Server) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    url = f"http://127.0.0.1:{port}/hook"
    command = [sys.executable, str(EXAMPLES / "receiver.py")]
    with (
        Chronq(live.url, live.token) as client,
        subprocess.Popen(
            command,
            env=environment(live, PUBLIC_URL=url, PORT=str(port)),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as receiver,
    ):
        try:
            assert receiver.stdout is not None
            assert receiver.stdout.readline() == f"listening on port {port}\n"
            published = client.publish(url, json=1)
            said = receiver.stdout.readline()
            assert said.startswith(f"delivered: {published.message_id} attempt jwt_")
            elsewhere = client.publish(f"{url}/elsewhere", json=1, retries=0)
            assert receiver.stdout.readline().startswith("refused: the delivery was signed for another URL")
            while client.messages.get(elsewhere.message_id).state is not MessageState.FAILED:
                time.sleep(0.01)
        finally:
            receiver.terminate()
