"""A real server on loopback, in a thread of its own, around the real model."""

import http.client
import json
import threading
import time
from contextlib import contextmanager

import pytest

from difa import DiFA
from difa.serve.app import create_app
from difa.serve.models import ServedModel
from difa.serve.server import Server, bind
from difa.serve.settings import Settings
from tests import HANG

HEADERS = {"Content-Type": "application/json"}


class Client:
    """One request at a time, over the standard library's HTTP."""

    def __init__(self, port, service):
        self.port, self.service = port, service
        self.url = f"http://127.0.0.1:{port}"

    def raw(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANG)
        try:
            connection.request(method, path, body, HEADERS if headers is None else headers)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def get(self, path, **headers):
        status, _, content = self.raw("GET", path, headers=headers)
        return status, json.loads(content)

    def score(self, **request):
        status, _, content = self.raw("POST", "/v1/score", json.dumps(request))
        return status, json.loads(content)

    def metric(self, line):
        text = self.raw("GET", "/metrics")[2].decode()
        return next((float(row.rsplit(" ", 1)[1]) for row in text.splitlines() if row.startswith(line)), 0.0)


@contextmanager
def running(models, **settings):
    """A client of a server that runs until the block ends."""
    settings = Settings(port=0, **settings)
    served = {name: ServedModel(name, model, settings) for name, model in models.items()}
    app = create_app(served, settings)
    server = Server(app, settings)
    listener = bind(settings)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        wait_until(lambda: server.started)
        yield Client(listener.getsockname()[1], app.state.service)
    finally:
        server.should_exit = True
        thread.join(HANG)
        assert not thread.is_alive()


def wait_until(condition, seconds=HANG):
    """Fails only if something hangs."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "still waiting"
        time.sleep(0.005)


class SlowModel(DiFA):
    """The real model behind a gate: a text with STOP in it waits until the gate opens, one with BROKEN raises."""

    @classmethod
    def around(cls, model):
        slow = cls()
        slow.__dict__.update(model.__dict__)
        slow.gate, slow.begun, slow.seen = threading.Event(), threading.Event(), []
        return slow

    def score_unflagged(self, texts, **more):
        texts = list(texts)
        self.seen.append([document.text for document in texts])
        if any("STOP" in document.text for document in texts):
            self.begun.set()
            assert self.gate.wait(HANG)
        if any("BROKEN" in document.text for document in texts):
            raise RuntimeError("secret text")
        return super().score_unflagged(texts, **more)


@pytest.fixture
def slow(fast_model):
    slow = SlowModel.around(fast_model)
    yield slow
    slow.gate.set()


@pytest.fixture(scope="session")
def taught(make_once, corpus):
    """A small model without an encoder that learned from a feed: one message in five has a word that belongs elsewhere."""
    feed = [f"river {text}" if at % 5 == 0 else text for at, text in enumerate(corpus[250:400])]
    unfitted = DiFA("fast", fpr=0.05, seed=1)
    return DiFA.load(make_once("taught", lambda folder: unfitted.fit(corpus[:250], feed=feed).save(folder)))


@pytest.fixture(scope="session")
def client(model, quick_model):
    with running({"support": model, "tiny": quick_model}, timeout=HANG) as client:
        yield client


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    from tests.serve.page import BROWSER, PATIENCE

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"], timeout=PATIENCE)
        yield browser
        browser.close()


@pytest.fixture
def opened(browser, client):
    """A page, open and ready; fails afterwards on any script error, blocked resource or request to another host."""
    from tests.serve.page import PATIENCE, expect

    context = browser.new_context(accept_downloads=True)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    troubles, asked = [], []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda message: troubles.append(message.text) if message.type in ("error", "warning") else None)
    page.on("dialog", lambda dialog: (troubles.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(client.url)
    expect(page.locator("#about")).not_to_be_empty()
    page.asked = asked
    yield page
    context.close()
    assert troubles == []
    assert all(url.startswith((client.url, "blob:")) for url in asked)
