// An operator of ConfigMaps with the label app=site, with the official client: it makes two children and records that it has.

import { CoreV1Api, KubeConfig, makeInformer } from "@kubernetes/client-node";

const correct = process.argv.includes("--correct");
const namespace = "default";
const config = new KubeConfig();
config.loadFromDefault();
const api = config.makeApiClient(CoreV1Api);

// The client's promise stays pending if the connection breaks within an answer (node-fetch 2 does not forward the error).
function answered(call) {
  const late = new Promise((_, reject) => setTimeout(reject, 1000, new Error("no answer within a second")));
  return Promise.race([call, late]);
}

async function make(site, name) {
  const owner = { apiVersion: "v1", kind: "ConfigMap", name: site.metadata.name, uid: site.metadata.uid };
  const body = { metadata: { name, ownerReferences: [owner] }, data: { of: owner.name } };
  try {
    await answered(api.createNamespacedConfigMap({ namespace, body }));
  } catch (error) {
    if (error.code !== 409) throw error;
  }
}

async function record(site) {
  const body = { ...site, data: { ...site.data, done: "yes" } };
  await answered(api.replaceNamespacedConfigMap({ name: site.metadata.name, namespace, body }));
}

async function reconcile(name) {
  const site = await answered(api.readNamespacedConfigMap({ name, namespace }));
  if (site.data?.done === "yes") return;
  await make(site, `${name}-a`);
  if (correct) {
    await make(site, `${name}-b`);
    await record(site);
  } else {
    await record(site); // the defect: it is recorded before the second child is made
    await make(site, `${name}-b`);
  }
}

const due = new Set();
let works = false;
async function work() {
  if (works) return;
  works = true;
  while (due.size) {
    const [name] = due;
    due.delete(name);
    try {
      await reconcile(name);
    } catch (error) {
      if (error.code !== 404) setTimeout(() => add(name), 200);
    }
  }
  works = false;
}
function add(name) {
  due.add(name);
  work();
}

const list = () => api.listNamespacedConfigMap({ namespace, labelSelector: "app=site" });
const informer = makeInformer(config, `/api/v1/namespaces/${namespace}/configmaps`, list, "app=site");
for (const event of ["add", "update"]) informer.on(event, (site) => add(site.metadata.name));
const start = () => informer.start().catch(startLater);
const startLater = () => setTimeout(start, 200);
informer.on("error", startLater);
await start();
