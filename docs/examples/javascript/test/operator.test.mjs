// Runs the operator in this process against the server of `fakekube run`.

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

import { CoreV1Api, KubeConfig, NetworkingV1Api } from "@kubernetes/client-node";

import { NAME, run } from "../operator.mjs";

const config = new KubeConfig();
config.loadFromDefault();
const core = config.makeApiClient(CoreV1Api);
const networking = config.makeApiClient(NetworkingV1Api);
let stop;

async function control(path, body) {
  const headers = { "Content-Type": "application/json" };
  const answer = await fetch(`${process.env.FAKEKUBE_URL}/_fakekube/v1${path}`, {
    method: "POST", headers, body: JSON.stringify(body),
  });
  assert.ok(answer.ok, await answer.text());
  return answer;
}

const isolate = (name) => core.createNamespace({ body: { metadata: { name, labels: { isolated: "true" } } } });

function eventually(namespace, cel) {
  const get = `/apis/networking.k8s.io/v1/namespaces/${namespace}/networkpolicies/${NAME}`;
  return control("/eventually", { get, cel, within: "10s" });
}

beforeEach(async () => {
  await control("/reset", {});
  stop = await run(config);
});

afterEach(() => stop());

test("an isolated namespace has a policy", async () => {
  await isolate("shop");
  await eventually("shop", "object.spec.policyTypes == ['Ingress', 'Egress']");
});

test("a policy that is deleted comes back", async () => {
  await isolate("shop");
  await eventually("shop", "object != null");
  const { metadata } = await networking.readNamespacedNetworkPolicy({ name: NAME, namespace: "shop" });
  await networking.deleteNamespacedNetworkPolicy({ name: NAME, namespace: "shop" });
  await eventually("shop", `object != null && object.metadata.uid != '${metadata.uid}'`);
});

test("other namespaces have none", async () => {
  await core.createNamespace({ body: { metadata: { name: "open" } } });
  await isolate("shop");
  await eventually("shop", "object != null");
  const { items } = await networking.listNetworkPolicyForAllNamespaces();
  assert.deepEqual(items.map((one) => one.metadata.namespace), ["shop"]);
});

test("an error of the server is retried", async () => {
  await control("/faults", { verb: "create", resource: "networkpolicies", error: 503, times: 2 });
  await isolate("shop");
  await eventually("shop", "object != null");
  await control("/requests:verify", { match: { verb: "create", resource: "networkpolicies" }, exactly: 3 });
});
