// Drives the real js peers against one `levada` process. Called by `run`, which installs the peers.

import "./lib/polyfill.mjs";

import { clusterChecks } from "./checks/cluster.mjs";
import { endCheck, startChecks } from "./checks/life.mjs";
import { lightChecks } from "./checks/light.mjs";
import { malformedChecks } from "./checks/malformed.mjs";
import { relayChecks } from "./checks/relay.mjs";
import { Levada } from "./lib/levada.mjs";
import { Report } from "./lib/report.mjs";
import { Rest } from "./lib/rest.mjs";
import * as light from "./light/peer.mjs";
import * as plain from "./plain/peer.mjs";
import * as relay from "./relay/peer.mjs";

const [binary, only] = process.argv.slice(2);
const levada = new Levada(binary);

process.on("exit", () => levada.destroy());
for (const [signal, code] of [["SIGINT", 130], ["SIGTERM", 143], ["SIGHUP", 129]]) {
  process.on(signal, () => process.exit(code));
}
// A js peer may lose a stream after its check is over; what matters to a check fails that check.
process.on("unhandledRejection", (error) => console.error(`note: in a js peer: ${error?.message ?? error}`));

const report = new Report(only);
report.abortWhen(levada.gone);
if (!(await report.always("node: starts and names its addresses", (scope) => levada.ready(scope)))) {
  process.exit(report.close());
}
const rest = new Rest(levada);
await startChecks({ report, levada, rest, light });
for (const transport of ["tcp", "ws"]) {
  for (const stack of [relay, plain]) {
    await relayChecks({ report, levada, rest, stack, transport });
  }
  await malformedChecks({ report, levada, rest, stack: plain, transport });
  await lightChecks({ report, levada, stack: light, transport });
}
await clusterChecks({ report, levada, rest, plain, light });
// The last check ends the node on purpose.
report.abortWhen(new Promise(() => {}));
await report.check("node: drains and exits 0 on SIGTERM", () => endCheck(levada));
process.exit(report.close());
