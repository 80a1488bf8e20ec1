// Checks of a trial before anything is opened.

import { connections } from './sharing.mjs';
import { VERSION } from './describe.mjs';
import { Fault } from './driver.mjs';
import { Schedule } from './schedule.mjs';

/** Rejects trials that this runner does not support, or would silently run incorrectly. */
export function check(trial, driver) {
    const fail = (reason) => {
        throw new Fault(reason);
    };
    if (trial.protocol !== VERSION) fail(`protocol ${trial.protocol} is not ${VERSION}`);
    if (!driver.executors.includes(trial.executor))
        fail(`executor ${trial.executor} is not supported by ${trial.driver}`);
    const { kind, connections: pool, readers } = trial.sharing;
    if (driver.sharings?.includes(kind) === false) fail(`sharing ${kind} is not supported by ${trial.driver}`);
    if (trial.databases.some((database) => database.kind === 'server')) {
        fail(`driver \`${trial.driver}\` opens databases of SQLite, and this one is a server's`);
    }
    for (const { name, begin } of driver.interface === undefined ? [] : trial.transactions) {
        if (begin === 'none') continue;
        fail(`transaction \`${name}\`: a library's operations are transactions of their own; write begin = "none"`);
    }
    if (driver.interface !== undefined && trial.databases.some((database) => database.kind !== 'file')) {
        fail(`the ${driver.interface.name} of ${trial.driver} needs a database in a file`);
    }
    if (connections(trial).length === 0 || pool === 0 || readers === 0) {
        fail(`sharing ${kind} needs at least one connection`);
    }
    for (const role of trial.roles) {
        const { name } = role;
        if (role.steps.some((step) => trial.transactions[step.transaction] === undefined)) {
            fail(`role \`${name}\` has a step without its transaction`);
        }
        if (role.steps.length === 0 || (role.order === 'weighted' && role.steps.every((step) => step.weight === 0))) {
            fail(`role \`${name}\` has no step to do`);
        }
        if (role.first_in_role + role.workers > role.workers_in_role) {
            fail(`role \`${name}\` has more workers here than in all`);
        }
        Schedule.of(trial.seed, role, Schedule.memory());
        // A chain of roles that wait for each other must end at a role with another condition.
        let last = role;
        for (let steps = 0; last.until.kind === 'role'; steps++) {
            const other = last.until.name;
            last = trial.roles.find((next) => next.name === other);
            if (last === undefined) fail(`role \`${name}\` waits for \`${other}\`, and there is none`);
            if (steps > trial.roles.length) fail(`role \`${name}\` never ends`);
        }
    }
}
