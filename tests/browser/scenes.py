"""What a person does with the page of `oncehook dev`, each as a step that returns what it observed."""

import json

from steps import check, eventually

ROW = "document.querySelectorAll('#rows .row')"
DETAIL = "document.querySelector('#detail')"
# What a stranger may write into an event.
SCRIPT = "<img src=x onerror='window.owned=1'><script>window.owned=1</script>"


def opened(s):
    s.browser.open(s.url)
    s.browser.until("document.querySelector('#state').textContent === 'live'")
    text = s.browser.until("document.querySelector('#empty:not([hidden])')?.innerText")
    check("Press s" in text, text)
    return "an empty list says what to do"


def live(s):
    s.oncehook("send", "stripe", "invoice.payment_succeeded", "--id", "evt_live")
    s.browser.until(f"{ROW}.length === 1 && {ROW}[0].innerText.includes('applied')")
    s.browser.until(f"{ROW}[0].innerText.includes('1 done')")
    check(s.browser.value("performance.getEntriesByType('navigation').length") == 1, "it was loaded again")
    return "an event that came meanwhile is in the list, and its effect as soon as it is done"


def keyboard(s):
    s.browser.press("j")
    text = s.browser.until(f"!{DETAIL}.hidden && {DETAIL}.innerText")
    for part in ("credit/receipt", "to mail", "delivered", "evt_live", "add", "balance", "applied"):
        check(part in text, f"no `{part}` in {text}")
    html = s.browser.value("document.documentElement.innerHTML")
    check("stripe-signature" in html and "\u2022\u2022\u2022\u2022 (" in html, "the signature's header is not masked")
    check(s.secret not in html and ",v1=" not in html, "a secret or a signature is shown")
    s.browser.press("Escape")
    s.browser.until(f"{DETAIL}.hidden")
    s.browser.press("/")
    s.browser.until("document.activeElement.id === 'find'")
    s.browser.press("x")
    s.browser.until(f"{ROW}.length === 0")
    s.browser.press("Escape")
    s.browser.until(f"{ROW}.length === 1")
    s.browser.press("?")
    s.browser.until("document.querySelector('#help').open")
    s.browser.press("Escape")
    s.browser.until("!document.querySelector('#help').open")
    return "j opens, esc closes, / filters, ? explains; headers, rules, updates and the attempt are there, no secret is"


def sent(s):
    s.browser.press("s")
    s.browser.until("document.querySelector('#send').open && document.querySelector('#send [name=body]').value.includes('object')")
    body = json.loads(s.browser.value("document.querySelector('#send [name=body]').value"))
    body["data"]["object"]["customer_email"] = SCRIPT
    s.script = body["id"]
    s.browser.fill("#send [name=body]", json.dumps(body))
    s.browser.click("#plan-do")
    planned = s.browser.until("document.querySelector('#send-result').innerText.includes('Decision') && document.querySelector('#send-result').innerText")
    check("Decision: apply" in planned and "credit/receipt" in planned, planned)
    check(len(s.destination.calls) == 1 and s.browser.value(f"{ROW}.length") == 1, "a plan did something")
    s.browser.fill("#send [name=times]", "3")
    s.browser.click("#send-do")
    result = s.browser.until("document.querySelector('#send-result').innerText.includes('replayed') && document.querySelector('#send-result').innerText")
    check(result.count("200 applied") == 3 and result.count("replayed") == 2, result)
    s.browser.press("Escape")
    s.browser.until(f"{ROW}.length === 2 && {ROW}[0].innerText.includes('came 3 times')")
    s.browser.until("document.querySelector('#axis-sum').textContent.startsWith('2 new, 2 duplicates')")
    s.browser.until("document.querySelectorAll('.bars .duplicates').length")
    return "planned without a trace; sent three times: once new, twice replayed; the picture counts the duplicates"


def harmless(s):
    s.browser.click("#rows .row", s.browser.value(f"{ROW}[0].querySelector('time').textContent"))
    s.browser.until(f"{DETAIL}.innerText.includes('<img src=x') && {DETAIL}.innerText.includes({json.dumps(s.script)})")
    check(s.browser.value("window.owned === undefined"), "a script of an event ran")
    check(s.browser.value(f"{DETAIL}.querySelectorAll('img, script').length") == 0, "an event's text became elements")
    return "markup and scripts of an event are shown as the text that they are"


def retried(s):
    before = len(s.destination.calls)
    s.destination.answer_next(422)
    s.oncehook("send", "stripe", "invoice.payment_succeeded", "--id", "evt_dead")
    s.browser.until(f"[...{ROW}].some((row) => row.innerText.includes('1 dead'))")
    s.browser.click("#tabs button", "Needs a person")
    s.browser.until(f"{ROW}.length === 1")
    s.browser.press("g")
    s.browser.until(f"{DETAIL}.innerText.includes('evt_dead') && {DETAIL}.innerText.includes('refused')")
    s.browser.press("r")
    told = s.browser.until("document.querySelector('#ask').open && document.querySelector('#ask .told').textContent")
    check(len(s.destination.calls) == before + 1, "it was sent before it was confirmed")
    s.browser.fill("#ask [name=reason]", "the address is right now")
    s.browser.click("#ask-do")
    text = s.browser.until(f"{DETAIL}.innerText.includes('delivered') && {DETAIL}.innerText")
    check("the address is right now" in text, text)
    first, second = s.destination.calls[-2:]
    check(first.headers["idempotency-key"] == second.headers["idempotency-key"], "another key")
    s.browser.click("#tabs button", "All")
    return f"asked first ({told}); then sent under the same key, the reason recorded"


