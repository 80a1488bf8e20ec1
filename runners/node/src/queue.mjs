// Task queues as drivers: libraries that keep tasks in their own tables and accept no SQL. A statement names an
// operation, `CALL queue.claim()`; `docs/reference/protocol.md` specifies the operations.

import { Fault } from './driver.mjs';
import { job } from './work.mjs';

const CALL = /^\s*CALL\s+(\w+)\s*\.\s*(\w+)\s*\(([^()]*)\)\s*;?\s*$/;

/** Arguments of each operation. */
const OPERATIONS = { enqueue: ['payload', 'priority'], claim: [], complete: ['id'], fail: ['id'] };

const COLUMNS = ['id', 'payload'];

/** The interface in `describe`. */
export const INTERFACE = {
    name: 'queue',
    operations: Object.entries(OPERATIONS).map(([name, given]) => ({
        name,
        arguments: given,
        columns: name === 'claim' ? COLUMNS : [],
        writes: true,
    })),
};

/**
 * A queue of a library in one file, with blocking calls. The library manages its own transactions: begin and commit do
 * nothing, and repetitions are separate calls.
 *
 * A driver has a method for each operation that its library supports: `enqueue(payload, priority)`; `claim()`, which
 * returns the id and payload of a task claimed for this caller only, or null; `complete(id)`; `fail(id)`. It also has
 * `rows` and `close`.
 *
 * @implements {import('./driver.mjs').Session}
 */
export class Queue {
    operations = [];

    prepare(trial, used) {
        const prepared = (spec) => ({ name: this.#operation(spec), yields: spec.yields.length });
        this.operations = trial.transactions.map(({ statements }, at) =>
            used.includes(at) ? statements.map(prepared) : [],
        );
    }

    /** Returns the operation named by a statement, after checking it. */
    #operation(spec) {
        const refuse = (reason) => {
            throw new Fault(`${spec.sql}: ${reason}`);
        };
        const names = Object.keys(OPERATIONS);
        const called = CALL.exec(spec.sql);
        if (called === null) refuse(`a task queue takes no SQL, but CALL queue.${names.join(', CALL queue.')}`);
        const [, name, operation, list] = called;
        if (name !== 'queue' || !names.includes(operation)) refuse(`a queue has no operation but ${names.join(', ')}`);
        if (!(operation in this)) refuse('this library gives no task back to be tried again at once');
        const given = list.split(',').map((argument) => argument.trim());
        const wanted = OPERATIONS[operation].map((_, at) => `?${at + 1}`);
        if (given.filter(Boolean).join() !== wanted.join() || spec.bind.length * spec.tuples !== wanted.length) {
            refuse(`it takes ${wanted.length} arguments, ?1, ?2, … in order, each bound`);
        }
        if (operation === 'claim') {
            if (spec.yields.length > COLUMNS.length) refuse(`it has columns ${COLUMNS.join(', ')}`);
            // Rejects unknown columns. The work itself is not needed: handing over the payload reads it.
            job(spec.work, COLUMNS);
        } else if (spec.yields.length > 0 || spec.required) refuse('it returns no row');
        return operation;
    }

    begin() {}
    commit() {}
    rollback() {}

    statement(transaction, at) {
        const { name, yields } = this.operations[transaction][at];
        if (name !== 'claim') {
            return (args) => {
                this[name](...args);
                return 1;
            };
        }
        return (_, effect) => {
            const task = this.claim();
            if (effect.timed) effect.query = effect.clock.now();
            if (task === null) return 0;
            if (effect.timed) effect.firstRow = effect.clock.now();
            if (yields > 0) effect.first = task.slice(0, yields);
            return 1;
        };
    }
}
