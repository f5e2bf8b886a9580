// js-waku light nodes over secure WebSocket, as browsers on https pages need it: a node whose certificate the run trusts.

import { filterChecks } from "./filter.mjs";
import { lightChecks } from "./light.mjs";
import { serviceChecks } from "./services.mjs";
import { Levada } from "../lib/levada.mjs";
import { Rest } from "../lib/rest.mjs";

export async function secureChecks({ report, binary, transport, tls, light, relay }) {
  const names = ["js-waku light over wss", "js-waku light filter over wss", "js-waku light services over wss"];
  if (!names.some((name) => report.wants(name))) {
    return;
  }
  const levada = new Levada(binary, { transport, tls });
  report.abortWhen(levada.gone);
  try {
    if (await report.always(`secure WebSocket: a node starts and names a wss address`, (scope) => levada.ready(scope))) {
      const context = { report, levada, rest: new Rest(levada), stack: light, relay, transport: "wss" };
      await lightChecks(context);
      await filterChecks(context);
      await serviceChecks(context);
    }
  } finally {
    levada.destroy();
  }
}