def resent(s):
    before = len(s.destination.calls)
    s.browser.click("#detail .acts button", "Resend")
    told = s.browser.until("document.querySelector('#ask').open && document.querySelector('#ask .told').textContent")
    s.browser.press("Escape")
    s.browser.until("!document.querySelector('#ask').open")
    check(len(s.destination.calls) == before, "it was sent although nobody confirmed it")
    s.browser.click("#detail .acts button", "Resend")
    s.browser.until("document.querySelector('#ask .told').textContent")
    s.browser.click("#ask-do")
    eventually(lambda: len(s.destination.calls) == before + 1, 10, "the second receipt")
    one, two = s.destination.calls[-2:]
    check(one.headers["idempotency-key"] != two.headers["idempotency-key"], "the same key")
    return f"asked first ({told}); given up once, then sent under a new key"


def replayed(s):
    s.oncehook("send", "stripe", "product.created", "--id", "evt_later")
    s.browser.until(f"[...{ROW}].some((row) => row.innerText.includes('ignored'))")
    s.configure('[[rule]]\nname = "later"\nsource = "stripe"\nevents = ["product.created"]\n'
                '[[rule.update]]\ntable = "accounts"\nkey = { customer_id = "/data/object/id" }\nset = { seen = "/id" }\nmust_exist = false\n')
    s.browser.press("g")
    s.browser.until(f"{DETAIL}.innerText.includes('evt_later')")
    s.browser.until("document.querySelector('#notice:not([hidden])')?.textContent.includes('was changed')")
    s.browser.press("r")
    s.browser.until("document.querySelector('#ask').open && !document.querySelector('#ask-do').disabled")
    s.browser.click("#ask-do")
    s.browser.until(f"{DETAIL}.querySelector('.sum .outcome').textContent === 'applied'")
    return "an ignored event is applied after a rule was added"


def refused(s):
    s.oncehook("send", "stripe", "invoice.payment_succeeded", "--id", "evt_forged", "--tamper", fails=True)
    s.browser.click("#tabs button", "Refused")
    s.browser.until(f"{ROW}.length === 1 && {ROW}[0].innerText.includes('401')")
    s.browser.press("g")
    s.browser.until(f"{DETAIL}.innerText.includes('not stored')")
    s.browser.press("Escape")
    s.browser.click("#tabs button", "All")
    return "a refused request is shown, though nothing of it is stored"


def looks(s):
    """Screens wide and narrow, light and dark; nothing is wider than a phone."""
    wide = []
    for name, width, height in (("desktop", 1280, 860), ("phone", 390, 844)):
        for dark in (False, True):
            s.browser.screen(width, height, dark)
            for view in ("list", "event", "send"):
                if view == "event":
                    s.browser.click("#rows .row .kind", "invoice.payment_succeeded")
                    s.browser.until(f"!{DETAIL}.hidden")
                elif view == "send":
                    s.browser.press("s")
                    s.browser.until("document.querySelector('#send').open")
                s.browser.picture(s.pictures / f"{view}-{name}-{'dark' if dark else 'light'}.png")
                widest = s.browser.value("document.scrollingElement.scrollWidth")
                if widest > width:
                    wide.append(f"{view} at {width}: {widest}")
                if view == "send":
                    s.browser.press("Escape")
                    s.browser.until("!document.querySelector('#send').open")
                    s.browser.press("Escape")
                    s.browser.until(f"{DETAIL}.hidden")
    check(not wide, f"wider than the screen: {wide}")
    return f"12 screens in {s.pictures}, none wider than the screen"


def foreign(s):
    """Another site, open in the same browser, gets nothing and does nothing."""
    before = len(s.destination.calls)
    s.browser.open(f"{s.elsewhere}/")
    tried = s.browser.value(
        f"""Promise.all([
          fetch("{s.url}api/list").then((answer) => answer.text(), (error) => "blocked"),
          fetch("{s.url}api/act", {{ method: "POST", headers: {{ "oncehook-inspect": "1", "content-type": "application/json" }},
            body: "{{}}" }}).then((answer) => answer.text(), (error) => "blocked"),
        ])"""
    )
    check(tried == ["blocked", "blocked"], f"{tried}")
    check(len(s.destination.calls) == before, "it did something")
    return "another origin can neither read nor act"


def quiet(s):
    check(not s.browser.complaints, f"{s.browser.complaints}")
    return "no error of a script, no violation of the policy"


# Title, seconds, step. `foreign` leaves the page.
SCENES = [
    ("page opened", 30, opened),
    ("live list", 30, live),
    ("keyboard", 30, keyboard),
    ("planned and sent", 40, sent),
    ("strangers' markup", 20, harmless),
    ("effect retried", 40, retried),
    ("effect resent", 40, resent),
    ("event replayed", 40, replayed),
    ("refused request", 20, refused),
    ("screens", 60, looks),
    ("no complaints", 10, quiet),
    ("another site", 20, foreign),
]
