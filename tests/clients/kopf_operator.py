"""An operator of kopf: handlers of creation, update and deletion, a timer and a daemon. Each leaves a mark on its gadget."""

import kopf


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_):
    settings.watching.server_timeout = 1  # so that it often watches on from where it was
    settings.persistence.finalizer = "example.com/kopf"


@kopf.on.create("example.com", "v1", "gadgets")
def created(spec, patch, **_):
    patch.metadata.annotations["example.com/created"] = str(spec.get("size"))


@kopf.on.update("example.com", "v1", "gadgets", field="spec")
def updated(old, new, patch, body, **_):
    patch.metadata.annotations["example.com/updated"] = f"{old['size']}->{new['size']}"
    kopf.info(body, reason="Resized", message=f"the gadget is {new['size']} now")


@kopf.on.delete("example.com", "v1", "gadgets")
def deleted(name, namespace, logger, **_):
    logger.info(f"goodbye {namespace}/{name}")


@kopf.timer("example.com", "v1", "gadgets", interval=0.2)
def ticked(patch, annotations, **_):
    ticks = int(annotations.get("example.com/ticks", "0"))
    if ticks < 3:
        patch.metadata.annotations["example.com/ticks"] = str(ticks + 1)


@kopf.daemon("example.com", "v1", "gadgets", cancellation_timeout=5)
async def watched(stopped, patch, **_):
    patch.metadata.annotations["example.com/daemon"] = "ran"
