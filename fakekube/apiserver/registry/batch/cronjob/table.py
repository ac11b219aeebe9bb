"""Table of CronJobs."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.core.podtemplate.table import SELECTED_COLUMNS, container_cells
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import (
    AGE,
    NAME,
    Printer,
    age_of,
    boolean,
    boolean_text,
    columns,
    get,
    integer,
    name_of,
)
from fakekube.apiserver.registry.generic.table.labels import selector_cell

Object = dict[str, Any]


def _cron_job(obj: Object, ages: Ages) -> list[Any]:
    last = get(obj, "status.lastScheduleTime")
    return [
        name_of(obj),
        get(obj, "spec.schedule", ""),
        get(obj, "spec.timeZone", "<none>"),
        boolean_text(get(obj, "spec.suspend")),
        len(get(obj, "status.active", ())),
        ages(last) if last else "<none>",
        age_of(obj, ages),
        *container_cells(obj, "spec.jobTemplate.spec.template"),
        selector_cell(get(obj, "spec.jobTemplate.spec.selector")),
    ]


PRINTER = Printer(
    columns(
        NAME, "Schedule", "Timezone", boolean("Suspend"), integer("Active"), "Last Schedule", AGE, *SELECTED_COLUMNS
    ),
    _cron_job,
)
