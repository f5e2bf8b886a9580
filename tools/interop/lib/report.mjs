// One line per check, one line in the end.

import { bounded } from "./wait.mjs";

export class Report {
  #passed = 0;
  #failed = 0;
  #only;
  #under = "";
  #abort = new Promise(() => {});

  // `only` limits the run to checks whose name contains it.
  constructor(only = "") {
    this.#only = only;
  }

  // What the names of checks begin with from now on.
  under(prefix) {
    this.#under = prefix;
  }

  // From now on a check fails as soon as `promise` rejects.
  abortWhen(promise) {
    this.#abort = promise;
  }

  // Whether a check with this name, or one of a group with this name, is wanted.
  wants(name) {
    return name.includes(this.#only) || this.#only.startsWith(name);
  }

  // Runs one check if it is wanted; returns whether it passed.
  async check(name, work) {
    return name.includes(this.#only) && this.always(name, work);
  }

  // Runs one check that the others build on, and reports it; returns whether it passed.
  async always(name, work) {
    const start = performance.now();
    const seconds = () => ((performance.now() - start) / 1000).toFixed(1).padStart(5);
    try {
      await bounded(work, this.#abort);
      this.#passed += 1;
      console.log(`ok   ${seconds()} s  ${this.#under} ${name}`);
      return true;
    } catch (error) {
      this.#failed += 1;
      console.log(`FAIL ${seconds()} s  ${this.#under} ${name}: ${error?.message ?? error}`);
      return false;
    }
  }

  // Prints the closing line and returns the exit code.
  close() {
    console.log(`${this.#passed} passed, ${this.#failed} failed`);
    return this.#failed === 0 ? 0 : 1;
  }
}

export function expect(condition, message) {
  if (!condition) {
    throw new Error(message);
  }
}
