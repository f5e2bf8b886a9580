// Drives real peers against `levada` processes, one with each transport of ours. Called by `run`, which installs the peers.

import "./lib/polyfill.mjs";

import { rmSync } from "node:fs";
import { join } from "node:path";

import { clientChecks } from "./checks/clients.mjs";
import { clusterChecks } from "./checks/cluster.mjs";
import { filterChecks } from "./checks/filter.mjs";
import { endCheck, startChecks } from "./checks/life.mjs";
import { lightChecks } from "./checks/light.mjs";
import { limitChecks } from "./checks/limits.mjs";
import { malformedChecks } from "./checks/malformed.mjs";
import { meshChecks } from "./checks/mesh.mjs";
import { dialledChecks, middleChecks, relayChecks, WAYS } from "./checks/relay.mjs";
import { secureChecks } from "./checks/secure.mjs";
import { serviceChecks } from "./checks/services.mjs";
import { Levada } from "./lib/levada.mjs";
import { Report } from "./lib/report.mjs";
import { Rest } from "./lib/rest.mjs";
import * as libp2p2 from "./light/gossip.mjs";
import * as light from "./light/peer.mjs";
import * as plain from "./plain/peer.mjs";
import * as relay from "./relay/peer.mjs";
import * as rust from "./rust/peer.mjs";

const STACKS = [relay, libp2p2, plain, rust];

const [binary, rustPeer, only, transports, tlsFolder] = process.argv.slice(2);
const tls = { key: join(tlsFolder, "key.pem"), certificate: join(tlsFolder, "certificate.pem") };
rust.useProgram(rustPeer);

for (const [signal, code] of [["SIGINT", 130], ["SIGTERM", 143], ["SIGHUP", 129]]) {
  process.on(signal, () => process.exit(code));
}
process.on("exit", () => rmSync(tlsFolder, { recursive: true, force: true }));
// A js peer may lose a stream after its check is over; what matters to a check fails that check.
process.on("unhandledRejection", (error) => console.error(`note: in a js peer: ${error?.message ?? error}`));

const report = new Report(only);
for (const transport of transports.split(",")) {
  report.under(`--transport=${transport}`);
  await checkWith(transport);
}
process.exit(report.close());

// All checks against a node with this transport.
async function checkWith(transport) {
  const levada = new Levada(binary, { transport });
  report.abortWhen(levada.gone);
  if (!(await report.always("node: starts and names its addresses", (scope) => levada.ready(scope)))) {
    return;
  }
  const rest = new Rest(levada);
  const context = { report, binary, transport, levada, rest };
  await startChecks({ ...context, light });
  for (const stack of STACKS) {
    for (const way of WAYS) {
      await relayChecks({ ...context, stack, way });
    }
    await dialledChecks({ ...context, stack });
    await middleChecks({ ...context, stack });
    await meshChecks({ ...context, stack });
  }
  await limitChecks({ ...context, stack: plain });
  for (const way of ["tcp", "ws"]) {
    await malformedChecks({ ...context, stack: plain, transport: way });
    await lightChecks({ ...context, stack: light, transport: way });
    await filterChecks({ ...context, stack: light, transport: way });
    await serviceChecks({ ...context, stack: light, relay, transport: way });
  }
  await clientChecks({ ...context, light, relay });
  await secureChecks({ report, binary, transport, tls, light, relay });
  report.abortWhen(levada.gone);
  await clusterChecks({ ...context, plain, light });
  // The last check ends the node on purpose.
  report.abortWhen(new Promise(() => {}));
  await report.check("node: drains and exits 0 on SIGTERM", () => endCheck(levada));
  levada.destroy();
}
