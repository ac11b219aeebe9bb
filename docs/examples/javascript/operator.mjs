// Each Namespace with the label isolated=true has a NetworkPolicy that denies what no other policy allows.

import { KubeConfig, CoreV1Api, NetworkingV1Api, makeInformer } from "@kubernetes/client-node";

export const NAME = "default-deny";
const LABEL = "isolated=true";
const LATER = 500; // milliseconds

export async function run(config) {
  const core = config.makeApiClient(CoreV1Api);
  const networking = config.makeApiClient(NetworkingV1Api);
  const isolated = new Set();
  let stopped = false;

  async function reconcile(namespace) {
    if (stopped || !isolated.has(namespace)) return;
    try {
      await networking.createNamespacedNetworkPolicy({ namespace, body: policy() });
    } catch (error) {
      if (error.code !== 409) setTimeout(reconcile, LATER, namespace);
    }
  }

  const namespaces = makeInformer(config, "/api/v1/namespaces", () => core.listNamespace({ labelSelector: LABEL }), LABEL);
  namespaces.on("add", ({ metadata }) => {
    isolated.add(metadata.name);
    reconcile(metadata.name);
  });
  namespaces.on("delete", ({ metadata }) => isolated.delete(metadata.name));

  const policies = makeInformer(config, "/apis/networking.k8s.io/v1/networkpolicies", () =>
    networking.listNetworkPolicyForAllNamespaces(),
  );
  policies.on("delete", ({ metadata }) => {
    if (metadata.name === NAME) reconcile(metadata.namespace);
  });

  const informers = [namespaces, policies];
  for (const informer of informers) {
    const start = () => stopped || informer.start().catch(startLater);
    const startLater = () => stopped || setTimeout(start, LATER);
    informer.on("error", startLater);
    await start();
  }
  return async () => {
    stopped = true;
    await Promise.all(informers.map((informer) => informer.stop()));
  };
}

function policy() {
  return { metadata: { name: NAME }, spec: { podSelector: {}, policyTypes: ["Ingress", "Egress"] } };
}

if (process.argv[1] === import.meta.filename) {
  const config = new KubeConfig();
  config.loadFromDefault();
  await run(config);
}
