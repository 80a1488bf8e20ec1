// The driver `noop`: a driver without a database. Its figures show the overhead of the runner.

import { readFileSync } from 'node:fs';

/** Answers every statement with one row of no columns, so that no transaction ends empty. */
class Noop {
    rows() {
        return [];
    }
    prepare() {}
    begin() {}
    commit() {}
    rollback() {}

    statement() {
        return (args, effect) => {
            if (effect.timed) {
                effect.query = effect.clock.now();
                effect.firstRow = effect.clock.now();
            }
            return 1;
        };
    }

    close() {}
}

/** @type {import('./driver.mjs').Driver} */
export default {
    version: JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version,
    executors: ['threads', 'processes', 'inline', 'offload', 'dedicated'],
    options: [],
    integers: 'number',
    sharedMemory: true,
    open: () => new Noop(),
};
