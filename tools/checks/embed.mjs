// Reads what the embedding program prints from the standard input: the workers are called as the pattern in the argument says, the
// parts of a worker's time add up to 100 %, links drop nothing, each lane restarts its stage once, and all but one envelope of each
// lane is delivered.
import { readFileSync } from "node:fs";

const workerName = new RegExp(process.argv[2]);
const lines = readFileSync(0, "utf8").split("\n").map((text) => text.trim().split(/\s+/));
const lanes = lines.filter(([kind, name]) => kind === "stage" && name.startsWith("checksum:")).length;
const counts = { fill: 0, link: 0, worker: 0, total: 0 };

// Rounding leaves the sum of the four percentages within a tenth of the whole.
const isWhole = (percent) => Math.abs(Math.round(percent * 10) - 1000) <= 1;

// Whether a line says what it must, by its first word; its words are numbered from 1 on.
const holds = {
  link: (word) => word(6) === 0,
  stage: (word, name) => !name.startsWith("checksum:") || (word(6) === 1 && word(8) === 1),
  worker: (word, name) => workerName.test(name) && isWhole(word(4) + word(7) + word(10) + word(13)),
  total: (word) => word(3) > 0 && word(5) === word(3) - lanes,
};

const wrong = [];
for (const words of lines) {
  const [kind, name] = words;
  if (kind in counts) counts[kind] += 1;
  // A number may have a unit behind it.
  const word = (number) => Number.parseFloat(words[number - 1]);
  if (kind in holds && !holds[kind](word, name)) wrong.push(words.join(" "));
}
const { fill, link, worker, total } = counts;
if (fill === 0 || fill !== link || link !== 3 * lanes || worker === 0 || total !== 1) wrong.push("a line is missing");
wrong.forEach((line) => console.error(`wrong: ${line}`));
process.exitCode = wrong.length === 0 ? 0 : 1;
