// Client commands of the binary: `levada keys`, `peers`, `query`, `publish` and `subscribe`.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

import { cleanEnvironment } from "./levada.mjs";

export class Command {
  // The lines of standard output, which are JSON.
  answers = [];
  // Settles with the exit code.
  ended;
  #complaints = [];
  #child;

  constructor(binary, args) {
    const stdio = ["ignore", "pipe", "pipe"];
    this.#child = spawn(binary, [...args, "--format=json"], { env: cleanEnvironment(), stdio });
    process.once("exit", this.stop);
    createInterface({ input: this.#child.stdout }).on("line", (line) => this.answers.push(JSON.parse(line)));
    createInterface({ input: this.#child.stderr }).on("line", (line) => this.#complaints.push(line));
    this.ended = new Promise((resolve) => {
      this.#child.once("close", (code) => resolve(code));
      this.#child.once("error", (error) => resolve(error.message));
    });
  }

  // Whether it has said so on standard error.
  hasSaid(text) {
    return this.#complaints.some((line) => line.includes(text));
  }

  // The answers of a command that must succeed.
  async done(scope) {
    scope.waitingFor(`the end of levada ${this.#child.spawnargs[1]}`);
    const code = await this.ended;
    process.removeListener("exit", this.stop);
    if (code !== 0) {
      throw new Error(`levada ${this.#child.spawnargs[1]} ended with ${code}: ${this.#complaints.join("; ")}`);
    }
    return this.answers;
  }

  stop = () => {
    this.#child.kill("SIGKILL");
    process.removeListener("exit", this.stop);
  };
}
