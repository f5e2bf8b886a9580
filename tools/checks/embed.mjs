// Reads what an embedding program prints from the standard input: the workers are called as the pattern in the first argument says,
// the parts of a worker's time add up to 100 %, links say how full they were and drop nothing. The stage that the second argument
// names, if any, panics once in each lane and is restarted, and all other envelopes are delivered.
import { readFileSync } from "node:fs";

const workerName = new RegExp(process.argv[2]);
const unlucky = process.argv[3];
const lines = readFileSync(0, "utf8").split("\n").map((text) => text.trim().split(/\s+/));
const isUnlucky = (name) => unlucky !== undefined && name.startsWith(`${unlucky}:`);
const lost = lines.filter(([kind, name]) => kind === "stage" && isUnlucky(name)).length;
const counts = { fill: 0, link: 0, stage: 0, worker: 0, total: 0 };

// Rounding leaves the sum of the four percentages within a tenth of the whole.
const isWhole = (percent) => Math.abs(Math.round(percent * 10) - 1000) <= 1;

// Whether a line says what it must, by its first word; its words are numbered from 1 on.
const holds = {
  fill: (word) => word(3) >= 0 && word(3) <= word(5),
  link: (word) => word(6) === 0,
  stage: (word, name) => !isUnlucky(name) || (word(6) === 1 && word(8) === 1),
  worker: (word, name) => workerName.test(name) && isWhole(word(4) + word(7) + word(10) + word(13)),
  total: (word) => word(3) > 0 && word(5) === word(3) - lost,
};

const wrong = [];
for (const words of lines) {
  const [kind, name] = words;
  if (kind in counts) counts[kind] += 1;
  // A number may have a unit behind it.
  const word = (number) => Number.parseFloat(words[number - 1]);
  if (kind in holds && !holds[kind](word, name)) wrong.push(words.join(" "));
}
const { fill, link, stage, worker, total } = counts;
// Each stage is fed by one link or source.
if (fill === 0 || fill !== link || link !== stage || worker === 0 || total !== 1) wrong.push("a line is missing");
if (unlucky !== undefined && lost === 0) wrong.push(`no stage is called ${unlucky}`);
wrong.forEach((line) => console.error(`wrong: ${line}`));
process.exitCode = wrong.length === 0 ? 0 : 1;
