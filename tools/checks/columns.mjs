// Reads a JSON array of objects from the standard input: in each, every column that an argument NAME=NUMBER names must have that number.
import { readFileSync } from "node:fs";

const columns = process.argv.slice(2).map((text) => text.split("="));
const rows = JSON.parse(readFileSync(0, "utf8"));
const wrong = [];
if (!Array.isArray(rows) || rows.length === 0) wrong.push("the output is no JSON array with an object in it");
for (const row of Array.isArray(rows) ? rows : []) {
  columns.filter(([name, wanted]) => row[name] !== Number(wanted))
    .forEach(([name, wanted]) => wrong.push(`${name} is ${row[name]}, must be ${wanted}`));
}
wrong.forEach((line) => console.error(line));
process.exitCode = wrong.length === 0 ? 0 : 1;
