// Listens to the study's stream, which says only that something has changed; the parts of the page then fetch themselves again. A hidden page closes
// its stream, since browsers allow few connections, and catches up when it is shown.
"use strict";

(() => {
  const { stream, version } = document.currentScript.dataset;
  let source = null; // of events, while the page is seen
  let seen = Number(version);
  let waiting = 0;
  let opened = false;
  let missed = false;

  const states = {
    on: "live",
    off: "not live, trying again",
    wait: "connecting",
    rest: "resting while hidden",
  };
  let state = "wait";

  // A stream that is silent for more than two heartbeats of the server is dead, whatever the browser says, and is replaced. The new one may get a
  // dead connection too, and has less time.
  let silence = 0;
  function alive(patience = 40000) {
    clearTimeout(silence);
    silence = setTimeout(() => { rest(); lost(); listen(); }, patience);
  }

  function rest() {
    clearTimeout(silence);
    source?.close();
    source = null;
  }

  // A stream that is refused, as by a server that starts, is replaced sooner, and ever later while it is.
  let pause = 250;

  function listen() {
    source = new EventSource(stream);
    source.onopen = open;
    source.onerror = () => {
      lost();
      checkSignIn();
      if (source?.readyState !== EventSource.CLOSED) return;
      clearTimeout(silence);
      silence = setTimeout(listen, pause = Math.min(2 * pause, 64000));
    };
    source.addEventListener("beat", () => alive());
    source.addEventListener("changed", ({ data }) => {
      const seq = Number(data);
      if (seq > seen || !seq) {
        seen = seq;
        refresh();
      }
    });
    show("wait");
    alive(10000);
  }

  function open() {
    pause = 250;
    show("on");
    alive();
    headroom.tell("");
    if (opened) {
      missed = true; // whatever happened meanwhile
      refresh();
    }
    opened = true;
  }

  function show(name) {
    state = name;
    for (const element of document.querySelectorAll("[data-live]")) {
      element.dataset.state = name;
      element.querySelector("[data-live-text]").textContent = states[name];
    }
  }

  // refresh fetches once for a burst of changes.
  function refresh() {
    if (waiting) return;
    waiting = setTimeout(() => {
      waiting = 0;
      htmx.trigger(document.body, "changed", missed ? {} : { seen });
      missed = false;
    }, 150);
  }

  // A request that names the version that the page has heard of can be answered without asking the database.
  document.addEventListener("htmx:configRequest", (event) => {
    const heard = event.detail.triggeringEvent?.detail?.seen;
    if (heard) event.detail.parameters.seen = heard;
  });

  function lost() {
    clearTimeout(silence);
    if (document.visibilityState === "hidden") return;
    alive(); // it is tried again, perhaps by a connection that has died as well
    show("off");
    if (signedOut) return; // which entry.js tells
    headroom.tell("Connection lost. What you enter is kept; this page catches up by itself.");
  }

  // If the server answers again, a refused stream is replaced at once instead of at its next try.
  document.body.addEventListener("changed", () => {
    if (state !== "off") return;
    rest();
    listen();
  });

  document.addEventListener("htmx:afterSettle", () => show(state));

  // Screen readers speak, once for a burst of changes, what is new at the top of the page or on the bench.
  const tops = () => [...document.querySelectorAll("#status li, #status .doubt > p, #status > p.notice, main.bench :is(.card h3, .empty p)")].map(headroom.lasting);
  let known = tops();
  let news = 0;
  document.addEventListener("htmx:afterSettle", () => {
    news ||= setTimeout(() => {
      const before = known;
      known = tops();
      news = 0;
      const fresh = known.filter((said) => !before.includes(said));
      if (fresh.length > 0) headroom.say(fresh.join("; "));
    }, 2000);
  });
  document.body.addEventListener("model-ready", () => headroom.say("The model is ready."));

  function follow() {
    if (document.visibilityState === "hidden") {
      rest();
      show("rest");
    } else if (!source) listen();
  }
  document.addEventListener("visibilitychange", follow);

  follow(); // it may have been opened behind another
  if (source) alive();
})();
