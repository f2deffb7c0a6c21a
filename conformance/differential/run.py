#!/usr/bin/env python3
"""Runs public verifiers and ours over the same inputs.

    run.py            checks that docs/security.md shows what the verifiers answer today, and that
                      whatever ours accepts, PyJWT, jose and jsonwebtoken accept too
    run.py --write    writes the table into docs/security.md

Installs the pinned verifiers below target/differential. Exits with 1 where something does not hold.
"""

import difflib
import http.client
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import inputs

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
INSTALLED = TARGET / "differential"
#: The example `verdicts`, where somebody has built it already.
OURS = os.environ.get("CHRONQ_VERDICTS")
PAGE = ROOT / "docs" / "security.md"
BEGIN, END = "<!-- verifiers: begin (conformance/differential/run.py --write) -->", "<!-- verifiers: end -->"

TABLES = (
    ("jwt", "Verifiers of any JWT", ("jose", "PyJWT", "jsonwebtoken")),
    ("qstash", "Verifiers of QStash deliveries", ("@upstash/qstash", "qstash")),
    ("webhook", "Verifiers of Standard Webhooks", ("standardwebhooks (JS)", "standardwebhooks (Python)")),
)
#: Ours must accept nothing that one of these refuses.
STRICTER_THAN = ("jose", "PyJWT", "jsonwebtoken")


def main():
    install()
    now = int(time.time())
    rows = list(inputs.rows(now))
    faults = faults_of_tests(rows)
    verdicts = ask(rows)
    faults += faults_of_ours(rows, verdicts)
    faults += write_or_check(render(rows, verdicts), "--write" in sys.argv[1:])
    faults += differences()
    faults += faults_by_hand()
    faults += faults_of_the_server()
    for fault in faults:
        print(fault, file=sys.stderr)
    sys.exit(1 if faults else 0)


def install():
    INSTALLED.mkdir(parents=True, exist_ok=True)
    wanted = "".join((HERE / name).read_text() for name in ("requirements.txt", "package.json", "package-lock.json"))
    stamp = INSTALLED / "stamp"
    if not (stamp.exists() and stamp.read_text() == wanted):
        subprocess.run([sys.executable, "-m", "venv", "--clear", INSTALLED / "venv"], check=True)
        subprocess.run([INSTALLED / "venv/bin/pip", "install", "--quiet", "--disable-pip-version-check",
                        "--requirement", HERE / "requirements.txt"], check=True)
        for name in ("package.json", "package-lock.json"):
            (INSTALLED / name).write_text((HERE / name).read_text())
        subprocess.run(["npm", "ci", "--silent", "--no-audit", "--no-fund"], cwd=INSTALLED, check=True)
        stamp.write_text(wanted)
    if OURS is None:
        subprocess.run(["cargo", "build", "--quiet", "--locked", "--package", "chronq", "--example", "verdicts"],
                       cwd=ROOT, check=True)


def ask(cases):
    """Every verifier's error, or None where it accepts, by (id, verifier)."""
    shared = {name: getattr(inputs, name) for name in ("KEY", "OTHER_KEY", "SECRET", "URL")}
    shared["BODY"] = inputs.BODY.decode()
    commands = (
        [INSTALLED / "venv/bin/python", HERE / "verdicts.py"],
        ["node", HERE / "verdicts.mjs", INSTALLED, json.dumps(shared)],
        [OURS or TARGET / "debug/examples/verdicts"],
    )
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    verdicts = {}
    for command in commands:
        answer = subprocess.run(command, input=lines, capture_output=True, text=True, encoding="utf-8")
        if answer.returncode != 0:
            sys.exit(f"{command[0]} failed: {answer.stderr}")
        for line in answer.stdout.splitlines():
            verdict = json.loads(line)
            verdicts[verdict["id"], verdict["verifier"]] = verdict["error"]
    return verdicts


