"""What a process can do to a client: Ctrl-C, fork, an end with calls in flight."""

import os
import signal
import socket
import subprocess
import sys
import sysconfig
import textwrap
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from chronq import Chronq
from chronq.testing import Server, find_binary
from conftest import TOKEN
from fake_server import Answer, FakeServer, Hold


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", textwrap.dedent(program), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_ctrl_c_ends_a_blocking_call(fake: FakeServer, client: Chronq) -> None:
    hold = Hold()
    fake.answer(hold)

    def interrupt() -> None:
        assert hold.asked.wait(10)
        os.kill(os.getpid(), signal.SIGINT)

    # A shell starts its background jobs with SIGINT ignored, and Python leaves that as it finds it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            client.queues.list()
    finally:
        hold.released.set()
        thread.join()
        signal.signal(signal.SIGINT, before)


def test_a_process_may_end_right_after_an_awaited_call(fake: FakeServer) -> None:
    fake.handle(lambda _: Answer(200, []))
    program = """
        import asyncio, sys
        from chronq import AsyncChronq
        async def main():
            async with AsyncChronq(sys.argv[1], sys.argv[2]) as client:
                await client.queues.list()
        asyncio.run(main())
    """
    # Once is luck: the thread that brought the answer and the ending interpreter are in a race.
    for _ in range(25):
        done = run(program, fake.url, TOKEN)
        assert (done.returncode, done.stderr) == (0, "")


def test_a_client_made_before_a_fork_may_be_used_after_it(fake: FakeServer) -> None:
    fake.handle(lambda _: Answer(200, []))
    program = """
        import os, sys
        from chronq import Chronq
        client = Chronq(sys.argv[1], sys.argv[2])
        if os.fork() == 0:
            print(client.queues.list(), flush=True)
            os._exit(0)
        os.wait()
    """
    done = run(program, fake.url, TOKEN)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_a_call_after_a_fork_of_a_used_client_is_a_clear_error(fake: FakeServer) -> None:
    fake.handle(lambda _: Answer(200, []))
    program = """
        import asyncio, os, sys
        from chronq import AsyncChronq, Chronq, Transport
        client = Chronq(sys.argv[1], sys.argv[2])
        client.queues.list()
        if os.fork() == 0:
            for call in (client.queues.list, lambda: asyncio.run(AsyncChronq(*sys.argv[1:]).queues.list())):
                try:
                    call()
                except Transport as error:
                    print(error, error.may_have_been_sent, flush=True)
            os._exit(0)
        os.wait()
    """
    done = run(program, fake.url, TOKEN)
    lines = done.stdout.splitlines()
    assert len(lines) == 2, done
    for line in lines:
        assert "forked" in line
        assert "spawn or forkserver" in line
        assert line.endswith(" False")


def test_a_process_ends_with_calls_in_flight(fake: FakeServer) -> None:
    fake.handle(lambda _: Answer(200, []))
    program = """
        import asyncio, sys, threading
        from chronq import AsyncChronq, Chronq
        client = Chronq(sys.argv[1], sys.argv[2])
        threading.Thread(target=lambda: [client.queues.list() for _ in range(10**6)], daemon=True).start()

        async def main():
            client = AsyncChronq(*sys.argv[1:])
            tasks = [asyncio.create_task(client.queues.list()) for _ in range(20)]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)

        asyncio.run(main())
        print("over", flush=True)
    """
    done = run(program, fake.url, TOKEN)
    assert (done.returncode, done.stdout) == (0, "over\n"), done.stderr


def test_the_server_is_the_one_named_or_on_path_or_of_this_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    programs = [tmp_path / folder / "chronq" for folder in ("named", "path", "environment")]
    for program in programs:
        program.parent.mkdir()
        program.touch(mode=0o755)
    named, on_path, of_environment = programs
    monkeypatch.setenv("CHRONQ_SERVER_BIN", str(named))
    monkeypatch.setenv("PATH", str(on_path.parent))
    monkeypatch.setattr(sysconfig, "get_path", {"scripts": str(of_environment.parent)}.__getitem__)
    assert find_binary() == named
    monkeypatch.delenv("CHRONQ_SERVER_BIN")
    assert find_binary() == on_path
    on_path.unlink()
    assert find_binary() == of_environment
    of_environment.unlink()
    assert find_binary() is None


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionError:
        return False
    return True


def test_a_test_server_ends_with_its_run_even_a_killed_one(live: Server) -> None:
    program = """
        import time
        from chronq.testing import start_server
        with start_server() as server:
            print(server.url, flush=True)
            time.sleep(60)
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        port = urlsplit(run.stdout.readline().strip()).port
        assert port is not None
        assert listens(port)
        run.kill()
    deadline = time.monotonic() + 30
    while listens(port):
        assert time.monotonic() < deadline, "it still listens"
        time.sleep(0.01)


def test_importing_needs_no_environment_and_starts_no_thread() -> None:
    program = """
        import os, threading
        os.environ.clear()
        import chronq
        assert threading.active_count() == 1
        print(len(os.listdir("/proc/self/task")))
    """
    done = run(program)
    assert (done.stdout, done.stderr) == ("1\n", "")
