// Waiting for events, each wait bounded by the check it belongs to.

export const CHECK_SECONDS_MAX = 60;

// How often something that sends no event (an HTTP endpoint, a mesh) is asked again.
const POLL_MS = 50;

// Asks `question` until it answers something truthy, and returns that. Ends with the check.
export async function poll(scope, what, question) {
  for (;;) {
    scope.waitingFor(what);
    const answer = await question();
    if (answer) {
      return answer;
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

// Messages that arrived, and those who wait for one.
export class Inbox {
  #messages = [];
  #waiting = new Set();

  put(message) {
    this.#messages.push(message);
    for (const waiter of [...this.#waiting]) {
      if (waiter.wanted(message)) {
        this.#waiting.delete(waiter);
        waiter.resolve(message);
      }
    }
  }

  // The first message, past or future, that `wanted` accepts.
  first(scope, what, wanted) {
    scope.waitingFor(what);
    const present = this.#messages.find(wanted);
    if (present) {
      return Promise.resolve(present);
    }
    return new Promise((resolve) => this.#waiting.add({ wanted, resolve }));
  }

  count(wanted) {
    return this.#messages.filter(wanted).length;
  }
}

// One run of a check: knows what it waits for, and refuses to wait once the check is over.
class Scope {
  #what = "its start";
  #over = false;

  waitingFor(what) {
    if (this.#over) {
      throw new Error("the check is over");
    }
    this.#what = what;
  }

  end() {
    this.#over = true;
    return this.#what;
  }
}

// Runs `work(scope)`; rejects when it fails, when it outlasts the limit, or when `gone` rejects first.
export async function bounded(work, gone) {
  const scope = new Scope();
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`no result in ${CHECK_SECONDS_MAX} s, waiting for ${scope.end()}`));
    }, CHECK_SECONDS_MAX * 1000);
  });
  try {
    return await Promise.race([work(scope), late, gone]);
  } finally {
    clearTimeout(timer);
    scope.end();
  }
}