def is_right(row, error):
    if row["right"] == "accept":
        return error is None
    if error is None:
        return False
    return row["right"] == "reject" or re.search(row["right"], error) is not None


def faults_of_ours(rows, verdicts):
    return [f"{row['id']}: chronq answers {verdicts[row['id'], 'chronq']!r}, which is not right"
            for row in rows if not is_right(row, verdicts[row["id"], "chronq"])]


def faults_of_tests(rows):
    faults = []
    for row in rows:
        file, test = row["test"].split("::")
        source = (ROOT / "sdk-core/tests" / f"{file}.rs").read_text()
        if f"fn {test}(" not in source:
            faults.append(f"{row['id']}: no test {row['test']}")
    return faults


def versions():
    pinned = dict(re.findall(r"^(\S+)==(\S+)$", (HERE / "requirements.txt").read_text(), re.MULTILINE))
    packages = json.loads((HERE / "package.json").read_text())["dependencies"]
    lock = (ROOT / "Cargo.lock").read_text()
    return {
        "jose": packages["jose"], "PyJWT": pinned["PyJWT"],
        "jsonwebtoken": re.search(r'name = "jsonwebtoken"\nversion = "([^"]+)"', lock)[1],
        "@upstash/qstash": packages["@upstash/qstash"], "qstash": pinned["qstash"],
        "standardwebhooks (JS)": packages["standardwebhooks"],
        "standardwebhooks (Python)": pinned["standardwebhooks"],
    }


def render(rows, verdicts):
    node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    version = versions()
    text = [f"Measured with Node {node.removeprefix('v')} and Python {sys.version_info[0]}.{sys.version_info[1]}. "
            "Wrong answers are in **bold**."]
    for kind, title, verifiers in TABLES:
        text += ["", f"### {title}", ""]
        text.append("| input | " + " | ".join(f"{name.split(' ')[0]} {version[name]}{language(name)}" for name in verifiers)
                    + " | chronq | held by |")
        text.append("|---" * (len(verifiers) + 3) + "|")
        for row in (row for row in rows if row["kind"] == kind):
            cells = [cell(row, verdicts[row["id"], verifier]) for verifier in (*verifiers, "chronq")]
            file, test = row["test"].split("::")
            text.append(f"| {row['title']} | {' | '.join(cells)} | [`{test}`](../sdk-core/tests/{file}.rs) |")
    return "\n".join(text)


def language(name):
    return " (JS)" if "JS" in name else " (Python)" if "Python" in name else ""


def cell(row, error):
    if error is None:
        answer = "accepts"
    elif row.get("show") == "error":
        answer = "`" + shorten(error) + "`"
    else:
        answer = "rejects"
    return answer if is_right(row, error) else f"**{answer}**"


def shorten(error):
    """The error's class or code, and its first words; numbers differ from run to run."""
    error = re.sub(r"\d+", "N", re.sub(r"\s+", " ", error)).replace("|", "/").replace("`", "'")
    return error if len(error) <= 60 else error[:57].rstrip() + "…"


def write_or_check(table, is_to_be_written):
    page = PAGE.read_text()
    before, _, rest = page.partition(BEGIN)
    shown, _, after = rest.partition(END)
    if is_to_be_written:
        PAGE.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{after}")
        return []
    # The first line says where it was measured, which may be elsewhere.
    shown, table = (text.strip().split("\n")[1:] for text in (shown, table))
    changed = [line for line in difflib.ndiff(shown, table) if line[0] in "-+"]
    if not changed:
        return []
    return ["docs/security.md does not show what the verifiers answer (- shown, + answered): look at why, and run "
            f"{Path(__file__).name} --write", *changed]


def differences():
    now = int(time.time())
    # White space at the ends is HTTP's, not the token's: ours trims it, and the others never see it.
    tokens = sorted({token.strip(" \t") for token in inputs.edited_tokens(now)})
    cases = [{"id": at, "kind": "jwt", "issuer": "chronq", "token": token} for at, token in enumerate(tokens)]
    verdicts = ask(cases)
    accepted = [case for case in cases if verdicts[case["id"], "chronq"] is None]
    print(f"{len(tokens)} tokens: chronq accepts {len(accepted)}, " + ", ".join(
        f"{name} {sum(verdicts[case['id'], name] is None for case in cases)}" for name in STRICTER_THAN))
    if len(accepted) < 100:
        return [f"only {len(accepted)} tokens were accepted: the comparison says nothing"]
    return [f"chronq accepts what {name} refuses ({verdicts[case['id'], name]}): {case['token']}"
            for case in accepted for name in STRICTER_THAN if verdicts[case["id"], name] is not None]


def faults_by_hand():
    """The shell script of docs/security.md verifies the vector that the tests verify."""
    script = ROOT / "examples/verify-by-hand.sh"
    done = subprocess.run(["sh", script], capture_output=True, text=True)
    faults = [] if done.returncode == 0 else [f"{script.name} failed: {done.stdout}{done.stderr}"]
    token = re.search(r"^token='([^']+)'$", script.read_text(), re.MULTILINE)[1]
    if token not in (ROOT / "sdk-core/tests/signature_vector.rs").read_text():
        faults.append(f"{script.name} verifies another token than sdk-core/tests/signature_vector.rs")
    return faults


def faults_of_the_server():
    """Every token that the server signs is accepted by everyone."""
    binary = os.environ.get("CHRONQ_SERVER_BIN")
    if not binary:
        print("CHRONQ_SERVER_BIN is not set: the server's own tokens were not asked about")
        return []
    command = [binary, "dev", "--listen", "127.0.0.1:0", "--exit-with-parent"]
    # The server refuses variables of its prefix that are none of its settings.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CHRONQ_")}
    server = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL)
    try:
        line = server.stdout.readline()
        if not line:
            return [f"{binary} dev ended before it was ready"]
        ready = json.loads(line)
        cases = [{"id": at, "kind": "jwt", "issuer": "chronq", "key": ready["signingKey"], **delivery}
                 for at, delivery in enumerate(deliveries(ready))]
        verdicts = ask(cases)
    finally:
        server.stdin.close()
        server.terminate()
        server.wait()
    print(f"{len(cases)} deliveries of the server, asked of {len(verdicts)} verifiers in all")
    return [f"{name} refuses what the server signed ({error}): {cases[at]['token']}"
            for (at, name), error in verdicts.items() if error is not None]


def deliveries(ready):
    """Publishes to the server's own inbox and reads back what arrived."""
    inbox = f"{ready['url']}/dev/inbox/differential"
    published = {f"{inbox}{suffix}": body for suffix, body in
                 (("", ""), ("?a=1&b=%20", '{"orderId":42}'), ("/x/../y", "\u00e9\U0001f600"))}
    for destination, body in published.items():
        call(ready, "POST", f"/v2/publish/{destination}", body)
    deadline = time.monotonic() + 10
    while True:
        arrived = json.loads(call(ready, "GET", "/dev/inbox/differential/requests"))
        if len(arrived) >= len(published) or time.monotonic() > deadline:
            break
        time.sleep(0.05)
    for request in arrived:
        token = next(value for name, value in request["headers"] if name.lower() == "chronq-signature")
        yield {"token": token, "url": ready["url"] + request["target"], "text": request["body"]}


def call(ready, method, target, body=None):
    connection = http.client.HTTPConnection(ready["url"].removeprefix("http://"), timeout=10)
    headers = {"authorization": f"Bearer {ready['token']}", "content-type": "text/plain"}
    connection.request(method, target, body=None if body is None else body.encode(), headers=headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    if answer.status not in (200, 202):
        sys.exit(f"{method} {target} answered {answer.status}: {text}")
    return text


if __name__ == "__main__":
    main()
